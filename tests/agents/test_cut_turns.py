"""Turns that are cut: what was read is kept, what was used is counted, and nobody holds them up."""

import asyncio
from collections.abc import AsyncGenerator
from functools import partial
from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.models import Session, SessionTurn
from agents.models_port import Answered, ModelRequest
from agents.protocol.events import DeltaEvent
from agents.tasks import end_abandoned
from oauth import server_keys
from tests.agents.application import Application, says
from tests.agents.scripted import Script, calls, text
from tests.agents.test_interrupted_turns import as_killed
from tests.agents.test_streams import BODY, Client, serving, wait_until
from tests.agents.test_turns import SAMPLE, SEARCH, start

pytestmark = pytest.mark.django_db(transaction=True)
HALF = {"role": "assistant", "content": "Half ", "_meta": {"partial": True}}


def stay_silent_after_a_word(script: Script) -> None:
    """Lets the model of the script send one word, and never end."""

    async def respond(request: ModelRequest) -> AsyncGenerator[Answered, None]:
        script.requests.append(request)
        yield DeltaEvent("text", "Half ")
        await asyncio.Event().wait()

    script.respond = respond  # type: ignore[method-assign]  the test's own


class SlowClient(Client):
    """One that does not read on before it may."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.may_read = asyncio.Event()

    async def send(self, event: Any) -> None:
        await super().send(event)
        if b"turn_start" in self.sent:
            await self.may_read.wait()


def test_a_client_that_does_not_read_keeps_no_turn_from_its_time_limit(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.limit(monkeypatch, seconds=0.5)
    stay_silent_after_a_word(script)

    async def look() -> SlowClient:
        client = SlowClient(app, "PUT", "/session", BODY)
        with serving() as served:
            answering = client.answer(served)
            await wait_until(SessionTurn.objects.filter(ended_at__isnull=False).exists)
            client.may_read.set()
            await answering
        return client

    sent = asyncio.run(look()).sent
    assert b'"delta":"Half "' in sent
    assert b"longer than it may" in sent
    session = Session.objects.get()
    assert (session.turn_id, app.history(session.pk)) == (None, [says("Hi"), HALF])
    turn = SessionTurn.objects.get()
    assert (turn.is_measured, turn.input_tokens) == (False, 10)


@pytest.mark.parametrize("by", ["stop", "delete"])
def test_a_turn_that_is_cut_is_not_free_and_a_server_that_stops_keeps_its_text(
    app: Application, script: Script, by: str
) -> None:
    stay_silent_after_a_word(script)

    async def cut() -> Client:
        client = Client(app, "PUT", "/session", BODY)
        with serving() as served:
            answering = client.answer(served)
            await wait_until(lambda: b"Half " in client.sent)
            if by == "stop":
                served.end()
            else:
                session = await asyncio.to_thread(Session.objects.get)
                deleting = Client(app, "DELETE", f"/session/{session.pk}", None)
                await deleting.answer(served)
                assert deleting.status == 204
            await answering
        return client

    assert b"turn_stop" in asyncio.run(cut()).sent
    kept = [app.history(session.pk)[-1] for session in Session.objects.all()]
    assert kept == ([HALF] if by == "stop" else [])
    turn = SessionTurn.objects.get()
    assert (turn.input_tokens, turn.output_tokens, turn.cost_micros) == (10, len("Half "), 3)
    assert (turn.is_measured, turn.stop_reason) == (False, "error")


def test_calls_that_a_limit_has_ended_have_their_results_in_the_stream(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.limit(monkeypatch, tool_calls=1)
    script.responses = [calls(SEARCH, SAMPLE)]
    tools = {"search_docs": True, "setup_get_jwt_sample": True}
    answer = start(app, stream="delta", server_tools=tools)
    results = [data["toolCallId"] for name, data in answer.events if name == "tool_result"]
    assert (results, answer.stop_reason) == (["c1", "c2"], "error")


def test_a_turn_whose_process_has_died_is_ended_by_the_schedule(
    app: Application, script: Script
) -> None:
    script.responses = [calls(SEARCH), text("Found.")]
    session_id = start(app, server_tools={"search_docs": True}).session_id
    as_killed(session_id, seconds=30)
    assert end_abandoned() == 0
    as_killed_turn = SessionTurn.objects.get()
    assert as_killed_turn.ended_at is None
    Session.objects.update(leased_until=as_killed_turn.started_at)
    assert (end_abandoned(), end_abandoned()) == (1, 0)
    ended = SessionTurn.objects.get()
    assert (ended.stop_reason, ended.is_measured, ended.input_tokens) == ("error", False, 20)


def test_a_turn_with_no_steps_left_answers_with_what_it_has(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.limit(monkeypatch, steps=2)
    script.responses = [calls(SEARCH), calls(SAMPLE), text("What I know.")]
    tools = {"search_docs": True, "setup_get_jwt_sample": True}
    answer = start(app, server_tools=tools)
    assert answer.stop_reason == "end_turn"
    assert [request.may_call for request in script.requests] == [True, True, False]
    assert app.history(answer.session_id)[-1]["content"] == "What I know."


def test_a_turn_ends_once_its_key_is_revoked(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.responses = [calls(SEARCH), text("For somebody else.")]
    respond = script.respond

    async def revoke_then_respond(request: ModelRequest) -> AsyncGenerator[Answered, None]:
        await sync_to_async(partial(server_keys.revoke, app.row, user=None, address=""))()
        async for piece in respond(request):
            yield piece

    monkeypatch.setattr(script, "respond", revoke_then_respond)
    answer = start(app, server_tools={"search_docs": True})
    assert (answer.stop_reason, "no longer valid" in answer.json["error"]) == ("error", True)
    assert len(script.requests) == 1
