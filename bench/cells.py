"""One kind of measured requests, and its results."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final
from urllib.parse import urlsplit

from bench import databases, scratch
from bench.databases import Store
from bench.scratch import Server

MILLION: Final = 1_000_000
QUIET: Final = (0.93, 1.07)
MAX_WARM_UP: Final = 1.0  # seconds


class BadRun(Exception):
    """An answer was bad, or the audit rows are not as many as the calls. The message says which."""


@dataclass(frozen=True)
class Site:
    """A server and the database it works on."""

    server: Server
    store: Store
    database: str


@dataclass(frozen=True)
class Cell:
    """Exchanges of one kind with one site; `rows` audit rows are written for each request."""

    name: str
    concurrency: int
    site: Site
    exchanges: Sequence[Sequence[str]] = field(repr=False)
    mark: str
    rows: int


@dataclass(frozen=True)
class Figures:
    """Of exchanges: how many a second, milliseconds, microseconds of CPU each, bytes of one."""

    per_second: float
    p50: float
    p99: float
    server_us: float
    postgresql_us: float
    bytes: int


Rounds = Mapping[Cell, Sequence[Figures]]


def in_turns(cells: Sequence[Cell], rounds: int, seconds: float) -> Iterator[tuple[Cell, Figures]]:
    """Measure each cell once a round. Raises BadRun."""
    for cell in cells:
        measured(cell, min(seconds, MAX_WARM_UP))
    for _ in range(rounds):
        for cell in cells:
            yield cell, measured(cell, seconds)


def measured(cell: Cell, seconds: float) -> Figures:
    """Press a cell for so long; the audit rows are counted and taken away. Raises BadRun."""
    site, since = cell.site, databases.key_now()
    before = _cpu(site)
    seen = _driven(cell, seconds)
    web, postgresql = (then - now for now, then in zip(before, _cpu(site), strict=True))
    _hold_to_account(cell, seen, since)
    each = max(len(seen["milliseconds"]), 1)
    percentiles = statistics.quantiles(seen["milliseconds"], n=100)
    return Figures(
        per_second=each / seen["seconds"],
        p50=percentiles[49],
        p99=percentiles[98],
        server_us=web * MILLION / each,
        postgresql_us=postgresql * MILLION / each,
        bytes=seen["bytes"],
    )


def median(rounds: Sequence[Figures]) -> Figures:
    """The median of each figure by itself."""
    columns = [asdict(figures) for figures in rounds]
    return Figures(**{name: statistics.median(one[name] for one in columns) for name in columns[0]})


def ratio(first: Sequence[Figures], second: Sequence[Figures], figure: str) -> float:
    """The median over the rounds of one figure of the second through that of the first."""
    pairs = zip(first, second, strict=True)
    return statistics.median(float(getattr(b, figure) / getattr(a, figure)) for a, b in pairs)


def is_quiet(one: float) -> bool:
    """Whether two that should be alike are."""
    return QUIET[0] <= one <= QUIET[1]


def _cpu(site: Site) -> tuple[float, float]:
    return site.server.cpu_seconds(), site.store.cpu_seconds(site.database)


def _driven(cell: Cell, seconds: float) -> Mapping[str, Any]:
    place = urlsplit(cell.site.server.url)
    order = {
        "host": place.hostname,
        "port": place.port,
        "exchanges": cell.exchanges,
        "mark": cell.mark,
        "concurrency": cell.concurrency,
        "seconds": seconds,
    }
    driven = subprocess.run(
        [sys.executable, "-m", "bench.posting"],
        cwd=scratch.ROOT,
        input=json.dumps(order),
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=seconds + 90,
    )
    seen: Mapping[str, Any] = json.loads(driven.stdout)
    return seen


def _hold_to_account(cell: Cell, seen: Mapping[str, Any], since: str) -> None:
    if seen["bad"] or len(seen["milliseconds"]) < 2:  # noqa: PLR2004  fewer have no percentiles
        raise BadRun(f"{cell.name}: {seen['bad'] or 'too few answers'}")
    store, database = cell.site.store, cell.site.database
    written, due = store.count(database, since), seen["answers"] * cell.rows
    if written != due:
        raise BadRun(f"{cell.name}: {due} audit rows are due, {written} are there")
    if written:
        store.forget(database, since)
