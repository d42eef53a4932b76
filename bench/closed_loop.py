"""What drives a server where wrk is not installed: one connection a client, one call at a time.

An order comes as JSON on standard input, and what was seen leaves the way wrk.lua writes it.
"""

import asyncio
import json
import statistics
import sys
import time
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from bench.wires import Reply

LENGTH: Final = b"\r\ncontent-length:"
OK: Final = b"HTTP/1.1 200 "


@dataclass
class Seen:
    """The milliseconds of every answer, and what was wrong with the bad ones."""

    milliseconds: list[float] = field(default_factory=list)
    bad: int = 0
    broken: int = 0
    complaint: str = ""
    ended: float = 0.0


class Client(asyncio.Protocol):
    """One connection, which asks again as soon as it was answered, until the time is over."""

    def __init__(self, request: bytes, expected: Reply, until: float, seen: Seen) -> None:
        self._request, self._expected, self._until, self._seen = request, expected, until, seen
        self._received = b""
        self._sent = 0.0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101  TCP is
        self._transport = transport
        self._ask()

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, blank, body = self._received.partition(b"\r\n\r\n")
        if not blank or len(body) < _length(head):
            return
        self._received = b""
        self._judge(head, body)
        self._ask()

    def connection_lost(self, _error: Exception | None) -> None:
        if not self.over.done():
            self._seen.broken += 1
            self.over.set_result(None)

    def _ask(self) -> None:
        self._sent = time.perf_counter()
        if self._sent < self._until:
            self._transport.write(self._request)
            return
        self.over.set_result(None)
        self._transport.close()

    def _judge(self, head: bytes, body: bytes) -> None:
        self._seen.ended = time.perf_counter()
        self._seen.milliseconds.append((self._seen.ended - self._sent) * 1000)
        if not head.startswith(OK) or not self._expected.fits(body):
            self._seen.bad += 1
            self._seen.complaint = (head[9:13] + body[:200]).decode(errors="replace")


async def drive(order: dict[str, Any], seen: Seen) -> float:
    """Call until the time is over, wait for what is under way; returns when it began."""
    address = urlsplit(order["url"])
    loop = asyncio.get_running_loop()
    began = time.perf_counter()
    request = _request(order)
    expected = Reply(order["expected"].encode(), [tuple(part) for part in order["varying"]])
    clients = []
    for _ in range(order["concurrency"]):
        _, client = await loop.create_connection(
            lambda: Client(request, expected, began + order["seconds"], seen),
            address.hostname,
            address.port,
        )
        clients.append(client)
    await asyncio.gather(*(client.over for client in clients))
    return began


def _request(order: dict[str, Any]) -> bytes:
    address = urlsplit(order["url"])
    body: bytes = order["body"].encode()
    named = {"Host": address.netloc, **order["headers"], "Content-Length": str(len(body))}
    lines = [
        f"POST {address.path} HTTP/1.1",
        *(f"{name}: {value}" for name, value in named.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode() + body


def _length(head: bytes) -> int:
    _, found, rest = head.lower().partition(LENGTH)
    return int(rest.partition(b"\r\n")[0]) if found else 0


def main() -> None:
    order: dict[str, Any] = json.load(sys.stdin)
    seen = Seen()
    began = asyncio.run(drive(order, seen))
    times = seen.milliseconds
    cuts = statistics.quantiles(times, n=100) if len(times) > 1 else [0.0] * 99
    counted = f"{len(times)} {seen.bad} {seen.broken}"
    sys.stdout.write(f"bench {counted} {seen.ended - began:.6f} {cuts[49]:.3f} {cuts[98]:.3f}\n")
    sys.stdout.write(f"complaint {' '.join(seen.complaint.split())}\n")


if __name__ == "__main__":
    main()
