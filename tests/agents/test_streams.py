"""Open streams: comments while nothing happens, clients that leave, and a server that stops."""

import asyncio
import json
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from agents import edge
from agents.edge import AgentApplication
from agents.models import Session, SessionTurn
from agents.models_port import Answered, ModelRequest
from tests.agents.application import Application, says
from tests.agents.scripted import Script
from tests.drivers.asgi import scope_of

pytestmark = pytest.mark.django_db(transaction=True)


class Client:
    """One request; its client disconnects once `gone` is set."""

    def __init__(self, app: Application, method: str, path: str, body: Any, **headers: str) -> None:
        given = {"Host": "testserver", "Authorization": f"Bearer {app.secret}", **headers}
        self.scope = scope_of(method, list(given.items()), path=f"/aap{path}")
        self.body = json.dumps(body).encode()
        self.gone = asyncio.Event()
        self.is_read = False
        self.status = 0
        self.headers: dict[str, str] = {}
        self.sent = b""

    async def receive(self) -> dict[str, Any]:
        if not self.is_read:
            self.is_read = True
            return {"type": "http.request", "body": self.body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def send(self, event: Any) -> None:
        if event["type"] == "http.response.start":
            self.status = event["status"]
            self.headers = {name.decode(): value.decode() for name, value in event["headers"]}
        self.sent += event.get("body", b"")

    def answer(self, served: AgentApplication) -> "asyncio.Task[None]":
        path = self.scope["path"].removeprefix("/aap/")
        return asyncio.create_task(served(self.scope, self.receive, self.send, path))


async def wait_until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(60):
        while not await asyncio.to_thread(condition):
            await asyncio.to_thread(time.sleep, 0.02)


@contextmanager
def serving() -> Iterator[AgentApplication]:
    served = AgentApplication()
    try:
        yield served
    finally:
        served.close()


BODY = {"agent": {"name": "scripted"}, "messages": [says("Hi")], "stream": "delta"}


def test_a_silent_stream_is_kept_open_by_comments(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(edge, "KEEP_ALIVE_SECONDS", 0.05)

    async def look() -> Client:
        model = HeldModel(script)
        client = Client(app, "PUT", "/session", BODY)
        with serving() as served:
            answering = client.answer(served)
            await wait_until(lambda: client.sent.count(b": keep-alive\n\n") >= 2)
            model.may_answer.set()
            await answering
        return client

    client = asyncio.run(look())
    assert client.sent.endswith(b'event: turn_stop\ndata: {"stopReason":"end_turn"}\n\n')
    assert (client.status, client.headers["cache-control"]) == (200, "no-store")


class HeldModel:
    """The model of a script, which answers only once `may_answer` is set."""

    def __init__(self, script: Script) -> None:
        self.may_answer, self.is_asked = asyncio.Event(), False
        self._respond = script.respond
        script.respond = self._respond_later  # type: ignore[method-assign]  the test's own

    async def _respond_later(self, request: ModelRequest) -> AsyncGenerator[Answered, None]:
        self.is_asked = True
        await self.may_answer.wait()
        async for piece in self._respond(request):
            yield piece


@pytest.mark.parametrize("stream", ["delta", "message", "none"])
def test_a_client_that_leaves_does_not_end_its_turn(
    app: Application, script: Script, stream: str
) -> None:
    async def leave() -> None:
        model = HeldModel(script)
        client = Client(app, "PUT", "/session", {**BODY, "stream": stream})
        with serving() as served:
            answering = client.answer(served)
            # The turn runs by then: before, nothing but the end of its lease would end it.
            await wait_until(lambda: model.is_asked)
            client.gone.set()
            if stream == "none":
                answering.cancel()
            else:
                await answering
            model.may_answer.set()
            await wait_until(lambda: SessionTurn.objects.filter(ended_at__isnull=False).exists())

    asyncio.run(leave())
    session = Session.objects.get()
    assert (session.turn_id, session.leased_until) == (None, None)
    assert SessionTurn.objects.get().stop_reason == "end_turn"
    assert app.history(session.pk)[-1] == {"role": "assistant", "content": "Done."}


def test_a_server_that_stops_ends_its_streams_and_turns(app: Application, script: Script) -> None:
    async def stop() -> Client:
        model = HeldModel(script)
        client = Client(app, "PUT", "/session", BODY)
        with serving() as served:
            answering = client.answer(served)
            await wait_until(lambda: b"turn_start" in client.sent)
            served.end()
            await answering
        model.may_answer.set()
        return client

    client = asyncio.run(stop())
    last = client.sent.decode().split("\n\n")[-2]
    assert last.startswith("event: turn_stop\n")
    assert json.loads(last.partition("data: ")[2])["stopReason"] == "error"
    turn = SessionTurn.objects.get()
    assert (turn.stop_reason, "server stopped" in turn.error) == ("error", True)
    assert app.turn(Session.objects.get().pk, says("Still there?")).status == 200


def test_a_page_of_another_origin_reads_what_it_may(app: Application, settings: Any) -> None:
    settings.HALO_AGENTS_ORIGINS = ["https://app.example.com"]
    allowed = app.send("GET", "/meta", Origin="https://app.example.com")
    other = app.send("GET", "/meta", Origin="https://evil.example.com")
    assert allowed.headers["access-control-allow-origin"] == "https://app.example.com"
    assert "access-control-allow-origin" not in other.headers
    stranger = Application(app.organization, app.row, "")
    asked = stranger.send("OPTIONS", "/session", Origin="https://app.example.com")
    assert (asked.status, "PUT" in asked.headers["access-control-allow-methods"]) == (204, True)
    assert stranger.send("OPTIONS", "/session", Origin="https://evil.example.com").status == 403
