"""Whatever comes as a state, a response, a session id or an answer: never a 500."""

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mcp_protocol.revisions import HANDSHAKE, Revision
from tests.drivers.elicitation_client import EVERYTHING
from tests.drivers.mcp import McpClient, Reply

pytestmark = pytest.mark.usefixtures("lab")

RELAXED = settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
ALL = {**EVERYTHING, "elicitation": {"form": {}, "url": {}}}
TOOLS = st.sampled_from(["greet", "publish", "two_rounds", "three_at_once", "send_to_page"])
ANY_JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner),
    max_leaves=8,
)
ACTIONS = st.sampled_from(["accept", "decline", "cancel"]) | ANY_JSON
NEAR_ANSWERS = st.fixed_dictionaries(
    {"action": ACTIONS, "content": ANY_JSON | st.dictionaries(st.just("name"), ANY_JSON)}
)
RESPONSES = ANY_JSON | st.dictionaries(
    st.sampled_from(["person", "sure", "first", "model", "roots", "page"]), ANY_JSON | NEAR_ANSWERS
)
NOTHING_ELSE = {200, 202, 400}


@pytest.fixture(autouse=True)
def _high_limits(settings: Any) -> None:
    from foundation.limits import Limit  # noqa: PLC0415  the name `settings` is hypothesis's here

    for name in ("HALO_RATE_TOOLS_CALL", "HALO_RATE_OTHER", "HALO_RATE_IP"):
        setattr(settings, name, Limit(100_000, 60))


def call(client: McpClient, tool: str, **more: Any) -> Reply:
    params = {"name": tool, "arguments": {}, "_meta": {CAPABILITIES: ALL}, **more}
    reply = client.with_revision(Revision.V2026_07_28).request("tools/call", params)
    assert reply.status in NOTHING_ELSE, reply.body
    return reply


@RELAXED
@given(tool=TOOLS, responses=RESPONSES)
def test_any_responses(mcp: McpClient, tool: str, responses: Any) -> None:
    call(mcp, tool, inputResponses=responses)


@RELAXED
@given(tool=TOOLS, state=ANY_JSON | st.text("ABab01-_=", max_size=120), responses=RESPONSES)
def test_any_state_is_refused(mcp: McpClient, tool: str, state: Any, responses: Any) -> None:
    reply = call(mcp, tool, requestState=state, inputResponses=responses)
    if state is None and "result" in reply.json:  # null is absent: the questions are asked again
        assert "inputRequests" in reply.result
    else:
        assert reply.code == -32602


@RELAXED
@given(tool=TOOLS, responses=RESPONSES)
def test_any_responses_to_what_was_asked(mcp: McpClient, tool: str, responses: Any) -> None:
    state = call(mcp, tool).result["requestState"]
    reply = call(mcp, tool, requestState=state, inputResponses=responses)
    assert "result" in reply.json or reply.code == -32602


@RELAXED
@given(tool=TOOLS, place=st.integers(0, 400), more=st.text("ABab01-_", min_size=1, max_size=4))
def test_any_change_of_a_state_is_refused(mcp: McpClient, tool: str, place: int, more: str) -> None:
    state = call(mcp, tool).result["requestState"]
    changed = state[:place] + more + state[place + 1 :]
    if changed != state:
        assert call(mcp, tool, requestState=changed, inputResponses={}).code == -32602


@RELAXED
@given(
    revision=st.sampled_from(HANDSHAKE),
    session=st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=60),
)
def test_any_session_id_is_passed_over(mcp: McpClient, revision: Revision, session: str) -> None:
    reply = mcp.with_revision(revision).request("ping", headers={"Mcp-Session-Id": session})
    assert reply.result == {}


@RELAXED
@given(capabilities=st.dictionaries(st.sampled_from(list(EVERYTHING)), ANY_JSON))
def test_any_capabilities(mcp: McpClient, capabilities: Any) -> None:
    declared = {"_meta": {CAPABILITIES: capabilities}}
    assert call(mcp, "three_at_once", **declared).status in NOTHING_ELSE
    handshake = {"protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {}}
    reply = mcp.with_revision(Revision.V2025_11_25).request("initialize", handshake)
    assert len(reply.headers["mcp-session-id"]) < 500


@RELAXED
@given(
    revision=st.sampled_from(HANDSHAKE),
    identifier=st.text(max_size=80) | st.integers(),
    answer=ANY_JSON,
    kind=st.sampled_from(["result", "error"]),
)
def test_any_answer(
    mcp: McpClient, revision: Revision, identifier: Any, answer: Any, kind: str
) -> None:
    message = json.dumps({"jsonrpc": "2.0", "id": identifier, kind: answer}).encode()
    assert mcp.with_revision(revision).send(message).status in {202, 400}


@RELAXED
@given(revision=st.sampled_from(HANDSHAKE), params=ANY_JSON.filter(lambda v: isinstance(v, dict)))
def test_any_cancellation(mcp: McpClient, revision: Revision, params: Any) -> None:
    assert mcp.with_revision(revision).notify("notifications/cancelled", params).status == 202
