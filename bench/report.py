"""Formats a run: a table for the terminal, JSON, or a page of the repository."""

import json
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from bench.contestants import KINDS
from bench.figures import Cell, Run, ServerResult
from bench.rounds import QUIET, Spread
from bench.scratch import ROOT

RESULTS: Final = ROOT / "bench" / "RESULTS.md"
HEADINGS: Final = (
    "server",
    "calls/s",
    "p50 ms",
    "p99 ms",
    "CPU us a call: server",
    "PostgreSQL",
    "Redis",
    "MB a worker (PSS)",
    "ours is (range)",
    "by CPU time",
)
INTRODUCTION: Final = """\
# Results of `./run bench`

Written by `./run bench --write-results`; [README](README.md) says what is measured and how. Figures
are of one machine, with the load generator on the same processors: read them as ratios.
"""


def deliver(run: Run, *, json_to: str | None, results: bool) -> None:
    """Tell a run to whoever asked: on the terminal, as JSON to a file or `-`, in RESULTS.md."""
    if json_to == "-":
        sys.stdout.write(json.dumps(run.for_programs(), indent=1) + "\n")
    else:
        sys.stdout.write(text(run))
    if json_to not in {None, "-"}:
        Path(str(json_to)).write_text(json.dumps(run.for_programs(), indent=1) + "\n")
    if results and not run.faults:
        RESULTS.write_text(page(run))


def text(run: Run) -> str:
    """For a terminal."""
    blocks = [_block(cell) for cell in run.cells]
    return "\n".join([*blocks, *run.checks, *_verdict(run), ""])


def page(run: Run) -> str:
    """For the repository, in Markdown."""
    facts = [("load before", f"{run.load:.2f}"), *run.machine.items(), *run.versions.items()]
    settings = f"{run.rounds} rounds of {run.seconds} s a turn, driven by {run.driver}."
    parts = [
        INTRODUCTION,
        "## The machine\n",
        _markdown(("what", "which"), facts),
        f"\n{settings}\n",
        *(f"## {cell.title}\n\n{_table(cell)}\n\n{_noise(cell)}\n" for cell in run.cells),
        "## What the records say\n",
        "\n".join(f"- {line}" for line in run.checks) + "\n",
    ]
    return "\n".join(parts)


def _block(cell: Cell) -> str:
    rows = [HEADINGS, *map(_row, cell.results())]
    widths = [max(len(row[place]) for row in rows) for place in range(len(HEADINGS))]
    lines = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)
    return "\n".join([cell.title, *lines, _noise(cell), ""])


def _table(cell: Cell) -> str:
    return _markdown(HEADINGS, map(_row, cell.results()))


def _row(one: ServerResult) -> tuple[str, ...]:
    cpu = (f"{one.cpu[group]:.0f}" if group in one.cpu else "-" for group in GROUPS)
    return (
        KINDS[one.name].title,
        f"{one.rate:.0f}",
        f"{one.p50:.1f}",
        f"{one.p99:.1f}",
        *cpu,
        f"{one.memory.resident / 1000:.0f} ({one.memory.proportional / 1000:.0f})",
        _times(one.ahead),
        _times(one.thrift),
    )


GROUPS: Final = ("server", "postgresql", "redis")


def _times(ratio: Spread | None) -> str:
    if ratio is None:
        return "-"
    return f"{ratio.median:.2f}x ({ratio.least:.2f}-{ratio.most:.2f})"


def _noise(cell: Cell) -> str:
    check = cell.null_check
    figure = f"{check.median:.3f} ({check.least:.3f}-{check.most:.3f})"
    verdict = "" if cell.is_quiet else f": TOO NOISY, outside {QUIET[0]}-{QUIET[1]}"
    return f"Null check, ours against ours: {figure}{verdict}"


def _verdict(run: Run) -> list[str]:
    if run.faults:
        return [f"VOID: {fault}" for fault in run.faults]
    noisy = [cell.title for cell in run.cells if not cell.is_quiet]
    return [f"Too noisy, to be taken again: {title}" for title in noisy]


def _markdown(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)
