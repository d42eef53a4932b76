"""`./run bench sizes`: what grows with the number of tools, of audit rows and of organizations.

Exits with 1 when an answer was bad, or when the audit rows are not as many as the calls.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

import psycopg

from bench import cells, growth, scratch, starting
from bench.cells import BadRun, Cell, Figures, Rounds
from bench.databases import Postgresql, Sqlite, Store
from bench.growth import AGAIN, AGAINST, PARTS, Bench

POSTGRESQL: Final = "postgres://postgres@127.0.0.1:5432/postgres"
REDIS: Final = "redis://127.0.0.1:6379/15"
RATES: Final = ("TOOLS_CALL", "TOOLS_LIST", "OTHER", "IP")
# Threads for vendors cost a connection each, and several servers are up at once.
RAISED: Final = {f"HALO_RATE_{name}": "1000000/s" for name in RATES} | {"HALO_VENDOR_CALLS": "4"}
HEAD: Final = ("c", "a second", "p50 ms", "p99 ms", "server us", "PostgreSQL us", "bytes")


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store: Store = Sqlite(folder) if options.store == "sqlite" else Postgresql(options.database)
        with store.empty() as base:
            starting.start(folder, base, _settings(options))
            (token,) = growth.founded(0, 1, growth.FEW_TOOLS)
            return _run(Bench(options, folder, store, base, token))


def _run(bench: Bench) -> int:
    """Measure part after part, and say each as soon as it is known."""
    seen: dict[str, Any] = {}
    out = sys.stderr if bench.options.json == "-" else sys.stdout
    for part in bench.options.parts or PARTS:
        try:
            rounds = PARTS[part](bench)
        except (BadRun, psycopg.OperationalError) as error:
            out.write(f"{part}: {error}\n")
            return 1
        out.write("\n".join([*_table(part, bench.options, rounds), "", ""]))
        out.flush()
        seen[part] = [_plain(cell, figures) for cell, figures in rounds.items()]
    _write_json(bench.options.json, seen)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench sizes", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}; all")
    parser.add_argument("--store", choices=("postgresql", "sqlite"), default="postgresql")
    parser.add_argument("--rows", type=_numbers, default="1000,10000,100000,1000000")
    parser.add_argument("--organizations", type=_numbers, default="1,10,100,1000")
    parser.add_argument("--tools", type=_numbers, default="20,300")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of each cell in each round")
    parser.add_argument("--processes", type=int, default=1, help="web processes of each server")
    parser.add_argument("--against", type=Path, help="another checkout, for tools/list in turns")
    parser.add_argument("--json", metavar="FILE", help="write the figures there; - for here")
    parser.add_argument("--database", default=os.environ.get("DATABASE_URL") or POSTGRESQL)
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    if options.store == "sqlite" and options.processes > 1:
        parser.error("on SQLite there is one process")
    return options


def _numbers(text: str) -> list[int]:
    return sorted(int(number) for number in text.split(","))


def _settings(options: argparse.Namespace) -> Mapping[str, str]:
    redis = scratch.redis_if_up(os.environ.get("REDIS_URL") or REDIS)
    processes = {"HALO_PROCESSES": str(options.processes)}
    return RAISED | processes | ({} if options.store == "sqlite" else redis)


def _table(part: str, options: argparse.Namespace, rounds: Rounds) -> Iterator[str]:
    shape = f"{options.rounds} rounds of {options.seconds:g} s, {options.processes} web process(es)"
    yield f"{part} on {options.store}: medians of {shape}"
    yield "| " + " | ".join((part, *HEAD)) + " |"
    yield "|---" * (1 + len(HEAD)) + "|"
    for cell, figures in rounds.items():
        middle = cells.median(figures)
        numbers = (
            *(f"{middle.per_second:,.0f}", f"{middle.p50:.2f}", f"{middle.p99:.2f}"),
            *(f"{middle.server_us:,.0f}", f"{middle.postgresql_us:,.0f}", f"{middle.bytes:,.0f}"),
        )
        yield "| " + " | ".join((cell.name, str(cell.concurrency), *numbers)) + " |"
    yield from _compared(rounds)


def _compared(rounds: Rounds) -> Iterator[str]:
    """What was measured twice: the first cells against themselves, and against other code."""
    by_name = {(cell.name, cell.concurrency): figures for cell, figures in rounds.items()}
    for (name, many), figures in by_name.items():
        if again := by_name.get((name + AGAIN, many)):
            yield _null_check(f"{name}, c={many}", figures, again)
        if other := by_name.get((name + AGAINST, many)):
            yield _against(f"{name}, c={many}", figures, other)


def _null_check(name: str, figures: Sequence[Figures], again: Sequence[Figures]) -> str:
    cpu, p50 = (cells.ratio(figures, again, one) for one in ("server_us", "p50"))
    verdict = "quiet" if cells.is_quiet(cpu) and cells.is_quiet(p50) else "TOO NOISY"
    return f"null check of {name}: server CPU x{cpu:.2f}, p50 x{p50:.2f}: {verdict}"


def _against(name: str, figures: Sequence[Figures], other: Sequence[Figures]) -> str:
    cpu, p50 = (cells.ratio(figures, other, one) for one in ("server_us", "p50"))
    return f"the other code through this, {name}: server CPU x{cpu:.2f}, p50 x{p50:.2f}"


def _plain(cell: Cell, figures: Sequence[Figures]) -> dict[str, Any]:
    return {
        "name": cell.name,
        "concurrency": cell.concurrency,
        "median": asdict(cells.median(figures)),
        "rounds": [asdict(one) for one in figures],
    }


def _write_json(where: str | None, seen: dict[str, Any]) -> None:
    text = json.dumps(seen, indent=1) + "\n"
    if where == "-":
        sys.stdout.write(text)
    elif where:
        Path(where).write_text(text)


if __name__ == "__main__":
    sys.exit(main())
