"""A pytest plugin that skips the quick tests to which the database and Redis make no difference.

    python -m pytest -p tests.drivers.needs_database ...

`.ci/run` runs every quick test on SQLite; its run on PostgreSQL and Redis, which is the only one of
the slow tests, leaves these out. They are the quick tests marked `once`, and those that are seen to
use neither: no database fixture or mark, no condition under which they are skipped, and no mention
of either in their file.
"""

import re
from functools import cache
from pathlib import Path

import pytest

REASON = "needs neither database nor Redis; the run on SQLite has it"
FIXTURES = {"db", "transactional_db", "server", "counters"}
MARKS = ("django_db", "skipif")
MENTION = re.compile("redis|postgres|psycopg|DATABASE_URL|subprocess", re.IGNORECASE)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if not item.get_closest_marker("slow") and _makes_no_difference(item):
            item.add_marker(pytest.mark.skip(reason=REASON))


def _makes_no_difference(item: pytest.Item) -> bool:
    return item.get_closest_marker("once") is not None or (
        FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
        and not any(item.get_closest_marker(mark) for mark in MARKS)
        and not _mentions_one(item.path)
    )


@cache
def _mentions_one(path: Path) -> bool:
    return MENTION.search(path.read_text()) is not None
