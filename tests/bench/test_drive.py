"""What is read of what a driver says, and that our own one judges every reply."""

import asyncio
import json
from collections.abc import Callable
from typing import TypeAlias

import pytest

from bench import drive, wires
from bench.drive import Driven, Task
from bench.wires import Reply, Request

Answer: TypeAlias = Callable[[int], bytes]
RIGHT = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
WRONG = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\njello"
BROKEN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nhello"


def test_what_wrk_says_is_read_among_its_own_lines() -> None:
    output = (
        "Running 4s test\n  Requests/sec: 7\n\nbench 8000 0 0 4.000000 1.500 9.250\ncomplaint \n"
    )

    assert drive.parse(output) == Driven(answered=8000, bad=0, seconds=4.0, p50=1.5, p99=9.25)


def test_the_rate_is_of_the_time_until_the_last_reply() -> None:
    assert drive.parse("bench 300 0 0 1.500000 1.0 2.0\n").rate == 200


def test_a_server_that_answered_nothing_has_no_rate() -> None:
    assert drive.parse("bench 0 0 0 0.000000 0.0 0.0\n").rate == 0


def test_lost_connections_are_bad_replies() -> None:
    seen = drive.parse("bench 10 1 2 1.000000 1.0 2.0\ncomplaint 500 oh no\n")

    assert (seen.bad, seen.complaint) == (3, "2 connections broke; 500 oh no")


def test_output_without_figures_is_reported_and_not_counted() -> None:
    with pytest.raises(RuntimeError, match="unable to connect"):
        drive.parse("unable to connect to 127.0.0.1:9")


def test_our_own_driver_counts_every_reply() -> None:
    seen, asked = driven(lambda _count: RIGHT)

    assert (seen.answered, seen.bad) == (asked, 0)
    assert seen.answered > 0
    assert 0 < seen.p50 <= seen.p99


def test_our_own_driver_sees_a_body_that_differs() -> None:
    seen, asked = driven(lambda count: WRONG if count == 2 else RIGHT)

    assert (seen.answered, seen.bad, seen.complaint) == (asked, 1, "200 jello")


def test_our_own_driver_sees_another_status() -> None:
    seen, asked = driven(lambda _count: BROKEN)

    assert (seen.answered, seen.bad) == (asked, asked)


def test_our_own_driver_counts_a_connection_that_broke() -> None:
    seen, _ = driven(lambda count: b"" if count == 3 else RIGHT)

    assert (seen.bad, seen.complaint) == (1, "1 connections broke")


def test_our_own_driver_ignores_the_parts_that_vary() -> None:
    seen, asked = driven(lambda count: WRONG if count == 2 else RIGHT, Reply(b"hello", [(0, 1)]))

    assert (seen.answered, seen.bad) == (asked, 0)


def driven(answer: Answer, expected: Reply = Reply(b"hello")) -> tuple[Driven, int]:  # noqa: B008  it is frozen
    """What the driver saw of a server that answers so, and how often it was asked."""
    return asyncio.run(_driven(answer, expected))


async def _driven(answer: Answer, expected: Reply) -> tuple[Driven, int]:
    asked = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        while await _request(reader):
            asked += 1
            reply = answer(asked)
            writer.write(reply)
            if not reply:
                break
            await writer.drain()
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    request = Request({"Content-Type": "text/plain"}, b"hi")
    task = Task(f"http://{host}:{port}/", request, expected, concurrency=2, seconds=1)
    async with server:
        seen = await asyncio.to_thread(drive.with_our_own, task)
    return seen, asked


async def _request(reader: asyncio.StreamReader) -> bytes:
    """The body of a request; nothing at the end of the connection."""
    try:
        await reader.readuntil(b"\r\n\r\n")
        return await reader.readexactly(2)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""


def test_a_text_is_read_of_a_right_reply_only() -> None:
    right = b'{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"hi"}]}}'

    assert wires.said(right) == "hi"
    assert wires.said(right.replace(b'"content"', b'"isError":true,"content"')) is None
    assert wires.said(b'{"jsonrpc":"2.0","id":1,"error":{"code":-32002}}') is None
    assert wires.said(b"<html>") is None


def test_only_the_time_and_the_cursor_of_a_reply_may_differ() -> None:
    def body(time: str, cursor: str, name: str) -> bytes:
        value = {"name": name, "next_cursor": cursor, "as_of": time}
        text = {"type": "text", "text": json.dumps(value, indent=2)}
        result = {"content": [text], "structuredContent": value}
        return json.dumps({"jsonrpc": "2.0", "id": 1, "result": result}).encode()

    reply = Reply.of(body("10:00:01", "aB-_", "Maria"))

    assert len(reply.varying) == 4
    assert reply.fits(body("10:00:02", "Cd01", "Maria"))
    assert not reply.fits(body("10:00:01", "aB-_", "Mario"))
    assert not reply.fits(body("10:00:01", "aB-_2", "Maria"))
    assert wires.without_varying('{"as_of": "10:00:01"}') == wires.without_varying('{"as_of": "1"}')


def test_the_layer_that_refused_is_read_of_an_error() -> None:
    error = b'{"jsonrpc":"2.0","id":1,"error":{"code":-32002,"data":{"layer":"agent"}}}'

    assert wires.refused_by(error) == "agent"
    assert wires.refused_by(b'{"jsonrpc":"2.0","id":1,"result":{}}') == ""
