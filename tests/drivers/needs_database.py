"""A pytest plugin that leaves out the quick tests to which database and Redis make no difference.

    HALO_TEST_DIALECT=FILE python -m pytest -p tests.drivers.needs_database ...

`.ci/run` runs every quick test on SQLite, where `tests/drivers/dialect.py` records in which places
each of them runs code whose result may depend on the database. On PostgreSQL and Redis, as many run
again as are needed to reach each place in TESTS_OF_A_PLACE tests, from as many files as there are,
and TESTS_OF_A_FILE of each file; tests of MANY_STATEMENTS only where no others are left. So do
quick tests whose file looks for either, and those with a condition to be skipped. Left out are the
others, and those marked `once`. Without a record, all run that use a database.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.drivers import dialect
from tests.drivers.dialect import Recorded

TESTS_OF_A_PLACE = 10
TESTS_OF_A_FILE = 3
MANY_STATEMENTS = 300
FIXTURES = {"db", "transactional_db", "server", "counters"}
MARKS = ("django_db", "skipif")
MENTION = re.compile(
    r"REDIS_URL|DATABASE_URL|LIMIT_STORE|redis_monitor|query_plans|\.vendor\b"
    r"|\b(?:import|from) (?:redis|psycopg)\b"
)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    record = os.environ.get(dialect.FILE, "")
    recorded = dialect.read(record) if record and Path(record).exists() else None
    chosen = set(choose(recorded)) if recorded is not None else set()
    kept, left_out = [], []
    for item in items:
        runs = item.get_closest_marker("slow") or (
            not _makes_no_difference(item)
            and (recorded is None or item.nodeid in chosen or _is_about_one(item, recorded))
        )
        (kept if runs else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def choose(recorded: Mapping[str, Recorded]) -> Iterator[str]:
    """The ids of the tests that run again, so that each place is reached often enough."""
    reached: Counter[str] = Counter()
    for test in _one_of_each_file_after_the_other(recorded):
        file, places = test.partition("::")[0], recorded[test].places
        few = reached[file] < TESTS_OF_A_FILE
        if few or any(reached[place] < TESTS_OF_A_PLACE for place in places):
            reached.update([file, *places])
            yield test


def _one_of_each_file_after_the_other(recorded: Mapping[str, Recorded]) -> list[str]:
    """First those of few statements: what they reach, others need not reach again."""
    files: defaultdict[tuple[bool, str], int] = defaultdict(int)
    ordered = []
    for test in sorted(recorded):
        is_long = recorded[test].statements >= MANY_STATEMENTS
        file = test.partition("::")[0]
        ordered.append((is_long, files[is_long, file], test))
        files[is_long, file] += 1
    return [test for _is_long, _number, test in sorted(ordered)]


def _is_about_one(item: pytest.Item, recorded: Mapping[str, object]) -> bool:
    """Whether it was skipped on SQLite, has a condition, or its file mentions a server."""
    return (
        item.nodeid not in recorded
        or item.get_closest_marker("skipif") is not None
        or _mentions_one(item.path)
    )


def _makes_no_difference(item: pytest.Item) -> bool:
    return item.get_closest_marker("once") is not None or (
        FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
        and not any(item.get_closest_marker(mark) for mark in MARKS)
        and not _mentions_one(item.path)
    )


@cache
def _mentions_one(path: Path) -> bool:
    return MENTION.search(path.read_text()) is not None
