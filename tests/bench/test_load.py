"""The clients of a comparison judge every reply; what is read of one."""

import asyncio
from collections.abc import Callable
from typing import TypeAlias

from bench import load
from bench.measures import Turn
from bench.protocol import Reply, Request

Answer: TypeAlias = Callable[[int], bytes]
RIGHT = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"
WRONG = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\njello"
BROKEN = b"HTTP/1.1 503 Service Unavailable\r\nContent-Length: 5\r\n\r\nhello"


def test_the_driver_counts_every_reply() -> None:
    seen, asked = drive_server(lambda _count: RIGHT)

    assert (seen.answered, seen.bad) == (asked, 0)
    assert seen.answered > 0
    assert 0 < seen.p50 <= seen.p99


def test_the_driver_sees_a_body_that_differs() -> None:
    seen, asked = drive_server(lambda count: WRONG if count == 2 else RIGHT)

    assert (seen.answered, seen.bad, seen.complaint) == (asked, 1, "200 jello")


def test_the_driver_sees_another_status() -> None:
    seen, asked = drive_server(lambda _count: BROKEN)

    assert (seen.answered, seen.bad) == (asked, asked)


def test_the_driver_counts_a_connection_that_broke() -> None:
    seen, _ = drive_server(lambda count: b"" if count == 3 else RIGHT)

    assert (seen.bad, seen.complaint) == (1, "1 connections broke")


def test_the_driver_ignores_the_parts_that_vary() -> None:
    seen, asked = drive_server(
        lambda count: WRONG if count == 2 else RIGHT, Reply(b"hello", [(0, 1)])
    )

    assert (seen.answered, seen.bad) == (asked, 0)


def test_the_rate_is_of_the_time_until_the_last_reply() -> None:
    assert Turn(answered=300, bad=0, seconds=1.5, p50=1.0, p99=2.0).rate == 200


def test_a_server_that_answered_nothing_has_no_rate() -> None:
    seen, _ = drive_server(lambda _count: b"")

    assert (seen.answered, seen.rate, seen.bad) == (0, 0, 2)


def drive_server(answer: Answer, expected: Reply = Reply(b"hello")) -> tuple[Turn, int]:  # noqa: B008  it is frozen
    """What the driver saw of a server that answers so, and how often it was asked."""
    return asyncio.run(_drive_server(answer, expected))


async def _drive_server(answer: Answer, expected: Reply) -> tuple[Turn, int]:
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
    url = f"http://{host}:{port}/"
    async with server:
        seen = await asyncio.to_thread(load.drive, url, request, expected, 2, 1)
    return seen, asked


async def _request(reader: asyncio.StreamReader) -> bytes:
    """The body of a request; nothing at the end of the connection."""
    try:
        await reader.readuntil(b"\r\n\r\n")
        return await reader.readexactly(2)
    except (asyncio.IncompleteReadError, ConnectionError):
        return b""
