"""Clients that call tools and send events at fixed rates, in a process of their own.

An order comes as JSON on standard input, what was seen leaves as JSON on standard output. A request
is sent when it is due, even if earlier ones have no answer yet, and its time is measured from then.
"""

import asyncio
import itertools
import json
import secrets
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

import httpx2

from bench import wires
from bench.wires import Request

EVENTS: Final = "/api/sdk/events"
TIMEOUT: Final = 30  # seconds
PAGES: Final = ("/boards", "/boards/1", "/billing", "/settings", "/reports")


@dataclass(frozen=True)
class Order:
    """What is sent for so many seconds: calls of tools by name, and events of these customers."""

    url: str
    seconds: float
    calls: Sequence[tuple[str, Request]]
    calls_per_second: float
    key: str
    users: Sequence[str]
    events_per_second: float
    batch: int

    @classmethod
    def read(cls, given: dict[str, Any]) -> "Order":
        calls = [(name, Request(headers, body.encode())) for name, headers, body in given["calls"]]
        return cls(**{**given, "calls": calls})


@dataclass
class Seen:
    """Milliseconds of each call by tool, and of each batch; the statuses of the batches."""

    calls: dict[str, list[float]] = field(default_factory=dict)
    failed: list[str] = field(default_factory=list)
    batches: list[float] = field(default_factory=list)
    statuses: dict[int, int] = field(default_factory=dict)
    seconds: float = 0.0


async def drive(order: Order) -> Seen:
    """Sends everything that is due; what has no answer at the end is awaited."""
    seen, calls = Seen(), itertools.cycle(order.calls)
    limits = httpx2.Limits(max_connections=64, max_keepalive_connections=64)
    async with httpx2.AsyncClient(base_url=order.url, limits=limits, timeout=TIMEOUT) as http:

        async def call(due: float) -> None:
            name, request = next(calls)
            body = await _posted(http, wires.PATH, request)
            seen.calls.setdefault(name, []).append((time.perf_counter() - due) * 1000)
            if wires.said(body.content) is None:
                seen.failed.append(f"{name}: {body.status_code} {body.text[:200]}")

        async def send(due: float) -> None:
            answer = await _posted(http, EVENTS, _events(order))
            seen.batches.append((time.perf_counter() - due) * 1000)
            status = answer.status_code
            seen.statuses[status] = seen.statuses.get(status, 0) + 1

        began = time.perf_counter()
        await asyncio.gather(
            _at_rate(call, order.calls_per_second, order.seconds),
            _at_rate(send, order.events_per_second / order.batch, order.seconds),
        )
        seen.seconds = time.perf_counter() - began
    return seen


async def _at_rate(act: Callable[[float], Awaitable[None]], rate: float, seconds: float) -> None:
    began, started = time.perf_counter(), []
    for number in range(round(rate * seconds)):
        due = began + number / rate
        await asyncio.sleep(due - time.perf_counter())
        started.append(asyncio.ensure_future(act(due)))
    await asyncio.gather(*started)


async def _posted(http: httpx2.AsyncClient, path: str, request: Request) -> httpx2.Response:
    return await http.post(path, headers=dict(request.headers), content=request.body)


def _events(order: Order) -> Request:
    session = secrets.token_hex(8)
    events = [
        {
            "id": f"{session}-{number}",
            "event_type": "page_view",
            "user_id": secrets.choice(order.users),
            "session_id": session,
            "page_url": secrets.choice(PAGES),
            "metadata": {"title": "Boards", "width": 1440},
        }
        for number in range(order.batch)
    ]
    headers = {"Authorization": f"Bearer {order.key}", "Content-Type": "application/json"}
    return Request(headers, json.dumps({"events": events}).encode())


def main() -> None:
    order = Order.read(json.load(sys.stdin))
    json.dump(asdict(asyncio.run(drive(order))), sys.stdout)


if __name__ == "__main__":
    main()
