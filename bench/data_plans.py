"""Explains the main statement of each data tool: docs/develop/data-tool-plans.md."""

import re
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any, Final

from bench import data_calls
from bench.data_calls import CASES, Case
from bench.data_tools import Caller
from bench.scratch import ROOT

PAGE: Final = ROOT / "docs" / "develop" / "data-tool-plans.md"
WARM_UP: Final = 2
MAX_WIDTH: Final = 110
MAX_LINES: Final = 14
TABLE: Final = re.compile(r'FROM "?(workspace_\w+)')
# What differs between two runs and says nothing.
LEFT_OUT: Final = re.compile(r"^\s*(Planning|Execution|Buffers|Heap Fetches|Worker|Sort Method)")
LITERAL: Final = re.compile(r"('+[^']{2,}'+(::[a-z ]+)?|\{[^}]{40,}\})")
HEAD: Final = """\
# Plans of the data tools

The statement of each data tool that takes longest, and how PostgreSQL executes it with the {size}
demo data. Texts and ids are left out.
`./run bench tools --size {size} --database NAME --write-plans` writes this page; do not edit it.
"""


def write(caller: Caller, size: str) -> None:
    """Writes the page. The database has to be PostgreSQL."""
    sections = [HEAD.format(size=size), *_sections(caller)]
    PAGE.write_text("\n".join(sections), encoding="utf-8")


def _sections(caller: Caller) -> Iterator[str]:
    seen: set[str] = set()
    for case in CASES:
        if case.tool not in seen:
            seen.add(case.tool)
            yield _section(caller, case)


def _section(caller: Caller, case: Case) -> str:
    table, plan = _slowest(caller, case)
    lines = [f"## {case.tool}", "", f"Called for: {case.title}. The statement reads `{table}`."]
    return "\n".join([*lines, "", "```text", *plan, "```", ""])


def _slowest(caller: Caller, case: Case) -> tuple[str, list[str]]:
    """The table and the plan of the statement with the highest cost."""
    from django.db import connection  # noqa: PLC0415  settings first

    ran: list[tuple[str, Any]] = []

    def note(execute: Callable[..., Any], sql: str, params: Any, many: Any, context: Any) -> Any:
        ran.append((sql, params))
        return execute(sql, params, many, context)

    samples = list(islice(data_calls.samples(caller.member.organization), WARM_UP))
    caller.call(case, samples[0])
    with connection.execute_wrapper(note):
        caller.call(case, samples[1])
    found = [(TABLE.search(sql), sql, params) for sql, params in ran]
    plans = [
        (*_explained(sql, params), table[1])
        for table, sql, params in found
        if table and table[1] != "workspace_organization"
    ]
    _, plan, table_name = max(plans, key=lambda one: one[0])
    return table_name, plan


def _explained(sql: str, params: Any) -> tuple[float, list[str]]:
    from django.db import connection  # noqa: PLC0415  settings first

    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, BUFFERS, COSTS OFF, TIMING OFF) {sql}", params)
        lines = [line for (line,) in cursor.fetchall()]
    taken = next(float(line.split()[2]) for line in lines if line.startswith("Execution Time"))
    # What follows is about planning, and not what this statement does.
    until = next(place for place, line in enumerate(lines) if line.startswith("Planning"))
    return taken, [_short(line) for line in lines[:until] if not LEFT_OUT.match(line)][:MAX_LINES]


def _short(line: str) -> str:
    line = LITERAL.sub("…", line)
    return line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 1]}…"
