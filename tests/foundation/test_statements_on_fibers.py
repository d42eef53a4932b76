"""Statements of many fibers at once, on the database of this run, committed for all to see."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from django.db import DataError, IntegrityError, connections
from django.db.utils import DatabaseError

from foundation import fibers
from foundation.fibers import Ground
from foundation.statements import Statement
from tests.drivers.shore import alone, ashore, gathered, together

INSERT = Statement("INSERT INTO fiber_notes (id, text) VALUES (%s, %s)")
FIND = Statement("SELECT text FROM fiber_notes WHERE id = %s")
COUNT = Statement("SELECT count(*) FROM fiber_notes")
RENAME = Statement("UPDATE fiber_notes SET text = %s WHERE id = %s")

pytestmark = pytest.mark.usefixtures("notes")


@pytest.fixture
def notes(transactional_db: None) -> Iterator[Any]:  # noqa: ARG001  what is committed is seen
    """A table of its own, and a connection beside those of the fibers."""
    beside = connections.create_connection("default")
    beside.connect()
    raw = beside.connection
    raw.execute("CREATE TABLE fiber_notes (id bigint PRIMARY KEY, text text NOT NULL)")
    yield raw
    raw.execute("DROP TABLE fiber_notes")
    raw.close()


def adds(key: int, text: str = "a") -> Callable[[], list[Any]]:
    return lambda: INSERT.rows(key, text)


def finds(key: int) -> Callable[[], Any]:
    return lambda: FIND.row(key)


def test_what_one_writes_others_read() -> None:
    def work() -> Any:
        INSERT.rows(1, "first")
        return FIND.row(1)

    assert alone(work) == ("first",)


def test_what_was_written_is_committed_once_the_fiber_goes_on(notes: Any) -> None:
    def work() -> Any:
        INSERT.rows(1, "first")
        return notes.execute("SELECT text FROM fiber_notes").fetchall()

    assert alone(work) == [("first",)]


def test_five_hundred_at_once_have_their_own_answers() -> None:
    def work(key: int) -> Any:
        INSERT.rows(key, str(key))
        return FIND.row(key)

    outcomes = together(*(lambda key=key: work(key) for key in range(500)))
    assert outcomes == [(str(key),) for key in range(500)]


def test_an_error_is_nobody_elses() -> None:
    wrong = Statement("SELECT nothing FROM fiber_notes WHERE id = %s")
    works = [adds(1), adds(1), adds(2), lambda: wrong.rows(1), adds(3)]
    outcomes = together(*works)
    kinds = [type(one) for one in outcomes]
    assert kinds.count(IntegrityError) == 1
    assert issubclass(kinds[3], DatabaseError)
    assert alone(COUNT.row) == (3,)


def test_errors_are_djangos_and_come_again_and_again() -> None:
    def work() -> None:
        for _ in range(3):
            with pytest.raises(IntegrityError):
                INSERT.rows(1, "again")

    alone(adds(1))
    alone(work)


def test_a_text_of_a_mebibyte_goes_both_ways_beside_small_ones() -> None:
    long = "ä" * 524_288

    def work(key: int) -> Any:
        INSERT.rows(key, long if key % 5 == 0 else "short")
        return FIND.row(key)

    outcomes = together(*(lambda key=key: work(key) for key in range(20)))
    assert outcomes == [(long if key % 5 == 0 else "short",) for key in range(20)]


def test_every_kind_of_value_means_the_same_as_without_a_fiber() -> None:
    values = ("text", 5, UUID(int=7), datetime(2026, 7, 28, 12, 30, 1, 5, tzinfo=UTC), None)
    told = Statement(f"SELECT {', '.join(['CAST(%s AS text)'] * len(values))}")
    there = told.row(*values)
    assert there is not None
    assert there[0] == "text"
    assert there[-1] is None
    assert alone(lambda: told.row(*values)) == there


def test_a_statement_changes_as_many_rows_as_it_says() -> None:
    def work() -> Any:
        INSERT.rows(1, "before")
        assert RENAME.rows("after", 1) == []
        return FIND.row(1)

    assert alone(work) == ("after",)


def test_who_was_cancelled_is_answered_into_the_void_and_the_next_is_not() -> None:
    async def run(ground: Ground) -> list[Any]:
        written = asyncio.Event()

        def work() -> None:
            INSERT.rows(1, "a")
            written.set()

        fibers.start(work, ground).cancel()
        told = await gathered(ground, finds(5), adds(2), finds(5))
        await asyncio.wait_for(written.wait(), 20)
        return told

    assert ashore(run) == [None, [], None]
    assert alone(COUNT.row) == (2,)


def test_the_end_of_the_ground_tells_all_that_wait() -> None:
    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, finds(1))
        begun = [fibers.start(adds(key), ground) for key in range(10)]
        ground.close()
        return await asyncio.wait_for(asyncio.gather(*begun, return_exceptions=True), 20)

    outcomes = ashore(run)
    assert all(one == [] or isinstance(one, DatabaseError) for one in outcomes)
    assert len(outcomes) == 10


def test_a_nul_is_treated_as_without_a_fiber() -> None:
    def outcome() -> Any:
        try:
            return INSERT.rows(1, "a\0b")
        except DataError:
            return "refused"

    there = outcome()
    Statement("DELETE FROM fiber_notes").rows()
    assert alone(outcome) == there


def test_a_table_that_is_gone_is_an_error_of_its_statement_only() -> None:
    gone = Statement("SELECT text FROM fiber_gone WHERE id = %s")
    lost, found = together(lambda: gone.row(1), finds(1))
    assert isinstance(lost, DatabaseError)
    assert found is None
