"""The connections to PostgreSQL that fibers share, and how they are lost and come back."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import OperationalError, connection, connections

from foundation import fibers
from foundation.fibers import Ground
from foundation.statements import Statement
from tests.drivers.shore import alone, ashore, gathered, together

pytestmark = [
    pytest.mark.skipif(settings.ON_SQLITE, reason="lines are connections to PostgreSQL"),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("notes"),
]
OWN = Statement("SELECT pg_backend_pid()")
FIND = Statement("SELECT text FROM line_notes WHERE id = %s")
INSERT = Statement("INSERT INTO line_notes (id, text) VALUES (%s, %s)")
SLEEP = Statement("SELECT CAST(pg_sleep(20) AS text)")
END = "SELECT pg_terminate_backend({}, 5000)"


@pytest.fixture
def notes() -> Iterator[None]:
    execute("CREATE TABLE line_notes (id bigint PRIMARY KEY, text varchar(20) NOT NULL)")
    yield
    execute("DROP TABLE line_notes")


def execute(*commands: str) -> list[Any]:
    """As somebody else does, who is connected to the same database."""
    with closing(psycopg.connect(**connection.get_connection_params(), autocommit=True)) as admin:
        return [admin.execute(command).statusmessage for command in commands]


def own() -> int:
    row = OWN.row()
    assert row is not None
    return int(row[0])


def test_two_hundred_fibers_share_a_few_connections() -> None:
    assert len(set(together(*[own] * 200))) == 1
    writer = Statement("WITH a AS (SELECT 1) SELECT pg_backend_pid()")
    pids = {row[0] for row in together(*[writer.row] * 200)}
    assert len(pids) == max(2, settings.HALO_CORE_THREADS) - 1


def test_what_reads_does_not_stand_behind_what_writes() -> None:
    slow = Statement("WITH a AS (SELECT 1) SELECT CAST(pg_sleep(0.4) AS text)")
    order: list[str] = []

    def writes() -> None:
        slow.rows()
        order.append("write")

    def reads() -> None:
        own()
        order.append("read")

    async def run(ground: Ground) -> None:
        await gathered(ground, own)  # its line is open
        await gathered(ground, writes, reads)

    ashore(run)
    assert order == ["read", "write"]


def test_a_line_that_is_lost_fails_those_who_wait_and_serves_the_next() -> None:
    async def run(ground: Ground) -> None:
        (pid,) = await gathered(ground, own)
        ending = ground.loop.run_in_executor(None, execute, END.format(pid))
        lost = await gathered(ground, *[SLEEP.rows] * 3)
        await ending
        assert [type(one) for one in lost] == [OperationalError] * 3
        (other,) = await gathered(ground, own)
        assert isinstance(other, int)
        assert other != pid

    ashore(run)


def test_a_line_that_was_ended_while_nobody_asked_costs_nobody_a_call() -> None:
    async def run(ground: Ground) -> list[Any]:
        (pid,) = await gathered(ground, own)
        await ground.loop.run_in_executor(None, execute, END.format(pid))
        await asyncio.sleep(0.2)  # as long as the loop needs to hear of it
        return await gathered(ground, own)

    assert isinstance(ashore(run)[0], int)


def test_a_database_that_cannot_be_reached_is_djangos_error_and_is_tried_anew(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def run(ground: Ground) -> list[Any]:
        with monkeypatch.context() as broken:
            broken.setitem(connections.settings["default"], "PORT", "1")
            refused = await gathered(ground, own, own)
        return [*refused, *await gathered(ground, own)]

    *refused, served = ashore(run)
    assert [type(one) for one in refused] == [OperationalError] * 2
    assert isinstance(served, int)


@pytest.mark.parametrize(
    "command",
    [
        "ALTER TABLE line_notes ALTER COLUMN text TYPE varchar(30)",
        "ALTER TABLE line_notes ADD COLUMN later integer",
    ],
    ids=["retyped", "widened"],
)
def test_a_table_that_changes_fails_nobody(command: str) -> None:
    def find() -> Any:
        return FIND.row(1)

    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, lambda: INSERT.rows(1, "a"))
        before = await gathered(ground, *[find] * 20)
        await ground.loop.run_in_executor(None, execute, command)
        return [*before, *await gathered(ground, *[find] * 20), *await gathered(ground, find)]

    assert ashore(run) == [("a",)] * 41


@pytest.mark.parametrize("command", ["DEALLOCATE ALL", "DISCARD ALL"])
def test_prepared_statements_that_were_thrown_away_fail_nobody(command: str) -> None:
    throw = Statement(command)
    writers = max(2, settings.HALO_CORE_THREADS) - 1

    def adding(first: int) -> list[Callable[[], Any]]:
        return [partial(INSERT.rows, key, "a") for key in range(first, first + 3 * writers)]

    async def run(ground: Ground) -> None:
        assert await gathered(ground, *adding(0)) == [[]] * 3 * writers
        # Once on each of the lines, which take their turns.
        assert await gathered(ground, *[throw.rows] * writers) == [[]] * writers
        assert await gathered(ground, *adding(100)) == [[]] * 3 * writers

    ashore(run)


def test_who_asks_first_prepares_for_all_who_ask_behind() -> None:
    names = Statement("SELECT CAST(count(*) AS integer) FROM pg_prepared_statements WHERE 1 = %s")
    assert {row[0] for row in together(*[lambda: names.row(1)] * 50)} == {1}


def test_a_statement_that_cannot_be_prepared_is_an_error_every_time() -> None:
    wrong = Statement("SELECT nothing FROM line_notes WHERE id = %s")

    def asks() -> list[str]:
        told = []
        for _ in range(2):
            with pytest.raises(Exception, match="nothing") as raised:
                wrong.rows(1)
            told.append(type(raised.value).__name__)
        return told

    assert alone(asks) == ["ProgrammingError"] * 2


def test_a_large_value_that_the_socket_takes_in_parts_is_sent_whole() -> None:
    measure = Statement("SELECT length(%s || '')")
    size = 8_000_000

    def works() -> Iterator[Callable[[], Any]]:
        for number in range(6):
            yield lambda number=number: measure.row("x" * (size if number % 2 else 1))

    assert together(*works()) == [(1,), (size,)] * 3


def test_the_orm_is_refused_on_a_fiber_and_not_elsewhere() -> None:
    def touches() -> Any:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
            return cursor.fetchone()

    def closes() -> None:
        connections.close_all()

    refused, told = together(touches, lambda: fibers.elsewhere(lambda: (touches(), closes())[0]))
    assert "async" in str(refused)
    assert told == (1,)
