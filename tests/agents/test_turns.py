"""Turns of a session: calls, results and permissions, by a model that a test has written down."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agents.models import SessionMessage, SessionTurn
from audit.models import ActionExecution
from tests.agents import scripted
from tests.agents.application import AgentAnswer, Application, permission, result, says
from tests.agents.scripted import Script, calls, text

pytestmark = pytest.mark.django_db

WEATHER = {
    "name": "get_weather",
    "description": "Get the weather",
    "inputSchema": {
        "type": "object",
        "properties": {"place": {"type": "string"}},
        "required": ["place"],
    },
}
SEARCH = ("c1", "search_docs", {"query": "scopes"})
SAMPLE = ("c2", "setup_get_jwt_sample", {"language": "python"})
PLACE = ("c3", "get_weather", {"place": "Tokyo"})
MIXED = {"server_tools": {"search_docs": True, "setup_get_jwt_sample": False}, "tools": [WEATHER]}


def start(app: Application, **given: Any) -> AgentAnswer:
    return app.create("Hello", agent="scripted", **given)


def test_calls_come_first_then_the_trusted_result_then_the_stop(
    app: Application, script: Script
) -> None:
    script.responses = [calls(PLACE, SAMPLE, SEARCH, text="One moment."), text("Sunny.")]
    answer = start(app, stream="message", **MIXED)
    assert answer.names == [
        *("session_start", "turn_start", "text", "tool_call", "tool_call", "tool_call"),
        *("tool_result", "turn_stop"),
    ]
    assert answer.stop_reason == "tool_use"
    assert answer.events[-2][1]["toolCallId"] == "c1"
    assert [data["toolCallId"] for name, data in answer.events if name == "tool_call"] == [
        *("c3", "c2", "c1"),
    ]


@pytest.mark.parametrize("step", [1, -1], ids=["in-order", "turned-round"])
def test_results_and_permissions_go_together_in_any_order(
    app: Application, script: Script, step: int
) -> None:
    script.responses = [calls(PLACE, SAMPLE, SEARCH), text("Sunny.")]
    session_id = start(app, **MIXED).session_id
    sent = [result("c3"), permission("c2")]
    answer = app.turn(session_id, *sent[::step])
    assert (answer.status, answer.stop_reason) == (200, "end_turn")
    stored = [one["toolCallId"] for one in app.history(session_id) if one["role"] == "tool"]
    assert sorted(stored) == ["c1", "c2", "c3"]
    assert ActionExecution.objects.filter(tool="setup_get_jwt_sample").count() == 1
    assert [one["role"] for one in script.requests[-1].history] == [
        *("user", "assistant", "tool", "tool", "tool"),
    ]


def test_a_denied_call_is_not_run_and_the_model_reads_why(app: Application, script: Script) -> None:
    script.responses = [calls(SAMPLE), text("As you wish.")]
    session_id = start(app, **MIXED).session_id
    app.turn(session_id, permission("c2", granted=False, reason="Not now"))
    assert not ActionExecution.objects.filter(tool="setup_get_jwt_sample").exists()
    assert script.requests[-1].history[-1] == result("c2", "Tool call denied: Not now")
    assert result("c2", "Tool call denied: Not now") in app.history(session_id)
    assert all(one["role"] != "tool_permission" for one in app.history(session_id))


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ([result("c3")], "missing: c2"),
        ([permission("c2")], "missing: c3"),
        ([result("c3"), permission("c2"), result("c9")], "No such call waits: c9"),
        ([result("c3"), result("c3"), permission("c2")], "resolved twice"),
        ([result("c3"), result("c2")], "send a permission"),
        ([permission("c3"), permission("c2")], "send its result"),
        ([says("Well?")], "c3, c2"),
        ([result("c3"), permission("c2"), says("Well?")], "in a later request"),
        ([result("c3"), permission("c2"), result("c1")], "No such call waits: c1"),
    ],
)
def test_what_does_not_resolve_all_calls_is_refused_and_nothing_is_stored(
    app: Application, script: Script, sent: list[Any], said: str
) -> None:
    script.responses = [calls(PLACE, SAMPLE, SEARCH), text("Sunny.")]
    session_id = start(app, **MIXED).session_id
    before = list(SessionMessage.objects.values_list()), list(SessionTurn.objects.values_list())
    answer = app.turn(session_id, *sent)
    assert (answer.status, said in answer.error) == (400, True), answer.error
    after = list(SessionMessage.objects.values_list()), list(SessionTurn.objects.values_list())
    assert after == before
    assert app.turn(session_id, result("c3"), permission("c2")).stop_reason == "end_turn"


def test_a_result_that_nothing_waits_for_is_refused(app: Application, script: Script) -> None:
    session_id = start(app).session_id
    answer = app.turn(session_id, result("c1"))
    assert (answer.status, "No call waits" in answer.error) == (400, True)
    assert len(script.requests) == 1


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (("c1", "no_such_tool", {}), "no tool of this name"),
        (("c1", "setup_get_jwt_sample", {}), "no tool of this name"),
        (("c1", "search_docs", {"query": 7}), "query"),
        (("c1", "get_weather", {"place": 7}), "invalid"),
    ],
    ids=["unknown", "disabled", "arguments", "arguments-of-the-client"],
)
def test_a_call_that_cannot_be_made_is_answered_to_the_model(
    app: Application, script: Script, call: Any, said: str
) -> None:
    script.responses = [calls(call), text("Sorry.")]
    answer = start(app, server_tools={"search_docs": True}, tools=[WEATHER])
    assert answer.stop_reason == "end_turn"
    assert said in script.requests[-1].history[-1]["content"]


def test_settings_of_a_turn_last(app: Application, script: Script) -> None:
    session_id = start(app, server_tools={"search_docs": True}, tools=[WEATHER]).session_id
    agent = {"tools": [{"name": "setup_get_jwt_sample"}], "options": {"language": "de"}}
    app.turn(session_id, says("Go on"), agent=agent, tools=[])
    app.turn(session_id, says("Go on"))
    session = app.send("GET", f"/session/{session_id}").json
    assert session["agent"] == {
        "name": "scripted",
        "tools": [{"name": "setup_get_jwt_sample", "trust": False}],
        "options": {"language": "de", "size": "small"},
    }
    assert session["tools"] == []
    assert [one.name for one in script.requests[-1].tools] == ["setup_get_jwt_sample"]
    assert script.requests[-1].options == {"language": "de", "size": "small"}


@pytest.mark.parametrize("stream", ["delta", "message", "none"])
def test_a_model_that_fails_ends_the_turn_and_not_the_session(
    app: Application, script: Script, stream: str
) -> None:
    script.responses = [scripted.FAILED, text("Back again.")]
    answer = start(app, stream=stream)
    assert answer.stop_reason == "error"
    assert app.turn(answer.session_id, says("And now?")).stop_reason == "end_turn"


@pytest.mark.parametrize(
    "limits", [{"steps": 3}, {"tool_calls": 3}, {"tokens": 40}], ids=["steps", "calls", "tokens"]
)
def test_a_model_that_never_ends_is_ended(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    script.limit(monkeypatch, **limits)
    script.responses = [calls(SEARCH)]
    answer = start(app, server_tools={"search_docs": True})
    assert answer.stop_reason in {"error", "max_tokens"}
    assert len(script.requests) <= 4
    turn = SessionTurn.objects.get()
    assert turn.input_tokens == 10 * len(script.requests)
    assert turn.stop_reason == answer.stop_reason


@pytest.mark.django_db(transaction=True)
def test_of_many_equal_requests_at_once_one_runs(app: Application, script: Script) -> None:
    script.responses = [calls(SAMPLE), text("Done.")]
    session_id = start(app, **MIXED).session_id
    with ThreadPoolExecutor(6) as pool:
        sent = [pool.submit(app.turn, session_id, permission("c2")) for _number in range(6)]
        answers = [one.result() for one in sent]
    statuses = [one.status for one in answers]
    assert (statuses.count(200), {*statuses} <= {200, 400, 409}) == (1, True)
    assert ActionExecution.objects.filter(tool="setup_get_jwt_sample").count() == 1
    assert [one["role"] for one in app.history(session_id)] == [
        *("user", "assistant", "tool", "assistant"),
    ]
