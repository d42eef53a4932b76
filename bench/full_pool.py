"""Calls of one project while another project of its organization waits for an API that hangs.

In rounds: the calls alone, the same with the other project's pool full, and alone again.
"""

import asyncio
import contextlib
import json
import math
import random
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx2

from bench import harness, measures
from bench.comparison import Contestant, Way
from bench.harness import Bench
from bench.measures import AGAIN, Round, Spread, Turn
from bench.protocol import Request

ALONE, FULL = "alone", "full pool"
# More than the calls that have a slot and those that wait for one, in each process.
HANGING_CALLS: Final = 26
FILL_SECONDS: Final = 20
SETTLE_SECONDS: Final = 1
CALL_SECONDS: Final = 60
# The p99 of the calls with the other pool full, through their p99 alone, may be at most this.
MAX_RATIO: Final = 1.10


@dataclass
class HangingCalls:
    """Clients of a project whose API never answers; one that is refused waits as it is asked to."""

    url: str
    request: Request
    count: int
    refused: threading.Event = field(default_factory=threading.Event)
    complaint: str = ""

    async def send_all(self) -> None:
        limits = httpx2.Limits(max_connections=self.count)
        async with httpx2.AsyncClient(limits=limits, timeout=CALL_SECONDS) as http:
            await asyncio.gather(*(self._repeat(http) for _ in range(self.count)))

    async def _repeat(self, http: httpx2.AsyncClient) -> None:
        headers = dict(self.request.headers)
        while True:
            reply = await http.post(self.url, headers=headers, content=self.request.body)
            body = json.loads(reply.content)
            data = body.get("error", {}).get("data") or {}
            if data.get("reason") == "busy" and "retry-after" in reply.headers:
                self.refused.set()
                # Not all at the same moment, which would be a burst of calls and no full pool.
                wait = int(reply.headers["retry-after"])
                await asyncio.sleep(wait * random.uniform(1, 2))  # noqa: S311  no secret
            elif "gave no answer" not in reply.text:
                self.complaint = f"{reply.status_code} {reply.text[:200]}"


@contextmanager
def hold_pool(url: str, request: Request, count: int) -> Iterator[HangingCalls]:
    """Keeps the pool of a project full. Raises Unready if no call of it is refused."""
    calls, loop = HangingCalls(url, request, count), asyncio.new_event_loop()
    task = loop.create_task(calls.send_all())

    def run() -> None:
        with contextlib.suppress(asyncio.CancelledError):
            loop.run_until_complete(task)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        if not calls.refused.wait(FILL_SECONDS):
            raise harness.Unready(f"the pool of {url} was not full: {calls.complaint}")
        time.sleep(SETTLE_SECONDS)
        yield calls
    finally:
        loop.call_soon_threadsafe(task.cancel)
        thread.join(CALL_SECONDS)
        loop.close()


def compare(bench: Bench, other: Contestant, way: Way, url: str, request: Request) -> int:
    """Prints what a full pool at `url` costs the calls of another project; returns the code."""
    options, faults = bench.options, list[str]()
    processes = 1 if bench.store.kind == "sqlite" else options.processes

    def drive(name: str) -> Turn:
        if name == ALONE:
            return other.drive(way, options.concurrency, options.seconds)
        with hold_pool(url, request, HANGING_CALLS * processes) as calls:
            turn = other.drive(way, options.concurrency, options.seconds)
        faults.extend(filter(None, [calls.complaint]))
        return turn

    rounds = measures.play([ALONE, FULL], options.rounds, drive)
    faults += measures.complaints(rounds)
    ratio = Spread.of((one[FULL].p99, _alone(one)) for one in rounds)
    check = Spread.of((one[ALONE + AGAIN].p99, one[ALONE].p99) for one in rounds)
    sys.stdout.writelines(f"{line}\n" for line in _lines(rounds, ratio, check, faults))
    if faults:
        return harness.MISSED
    if ratio.median <= MAX_RATIO:
        return harness.GOOD
    is_noisy = not math.isclose(check.median, 1, abs_tol=MAX_RATIO - 1)
    return harness.NOISY if is_noisy else harness.MISSED


def _lines(
    rounds: Sequence[Round], ratio: Spread, check: Spread, faults: Sequence[str]
) -> Iterator[str]:
    yield from ("", "Calls of a project while the pool of another one of its organization is full")
    for name in (ALONE, FULL):
        rate, p50, p99 = (measures.median(rounds, name, each) for each in ("rate", "p50", "p99"))
        yield f"{name}: {rate:.1f} calls/s, p50 {p50:.1f} ms, p99 {p99:.1f} ms"
    yield f"p99 with a full pool through p99 alone: {ratio}, the goal is at most {MAX_RATIO}"
    yield f"Null check, p99 alone through p99 alone: {check}"
    yield from (f"VOID: {fault}" for fault in faults)


def _alone(one: Round) -> float:
    return (one[ALONE].p99 + one[ALONE + AGAIN].p99) / 2
