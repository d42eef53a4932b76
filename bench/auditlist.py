"""`./run bench auditlist`: how long the admin's audit list takes with every filter that it offers.

Fills an empty database with audit rows (200,000 on SQLite, 1,000,000 on PostgreSQL), signs a
superuser in and prints medians of each page in milliseconds, in process. Exits with 1 when a
page did not answer with 200.
"""

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from bench import filling, starting
from bench.databases import Postgresql, Sqlite, Store
from bench.filling import COLUMNS

POSTGRESQL: Final = "postgres://postgres@127.0.0.1:5432/postgres"
ROWS: Final = {"sqlite": 200_000, "postgresql": 1_000_000}
OWN: Final = ("11111111-1111-7111-8111-111111111111", "22222222-2222-7222-8222-222222222222")
LIST: Final = "/admin/audit/actionexecution/"
# Once in so many rows something that a list without an index for it would look for everywhere.
RARE_EVERY: Final = 60_000


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        store: Store = Sqlite(folder) if options.store == "sqlite" else Postgresql(options.database)
        with store.empty() as database:
            starting.start(folder, database, {"HALO_LIMIT_STORE": "memory"})
            _close()
            store.fill(database, _with_rare(filling.audit_rows(options.rows, OWN)))
            found = _measured(options.times)
            _close()
    for line in _table(options, found):
        sys.stdout.write(f"{line}\n")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="./run bench auditlist", description=__doc__)
    parser.add_argument("--store", choices=tuple(ROWS), default="sqlite")
    parser.add_argument("--rows", type=int, help="audit rows; 200000 on SQLite, else 1000000")
    parser.add_argument("--times", type=int, default=9, help="requests of each page")
    parser.add_argument("--database", default=os.environ.get("DATABASE_URL") or POSTGRESQL)
    options = parser.parse_args()
    options.rows = options.rows or ROWS[options.store]
    return options


def _close() -> None:
    from django.db import connections  # noqa: PLC0415  settings first

    connections.close_all()


def _with_rare(rows: Iterable[tuple[Any, ...]]) -> Iterator[tuple[Any, ...]]:
    outcome, actor = COLUMNS.index("outcome"), COLUMNS.index("actor_kind")
    for number, row in enumerate(rows):
        if number % RARE_EVERY == 1:
            changed = list(row)
            changed[outcome], changed[actor] = "interrupted", "person"
            yield tuple(changed)
        else:
            yield row


def _measured(times: int) -> dict[str, tuple[float, float]]:
    """Medians of the time and of this process's processor time in milliseconds, by page."""
    from django.test import Client  # noqa: PLC0415  settings first

    from workspace.models import User  # noqa: PLC0415  the same

    client = Client(headers={"host": "localhost"})
    client.force_login(User.objects.create_superuser("bench@example.com"))
    found = {}
    for name, path in _pages():
        took = []
        for _ in range(times + 1):
            start, cpu = time.perf_counter(), time.process_time()
            status = client.get(path).status_code
            took.append((time.perf_counter() - start, time.process_time() - cpu))
            if status != 200:  # noqa: PLR2004  HTTP's own
                sys.exit(f"{name}: HTTP {status}")
        # The first fills caches of templates and of statements.
        wall, cpu = (statistics.median(column) * 1000 for column in zip(*took[1:], strict=True))
        found[name] = wall, cpu
    return found


def _pages() -> Iterator[tuple[str, str]]:
    from audit.models import ActionExecution  # noqa: PLC0415  settings first
    from foundation import admin_urls  # noqa: PLC0415  the same

    rows = ActionExecution.objects.order_by("id")
    oldest, newest = rows[0], rows.reverse()[0]
    day = oldest.started_at.date()
    filters = {
        "outcome, common": "outcome=success",
        "outcome, rare": "outcome=interrupted",
        "outcome, absent": "outcome=cancelled",
        "reason": "reason=scope_denied",
        "integration": "integration=linear",
        "no integration": "integration=",
        "tool": "tool=slack.post_message",
        "tool, absent": "tool=no.such_tool",
        "organization": f"organization={OWN[0]}",
        "organization, absent": "organization=33333333-3333-7333-8333-333333333333",
        "client": "client=bench",
        "actor, common": "actor=mcp_client",
        "actor, rare": "actor=person",
        "a year": f"period={day.year}",
        "a month": f"period={day:%Y-%m}",
        "a day": f"period={day}",
        "search: request id": f"q={newest.request_id}",
        "search: authorization id": f"q={OWN[1]}",
        "search: client id": "q=bench",
        "search: address of a person": "q=owner@example.com",
        "search: no match": "q=nothing",
        "two filters": "outcome=refused&tool=slack.post_message",
        "two filters, no match": f"outcome=interrupted&organization={OWN[0]}",
        "two filters and a month": f"outcome=refused&integration=linear&period={day:%Y-%m}",
        "search, filter and a month": f"q=bench&reason=validation&period={day:%Y-%m}",
        "a page far back": f"before={oldest.pk}&outcome=success",
    }
    yield "all calls", LIST
    yield from ((name, f"{LIST}?{query}") for name, query in filters.items())
    yield "one call", admin_urls.row_url(newest)
    yield "admin index", "/admin/"


def _table(options: argparse.Namespace, found: dict[str, tuple[float, float]]) -> Iterator[str]:
    yield f"{options.rows:,} audit rows on {options.store}, of {options.times} requests each, in ms"
    yield "| page | time | processor |"
    yield "|---|---|---|"
    for name, (wall, cpu) in found.items():
        yield f"| {name} | {wall:.0f} | {cpu:.0f} |"


if __name__ == "__main__":
    sys.exit(main())
