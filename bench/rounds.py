"""Rounds: each server is driven once a round, the baseline at its beginning and at its end.

The result is the ratio within a round, since the machine's speed changes between rounds: the mean
of the baseline's two turns divided by the other's one. The baseline's second turn divided by its
first is the null check, the noise of a ratio.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

# Outside of these a run was too noisy to say anything.
QUIET: Final = (0.93, 1.07)
AGAIN: Final = " again"


@dataclass(frozen=True)
class Turn:
    """One server driven once. CPU time in microseconds a call, by process group."""

    answered: int
    bad: int
    rate: float
    p50: float
    p99: float
    cpu: Mapping[str, float]
    complaint: str = ""

    @property
    def cost(self) -> float:
        """CPU time of a call in microseconds, all process groups together."""
        return sum(self.cpu.values())


Round = Mapping[str, Turn]


@dataclass(frozen=True)
class Spread:
    """A figure over all rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, figures: Sequence[float]) -> "Spread":
        return cls(statistics.median(figures), min(figures), max(figures))


def play(names: Sequence[str], count: int, drive: Callable[[str], Turn]) -> list[Round]:
    """So many rounds; the first name is the baseline. The others change places every round."""
    baseline, *others = names
    return [_round(baseline, _turned(others, number), drive) for number in range(count)]


def _round(baseline: str, others: Sequence[str], drive: Callable[[str], Turn]) -> Round:
    turns = {name: drive(name) for name in (baseline, *others)}
    return {**turns, baseline + AGAIN: drive(baseline)}


def _turned(names: Sequence[str], by: int) -> list[str]:
    by %= max(len(names), 1)
    return [*names[by:], *names[:by]]


def ratio(played: Sequence[Round], baseline: str, other: str) -> Spread:
    """How many times as many calls a second the baseline answered."""
    return Spread.of([_through(_mean(one, baseline, _rate), one[other].rate) for one in played])


def thrift(played: Sequence[Round], baseline: str, other: str) -> Spread:
    """How many times as much CPU time the other spent on a call, all its process groups together.

    Other work on the machine moves this less than it moves the rates.
    """
    return Spread.of([_through(one[other].cost, _mean(one, baseline, _cost)) for one in played])


def null_check(played: Sequence[Round], baseline: str) -> Spread:
    """The baseline against itself: one, but for noise."""
    return Spread.of([_through(one[baseline + AGAIN].rate, one[baseline].rate) for one in played])


def is_quiet(check: Spread) -> bool:
    return QUIET[0] <= check.median <= QUIET[1]


def turns(played: Sequence[Round], name: str) -> list[Turn]:
    """All turns of a server, the second ones of the baseline included."""
    return [one[each] for one in played for each in (name, name + AGAIN) if each in one]


def median(played: Sequence[Round], name: str, figure: Callable[[Turn], float]) -> float:
    return statistics.median(map(figure, turns(played, name)))


def complaints(played: Sequence[Round]) -> list[str]:
    """What was wrong with the bad replies, a line each turn that had any; it voids the run."""
    return [
        f"{name}: {turn.bad} bad of {turn.answered}: {turn.complaint}"
        for one in played
        for name, turn in one.items()
        if turn.bad or not turn.answered
    ]


def _through(figure: float, by: float) -> float:
    # Nothing is known of a server that answered nothing; its run is void anyway.
    return figure / by if by else math.nan


def _mean(one: Round, baseline: str, figure: Callable[[Turn], float]) -> float:
    return (figure(one[baseline]) + figure(one[baseline + AGAIN])) / 2


def _rate(turn: Turn) -> float:
    return turn.rate


def _cost(turn: Turn) -> float:
    return turn.cost
