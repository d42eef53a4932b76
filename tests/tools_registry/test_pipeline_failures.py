"""How a tool's own failure reaches the caller and the audit row, at every revision."""

import json
from typing import Any

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision
from tests.drivers.fixture_tools import SECRET, Killed
from tests.drivers.mcp import McpClient
from tests.drivers.schemas import conforms

pytestmark = pytest.mark.usefixtures("lab")

MODERN = Revision.V2026_07_28
AS_RESULT = (Revision.V2025_11_25, MODERN)

# Which code each failure has, and what the audit row calls it.
FAILURES = {
    "not_found": (-32601, "not_found", "not_found"),
    "invalid": (-32602, "validation_failed", "validation"),
    "unauthorized": (-32002, "integration_error", "unauthorized"),
    "integration": (-32603, "integration_error", "integration"),
    "raises": (-32603, "tool_error", "internal"),
    "timeout": (-32603, "tool_error", "internal"),
    "exits": (-32603, "tool_error", "internal"),
    "nan": (-32603, "tool_error", "internal"),
    "bytes": (-32603, "tool_error", "internal"),
    "bad_blocks": (-32603, "tool_error", "internal"),
    "huge": (-32603, "tool_error", "result_too_large"),
    "wide": (-32603, "tool_error", "result_too_large"),
    "huge_blocks": (-32603, "tool_error", "result_too_large"),
}


def row() -> ActionExecution:
    return ActionExecution.objects.get()


def call_and_get_failure(client: McpClient, how: str) -> dict[str, Any]:
    """Code, message and data of the failure, once the envelope fits the revision."""
    reply = client.call("fail", {"how": how})
    assert reply.status == 200
    if client.revision not in AS_RESULT:
        return {
            "code": reply.code,
            "message": reply.error["message"],
            **reply.error.get("data", {}),
        }
    conforms(reply.result, client.revision, "CallToolResult")
    assert reply.result["isError"] is True
    assert "structuredContent" not in reply.result
    (block,) = reply.result["content"]
    message: dict[str, Any] = json.loads(block["text"])
    return message


@pytest.mark.parametrize("how", FAILURES)
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_failure_has_one_code_and_one_row_at_every_revision(
    mcp: McpClient, revision: Revision, how: str
) -> None:
    code, outcome, reason = FAILURES[how]
    message = call_and_get_failure(mcp.with_revision(revision), how)
    assert message["code"] == (-31002 if (how, revision) == ("unauthorized", MODERN) else code)
    assert (row().outcome, row().reason, row().layer) == (outcome, reason, "")


@pytest.mark.parametrize("how", ["raises", "timeout", "nan", "bytes", "bad_blocks"])
def test_j14_what_broke_in_a_tool_stays_in_the_log(
    mcp: McpClient, how: str, caplog: pytest.LogCaptureFixture
) -> None:
    message = call_and_get_failure(mcp, how)
    assert message["message"] == f"The tool failed. Quote {row().request_id} to your admin."
    assert SECRET not in json.dumps(message)
    assert row().request_id in caplog.text


def test_the_other_sides_status_is_on_record(mcp: McpClient) -> None:
    call_and_get_failure(mcp, "integration")
    assert row().upstream_status == 502


def test_field_and_reason_of_a_tool_are_reported_and_recorded(mcp: McpClient) -> None:
    message = call_and_get_failure(mcp, "invalid")
    assert (message["field"], message["reason"]) == ("how", "must be otherwise")
    assert row().detail == "how: must be otherwise"


def test_a_page_that_does_not_exist_is_not_found(mcp: McpClient) -> None:
    assert mcp.call("read_doc", {"page": "no-such-page"}).code == -32601
    assert row().outcome == "not_found"


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_a_tool_that_must_ask_and_cannot_fails_closed(mcp: McpClient, revision: Revision) -> None:
    reply = mcp.with_revision(revision).call("ask")
    assert ("error" in reply.json) == (revision not in AS_RESULT)
    assert (row().outcome, row().reason) == ("input_required", "input_required")


@pytest.mark.parametrize("how", ["huge", "wide", "huge_blocks"])
def test_j14_more_than_the_cap_of_bytes_is_never_sent(mcp: McpClient, how: str) -> None:
    reply = mcp.call("fail", {"how": how})
    assert reply.error["data"] == {"reason": "result_too_large"}
    assert len(reply.body) < 1000


def test_w05_a_change_that_is_cut_off_stays_started(mcp: McpClient) -> None:
    with pytest.raises(Killed):
        mcp.call("change_and_fail", {"how": "killed"})
    assert (row().outcome, row().duration_us) == ("started", None)


@pytest.mark.parametrize("how", ["raises", "exits", "not_found", "huge"])
def test_a_change_that_fails_is_finished_in_the_row_it_began(mcp: McpClient, how: str) -> None:
    mcp.call("change_and_fail", {"how": how})
    assert row().outcome == FAILURES[how][1]
    assert row().duration_us is not None
