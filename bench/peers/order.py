"""What this peer is to do: written down by `bench/equal_work.py`, read once at the start."""

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Values = Mapping[str, Any]


@dataclass(frozen=True)
class Statement:
    """A statement of the hot path, its columns by position, and what each value stands for."""

    text: str
    columns: Mapping[str, int]
    stands_for: Sequence[tuple[str, Any]]

    def values(self, known: Values) -> list[Any]:
        """The values to bind, in order."""
        return [value if name == "constant" else known[name] for name, value in self.stands_for]


@dataclass(frozen=True)
class Bucket:
    key: str
    limit: str
    count: int
    milliseconds: int
    cost: int


@dataclass(frozen=True)
class Order:
    """The whole of it. `work` is empty where the peer does none."""

    token: str
    database: str
    work: Mapping[str, Any]

    def statement(self, role: str) -> Statement:
        told = self.work["statements"][role]
        return Statement(
            told["text"],
            {name: place for place, name in enumerate(told["columns"])},
            [(value["is"], value.get("value")) for value in told["values"]],
        )

    def buckets(self) -> list[Bucket]:
        return [Bucket(**told) for told in self.work["limits"]["buckets"]]


def read() -> Order:
    """The order in the file that BENCH_ORDER names."""
    return Order(**json.loads(Path(os.environ["BENCH_ORDER"]).read_text()))
