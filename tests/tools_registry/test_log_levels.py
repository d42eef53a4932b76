"""logging/setLevel: the eight levels of RFC 5424 and nothing else, where the method exists."""

from typing import Any

import pytest

from mcp_protocol.negotiation import LOG_LEVELS
from mcp_protocol.revisions import HANDSHAKE, Revision
from tests.drivers.mcp import McpClient


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
@pytest.mark.parametrize("level", sorted(LOG_LEVELS))
def test_a_level_is_taken(mcp: McpClient, revision: Revision, level: str) -> None:
    assert mcp.with_revision(revision).request("logging/setLevel", {"level": level}).result == {}


@pytest.mark.parametrize("level", ["", "Info", "trace", "warn", None, 7, ["info"], {}])
def test_another_level_is_refused(mcp: McpClient, level: Any) -> None:
    reply = mcp.request("logging/setLevel", {"level": level})
    assert (reply.status, reply.code, reply.error["data"]["field"]) == (200, -32602, "level")
