"""Clients that post prepared requests as fast as they are answered, in a process of their own.

An order comes as JSON on standard input: `exchanges`, each a list of whole HTTP requests that are
sent one after the other, taken in turns by so many connections; and `mark`, which every good answer
holds. What was seen leaves as JSON on standard output.
"""

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

TIMEOUT: Final = 60  # seconds
MAX_ANSWER_BYTES: Final = 2**24  # bytes of an answer


@dataclass
class Seen:
    """Milliseconds of each exchange, bytes of the last one's bodies, and the first bad answer."""

    milliseconds: list[float] = field(default_factory=list)
    bytes: int = 0
    answers: int = 0
    seconds: float = 0.0
    bad: str = ""


@dataclass(frozen=True)
class Order:
    host: str
    port: int
    exchanges: Sequence[Sequence[str]]
    mark: str
    concurrency: int
    seconds: float


class BadAnswer(Exception):
    """An answer that is none; its beginning is the message."""


class Connection:
    """One connection that stays open."""

    def __init__(self, order: Order) -> None:
        self._order = order
        self._mark = order.mark.encode()

    async def open(self) -> None:
        self._reader, self._writer = await asyncio.open_connection(
            self._order.host, self._order.port, limit=MAX_ANSWER_BYTES
        )

    async def ask(self, request: bytes) -> int:
        """Send one request; returns the bytes of the answer's body. Raises BadAnswer."""
        self._writer.write(request)
        async with asyncio.timeout(TIMEOUT):
            head = await self._reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
            body = await self._reader.readexactly(length)
        if not head.startswith(b"HTTP/1.1 200") or self._mark not in body:
            raise BadAnswer((head + body)[:500].decode("latin-1"))
        return length

    def close(self) -> None:
        self._writer.close()


async def drive(order: Order) -> Seen:
    """Repeat the exchanges until the time is up or one is bad; what is under way is awaited."""
    seen = Seen()
    turns = itertools.cycle([[one.encode() for one in exchange] for exchange in order.exchanges])
    connections = [Connection(order) for _ in range(order.concurrency)]
    await asyncio.gather(*(connection.open() for connection in connections))
    began = time.perf_counter()
    until = began + order.seconds
    await asyncio.gather(*(_repeat(connection, turns, seen, until) for connection in connections))
    seen.seconds = time.perf_counter() - began
    for connection in connections:
        connection.close()
    return seen


async def _repeat(
    connection: Connection, turns: Iterator[list[bytes]], seen: Seen, until: float
) -> None:
    while time.perf_counter() < until and not seen.bad:
        exchange, since = next(turns), time.perf_counter()
        try:
            seen.bytes = sum([await connection.ask(request) for request in exchange])
        except (BadAnswer, OSError, EOFError, TimeoutError) as error:
            seen.bad = seen.bad or f"{type(error).__name__}: {error}"
            return
        seen.milliseconds.append((time.perf_counter() - since) * 1000)
        seen.answers += len(exchange)


def main() -> None:
    given: dict[str, Any] = json.load(sys.stdin)
    json.dump(asdict(asyncio.run(drive(Order(**given)))), sys.stdout)


if __name__ == "__main__":
    main()
