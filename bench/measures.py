"""Figures of a comparison: each server has a turn in every round, ratios are taken within a round.

The baseline has its turn at the beginning of a round and again at its end, since the speed of the
machine changes between rounds. Its mean is compared with the others; its second turn divided by
its first is the null check, the noise of a ratio.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

# Outside of these a run was too noisy to say anything.
QUIET: Final = (0.93, 1.07)
AGAIN: Final = " again"
MICROSECONDS: Final = 1_000_000


@dataclass(frozen=True)
class Turn:
    """One server driven once; percentiles in milliseconds.

    `cpu` is CPU time in microseconds a call, by group of processes.
    """

    answered: int
    bad: int
    seconds: float
    p50: float
    p99: float
    complaint: str = ""
    cpu: Mapping[str, float] = field(default_factory=dict)

    @property
    def rate(self) -> float:
        """Replies a second, of the time until the last one."""
        return self.answered / self.seconds if self.seconds else 0.0

    @property
    def cost(self) -> float:
        """CPU time of a call in microseconds, all groups of processes together."""
        return sum(self.cpu.values())


Round = Mapping[str, Turn]


@dataclass(frozen=True)
class Spread:
    """A ratio over all rounds."""

    median: float
    least: float
    most: float

    @classmethod
    def of(cls, pairs: Iterable[tuple[float, float]]) -> "Spread":
        # Nothing is known of a server that answered nothing; its run is void anyway.
        ratios = [figure / by if by else math.nan for figure, by in pairs]
        return cls(statistics.median(ratios), min(ratios), max(ratios))

    @property
    def is_quiet(self) -> bool:
        """Whether a null check allows a verdict."""
        return QUIET[0] <= self.median <= QUIET[1]

    def __str__(self) -> str:
        return f"{self.median:.2f} ({self.least:.2f}-{self.most:.2f})"


def percentile(milliseconds: Sequence[float], percent: int) -> float:
    """The time within which so many of a hundred answers came; 0 for fewer than two."""
    if len(milliseconds) < 2:  # noqa: PLR2004  they have no percentiles
        return 0.0
    return statistics.quantiles(milliseconds, n=100, method="inclusive")[percent - 1]


def measure_cpu(cpu_seconds: Callable[[], Mapping[str, float]], drive: Callable[[], Turn]) -> Turn:
    """Drive a server; returns its turn with the CPU time that passed meanwhile."""
    before, turn, after = cpu_seconds(), drive(), cpu_seconds()
    each = MICROSECONDS / max(turn.answered, 1)
    return replace(turn, cpu={group: (after[group] - before[group]) * each for group in after})


def play(names: Sequence[str], count: int, drive: Callable[[str], Turn]) -> list[Round]:
    """So many rounds; the first name is the baseline. The others change places every round."""
    baseline, *others = names
    rounds = []
    for number in range(count):
        by = number % max(len(others), 1)
        turns = {name: drive(name) for name in (baseline, *others[by:], *others[:by])}
        rounds.append({**turns, baseline + AGAIN: drive(baseline)})
    return rounds


def rate_ratio(rounds: Sequence[Round], baseline: str, other: str) -> Spread:
    """How many times as many calls a second the baseline answered."""
    return Spread.of((_mean(one, baseline, "rate"), one[other].rate) for one in rounds)


def cpu_ratio(rounds: Sequence[Round], baseline: str, other: str) -> Spread:
    """How many times as much CPU time the other spent on a call.

    Other work on the machine moves this less than it moves the rates.
    """
    return Spread.of((one[other].cost, _mean(one, baseline, "cost")) for one in rounds)


def null_check(rounds: Sequence[Round], baseline: str) -> Spread:
    """The baseline against itself: one, but for noise."""
    return Spread.of((one[baseline + AGAIN].rate, one[baseline].rate) for one in rounds)


def median(rounds: Sequence[Round], name: str, figure: str) -> float:
    """The median over all turns of a server, the second ones of the baseline included."""
    turns = [one[each] for one in rounds for each in (name, name + AGAIN) if each in one]
    return statistics.median(getattr(turn, figure) for turn in turns)


def complaints(rounds: Sequence[Round]) -> list[str]:
    """A line for each turn with bad replies or none; it voids the run."""
    return [
        f"{name}: {turn.bad} bad of {turn.answered}: {turn.complaint}"
        for one in rounds
        for name, turn in one.items()
        if turn.bad or not turn.answered
    ]


def _mean(one: Round, baseline: str, figure: str) -> float:
    return (getattr(one[baseline], figure) + getattr(one[baseline + AGAIN], figure)) / 2
