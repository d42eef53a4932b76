"""How fibers share an SQLite file: groups that are committed at once, and what spoils one."""

import asyncio
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import IntegrityError, OperationalError, connections

from foundation import fibers, file_line
from foundation.fibers import Ground, Threads
from foundation.statements import Statement
from tests.drivers.shore import alone, ashore, gathered, together

pytestmark = pytest.mark.skipif(not settings.ON_SQLITE, reason="the file is SQLite's")
INSERT = Statement("INSERT INTO notes (id, text) VALUES (%s, %s)")
INSERTED = INSERT.sql.replace("%s", "?")
COUNT = Statement("SELECT count(*) FROM notes")


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, django_db_blocker: Any) -> Iterator[Path]:
    """A file of its own, which every connection made meanwhile opens."""
    file = tmp_path / "fibers.sqlite3"
    monkeypatch.setitem(connections.settings["default"], "NAME", str(file))
    with closing(sqlite3.connect(file)) as raw:
        # As `migrate` leaves it: two that turn a file to WAL at once get in each other's way
        # (https://www.sqlite.org/wal.html, section 3).
        raw.execute("PRAGMA journal_mode = WAL")
        raw.execute("CREATE TABLE notes (id integer PRIMARY KEY, text text NOT NULL)")
    with django_db_blocker.unblock():
        yield file


def adds(key: int) -> Callable[[], Any]:
    return lambda: INSERT.rows(key, "a")


def rows(path: Path) -> int:
    with closing(sqlite3.connect(path)) as raw:
        (count,) = raw.execute("SELECT count(*) FROM notes").fetchone()
        return int(count)


class Connected:
    """A connection to the file, which tells what it was asked and may be told to fail."""

    def __init__(self, real: sqlite3.Connection) -> None:
        self._real = real
        self.heard: list[str] = []
        self.fails: dict[str, Exception] = {}

    def execute(self, sql: str, *values: Any) -> sqlite3.Cursor:
        self.heard.append(sql)
        if sql in self.fails:
            # As SQLite does with what it cannot go on with.
            if self._real.in_transaction:
                self._real.execute("ROLLBACK")
            raise self.fails.pop(sql)
        return self._real.execute(sql, *values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Connected]:
    """The connections that are made meanwhile."""
    connected: list[Connected] = []
    usual = file_line._connected

    def listed() -> Connected:
        connected.append(Connected(usual()))
        return connected[-1]

    monkeypatch.setattr(file_line, "_connected", listed)
    return connected


def test_what_comes_at_once_or_while_others_are_written_is_committed_together(
    path: Path, made: list[Connected]
) -> None:
    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, adds(0))
        made[0].heard.clear()
        at_once = [fibers.start(adds(key), ground) for key in range(1, 50)]
        await asyncio.sleep(0)  # they are on their way
        meanwhile = [fibers.start(adds(key), ground) for key in range(50, 100)]
        return [await one for one in (*at_once, *meanwhile)]

    assert ashore(run) == [[]] * 99
    assert rows(path) == 100
    assert made[0].heard.count("COMMIT") == 2


def test_one_that_ends_the_whole_transaction_is_an_error_of_its_group(path: Path) -> None:
    with closing(sqlite3.connect(path)) as raw:
        raw.execute(
            "CREATE TRIGGER unlucky BEFORE INSERT ON notes WHEN NEW.id = 13"
            " BEGIN SELECT RAISE(ROLLBACK, 'unlucky'); END"
        )

    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, adds(1))
        refused = await gathered(ground, *map(adds, (2, 13, 3)))
        return [*refused, *await gathered(ground, adds(4))]

    outcomes = ashore(run)
    assert [type(one) for one in outcomes] == [IntegrityError] * 3 + [list]
    assert rows(path) == 2


def test_many_at_once_are_written_in_several_groups(path: Path, made: list[Connected]) -> None:
    many = 3 * file_line.MOST_AT_ONCE + 1
    assert together(*map(adds, range(many))) == [[]] * many
    assert rows(path) == many
    assert made[0].heard.count("COMMIT") == 4


def test_the_loop_waits_for_nobody_who_writes(path: Path, made: list[Connected]) -> None:
    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, adds(1))
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            waiting = fibers.start(adds(2), ground)
            await asyncio.sleep(0.05)
            assert not waiting.done()
            other.execute("COMMIT")
        await waiting
        # What the loop writes on next.
        return made[-1].execute("PRAGMA busy_timeout").fetchall()

    assert ashore(run) == [(0,)]
    assert rows(path) == 2


def test_where_a_commit_may_have_to_wait_a_thread_writes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = settings.DATABASES["default"]["OPTIONS"]
    options = usual | {"init_command": "PRAGMA journal_mode = DELETE"}
    monkeypatch.setitem(connections.settings["default"], "OPTIONS", options)

    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, adds(1))
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM notes").fetchall()
            waiting = fibers.start(adds(2), ground)
            await asyncio.sleep(0.05)
            assert not waiting.done()
            reader.execute("COMMIT")
        return [await waiting]

    assert ashore(run) == [[]]
    assert rows(path) == 2


@pytest.mark.parametrize(
    ("statement", "error"),
    [
        ("BEGIN IMMEDIATE", sqlite3.DatabaseError("database disk image is malformed")),
        ("BEGIN IMMEDIATE", MemoryError()),
        (INSERTED, sqlite3.OperationalError("database or disk is full")),
    ],
    ids=repr,
)
def test_what_fails_on_the_loop_is_tried_once_more_by_a_thread(
    path: Path, made: list[Connected], statement: str, error: Exception
) -> None:
    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, adds(1))
        made[0].fails[statement] = error
        return await gathered(ground, adds(2), adds(3), adds(4))

    assert ashore(run) == [[]] * 3
    assert rows(path) == 4
    assert len(made) == 2


def test_a_group_that_is_not_committed_is_an_error_of_all_and_undone(
    path: Path, made: list[Connected]
) -> None:
    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, adds(1))
        made[0].fails["COMMIT"] = sqlite3.OperationalError("disk I/O error")
        refused = await gathered(ground, adds(2), adds(1), adds(3))
        return [*refused, *await gathered(ground, adds(2), COUNT.row)]

    outcomes = ashore(run)
    errors = [OperationalError, IntegrityError, OperationalError]
    assert [type(one) for one in outcomes[:3]] == errors
    assert outcomes[3] == []
    assert rows(path) == 2


def refuses(_work: Callable[[], Any]) -> "asyncio.Future[Any]":
    raise RuntimeError("out of threads")


def never_begins(_work: Callable[[], Any]) -> "asyncio.Future[Any]":
    future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    future.cancel()
    return future


@pytest.mark.parametrize(
    ("thread", "error"), [(refuses, RuntimeError), (never_begins, OperationalError)]
)
def test_what_no_thread_commits_is_an_error_and_undone(
    path: Path, thread: Threads, error: type[Exception]
) -> None:
    async def run(ground: Ground) -> list[Any]:
        own = iter([ground.own, thread, ground.own])

        def has_done(work: Callable[[], Any]) -> "asyncio.Future[Any]":
            return next(own)(work)

        others = Ground(ground.threads, has_done)
        try:
            first = await gathered(others, adds(0))
            refused = await gathered(others, *map(adds, range(1, file_line.MOST_AT_ONCE + 1)))
            return [*first, *refused, *await gathered(others, adds(1))]
        finally:
            others.close()

    first, *refused, last = ashore(run)
    assert (first, last) == ([], [])
    assert {type(one) for one in refused} == {error}
    assert rows(path) == 2


def test_those_behind_a_group_that_finds_no_thread_are_refused_with_it(path: Path) -> None:
    async def run(ground: Ground) -> list[Any]:
        without = Ground(ground.threads, refuses)
        try:
            return await gathered(without, *map(adds, range(file_line.MOST_AT_ONCE + 1)))
        finally:
            without.close()

    assert {type(one) for one in ashore(run)} == {RuntimeError}
    assert rows(path) == 0


def test_one_that_fails_leaves_the_others_of_its_group_alone(path: Path) -> None:
    alone(adds(1))
    outcomes = together(*map(adds, (5, 6, 1, 7, 1, 8)))
    refused = [isinstance(one, IntegrityError) for one in outcomes]
    assert refused == [False, False, True, False, True, False]
    assert rows(path) == 5


def test_a_value_that_no_column_takes_fails_its_statement_only(path: Path) -> None:
    outcomes = together(adds(1), lambda: INSERT.rows(2**70, "a"), adds(2))
    assert isinstance(outcomes[1], OverflowError)
    assert rows(path) == 2


def test_a_group_that_cannot_be_committed_is_an_error_of_all_and_undone(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(
        connections.settings["default"],
        "OPTIONS",
        settings.DATABASES["default"]["OPTIONS"] | {"timeout": 0.05},
    )

    async def run(ground: Ground) -> list[Any]:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            await gathered(ground, adds(1))
            other.execute("BEGIN IMMEDIATE")
            refused = await gathered(ground, *map(adds, (2, 3, 4)))
            other.execute("ROLLBACK")
        return [*refused, *await gathered(ground, *map(adds, (2, 3, 4)))]

    outcomes = ashore(run)
    assert [type(one) for one in outcomes[:3]] == [OperationalError] * 3
    assert outcomes[3:] == [[]] * 3
    assert rows(path) == 4


def test_reading_goes_on_while_somebody_writes_for_long(path: Path) -> None:
    async def run(ground: Ground) -> list[Any]:
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            await gathered(ground, adds(1), COUNT.row)
            other.execute("BEGIN IMMEDIATE")
            waiting = fibers.start(adds(2), ground)
            read = await gathered(ground, COUNT.row)
            assert not waiting.done()
            other.execute("COMMIT")
        return [*read, await waiting]

    assert ashore(run) == [(1,), []]


def test_what_another_process_wrote_is_read_at_once(path: Path) -> None:
    async def run(ground: Ground) -> list[Any]:
        first = await gathered(ground, COUNT.row)
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("INSERT INTO notes VALUES (1, 'a')")
        return [*first, *await gathered(ground, COUNT.row)]

    assert ashore(run) == [(0,), (1,)]


def test_a_file_that_cannot_be_opened_is_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def run(ground: Ground) -> list[Any]:
        with monkeypatch.context() as broken:
            nowhere = str(path.parent / "nowhere" / "x.sqlite3")
            broken.setitem(connections.settings["default"], "NAME", nowhere)
            refused = await gathered(ground, COUNT.row, adds(1))
        return [*refused, *await gathered(ground, COUNT.row, adds(1))]

    *refused, counted, added = ashore(run)
    assert [type(one) for one in refused] == [OperationalError] * 2
    assert (counted, added, rows(path)) == ((0,), [], 1)


@pytest.mark.parametrize("earlier", [0, 1])
def test_what_was_being_written_at_the_end_is_written_and_what_waited_is_refused(
    path: Path, earlier: int
) -> None:
    async def run(ground: Ground) -> list[Any]:
        await gathered(ground, *map(adds, range(100, 100 + earlier)))
        begun = [fibers.start(adds(key), ground) for key in range(5)]
        await asyncio.sleep(0)  # they are on their way
        late = [fibers.start(adds(key), ground) for key in range(5, 10)]
        ground.close()
        return [await settled(one) for one in (*begun, *late)]

    outcomes = ashore(run)
    assert rows(path) == 5 + earlier
    assert [type(one) for one in outcomes] == [list] * 5 + [OperationalError] * 5


def test_what_had_not_begun_at_the_end_is_refused(path: Path) -> None:
    async def run(ground: Ground) -> list[Any]:
        waiting = fibers.start(adds(1), ground)
        ground.close()
        return [await settled(waiting)]

    assert [type(one) for one in ashore(run)] == [OperationalError]
    assert rows(path) == 0


async def settled(future: Any) -> Any:
    try:
        return await future
    except OperationalError as error:
        return error
