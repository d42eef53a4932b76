"""Clients that send one request at a time each, as fast as it is answered: a closed loop."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

import httpx2
import uvloop

from bench.measures import Turn, percentile
from bench.protocol import Reply, Request

LENGTH: Final = b"\r\ncontent-length:"
OK: Final = b"HTTP/1.1 200 "
MAX_BYTES: Final = 2**24  # of a reply


@dataclass
class Answers:
    """Milliseconds of every answer; how many were bad, how many connections broke."""

    began: float
    milliseconds: list[float] = field(default_factory=list)
    bad: int = 0
    broken: int = 0
    complaint: str = ""
    ended: float = 0.0

    def add(self, sent: float) -> None:
        self.ended = time.perf_counter()
        self.milliseconds.append((self.ended - sent) * 1000)

    def to_turn(self) -> Turn:
        """The figures until the last answer; lost connections count as bad replies."""
        complaint = " ".join(self.complaint.split())
        if self.broken:
            complaint = f"{self.broken} connections broke; {complaint}".rstrip("; ")
        return Turn(
            answered=len(self.milliseconds),
            bad=self.bad + self.broken,
            seconds=max(self.ended - self.began, 0.0),
            p50=percentile(self.milliseconds, 50),
            p99=percentile(self.milliseconds, 99),
            complaint=complaint,
        )


def drive(url: str, request: Request, expected: Reply, concurrency: int, seconds: float) -> Turn:
    """Send a request until the time is over, and wait for the answers in flight.

    Every reply is compared, byte for byte, with a right one, but for the parts that vary.
    """
    address, message = urlsplit(url), to_http(url, request)
    answers = Answers(time.perf_counter())

    async def send_again_and_again() -> None:
        reader, writer = await asyncio.open_connection(
            address.hostname, address.port, limit=MAX_BYTES
        )
        try:
            while (sent := time.perf_counter()) < answers.began + seconds:
                writer.write(message)
                head = await reader.readuntil(b"\r\n\r\n")
                body = await reader.readexactly(_length(head))
                answers.add(sent)
                if not head.startswith(OK) or not expected.fits(body):
                    answers.bad += 1
                    answers.complaint = (head[9:13] + body[:200]).decode(errors="replace")
        except (EOFError, OSError):
            answers.broken += 1
        finally:
            writer.close()

    async def send_all() -> None:
        await asyncio.gather(*(send_again_and_again() for _ in range(concurrency)))

    uvloop.run(send_all())
    return answers.to_turn()


def repeat(
    url: str, act: Callable[[httpx2.AsyncClient], Awaitable[bool]], concurrency: int, seconds: float
) -> Turn:
    """The same for requests that differ: an act returns whether its answer was right."""
    answers = Answers(time.perf_counter())
    limits = httpx2.Limits(max_connections=concurrency, max_keepalive_connections=concurrency)

    async def repeat_one(http: httpx2.AsyncClient) -> None:
        while (sent := time.perf_counter()) < answers.began + seconds:
            answers.bad += not await act(http)
            answers.add(sent)

    async def repeat_all() -> None:
        async with httpx2.AsyncClient(base_url=url, limits=limits, timeout=30) as http:
            await asyncio.gather(*(repeat_one(http) for _ in range(concurrency)))

    asyncio.run(repeat_all())
    return answers.to_turn()


def to_http(url: str, request: Request) -> bytes:
    address, length = urlsplit(url), str(len(request.body))
    headers = {"Host": address.netloc, **request.headers, "Content-Length": length}
    lines = [f"POST {address.path} HTTP/1.1", *(f"{name}: {headers[name]}" for name in headers)]
    return "\r\n".join([*lines, "", ""]).encode() + request.body


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(LENGTH)
    return int(rest.partition(b"\r\n")[0]) if found else 0
