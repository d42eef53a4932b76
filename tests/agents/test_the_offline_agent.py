"""The agent of a product without a language model: it searches, quotes, and says what it is."""

import json

import pytest

from audit.models import ActionExecution
from tests.agents.application import Application, says

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("documentation")]


def test_the_agents_and_their_tools_are_listed(app: Application) -> None:
    meta = app.send("GET", "/meta").json
    assert meta["version"] == 1
    by_name = {agent["name"]: agent for agent in meta["agents"]}
    assert {"documentation", "ask-ai"} <= by_name.keys()
    documentation = by_name["documentation"]
    assert "search_docs" in {tool["name"] for tool in documentation["tools"]}
    assert documentation["capabilities"]["stream"] == {"delta": {}, "message": {}, "none": {}}
    assert all(tool["inputSchema"]["type"] == "object" for tool in documentation["tools"])


def test_without_a_stream_the_answer_has_the_whole_exchange(app: Application) -> None:
    answer = app.create(server_tools={"search_docs": True})
    assert (answer.status, answer.stop_reason) == (201, "end_turn")
    roles = [message["role"] for message in answer.json["messages"]]
    assert roles == ["assistant", "tool", "assistant"]
    said = answer.json["messages"][-1]["content"]
    assert "No language model is configured" in said
    assert "> title: Scopes" in said


@pytest.mark.parametrize("wanted", ["1", "3", "5"])
def test_each_hit_is_quoted_in_lines_that_a_person_can_read(app: Application, wanted: str) -> None:
    answer = app.create(server_tools={"search_docs": True}, options={"quotes": wanted})
    _call, found, said = answer.json["messages"]
    hits = json.loads(found["content"])["results"]
    _notice, *quotes = said["content"].split("\n\n")
    assert len(hits) >= 5
    assert len(quotes) == int(wanted)
    assert f"> title: {hits[0]['title']}" in quotes[0].splitlines()
    assert "{" not in "".join(quote.splitlines()[0] for quote in quotes)


def test_a_search_without_hits_says_so(app: Application) -> None:
    answer = app.create("xqzvw jkqwz", server_tools={"search_docs": True})
    assert "The search found nothing." in answer.json["messages"][-1]["content"]


def test_the_same_in_pieces_and_in_whole_messages(app: Application) -> None:
    whole = app.create(server_tools={"search_docs": True})
    said = whole.json["messages"][-1]["content"]
    streamed = app.create(server_tools={"search_docs": True}, stream="delta")
    assert streamed.names[:4] == ["session_start", "turn_start", "tool_call", "tool_result"]
    assert streamed.names[-1] == "turn_stop"
    pieces = [data["delta"] for name, data in streamed.events if name == "text_delta"]
    assert (len(pieces) > 1, "".join(pieces)) == (True, said)
    messages = app.create(server_tools={"search_docs": True}, stream="message")
    assert messages.names == [
        *("session_start", "turn_start", "tool_call", "tool_result", "text", "turn_stop"),
    ]
    assert messages.events[4][1] == {"text": said}
    histories = [app.history(one.session_id) for one in (whole, streamed, messages)]
    for history in histories:
        assert [one["role"] for one in history] == ["user", "assistant", "tool", "assistant"]
        assert history[-1]["content"] == said


def test_a_tool_that_is_not_trusted_waits_for_permission(app: Application) -> None:
    asked = app.create(server_tools={"search_docs": False})
    assert asked.stop_reason == "tool_use"
    (message,) = asked.json["messages"]
    call_id = message["content"][0]["toolCallId"]
    granted = {"role": "tool_permission", "toolCallId": call_id, "granted": True}
    answer = app.turn(asked.session_id, granted, stream="message")
    assert answer.names == ["turn_start", "tool_result", "text", "turn_stop"]
    assert answer.stop_reason == "end_turn"


def test_without_tools_the_agent_says_which_to_enable(app: Application) -> None:
    answer = app.create()
    assert "agent.tools" in answer.json["messages"][0]["content"]


def test_a_call_is_recorded_as_the_agents(app: Application) -> None:
    session_id = app.create(server_tools={"search_docs": True}).session_id
    row = ActionExecution.objects.get(tool="search_docs")
    assert (row.actor_kind, row.outcome) == ("agent", "success")
    assert str(row.token_id) == str(app.row.pk)
    assert session_id in row.detail


def test_the_next_turn_searches_for_the_next_question(app: Application) -> None:
    session_id = app.create(server_tools={"search_docs": True}).session_id
    answer = app.turn(session_id, says("How is a token revoked?"))
    assert answer.status == 200
    assert answer.json["messages"][0]["content"][0]["input"] == {"query": "How is a token revoked?"}
    assert "sessionId" not in answer.json
