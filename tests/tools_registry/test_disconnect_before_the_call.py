"""A client that leaves before its call has begun: nothing is done in its name."""

import json
from dataclasses import replace
from typing import Any

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import Revision
from tests.drivers.mcp import BOTH, McpClient
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset
from tools_registry.endpoint import respond
from tools_registry.endpoint.http import HttpRequest, Stream
from tools_registry.endpoint.surface import WORKSPACE_SURFACE

WRITTEN: list[str] = []
SLOW = Toolset(scope="docs:read", title="Slow")


@SLOW.tool(
    title="Write",
    description="Writes, then speaks.",
    input_schema={"type": "object"},
    mutates=True,
    streams=True,
)
def write_first(context: ToolContext, _arguments: Arguments) -> Facts:
    WRITTEN.append("done")
    context.progress(1)
    return Facts({})


@pytest.mark.parametrize(
    ("leaves", "outcome", "written"), [(True, "cancelled", []), (False, "success", ["done"])]
)
def test_closing_the_stream_before_the_first_step_stops_it(
    mcp: McpClient, leaves: Any, outcome: str, written: list[str]
) -> None:
    WRITTEN.clear()
    client = replace(mcp.with_revision(Revision.V2026_07_28), headers={"Accept": BOTH})
    meta = {"_meta": {"progressToken": "p"}}
    params = client.params({"name": "write_first", "arguments": {}, **meta})
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    given = {
        **client._usual_headers(),
        **client.headers,
        **client.mirror("tools/call", params),
    }
    headers = tuple((name.lower(), value) for name, value in given.items() if value is not None)
    body = json.dumps(message).encode()
    with registry.including(SLOW):
        request = HttpRequest("POST", headers, "", body, "127.0.0.1", "r1", WORKSPACE_SURFACE)
        stream = respond.respond(request)
        assert isinstance(stream, Stream)
        if leaves:
            stream.on_close()
        assert stream.run([].append) is None
    assert written == WRITTEN
    assert ActionExecution.objects.get().outcome == outcome
