"""The contents of the database, as SQLite's own file or as a dump of `pg_dump`, and back again.

A password reaches PostgreSQL's programs in their environment, never on their command line.
"""

import os
import sqlite3
import subprocess
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Final, cast

from django.db import DatabaseError, connection, transaction
from django.db.migrations.recorder import MigrationRecorder
from psycopg.pq import Conninfo

READ_BYTES: Final = 1024 * 1024
# Counters of the last minutes (foundation/limits/in_postgresql.py).
LEFT_OUT: Final = "foundation_rate_counter"
BEFORE_RESTORE: Final = ".before-restore"
# Options of Django and psycopg, which PostgreSQL's programs do not have.
_RESERVED: Final = frozenset({"client_encoding", "cursor_factory", "context"})
_DROP_EVERYTHING: Final = """
SET statement_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
BEGIN;
DO $$
DECLARE
    object text;
    objects text[] := ARRAY(
        SELECT format('%s IF EXISTS %I.%I', CASE relkind WHEN 'v' THEN 'VIEW'
                      WHEN 'm' THEN 'MATERIALIZED VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END,
                      current_schema(), relname)
          FROM pg_class AS c
         WHERE relnamespace = current_schema()::regnamespace
           AND relkind IN ('r', 'p', 'v', 'm', 'S')
           AND NOT EXISTS (
               SELECT 1 FROM pg_depend WHERE objid = c.oid AND deptype IN ('e', 'i', 'a')
           )
         UNION ALL
        SELECT format('ROUTINE IF EXISTS %s', p.oid::regprocedure)
          FROM pg_proc AS p
         WHERE pronamespace = current_schema()::regnamespace
           AND NOT EXISTS (SELECT 1 FROM pg_depend WHERE objid = p.oid AND deptype = 'e')
    );
BEGIN
    FOREACH object IN ARRAY objects LOOP
        EXECUTE format('DROP %s CASCADE', object);
    END LOOP;
END $$;
"""


class DatabaseNotCopied(Exception):
    """The database cannot be backed up or restored; the message is for the operator."""


@dataclass(frozen=True, slots=True)
class Dump:
    """The database at one moment: its data, its migrations, and the number of rows by table."""

    data: Iterator[bytes]
    migrations: list[str]
    rows: dict[str, int]


@contextmanager
def dump(scratch: Path) -> Iterator[Dump]:
    """Yields a dump of the database, consistent while others write.

    SQLite is copied into a file in the folder `scratch` first. Raises DatabaseNotCopied.
    """
    dumping = _dump_sqlite if connection.vendor == "sqlite" else _dump_postgresql
    try:
        with dumping(scratch) as found:
            yield found
    except (DatabaseError, sqlite3.Error) as error:
        raise DatabaseNotCopied(str(error).partition("\n")[0]) from error


def load(data: Iterable[bytes]) -> str:
    """Replaces the database with a dump; returns where the one before is, if it was kept.

    Either all of it is replaced, or nothing. Raises DatabaseNotCopied.
    """
    connection.close()
    try:
        if connection.vendor == "sqlite":
            return _load_sqlite(data)
        _load_postgresql(data)
    except (DatabaseError, sqlite3.Error) as error:
        raise DatabaseNotCopied(str(error).partition("\n")[0]) from error
    return ""


def require_unused() -> None:
    """Raises DatabaseNotCopied while another process is connected to the database."""
    if connection.vendor == "sqlite":
        path = _sqlite_path()
        if path.is_file() and path.stat().st_size:
            _require_unused_sqlite(path)
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid() "
            "AND backend_type = 'client backend'"
        )
        (others,) = cursor.fetchone()
    if others:
        raise DatabaseNotCopied(
            f"{others} other connections to the database are open: stop the web processes and the "
            "worker first."
        )


def read_state() -> tuple[list[str], dict[str, int]]:
    """Returns the migrations of the database, and the number of rows of each table."""
    migrations = [".".join(key) for key in MigrationRecorder(connection).applied_migrations()]
    quote = connection.ops.quote_name
    rows = {}
    with connection.cursor() as cursor:
        tables = connection.introspection.table_names(cursor)
        for table in sorted(set(tables) - {LEFT_OUT}):
            cursor.execute(f"SELECT count(*) FROM {quote(table)}")  # noqa: S608  names of its own
            (rows[table],) = cursor.fetchone()
    return sorted(migrations), rows


@contextmanager
def _dump_sqlite(scratch: Path) -> Iterator[Dump]:
    path = scratch / "database.sqlite3"
    connection.ensure_connection()
    with closing(sqlite3.connect(path)) as copy:
        # In one step: SQLite begins again whenever another process writes between two steps.
        connection.connection.backup(copy)
        # One file, without a journal next to it.
        copy.execute("PRAGMA journal_mode = DELETE")
        _check_sqlite(copy)
        recorded = copy.execute("SELECT app, name FROM django_migrations").fetchall()
        rows = {table: _count(copy, table) for table in _sqlite_tables(copy) if table != LEFT_OUT}
    with path.open("rb") as file:
        yield Dump(_read(file), sorted(".".join(each) for each in recorded), rows)


def _sqlite_tables(database: sqlite3.Connection) -> list[str]:
    # As Django's introspection names them.
    query = (
        "SELECT name FROM sqlite_master "
        "WHERE type = 'table' AND name <> 'sqlite_sequence' ORDER BY name"
    )
    return [name for (name,) in database.execute(query)]


def _count(database: sqlite3.Connection, table: str) -> int:
    (number,) = database.execute(f'SELECT count(*) FROM "{table}"').fetchone()  # noqa: S608  its own name
    return int(number)


def _check_sqlite(database: sqlite3.Connection) -> None:
    (found,) = database.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise DatabaseNotCopied(f"the database file is damaged: {found}")


def _load_sqlite(data: Iterable[bytes]) -> str:
    path = _sqlite_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f"{path.name}.restoring")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    try:
        with fresh.open("wb") as file:
            for piece in data:
                file.write(piece)
            file.flush()
            os.fsync(file.fileno())
        with closing(sqlite3.connect(fresh)) as database:
            _check_sqlite(database)
        kept = _keep_sqlite(path)
        fresh.replace(path)
    finally:
        fresh.unlink(missing_ok=True)
    return kept


def _keep_sqlite(path: Path) -> str:
    """Moves the database file aside, and returns where it is."""
    if not path.is_file() or not path.stat().st_size:
        return ""
    _require_unused_sqlite(path)
    kept = path.with_suffix(BEFORE_RESTORE)
    path.replace(kept)
    return str(kept)


def _require_unused_sqlite(path: Path) -> None:
    """Makes a database one file. SQLite refuses that while another process has it open."""
    with closing(sqlite3.connect(path, timeout=1)) as database:
        try:
            (mode,) = database.execute("PRAGMA journal_mode = DELETE").fetchone()
        except sqlite3.OperationalError as error:
            if "locked" not in str(error):
                raise
            mode = "locked"
    if mode != "delete":
        raise DatabaseNotCopied(
            f"another process uses {path}: stop the web processes and the worker first."
        )


def _sqlite_path() -> Path:
    return Path(str(connection.settings_dict["NAME"]))


@contextmanager
def _dump_postgresql(_scratch: Path) -> Iterator[Dump]:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        # The dump may take hours.
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")
        cursor.execute("SET LOCAL statement_timeout = 0")
        cursor.execute("SELECT pg_export_snapshot()")
        (snapshot,) = cursor.fetchone()
        migrations, rows = read_state()
        words = ["--format=custom", "--compress=0", "--no-owner", "--no-privileges"]
        words += [f"--snapshot={snapshot}", f"--exclude-table-data={LEFT_OUT}"]
        with _program("pg_dump", words, stdout=subprocess.PIPE) as running:
            yield Dump(_read(cast("IO[bytes]", running.stdout)), migrations, rows)


def _load_postgresql(data: Iterable[bytes]) -> None:
    """Restores in one transaction, which is committed only if the whole dump was read."""
    reading = ["--file=-", "--no-owner", "--no-privileges"]
    writing = ["--no-psqlrc", "--quiet", "--set=ON_ERROR_STOP=1"]
    with (
        _program("psql", writing, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as psql,
        suppress(BrokenPipeError),  # psql has ended, and says why
        cast("IO[bytes]", psql.stdin) as statements,
    ):
        statements.write(_DROP_EVERYTHING.encode())
        with _program(
            "pg_restore", reading, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as restoring:
            _translate(data, restoring, statements)
        # Only now: psql rolls back at the end of its input.
        statements.write(b"COMMIT;\n")


def _translate(
    data: Iterable[bytes], program: subprocess.Popen[bytes], statements: IO[bytes]
) -> None:
    """Writes the data into a program, and its output to `statements`, at the same time."""
    failures: list[Exception] = []

    def feed() -> None:
        try:
            # A program that has ended says why.
            with suppress(BrokenPipeError), cast("IO[bytes]", program.stdin) as into:
                for piece in data:
                    into.write(piece)
        except Exception as error:  # noqa: BLE001  raised below, in the thread that waits
            failures.append(error)

    feeding = threading.Thread(target=feed)
    feeding.start()
    try:
        for piece in _read(cast("IO[bytes]", program.stdout)):
            statements.write(piece)
    except BaseException:
        # Otherwise its output would block it, and it the thread.
        program.kill()
        raise
    finally:
        feeding.join()
    if failures:
        raise failures[0]


@contextmanager
def _program(
    name: str, words: list[str], *, stdin: int | None = None, stdout: int
) -> Iterator[subprocess.Popen[bytes]]:
    """Runs a program of PostgreSQL. Raises DatabaseNotCopied if it is missing or fails."""
    with tempfile.TemporaryFile() as errors:
        try:
            process = subprocess.Popen(  # noqa: S603  words of ours
                [name, *words],
                env={**os.environ, **_libpq_environment()},
                stdin=stdin,
                stdout=stdout,
                stderr=errors,
            )
        except FileNotFoundError:
            raise DatabaseNotCopied(
                f"{name} is not installed: install the client programs of PostgreSQL (on Debian: "
                "apt-get install postgresql-client), of the version of the server."
            ) from None
        with process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise
        if process.returncode:
            errors.seek(0)
            said = errors.read().decode(errors="replace").strip().splitlines() or ["no reason"]
            raise DatabaseNotCopied(f"{name} failed: {said[0].removeprefix(f'{name}: ')}")


def _libpq_environment() -> Mapping[str, str]:
    """The parameters of the connection as the environment variables of libpq."""
    given = connection.get_connection_params()
    variables = {each.keyword.decode(): each.envvar for each in Conninfo.get_defaults()}
    return {
        variable.decode(): str(given[name])
        for name, variable in variables.items()
        if variable and given.get(name) is not None and name not in _RESERVED
    }


def _read(file: IO[bytes]) -> Iterator[bytes]:
    while piece := file.read(READ_BYTES):
        yield piece
