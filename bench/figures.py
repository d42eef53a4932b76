"""The results of a run, and their serialization."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

from bench import rounds
from bench.rounds import Round, Spread

Ratio: TypeAlias = Callable[[Sequence[Round], str, str], Spread]


@dataclass(frozen=True)
class Memory:
    """Memory of the largest worker, in KiB: resident, and with shared pages counted in parts."""

    resident: int
    proportional: int


@dataclass(frozen=True)
class ServerResult:
    """One server in one cell, medians over its turns; `ahead` is how far the baseline is.

    `thrift` says the same of CPU time.
    """

    name: str
    rate: float
    p50: float
    p99: float
    cpu: Mapping[str, float]
    memory: Memory
    ahead: Spread | None
    thrift: Spread | None


@dataclass(frozen=True)
class Cell:
    """One combination, with all its rounds."""

    store: str
    workers: int
    tool: str
    wire: str
    concurrency: int
    baseline: str
    rounds: Sequence[Round]
    memory: Mapping[str, Memory]
    faults: Sequence[str] = ()

    @property
    def title(self) -> str:
        where = f"{self.store}, {self.workers} worker(s), c={self.concurrency}"
        return f"{where}, {self.tool}, {self.wire}"

    @property
    def null_check(self) -> Spread:
        return rounds.null_check(self.rounds, self.baseline)

    @property
    def is_quiet(self) -> bool:
        return rounds.is_quiet(self.null_check)

    def results(self) -> list[ServerResult]:
        return [self._result(name) for name in self.memory]

    def line(self) -> str:
        parts = (f"{one.name} {one.rate:.0f}/s{_times(one.ahead)}" for one in self.results())
        noise = "" if self.is_quiet else "; too noisy"
        return f"{self.title}: {', '.join(parts)}{noise}"

    def for_programs(self) -> dict[str, Any]:
        return {
            "store": self.store,
            "workers": self.workers,
            "tool": self.tool,
            "wire": self.wire,
            "concurrency": self.concurrency,
            "null_check": asdict(self.null_check),
            "quiet": self.is_quiet,
            "servers": {one.name: _serialized(one) for one in self.results()},
            "rounds": [{name: asdict(turn) for name, turn in one.items()} for one in self.rounds],
        }

    def _result(self, name: str) -> ServerResult:
        played = self.rounds
        groups = rounds.turns(played, name)[0].cpu
        return ServerResult(
            name=name,
            rate=rounds.median(played, name, lambda turn: turn.rate),
            p50=rounds.median(played, name, lambda turn: turn.p50),
            p99=rounds.median(played, name, lambda turn: turn.p99),
            cpu={each: self._cpu(name, each) for each in groups},
            memory=self.memory[name],
            ahead=self._against(rounds.ratio, name),
            thrift=self._against(rounds.thrift, name),
        )

    def _against(self, ratio: Ratio, name: str) -> Spread | None:
        return None if name == self.baseline else ratio(self.rounds, self.baseline, name)

    def _cpu(self, name: str, group: str) -> float:
        return rounds.median(self.rounds, name, lambda turn: turn.cpu[group])


@dataclass
class Run:
    """All of it. `faults` void it; `load` is what the machine had to do before."""

    driver: str
    rounds: int
    seconds: int
    load: float
    cells: list[Cell] = field(default_factory=list)
    checks: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    machine: dict[str, str] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)

    @property
    def is_quiet(self) -> bool:
        return all(cell.is_quiet for cell in self.cells)

    def for_programs(self) -> dict[str, Any]:
        settings = {"driver": self.driver, "rounds": self.rounds, "seconds": self.seconds}
        return {
            "void": bool(self.faults),
            "quiet": self.is_quiet,
            "settings": settings,
            "load_before": self.load,
            "machine": self.machine,
            "versions": self.versions,
            "cells": [cell.for_programs() for cell in self.cells],
            "checks": self.checks,
            "faults": self.faults,
        }


def _times(ahead: Spread | None) -> str:
    return "" if ahead is None else f" ({ahead.median:.2f}x)"


def _serialized(one: ServerResult) -> dict[str, Any]:
    return {
        "per_second": one.rate,
        "p50_ms": one.p50,
        "p99_ms": one.p99,
        "cpu_us_per_call": dict(one.cpu),
        "memory_kib": asdict(one.memory),
        "ours_through_it": asdict(one.ahead) if one.ahead else None,
        "its_cpu_through_ours": asdict(one.thrift) if one.thrift else None,
    }
