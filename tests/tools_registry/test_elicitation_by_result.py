"""Questions at 2026-07-28: the result asks, and the client comes again with the answers."""

import json
import time
from typing import Any
from uuid import UUID

import pytest
import time_machine

from audit.models import ActionExecution
from mcp_protocol.errors import ProtocolError
from mcp_protocol.revisions import Revision
from tests.drivers import grants
from tests.drivers.asgi import app_transport, application
from tests.drivers.elicitation_client import EVERYTHING, ROOTED, SAMPLED, accept, outcomes
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tests.drivers.schemas import conforms
from tools_registry.api.answers import NONE_YET
from tools_registry.endpoint.request_state import SealedFor, read, seal
from tools_registry.models import SpentState
from tools_registry.tasks import prune_asking

pytestmark = pytest.mark.usefixtures("lab")

MODERN = Revision.V2026_07_28
CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
Answers = dict[str, Any]


@pytest.fixture
def client(mcp: McpClient) -> McpClient:
    return mcp.with_revision(MODERN)


def ask(
    client: McpClient,
    tool: str,
    arguments: Any = None,
    *,
    capabilities: Any = EVERYTHING,
    **more: Any,
) -> Reply:
    """One round: the same call with whatever stands next to its arguments."""
    params = {"name": tool, "arguments": arguments or {}, "_meta": {CAPABILITIES: capabilities}}
    return client.request("tools/call", {**params, **more})


def assert_asked(reply: Reply) -> dict[str, Any]:
    """The result of a round that asks."""
    assert reply.status == 200
    result: dict[str, Any] = reply.result
    conforms(result, MODERN, "InputRequiredResult")
    assert result["resultType"] == "input_required"
    assert "ttlMs" not in result
    return result


def again(client: McpClient, first: Reply, tool: str, answers: Answers, given: Any = None) -> Reply:
    """The same call with answers and the state that the first round gave."""
    state = assert_asked(first)["requestState"]
    return ask(client, tool, given, inputResponses=answers, requestState=state)


def test_a_tool_asks_by_its_result_and_answers_in_the_next_round(client: McpClient) -> None:
    first = ask(client, "greet", {"word": "Hi"})
    (request,) = assert_asked(first)["inputRequests"].values()
    assert request["method"] == "elicitation/create"
    assert request["params"]["requestedSchema"]["properties"] == {"name": {"type": "string"}}
    serving = "io.modelcontextprotocol/serverInfo"
    assert assert_asked(first)["_meta"][serving]["name"] == "halo-agents"
    second = again(client, first, "greet", {"person": accept(name="Ada")}, {"word": "Hi"})
    assert second.facts == {"greeting": "Hi, Ada"}
    assert second.result["resultType"] == "complete"
    assert outcomes() == ["input_required", "success"]


def test_a_second_round_knows_the_answers_of_the_first(client: McpClient) -> None:
    first = ask(client, "two_rounds")
    second = again(client, first, "two_rounds", {"first": accept(name="Ada")})
    assert list(assert_asked(second)["inputRequests"]) == ["second"]
    assert assert_asked(second)["requestState"] != assert_asked(first)["requestState"]
    third = again(client, second, "two_rounds", {"second": accept(colour="blue")})
    assert third.facts == {"name": "Ada", "colour": "blue"}


def test_several_questions_go_out_at_once_and_what_is_missing_is_asked_again(
    client: McpClient,
) -> None:
    first = ask(client, "three_at_once")
    methods = {key: asked["method"] for key, asked in assert_asked(first)["inputRequests"].items()}
    assert methods == {
        "person": "elicitation/create",
        "model": "sampling/createMessage",
        "roots": "roots/list",
    }
    some = {"person": accept(name="Ada"), "roots": ROOTED}
    second = again(client, first, "three_at_once", some)
    assert list(assert_asked(second)["inputRequests"]) == ["model"]
    third = again(client, second, "three_at_once", {"model": SAMPLED})
    assert third.facts == {"answers": {**some, "model": SAMPLED}, "state": {"asked": 3}}


def test_answers_of_keys_that_were_not_asked_are_passed_over(client: McpClient) -> None:
    first = ask(client, "publish", {"what": "news"})
    unasked = again(client, first, "publish", {"other": accept(sure=True)}, {"what": "news"})
    assert list(assert_asked(unasked)["inputRequests"]) == ["sure"]
    answers = {"sure": accept(sure=True, more="x"), "other": accept(sure=False)}
    last = again(client, unasked, "publish", answers, {"what": "news"})
    assert last.facts == {"published": "news", "sure": True}


@pytest.mark.parametrize("wrong", [12345, None, {}, accept(name=1), {"action": "yes"}], ids=str)
def test_an_answer_that_does_not_fit_is_asked_for_again(client: McpClient, wrong: Any) -> None:
    reply = again(client, ask(client, "greet"), "greet", {"person": wrong})
    assert list(assert_asked(reply)["inputRequests"]) == ["person"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_who_declines_ends_the_call(client: McpClient, action: str) -> None:
    reply = again(client, ask(client, "publish"), "publish", {"sure": {"action": action}})
    assert reply.result["isError"] is True
    assert "The person declined to answer." in reply.result["content"][0]["text"]
    assert outcomes() == ["input_required", "cancelled"]


def test_answers_without_a_state_are_taken_where_nothing_changes(client: McpClient) -> None:
    answers = {"person": accept(name="Ada"), "extra": {"action": "decline"}}
    assert ask(client, "greet", inputResponses=answers).facts == {"greeting": "Hello, Ada"}


def test_a_change_is_never_made_on_answers_to_what_was_not_asked(client: McpClient) -> None:
    reply = ask(client, "publish", inputResponses={"sure": accept(sure=True)})
    assert list(assert_asked(reply)["inputRequests"]) == ["sure"]
    assert outcomes() == ["input_required"]


def test_a_tool_that_keeps_a_state_gets_it_back_or_asks(client: McpClient) -> None:
    answers = {"person": accept(name="Ada"), "model": SAMPLED, "roots": ROOTED}
    bare = ask(client, "three_at_once", inputResponses=answers)
    assert len(assert_asked(bare)["inputRequests"]) == 3
    assert again(client, bare, "three_at_once", answers).facts["state"] == {"asked": 3}


@pytest.mark.parametrize("responses", [[], "x", 1], ids=str)
def test_responses_are_an_object(client: McpClient, responses: Any) -> None:
    reply = ask(client, "greet", inputResponses=responses)
    assert (reply.status, reply.code) == (200, -32602)
    assert reply.error["data"]["field"] == "inputResponses"


SURE = {"sure": accept(sure=True)}


def assert_refused(reply: Reply) -> None:
    assert (reply.status, reply.code) == (200, -32602)
    conforms(reply.json, MODERN, "JSONRPCErrorResponse")
    assert reply.error["data"]["field"] == "requestState"
    row = ActionExecution.objects.latest("id")
    assert (row.outcome, row.reason) == ("protocol_error", "rpc_32602")


@pytest.mark.parametrize(
    "change",
    [
        lambda state: state + "-TAMPERED",
        lambda state: state + "=",
        lambda state: state[:-1],
        lambda state: "B" + state[1:],
        lambda _state: "",
        lambda _state: "x" * 5000,
        lambda _state: 7,
        lambda _state: "\u2603",
        lambda _state: "\ud800",
    ],
)
def test_a_state_that_was_tampered_with_is_refused(client: McpClient, change: Any) -> None:
    state = change(assert_asked(ask(client, "publish"))["requestState"])
    assert_refused(ask(client, "publish", inputResponses=SURE, requestState=state))


def test_a_state_fits_one_call_of_one_connection(client: McpClient) -> None:
    state = assert_asked(ask(client, "publish", {"what": "a"}))["requestState"]
    given = {"inputResponses": SURE, "requestState": state}
    assert_refused(ask(client, "publish", {"what": "b"}, **given))
    assert_refused(ask(client, "greet", {"word": "a"}, **given))
    assert_refused(
        ask(client.holding(grants.make_grant().token()), "publish", {"what": "a"}, **given)
    )
    assert ask(client, "publish", {"what": "a"}, **given).facts["published"] == "a"


@pytest.mark.parametrize("key", ["bound_end_user_id", "bound_email"])
def test_a_state_fits_one_bound_customer(client: McpClient, key: str) -> None:
    state = assert_asked(ask(client, "publish"))["requestState"]
    bound = client.call("publish", meta={CAPABILITIES: EVERYTHING, key: "a"})
    assert bound.error["data"]["reason"] == "binding_rejected"
    meta = {CAPABILITIES: EVERYTHING, key: "a"}
    given = {"inputResponses": SURE, "requestState": state}
    assert_refused(
        client.request("tools/call", {"name": "publish", "arguments": {}, "_meta": meta, **given})
    )


def test_a_state_that_was_sealed_for_one_customer_opens_for_no_other() -> None:
    def purpose(**binding: str) -> SealedFor:
        return SealedFor(UUID(int=0), "tools/call", "publish", {}, binding=binding)

    state = seal(purpose(bound_email="a"), NONE_YET, {}, 7)
    given = {"requestState": state}
    assert read(purpose(bound_email="a"), given).state == 7
    for other in (purpose(), purpose(bound_email="b"), purpose(bound_end_user_id="a")):
        with pytest.raises(ProtocolError):
            read(other, given)


def test_a_session_id_is_no_state(client: McpClient) -> None:
    params = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "x"}}
    reply = client.with_revision(Revision.V2025_11_25).request("initialize", params)
    session = reply.headers["mcp-session-id"]
    assert_refused(ask(client, "publish", inputResponses=SURE, requestState=session))


def test_a_refreshed_token_goes_on_where_the_old_one_was(client: McpClient, grant: Grant) -> None:
    first = ask(client, "publish")
    assert again(client.holding(grant.token()), first, "publish", SURE).facts["sure"] is True


def test_a_state_is_over_after_the_time_that_a_person_may_take(client: McpClient) -> None:
    first = ask(client, "greet")
    state = assert_asked(first)["requestState"]
    given = {"inputResponses": {"person": accept(name="Ada")}, "requestState": state}
    with time_machine.travel(time.time() + 590):
        assert ask(client, "greet", **given).facts
    with time_machine.travel(time.time() + 610):
        assert_refused(ask(client, "greet", **given))


def test_a_change_is_made_once_for_one_state(client: McpClient) -> None:
    first = ask(client, "publish")
    assert again(client, first, "publish", SURE).facts["sure"] is True
    assert_refused(again(client, first, "publish", SURE))
    assert outcomes() == ["input_required", "success", "protocol_error"]


def test_a_look_up_may_be_repeated(client: McpClient) -> None:
    first = ask(client, "greet")
    for name in ("Ada", "Bob"):
        reply = again(client, first, "greet", {"person": accept(name=name)})
        assert reply.facts == {"greeting": f"Hello, {name}"}
    assert not SpentState.objects.exists()


def test_spent_states_are_cleaned_up_once_they_would_be_over_anyway(client: McpClient) -> None:
    again(client, ask(client, "publish"), "publish", SURE)
    assert prune_asking() == 0
    with time_machine.travel(time.time() + 3600):
        assert prune_asking() == 1


@pytest.mark.parametrize(
    ("tool", "declared", "required"),
    [
        ("greet", {}, {"elicitation": {"form": {}}}),
        ("greet", {"elicitation": {"url": {}}}, {"elicitation": {"form": {}}}),
        ("send_to_page", {"elicitation": {}}, {"elicitation": {"url": {}}}),
        ("ask_model", {"elicitation": {}}, {"sampling": {}}),
        (
            "three_at_once",
            {"elicitation": {}},
            {"elicitation": {"form": {}}, "sampling": {}, "roots": {}},
        ),
    ],
)
def test_what_the_client_cannot_be_asked_is_reported_as_the_capability_it_lacks(
    client: McpClient, tool: str, declared: Any, required: Any
) -> None:
    reply = ask(client, tool, capabilities=declared)
    assert (reply.status, reply.code) == (400, -32021)
    assert reply.error["data"] == {"requiredCapabilities": required}
    conforms(reply.json, MODERN, "MissingRequiredClientCapabilityError")
    row = ActionExecution.objects.get()
    assert (row.outcome, row.reason) == ("input_required", "missing_capability")


def test_a_tool_asks_what_its_client_can_be_asked(client: McpClient) -> None:
    reply = ask(client, "ask_as_it_can", capabilities={"sampling": {}})
    assert list(assert_asked(reply)["inputRequests"]) == ["model"]


def test_a_page_is_reported_without_an_id_of_its_own(client: McpClient) -> None:
    reply = ask(client, "send_to_page", capabilities={"elicitation": {"url": {}}})
    params = assert_asked(reply)["inputRequests"]["page"]["params"]
    assert set(params) == {"mode", "message", "url"}


def test_a_stream_ends_with_the_question(client: McpClient) -> None:
    meta = {CAPABILITIES: EVERYTHING, "progressToken": "p"}
    reply = client.asking_for_events().call("report_and_ask", meta=meta)
    progress, last = reply.events
    assert progress["method"] == "notifications/progress"
    assert last["result"]["resultType"] == "input_required"


def test_params_of_rounds_mean_nothing_before_there_were_rounds(client: McpClient) -> None:
    answers = {"person": accept(name="Ada")}
    earlier = client.with_revision(Revision.V2025_11_25)
    reply = ask(earlier, "greet", inputResponses=answers, requestState="garbage")
    assert "needs your input" in json.dumps(reply.json)


def test_a_state_has_a_size(client: McpClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools_registry.pipeline.calls.MAX_STATE_BYTES", 1000)
    answers = {"junk": accept(name="x" * 2000)}
    reply = ask(client, "greet", inputResponses=answers)
    assert reply.result["isError"] is True


def test_a_restarted_server_goes_on(client: McpClient) -> None:
    """Nothing of a call is kept in a process: another application, as after a restart, goes on."""
    with application() as app:
        first = ask(client.with_transport(app_transport(app)), "publish")
    with application() as app:
        last = again(client.with_transport(app_transport(app)), first, "publish", SURE)
    assert last.facts["sure"] is True


def test_the_gate_is_asked_in_every_round(client: McpClient, grant: Grant) -> None:
    first = ask(client, "publish")
    grant.narrow("setup:read")
    state = assert_asked(first)["requestState"]
    reply = ask(client, "publish", inputResponses=SURE, requestState=state)
    assert reply.error["data"]["reason"] == "scope_denied"


@pytest.mark.parametrize(
    ("method", "params", "key", "answer"),
    [
        ("prompts/get", {"name": "plan"}, "topic", accept(topic="lunch")),
        ("resources/read", {"uri": "asking://secret"}, "word", accept(word="lunch")),
    ],
)
def test_prompts_and_resources_ask_in_the_same_way(
    client: McpClient, method: str, params: Any, key: str, answer: Any
) -> None:
    meta = {"_meta": {CAPABILITIES: EVERYTHING}}
    first = client.request(method, {**params, **meta})
    state = assert_asked(first)["requestState"]
    given = {"inputResponses": {key: answer}, "requestState": state}
    last = client.request(method, {**params, **meta, **given})
    assert last.result["resultType"] == "complete"
    assert "lunch" in json.dumps(last.result)
    assert_refused(ask(client, "greet", **given))
    lacking = client.request(method, params)
    assert (lacking.status, lacking.code) == (400, -32021)
