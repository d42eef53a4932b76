"""A pytest plugin that leaves out the quick tests to which database and Redis make no difference.

    HALO_TEST_DIALECT=FILE python -m pytest -p tests.drivers.needs_database ...

`.ci/run` runs every quick test on SQLite, where `tests/drivers/dialect.py` records in which places
each of them runs code whose result may depend on the database. On PostgreSQL and Redis, as many run
again as are needed to reach each place in TESTS_OF_A_PLACE tests, and TESTS_OF_A_FILE of each file
that uses the database. Those that reach many such places with few statements come first. So do
quick tests whose file looks for either, and those with a condition to be skipped. Left out are the
others, and those marked `once`. Without a record, all run that use a database.
"""

import os
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from heapq import heapify, heappop, heappush
from pathlib import Path

import pytest

from tests.drivers import dialect
from tests.drivers.dialect import Recorded

TESTS_OF_A_PLACE = 10
TESTS_OF_A_FILE = 3
# What a test costs besides its statements, as a number of them.
STATEMENTS_OF_A_TEST = 50
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
    chosen = dict.fromkeys(_reach_places(recorded))
    yield from chosen
    files = Counter(_get_file(test) for test in chosen)
    # A test without statements says nothing about the database.
    others = (test for test in recorded.keys() - chosen if recorded[test].statements)
    for test in sorted(others, key=lambda test: (recorded[test].statements, test)):
        if files[_get_file(test)] < TESTS_OF_A_FILE:
            files[_get_file(test)] += 1
            yield test


def _reach_places(recorded: Mapping[str, Recorded]) -> Iterator[str]:
    """In each step the test that reaches the most, for its statements, of what is not yet reached.

    Of equals, one of each file after the other. The worth of a test only falls: one that is first
    in the queue and worth as much as before is worth the most.
    """
    reached: Counter[str] = Counter()
    files: Counter[str] = Counter()
    queue = []

    def worth(test: str) -> float:
        places, statements = recorded[test]
        missing = sum(reached[place] < TESTS_OF_A_PLACE for place in places)
        return missing / (STATEMENTS_OF_A_TEST + statements)

    for test in sorted(recorded):
        files[_get_file(test)] += 1
        queue.append((-worth(test), files[_get_file(test)], test))
    heapify(queue)
    while queue:
        expected, number, test = heappop(queue)
        now = -worth(test)
        if now > expected:
            heappush(queue, (now, number, test))
        elif now < 0:
            reached.update(recorded[test].places)
            yield test


def _get_file(test: str) -> str:
    return test.partition("::")[0]


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
