"""The work of a call, recorded by `equal_work.py` and repeated by the peers in `bench/peers`.

One process writes it to the file that BENCH_WORK names, the servers of a peer read it at start.
"""

import os
import pickle
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

FILE: Final = "BENCH_WORK"


@dataclass(frozen=True)
class Statement:
    """A statement of a call, its columns by position, and the values it was executed with."""

    text: str
    columns: Mapping[str, int]
    values: Sequence[Any]


@dataclass(frozen=True)
class RecordedTool:
    """A tool, what surrounds a call of it, its own statements, and the JSON value it answers.

    `gate` is None for a tool without an integration. One of the `scopes` is enough.
    """

    name: str
    schema: Mapping[str, Any]
    action: str
    scopes: frozenset[str]
    text: str
    value: Any
    is_structured: bool
    authenticate: Statement
    gate: Statement | None
    audit: Statement
    own: Sequence[Statement]


@dataclass(frozen=True)
class Work:
    """Everything that a peer answers and needs for it.

    `identities` are what the keys of the rate limit buckets are digests of, `numbers` the arguments
    of the script; `redis` is the URL of the counters. Times in values are relative to `at`.
    """

    at: datetime
    token: str
    organization: str
    database: str
    redis: str
    script: str
    key_prefix: str
    identities: Sequence[str]
    numbers: Sequence[int]
    resource: str
    public_url: str
    example_address: str
    tools: Mapping[str, RecordedTool]

    def write(self, file: Path) -> None:
        file.write_bytes(pickle.dumps(self))


def read() -> Work:
    """The work in the file that BENCH_WORK names."""
    work: Work = pickle.loads(Path(os.environ[FILE]).read_bytes())  # noqa: S301  our own file
    return work
