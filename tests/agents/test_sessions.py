"""Sessions over HTTP: created, listed, read, deleted, and refused."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents import sessions
from agents.models import Session, SessionTurn
from oauth import server_keys
from oauth.models import KeyKind
from tests.agents import application
from tests.agents.application import Application, says
from tests.agents.scripted import Script

pytestmark = pytest.mark.django_db


def test_sessions_are_listed_in_pages(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "PAGE", 2)
    made = [app.create(agent="scripted").session_id for _number in range(5)]
    listed, query = [], ""
    while True:
        page = app.send("GET", "/sessions", query=query).json
        listed += page["sessions"]
        if "nextCursor" not in page:
            break
        query = f"after={page['nextCursor']}"
    assert listed == made
    assert script.requests


def test_a_deleted_session_is_gone(app: Application) -> None:
    session_id = app.create().session_id
    deleted = app.send("DELETE", f"/session/{session_id}")
    assert (deleted.status, deleted.text) == (204, "")
    assert not Session.objects.exists()
    for method, body in (("GET", None), ("DELETE", None), ("POST", {"messages": [says("Hi")]})):
        answer = app.send(method, f"/session/{session_id}", body)
        assert (answer.status, answer.error) == (404, "Session not found.")


def test_another_keys_session_is_a_missing_one(app: Application) -> None:
    session_id = app.create().session_id
    other = application.with_key(app.organization)
    assert other.send("GET", f"/session/{session_id}").status == 404
    assert other.send("DELETE", f"/session/{session_id}").status == 404
    assert other.turn(session_id, says("Hi")).status == 404
    assert other.send("GET", "/sessions").json == {"sessions": []}
    assert Session.objects.count() == 1


@pytest.mark.parametrize("path", ["/meta", "/sessions", "/session/sess_x"])
def test_without_a_key_nothing_is_answered(app: Application, path: str) -> None:
    stranger = Application(app.organization, app.row, "")
    unknown = Application(app.organization, app.row, "halo_sk_" + "x" * 43)
    row = server_keys.build_row(app.organization, "SDK", ["sdk:write"], 1, KeyKind.SDK)
    of_the_sdk = server_keys.issue(row, user=None, address="").secret
    server_keys.revoke(app.row, user=None, address="")
    for one in (stranger, unknown, app, Application(app.organization, row, of_the_sdk)):
        answer = one.send("GET", path)
        assert answer.status == 401
        assert "API key" in answer.error
        assert answer.headers["www-authenticate"].startswith("Bearer")


def test_the_agents_may_be_listed_for_anyone(app: Application, settings: Any) -> None:
    settings.HALO_AGENTS_PUBLIC_META = True
    meta = Application(app.organization, app.row, "").send("GET", "/meta")
    assert [one["tools"] for one in meta.json["agents"]] == [[], []]


BODY = {"agent": {"name": "scripted"}, "messages": [says("Hi")]}
TOOL = {"name": "t", "description": "", "inputSchema": {"type": "object"}}


def make_body(**members: Any) -> dict[str, Any]:
    return {name: value for name, value in (BODY | members).items() if value is not None}


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"{", "not valid JSON"),
        (b"[]", "The body"),
        (make_body(messages=[says("a\0b")]), "cannot be stored"),
        (make_body(messages=[says("\ud800")]), "cannot be stored"),
        (make_body(agent=None), "agent"),
        (make_body(agent={"name": "nobody"}), "no agent 'nobody'"),
        (make_body(agent={"name": 7}), "agent.name"),
        (make_body(messages=None), "messages"),
        (make_body(messages=[]), "messages"),
        (make_body(messages="Hi"), "messages"),
        (make_body(messages=[{"role": "robot", "content": "Hi"}]), "messages[0].role"),
        (make_body(messages=[{"role": "user"}]), "messages[0]"),
        (make_body(messages=[{"role": "user", "content": 7}]), "messages[0].content"),
        (make_body(messages=[{"role": "assistant", "content": "Hi"}]), "must be a user message"),
        (
            make_body(messages=[{"role": "tool_permission", "toolCallId": "x", "granted": True}]),
            "role",
        ),
        (make_body(stream="fast"), "stream"),
        (make_body(tools=[{"name": "get weather", "inputSchema": {}}]), "tools[0].name"),
        (make_body(tools=[TOOL | {"inputSchema": {"type": "spoon"}}]), "tools[0].inputSchema"),
        (make_body(tools=[TOOL, TOOL]), "named twice"),
        (make_body(tools=[TOOL | {"name": "search_docs"}]), "has a tool 'search_docs'"),
        (make_body(agent={"name": "scripted", "tools": [{"name": "none"}]}), "no tool 'none'"),
        (make_body(agent={"name": "scripted", "tools": [{}]}), "agent.tools[0]"),
        (make_body(agent={"name": "scripted", "options": {"mood": "good"}}), "no option 'mood'"),
        (make_body(agent={"name": "scripted", "options": {"size": "huge"}}), "small, large"),
        (make_body(agent={"name": "scripted", "options": {"size": 7}}), "agent.options.size"),
    ],
)
def test_a_session_that_cannot_be_is_refused_with_a_sentence(
    app: Application, script: Script, body: Any, said: str
) -> None:
    answer = app.send("PUT", "/session", body)
    assert (answer.status, said in answer.error) == (400, True), answer.error
    assert not Session.objects.exists()
    assert script.requests == []


def test_only_one_turn_runs_at_a_time(app: Application, script: Script) -> None:
    session_id = app.create(agent="scripted").session_id
    running = SessionTurn.objects.get().pk
    until = timezone.now() + timedelta(minutes=1)
    Session.objects.update(turn_id=running, leased_until=until)
    answer = app.turn(session_id, says("Hi"))
    assert (answer.status, answer.error) == (409, "Another turn of this session is running.")
    assert answer.headers["retry-after"] == "1"
    Session.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    assert app.turn(session_id, says("Hi")).status == 200
    assert len(script.requests) == 2


def test_a_request_that_is_sent_twice_runs_once(app: Application, script: Script) -> None:
    session_id = app.create(agent="scripted").session_id
    path, body = f"/session/{session_id}", {"messages": [says("Hi")]}
    assert app.send("POST", path, body, Idempotency_Key="once").status == 200
    again = app.send("POST", path, body, Idempotency_Key="once")
    other = app.send("POST", path, {"messages": [says("Ho")]}, Idempotency_Key="once")
    assert (again.status, "sent before" in again.error) == (409, True)
    assert (other.status, "another body" in other.error) == (409, True)
    assert (SessionTurn.objects.count(), len(script.requests)) == (2, 2)


def test_history_that_a_session_begins_with_is_kept(app: Application, script: Script) -> None:
    before = [
        {"role": "system", "content": "Be brief."},
        says("What is the capital of France?"),
        {"role": "assistant", "content": "Paris."},
        {"role": "user", "content": [{"type": "text", "text": "And of Japan?"}]},
    ]
    answer = app.create(agent="scripted", messages=before)
    assert app.history(answer.session_id)[:-1] == before
    assert list(script.requests[0].history) == before


def test_methods_and_paths_that_do_not_exist(app: Application) -> None:
    assert app.send("POST", "/meta").status == 405
    assert app.send("PATCH", "/session/x").headers["allow"] == "GET, POST, DELETE, HEAD"
    assert app.send("GET", "/nothing").status == 404
    assert app.send("PUT", "/session", b"x" * 2_000_000).status == 413
    assert json.loads(app.send("PUT", "/session", b"\xff").text).keys() == {"error"}


def test_head_of_the_agents_of_a_key_is_the_length_of_get(app: Application) -> None:
    got, head = app.send("GET", "/meta"), app.send("HEAD", "/meta")
    assert (got.status, head.status, head.text) == (200, 200, "")
    assert head.headers["content-length"] == str(len(got.text.encode()))


@pytest.mark.parametrize("session_id", ["x", "sess_" + "0" * 32, "sess_%00", "sess_\0", "é" * 300])
def test_ids_that_cannot_be_are_missing_sessions(app: Application, session_id: str) -> None:
    for method, body in (("GET", None), ("DELETE", None), ("POST", {"messages": [says("Hi")]})):
        assert app.send(method, f"/session/{session_id}", body).status == 404


@pytest.mark.parametrize("after", ["x", "%00", "sess_1", "é"])
def test_a_cursor_that_is_none_is_refused(app: Application, after: str) -> None:
    answer = app.send("GET", "/sessions", query=f"after={after}")
    assert (answer.status, answer.error) == (400, "The cursor is not valid.")


def test_a_page_goes_on_where_its_last_session_was(app: Application) -> None:
    first, second = (app.create().session_id for _number in range(2))
    app.send("DELETE", f"/session/{first}")
    assert app.send("GET", "/sessions", query=f"after={first}").json == {"sessions": [second]}


def test_the_host_of_a_workspace_has_no_agents(app: Application) -> None:
    assert app.send("GET", "/meta", Host="acme.localhost").status == 404
    assert app.send("GET", "/meta", Host="localhost").status == 200
