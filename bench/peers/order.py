"""The order of a peer: written by `bench/equal_work.py`, read once at the start."""

import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Values = Mapping[str, Any]
Ago = Callable[[int], Any]


@dataclass(frozen=True)
class Statement:
    """A statement of a call, its columns by position, and the meaning of each value."""

    text: str
    columns: Mapping[str, int]
    stands_for: Sequence[tuple[str, Any]]

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> "Statement":
        return cls(
            given["text"],
            {name: place for place, name in enumerate(given["columns"])},
            [(value["is"], value.get("value")) for value in given["values"]],
        )

    def values(self, known: Values, ago: Ago | None = None) -> list[Any]:
        """The values to bind, in order; `ago` returns the time so many seconds ago."""
        return [
            value
            if name == "constant"
            else ago(value)
            if name == "ago" and ago is not None
            else known[name]
            for name, value in self.stands_for
        ]


@dataclass(frozen=True)
class Bucket:
    key: str
    limit: str
    count: int
    milliseconds: int
    cost: int


@dataclass(frozen=True)
class ToolOrder:
    """A tool, what surrounds a call of it, its own statements, and what it has to answer.

    `gate` is None for a tool without an integration. One of the `scopes` is enough. `is_structured`
    says that results have structured content, `row_count` is for the audit row.
    """

    name: str
    schema: Mapping[str, Any]
    integration: str
    action: str
    scopes: frozenset[str]
    value: Any
    is_structured: bool
    row_count: int | None
    authenticate: Statement
    gate: Statement | None
    audit: Statement
    own: Sequence[Statement]


@dataclass(frozen=True)
class Order:
    """Everything that the peer has to answer: its token, its database, its tools."""

    token: str
    database: str
    work: Mapping[str, Any]

    def tools(self) -> list[ToolOrder]:
        return [_tool(name, given) for name, given in self.work["tools"].items()]

    def buckets(self) -> list[Bucket]:
        return [Bucket(**given) for given in self.work["limits"]["buckets"]]


def read() -> Order:
    """The order in the file that BENCH_ORDER names."""
    return Order(**json.loads(Path(os.environ["BENCH_ORDER"]).read_text()))


def _tool(name: str, given: Mapping[str, Any]) -> ToolOrder:
    return ToolOrder(
        name=name,
        schema=given["schema"],
        integration=given["integration"],
        action=given["action"],
        scopes=frozenset(given["scopes"]),
        value=given["value"],
        is_structured=given["is_structured"],
        row_count=given["row_count"],
        authenticate=Statement.of(given["authenticate"]),
        gate=Statement.of(given["gate"]) if "gate" in given else None,
        audit=Statement.of(given["audit"]),
        own=[Statement.of(each) for each in given["own"]],
    )
