"""The parts of `./run bench sizes`: each yields figures by cell, round after round."""

import argparse
import itertools
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final, TypeAlias

from bench import cells, filling, scratch
from bench.callers import HANDSHAKE, WIRES, Caller
from bench.cells import BadRun, Cell, Figures, Rounds, Site
from bench.databases import Store

CONCURRENCIES: Final = (1, 16)
FEW_TOOLS: Final = 20
CALLED_WELL: Final = '"isError":false'
LISTED: Final = '"tools":['
AGAIN: Final = ", again"
AGAINST: Final = ", other code"
CALLED: Final[Mapping[str, Any]] = {
    "name": "bench.find_ticket",
    "arguments": {"id": "t_1", "name": "The export hangs"},
}


@dataclass(frozen=True)
class Bench:
    """One run: what was asked for, where it happens, and a database with one organization in it."""

    options: argparse.Namespace
    folder: Path
    store: Store
    base: str
    token: str

    @contextmanager
    def site(
        self, database: str, tools: int = FEW_TOOLS, checkout: Path = scratch.ROOT
    ) -> Iterator[Site]:
        """A server with so many tools on a database."""
        log = Path(tempfile.mkstemp(dir=self.folder, suffix=".log")[1])
        given = {"DATABASE_URL": database, "BENCH_TOOLS": str(tools)}
        serving = scratch.serving(
            self.options.processes, log, "bench.catalogue:application", given, checkout
        )
        with serving as server:
            yield Site(server, self.store, database)


def founded(first: int, last: int, tools: int) -> list[str]:
    """The tokens of organizations that are made now; nobody is connected afterwards."""
    from django.db import connections  # noqa: PLC0415  settings first

    from bench import made_up  # noqa: PLC0415  the same

    try:
        return filling.organizations(first, last, made_up.names(tools))
    finally:
        # What is connected to cannot be copied.
        connections.close_all()


def lists(bench: Bench) -> Rounds:
    """tools/list by the number of tools that the caller may use."""
    with ExitStack() as stack:
        found: list[Cell] = []
        for number, tools in enumerate(bench.options.tools):
            (token,) = founded(1_000_000 + number, 1_000_001 + number, tools)
            for name, checkout in _checkouts(bench):
                site = stack.enter_context(bench.site(bench.base, tools, checkout))
                found += _lists(site, token, tools, name)
        return _rounds(bench, found)


def _checkouts(bench: Bench) -> list[tuple[str, Path]]:
    other = bench.options.against
    return [("", scratch.ROOT), *([(AGAINST, other.resolve())] if other else [])]


def _lists(site: Site, token: str, tools: int, whose: str) -> Iterator[Cell]:
    for wire in WIRES:
        pages = tuple(_pages(Caller(site.server.url, token, wire), tools))
        # A page costs what the gate and the sorting of the whole list cost: reported separately.
        read = {"": pages[:1]} | ({f", all {len(pages)} pages": pages} if pages[1:] else {})
        for (much, asked), many in itertools.product(read.items(), CONCURRENCIES):
            name = f"tools: {tools}{much}, {wire}{whose}"
            yield Cell(name, many, site, (asked,), mark=LISTED, rows=0)


def _pages(caller: Caller, tools: int) -> list[str]:
    """The requests that read a whole list. Raises BadRun where it is not all of it."""
    pages: list[str] = []
    seen, cursor = 0, dict[str, str]()
    while True:
        pages.append(caller.written("tools/list", **cursor))
        result = caller.ask("tools/list", **cursor)
        seen += len(result["tools"])
        if "nextCursor" not in result:
            break
        cursor = {"cursor": result["nextCursor"]}
    if seen != tools:
        raise BadRun(f"{seen} of {tools} tools are listed")
    return pages


def rows(bench: Bench) -> Rounds:
    """tools/call by the number of audit rows that are there already."""
    own = filling.own_ids()
    with ExitStack() as stack:
        found = []
        for count in bench.options.rows:
            database = stack.enter_context(bench.store.copy(bench.base))
            bench.store.fill(database, filling.audit_rows(count, own))
            site = stack.enter_context(bench.site(database))
            found += _calls(f"audit rows: {count:,}", site, [bench.token])
        return _rounds(bench, found)


def organizations(bench: Bench) -> Rounds:
    """tools/call by the number of organizations, each with all it needs, which take turns."""
    with ExitStack() as stack:
        found, tokens = [], [bench.token]
        for count in bench.options.organizations:
            tokens += founded(len(tokens), count, FEW_TOOLS)
            database = stack.enter_context(bench.store.copy(bench.base))
            site = stack.enter_context(bench.site(database))
            found += _calls(f"organizations: {count:,}", site, tokens[:count])
        return _rounds(bench, found)


def _calls(name: str, site: Site, tokens: Sequence[str]) -> list[Cell]:
    exchanges = tuple(
        (Caller(site.server.url, token, HANDSHAKE).written("tools/call", **CALLED),)
        for token in tokens
    )
    return [Cell(name, many, site, exchanges, mark=CALLED_WELL, rows=1) for many in CONCURRENCIES]


def _rounds(bench: Bench, found: Sequence[Cell]) -> Rounds:
    """All cells in turns; the first is measured once more in each round, as a check."""
    options = bench.options
    rounds: dict[Cell, list[Figures]] = {}
    again = [replace(cell, name=f"{cell.name}{AGAIN}") for cell in found[: len(CONCURRENCIES)]]
    for cell, figures in cells.in_turns([*found, *again], options.rounds, options.seconds):
        rounds.setdefault(cell, []).append(figures)
    return rounds


Part: TypeAlias = Callable[[Bench], Rounds]
PARTS: Final[Mapping[str, Part]] = {"rows": rows, "organizations": organizations, "lists": lists}
