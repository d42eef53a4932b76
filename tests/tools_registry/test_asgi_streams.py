"""Calls that speak while they run: what goes over the stream, and what leaving it means."""

import asyncio
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from audit import record
from audit.models import ActionExecution
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision
from tests.drivers.asgi import Wire, application, exchange, open_request, scope_of
from tests.drivers.mcp import BOTH, HOST, McpClient, events_in
from tools_registry.endpoint.asgi import Timeouts
from tools_registry.endpoint.streams import delivery
from tools_registry.endpoint.streams.delivery import Outbox
from tools_registry.endpoint.streams.streaming import left_out_warning

pytestmark = pytest.mark.usefixtures("lab")

MODERN = Revision.V2026_07_28
LOG_LEVEL = "io.modelcontextprotocol/logLevel"
TOKEN = {"progressToken": "p1"}
HASTY = Timeouts(body=30, keep_alive=0.02)


def request_of(
    client: McpClient, name: str, arguments: dict[str, Any], meta: dict[str, Any]
) -> tuple[dict[str, Any], bytes]:
    """The scope and body of a call that asks for events."""
    params = client.params({"name": name, "arguments": arguments, "_meta": meta})
    headers = {
        "Host": HOST,
        "Accept": BOTH,
        "Content-Type": "application/json",
        "Authorization": f"Bearer {client.token}",
        "MCP-Protocol-Version": client.revision.value,
        **client.mirror("tools/call", params),
    }
    kept = [(name, value) for name, value in headers.items() if value is not None]
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    return scope_of("POST", kept), json.dumps(message).encode()


def stream_call(
    client: McpClient, name: str, arguments: dict[str, Any], meta: dict[str, Any]
) -> Wire:
    scope, body = request_of(client, name, arguments, meta)
    with application() as app:
        return exchange(app, scope, [body])


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_progress_comes_as_events_and_the_last_one_is_the_response(
    mcp: McpClient, revision: Revision
) -> None:
    wire = stream_call(mcp.with_revision(revision), "count_up", {"to": 3}, TOKEN)
    assert (wire.status, wire.headers["content-type"]) == (200, "text/event-stream")
    assert wire.headers["x-accel-buffering"] == "no"
    assert wire.headers["cache-control"] == "no-store"
    assert "content-length" not in wire.headers
    *progress, response = wire.reply.events
    in_words = revision != Revision.V2024_11_05
    assert [event["params"] for event in progress] == [
        {"progressToken": "p1", "progress": n, "total": 3}
        | ({"message": f"at {n}"} if in_words else {})
        for n in (1, 2, 3)
    ]
    assert {event["method"] for event in progress} == {"notifications/progress"}
    assert response["id"] == 9
    assert json.loads(response["result"]["content"][0]["text"]) == {"counted": 3}
    row = ActionExecution.objects.get()
    assert (row.outcome, row.request_id) == ("success", wire.headers["x-request-id"])


@pytest.mark.parametrize(
    ("level", "received"),
    [("debug", ["debug", "warning"]), ("warning", ["warning"]), ("error", [])],
)
def test_log_messages_come_from_the_level_asked_for(
    mcp: McpClient, level: str, received: list[str]
) -> None:
    wire = stream_call(mcp.with_revision(MODERN), "count_up", {"to": 1}, {LOG_LEVEL: level})
    *logs, response = wire.reply.events
    assert [event["params"]["level"] for event in logs] == received
    assert "result" in response


def test_nobody_who_did_not_ask_for_it_gets_a_log_message(mcp: McpClient) -> None:
    wire = stream_call(mcp.with_revision(MODERN), "count_up", {"to": 1}, TOKEN)
    methods = [event.get("method") for event in wire.reply.events]
    assert methods == ["notifications/progress", None]


@pytest.mark.parametrize(
    ("accept", "meta", "tool"),
    [
        ("application/json", TOKEN, "count_up"),
        ("*/*", TOKEN, "count_up"),
        (None, TOKEN, "count_up"),
        (BOTH, {}, "count_up"),
        (BOTH, {"progressToken": 1.5}, "count_up"),
        (BOTH, TOKEN, "echo"),
    ],
    ids=["json-only", "wildcard", "no-accept", "asked-for-nothing", "no-token", "silent-tool"],
)
def test_the_answer_is_json_unless_there_is_something_to_say_to_somebody_who_asked(
    mcp: McpClient, accept: str | None, meta: dict[str, Any], tool: str
) -> None:
    arguments = {"to": 1} if tool == "count_up" else {"value": 1}
    reply = mcp.call(tool, arguments, meta=meta, headers={"Accept": accept})
    assert reply.headers["content-type"] == "application/json"
    assert "result" in reply.json


def test_a_refusal_of_a_call_that_would_stream_is_json_with_its_status(mcp: McpClient) -> None:
    wire = stream_call(mcp, "count_up", {"to": "x"}, TOKEN)
    assert wire.headers["content-type"] == "application/json"
    assert wire.reply.code == -32602


def test_the_events_of_a_call_come_in_order(mcp: McpClient) -> None:
    reply = mcp.asking_for_events().call("count_up", {"to": 2}, meta=TOKEN)
    assert reply.headers["content-type"] == "text/event-stream"
    assert [event.get("method") for event in reply.events] == [
        "notifications/progress",
        "notifications/progress",
        None,
    ]


def test_a_quiet_stream_is_kept_alive_with_comments(mcp: McpClient, tmp_path: Path) -> None:
    scope, body = request_of(mcp, "wait", {"file": str(tmp_path / "go")}, TOKEN)

    async def quiet() -> Wire:
        async with open_request(app, scope, body) as wire:
            await wire.wait_until(lambda: wire.body.count(b": keep-alive\n\n") >= 2)
            await asyncio.to_thread((tmp_path / "go").touch)
        return wire

    with application(HASTY) as app:
        wire = asyncio.run(quiet())
    *_begun, response = wire.reply.events
    assert json.loads(response["result"]["content"][0]["text"]) == {"found": "go"}


async def left_midway(app: Any, client: McpClient, tool: str, awaited: Path) -> Wire:
    """Go away once the tool has begun; the file it waits for comes a little later."""
    scope, body = request_of(client, tool, {"file": str(awaited)}, TOKEN)
    async with open_request(app, scope, body) as wire:
        await wire.wait_until(lambda: b"notifications/progress" in wire.body)
        wire.gone.set()
        # What the edge makes of it has happened once the loop has gone round a few times.
        for _ in range(20):
            await asyncio.sleep(0)
        await asyncio.to_thread(awaited.touch)
    return wire


@pytest.mark.parametrize("tool", ["wait", "write_slowly"])
def test_closing_the_stream_cancels_at_the_newest_revision(
    mcp: McpClient, tmp_path: Path, tool: str
) -> None:
    with application() as app:
        wire = asyncio.run(left_midway(app, mcp.with_revision(MODERN), tool, tmp_path / "go"))
    row = ActionExecution.objects.get()
    assert (row.outcome, row.reason) == ("cancelled", "cancelled")
    # The response is not sent after that, nor anything else.
    assert [event["method"] for event in wire.reply.events] == ["notifications/progress"]


async def given_up_on(app: Any, client: McpClient, awaited: Path) -> None:
    """The server cancels the request, as after its shutdown timeout."""
    scope, body = request_of(client, "write_slowly", {"file": str(awaited)}, TOKEN)
    wire = Wire([body])
    running = asyncio.ensure_future(app(scope, wire.receive, wire.send))
    await wire.wait_until(lambda: b"notifications/progress" in wire.body)
    running.cancel()
    await asyncio.sleep(0)
    await asyncio.to_thread(awaited.touch)
    await asyncio.wait_for(running, 20)


async def not_to_be_reached(app: Any, client: McpClient, awaited: Path) -> None:
    """A server that raises where a client has gone, as ASGI allows."""
    scope, body = request_of(client, "write_slowly", {"file": str(awaited)}, TOKEN)
    wire = Wire([body])

    async def send(event: Any) -> None:
        await wire.send(event)
        if event.get("body"):
            raise OSError("broken pipe")

    running = asyncio.ensure_future(app(scope, wire.receive, send))
    await wire.wait_until(lambda: b"notifications/progress" in wire.body)
    await asyncio.sleep(0)
    await asyncio.to_thread(awaited.touch)
    await asyncio.wait_for(running, 20)


@pytest.mark.parametrize("lose", [given_up_on, not_to_be_reached])
@pytest.mark.parametrize(
    ("revision", "outcome"), [(MODERN, "cancelled"), (HANDSHAKE[-1], "success")], ids=str
)
def test_a_call_whose_client_is_lost_in_another_way_comes_to_its_end_all_the_same(
    mcp: McpClient, tmp_path: Path, lose: Any, revision: Revision, outcome: str
) -> None:
    with application() as app:
        asyncio.run(lose(app, mcp.with_revision(revision), tmp_path / "go"))
    assert ActionExecution.objects.get().outcome == outcome


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_closing_the_stream_did_not_cancel_before(
    mcp: McpClient, tmp_path: Path, revision: Revision
) -> None:
    with application() as app:
        asyncio.run(left_midway(app, mcp.with_revision(revision), "wait", tmp_path / "go"))
    assert ActionExecution.objects.get().outcome == "success"


def test_a_call_that_fails_on_its_stream_says_so_there(mcp: McpClient, tmp_path: Path) -> None:
    missing = tmp_path / "no-such-folder" / "go"
    wire = stream_call(mcp.with_revision(MODERN), "wait", {"file": str(missing)}, TOKEN)
    (response,) = wire.reply.events
    assert response["result"]["isError"] is True
    assert ActionExecution.objects.get().outcome == "tool_error"


def test_a_row_that_cannot_be_written_is_reported_on_the_stream_with_a_number_to_quote(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_given: object) -> None:
        raise OSError("disk full at /var/lib/secret")

    monkeypatch.setattr(record, "store_ended_call", full)
    wire = stream_call(mcp, "count_up", {"to": 1}, TOKEN)
    response = wire.reply.events[-1]
    assert response["id"] == 9
    assert response["error"] == {
        "code": -32603,
        "message": f"Internal error. Quote {wire.headers['x-request-id']} to your admin.",
    }


@pytest.mark.parametrize(
    ("level", "in_words"), [(None, False), ("error", False), ("warning", True), ("debug", True)]
)
def test_a_reader_that_is_too_slow_misses_notifications_and_is_shown_how_many(
    monkeypatch: pytest.MonkeyPatch, level: str | None, in_words: Any
) -> None:
    monkeypatch.setattr(delivery, "MAX_WAITING", 3)
    terms = Terms(MODERN, log_level=level)

    async def emit_at_once() -> bytes:
        outbox = Outbox(lambda: None, partial(left_out_warning, terms))
        for number in range(10):
            await asyncio.to_thread(outbox.emit, {"method": "notifications/progress", "n": number})
        await asyncio.to_thread(outbox.emit, {"id": 9, "result": {}})
        await asyncio.sleep(0)
        return outbox.take()

    sent = asyncio.run(emit_at_once())
    *kept, response = events_in(sent)
    assert [event["n"] for event in kept if "n" in event] == [0, 1, 2]
    assert response == {"id": 9, "result": {}}
    reported = [event["params"]["data"] for event in kept[3:]]
    assert reported == (
        ["7 messages were left out: they were read too slowly."] if in_words else []
    )
    assert (b": 7 messages left out\n\n" in sent) is not in_words
