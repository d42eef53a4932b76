"""A pytest plugin that leaves out the quick tests to which database and Redis make no difference.

    HALO_TEST_DIALECT=FILE python -m pytest -p tests.drivers.needs_database ...

`.ci/run` runs every quick test on SQLite, where `tests/drivers/dialect.py` records in which places
each of them runs code whose result may depend on the database. On PostgreSQL and Redis, as many run
again as are needed to reach each place in TESTS_OF_A_PLACE tests, from as many files as there are,
and TESTS_OF_A_FILE of each file. So do quick tests whose file mentions either, and those with a
condition to be skipped. Left out are the others, and those marked `once`. Without a record, all run
that use a database.
"""

import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

from tests.drivers import dialect

TESTS_OF_A_PLACE = 30
TESTS_OF_A_FILE = 3
FIXTURES = {"db", "transactional_db", "server", "counters"}
MARKS = ("django_db", "skipif")
MENTION = re.compile("redis|postgres|psycopg|DATABASE_URL|subprocess", re.IGNORECASE)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    record = os.environ.get(dialect.FILE, "")
    places = dialect.read(record) if record and Path(record).exists() else None
    chosen = set(choose(places)) if places is not None else set()
    kept, left_out = [], []
    for item in items:
        runs = item.get_closest_marker("slow") or (
            not _makes_no_difference(item)
            and (places is None or item.nodeid in chosen or _is_about_one(item, places))
        )
        (kept if runs else left_out).append(item)
    config.hook.pytest_deselected(items=left_out)
    items[:] = kept


def choose(places: Mapping[str, list[str]]) -> Iterator[str]:
    """The ids of the tests that run again, so that each place is reached often enough."""
    reached: Counter[str] = Counter()
    for test in _one_of_each_file_after_the_other(places):
        file = test.partition("::")[0]
        few = reached[file] < TESTS_OF_A_FILE
        if few or any(reached[place] < TESTS_OF_A_PLACE for place in places[test]):
            reached.update([file, *places[test]])
            yield test


def _one_of_each_file_after_the_other(tests: Mapping[str, object]) -> list[str]:
    files: defaultdict[str, int] = defaultdict(int)
    ordered = []
    for test in sorted(tests):
        file = test.partition("::")[0]
        ordered.append((files[file], test))
        files[file] += 1
    return [test for _number, test in sorted(ordered)]


def _is_about_one(item: pytest.Item, places: Mapping[str, object]) -> bool:
    """Whether it was skipped on SQLite, has a condition, or its file mentions a server."""
    return (
        item.nodeid not in places
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
