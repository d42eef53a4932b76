"""A comparison of servers on one store: turns in rounds, audit rows, a table and JSON.

All servers run at once and one at a time is driven: an idle one costs nothing.
"""

import json
import os
import statistics
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import httpx2

from bench import harness, load, measures, protocol
from bench.harness import Bench
from bench.measures import QUIET, Round, Turn
from bench.protocol import Reply, Request
from bench.servers import Server, Unready

WARM_UP_SECONDS: Final = 1
OK: Final = 200
GROUPS: Final = ("server", "postgresql", "redis")
HEADINGS: Final = (
    *("server", "calls/s", "p50 ms", "p99 ms", "CPU us a call: server", "PostgreSQL", "Redis"),
    *("MB a worker (PSS)", "ours is (range)", "by CPU time"),
)

# A tool, and the revision at which it is called.
Way = tuple[str, str]


@dataclass(frozen=True)
class Contestant:
    """A server of a comparison. `writes` says that it leaves an audit row of every call."""

    name: str
    url: str
    server: Server
    requests: Mapping[Way, Request]
    writes: bool = False
    replies: dict[Way, Reply] = field(default_factory=dict)

    def call(self, way: Way) -> httpx2.Response:
        request = self.requests[way]
        headers = dict(request.headers)
        return httpx2.post(self.url, headers=headers, content=request.body, timeout=30)

    def prove(self, way: Way, text: str) -> None:
        """Keep the reply that all others are compared with. Raises Unready if it is wrong."""
        first, second = self.call(way), self.call(way)
        reply, found = Reply.of(first.content), protocol.result_text(first.content) or ""
        is_right = protocol.without_varying(found) == protocol.without_varying(text)
        if not is_right or second.status_code != OK or not reply.fits(second.content):
            raise Unready(f"{self.name} answers {way} wrongly: {first.text} {second.text}")
        self.replies[way] = reply

    def drive(self, way: Way, concurrency: int, seconds: int) -> Turn:
        return load.drive(self.url, self.requests[way], self.replies[way], concurrency, seconds)

    def cpu_seconds(self, bench: Bench) -> dict[str, float]:
        """CPU time so far by group of processes; a store works for those alone that write to it."""
        own = {"server": self.server.cpu_seconds()}
        return bench.cpu_seconds(self.server) if self.writes else own


@dataclass
class Comparison:
    """Contestants, the first of which is the baseline, and what was measured of them."""

    bench: Bench
    contestants: Mapping[str, Contestant] = field(default_factory=dict)
    cells: list[dict[str, Any]] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    answered: Counter[str] = field(default_factory=Counter)
    recorded: Counter[str] = field(default_factory=Counter)

    def measure(self, way: Way, conditions: str, at_once: int) -> None:
        """Measure one kind of call in rounds."""
        title = f"{conditions}, c={at_once}, {', '.join(way)}"
        seconds = self.bench.options.seconds

        def play(name: str) -> Turn:
            # A server that was idle for long begins like one that has just been driven.
            warm_up = self._turn(name, way, at_once, WARM_UP_SECONDS)
            turn = self._turn(name, way, at_once, seconds)
            complaint = turn.complaint or warm_up.complaint
            return replace(turn, bad=turn.bad + warm_up.bad, complaint=complaint)

        rounds = measures.play(list(self.contestants), self.bench.options.rounds, play)
        self.faults += [f"{title}: {line}" for line in measures.complaints(rounds)]
        self.cells.append(
            {
                "title": title,
                "tool": way[0],
                "revision": way[1],
                "rounds": rounds,
                "null_check": measures.null_check(rounds, next(iter(self.contestants))),
                "servers": {name: self._figures(name, rounds) for name in self.contestants},
            }
        )
        harness.say(title)

    def check(self, is_right: object, line: str) -> None:
        (self.checks if is_right else self.faults).append(line)

    def check_records(self) -> None:
        """Compare the audit rows with the calls that were answered."""
        for name in self.recorded:
            rows, calls = self.recorded[name], self.answered[name]
            self.check(rows == calls, f"{name}: {calls} calls answered, {rows} on record")

    def _turn(self, name: str, way: Way, at_once: int, seconds: int) -> Turn:
        """Drive one contestant while the others are idle."""
        contestant = self.contestants[name]
        rows = audit_rows()
        turn = measures.measure_cpu(
            lambda: contestant.cpu_seconds(self.bench),
            lambda: contestant.drive(way, at_once, seconds),
        )
        self.answered[name] += turn.answered
        if contestant.writes:
            self.recorded[name] += audit_rows() - rows
        return turn

    def _figures(self, name: str, rounds: Sequence[Round]) -> dict[str, Any]:
        """Medians over the turns of a server, and how far the baseline is ahead of it."""
        baseline, groups = next(iter(self.contestants)), rounds[0][name].cpu
        turns = [one[name] for one in rounds]
        figures: dict[str, Any] = {
            "per_second": measures.median(rounds, name, "rate"),
            "p50_ms": measures.median(rounds, name, "p50"),
            "p99_ms": measures.median(rounds, name, "p99"),
            "cpu_us_per_call": {
                group: statistics.median(turn.cpu[group] for turn in turns) for group in groups
            },
            "memory_kib": self.contestants[name].server.memory(),
        }
        if name != baseline:
            figures["ours_through_it"] = measures.rate_ratio(rounds, baseline, name)
            figures["its_cpu_through_ours"] = measures.cpu_ratio(rounds, baseline, name)
        return figures

    def report(self, json_to: str = "") -> int:
        """Print the tables, or JSON for a program; returns the exit code."""
        noisy = [cell["title"] for cell in self.cells if not cell["null_check"].is_quiet]
        verdict = {"void": bool(self.faults), "quiet": not noisy}
        document = {**verdict, "cells": self.cells, "checks": self.checks, "faults": self.faults}
        text = json.dumps(document, indent=1, default=asdict) + "\n"
        if json_to == "-":
            sys.stdout.write(text)
        else:
            sys.stdout.writelines(f"{line}\n" for line in self._lines())
            sys.stdout.writelines(f"Too noisy, to be measured again: {title}\n" for title in noisy)
        if json_to not in {"", "-"}:
            Path(json_to).write_text(text)
        if self.faults:
            return harness.MISSED
        return harness.NOISY if noisy else harness.GOOD

    def _lines(self) -> Iterator[str]:
        options = self.bench.options
        yield f"{options.rounds} rounds of {options.seconds} s; load now {os.getloadavg()[0]:.1f}"
        for cell in self.cells:
            yield from ("", cell["title"], "")
            yield f"| {' | '.join(HEADINGS)} |"
            yield "|---" * len(HEADINGS) + "|"
            for name, figures in cell["servers"].items():
                yield f"| {name} | {' | '.join(_columns(figures))} |"
            check = cell["null_check"]
            verdict = "" if check.is_quiet else f": TOO NOISY, outside {QUIET[0]}-{QUIET[1]}"
            yield from ("", f"Null check, ours against ours: {check}{verdict}")
        yield from ("", *self.checks, *(f"VOID: {fault}" for fault in self.faults))


def audit_rows() -> int:
    """How many calls are on record."""
    from audit.models import ActionExecution  # noqa: PLC0415  settings first

    return ActionExecution.objects.count()


def _columns(figures: Mapping[str, Any]) -> list[str]:
    cpu, (resident, shared) = figures["cpu_us_per_call"], figures["memory_kib"]
    return [
        *(f"{figures[figure]:.1f}" for figure in ("per_second", "p50_ms", "p99_ms")),
        *(f"{cpu[group]:.0f}" if group in cpu else "-" for group in GROUPS),
        f"{resident / 1000:.0f} ({shared / 1000:.0f})",
        *(str(figures.get(ratio, "-")) for ratio in ("ours_through_it", "its_cpu_through_ours")),
    ]
