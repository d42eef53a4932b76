"""Databases with the schema before the migrations were squashed, after the present migrations.

`tests/fixtures/released` has one of each engine as SQL, made by the code of commit 2a72267.
"""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from tests.drivers import forked_commands, schema, server

FIXTURES = server.ROOT / "tests" / "fixtures" / "released"
MIGRATE = """
import json, django
django.setup()
from django.core.management import call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from halo_mcp import bootstrap
bootstrap.migrate()
recorded = MigrationRecorder(connection).applied_migrations()
print(json.dumps(sorted({*MigrationLoader(connection).disk_migrations} - {*recorded})))
call_command("makemigrations", check_changes=True, dry_run=True, verbosity=0)
"""
MIGRATE_ONE = ("manage.py", "migrate", "--verbosity=0", "workspace", "0001")
# The beginning of one row of each of several applications.
# None are created next to a database that is in use.
KEYS = {
    "HALO_SECRET_KEY": "an-example-of-sixty-letters-and-digits-0123456789-abcdefghijklmnop",
    "HALO_SEALING_KEYS": "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
}
ROWS = {
    "workspace_user": "email = 'ada@example.com'",
    "workspace_customer": "name = 'Charles Babbage'",
    "workspace_ticketmessage": "text LIKE 'The analytical engine%'",
    "oauth_authorization": "scope = 'docs:read'",
    "approvals_approvalrequest": "tool = 'stripe.refund'",
    "action_executions": "tool = 'stripe.request_refund'",
    "gateway_projecttool": "name = 'get_weather'",
    "people_person": "last_name = 'Lovelace'",
    "agents_sessionturn": "agent = 'ask-ai'",
    "tools_registry_documentationsection": "heading = 'Tools'",
}
Database = sqlite3.Connection | psycopg.Connection[Any]


@pytest.fixture(scope="module")
def released_env(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """The environment of a database with the released schema."""
    with environment(tmp_path_factory.mktemp("released")) as env:
        restore(env)
        yield env | KEYS


@pytest.fixture(
    scope="module",
    params=[
        "name = '0021_knowledge_word_indexes'",
        "app = 'approvals' AND name <> '0001_initial'",
    ],
    ids=["some", "none"],
)
def unreleased_env(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """The environment of a database without some of the replaced migrations, or any of an app."""
    with environment(tmp_path_factory.mktemp("unreleased")) as env:
        restore(env)
        with connect(env) as connection:
            connection.execute(f"DELETE FROM django_migrations WHERE {request.param}")  # noqa: S608  ours
        yield env | KEYS


@contextmanager
def environment(folder: Path) -> Iterator[dict[str, str]]:
    port = server.free_port()
    with server.backends_of_its_own(port) as backends:
        yield (
            server.environment(folder, port)
            | backends
            | {"DJANGO_SETTINGS_MODULE": "halo_mcp.settings"}
        )


@contextmanager
def connect(env: Mapping[str, str]) -> Iterator[Database]:
    if url := env.get("DATABASE_URL"):
        with psycopg.connect(url, autocommit=True) as connection:
            yield connection
        return
    data = Path(env["HALO_DATA_DIR"])
    data.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(data / server.DATABASE, isolation_level=None)) as opened:
        yield opened


def restore(env: Mapping[str, str]) -> None:
    with connect(env) as connection:
        if isinstance(connection, sqlite3.Connection):
            # In one transaction, so that the disk is waited for once.
            dump = (FIXTURES / "sqlite.sql").read_text()
            connection.executescript(f"BEGIN; {dump} COMMIT;")
        else:
            connection.execute((FIXTURES / "postgresql.sql").read_bytes())


def read_schema(env: Mapping[str, str]) -> list[tuple[Any, ...]]:
    with connect(env) as connection:
        if isinstance(connection, sqlite3.Connection):
            return schema.read_sqlite(connection)
        return schema.read_postgresql(connection)


def count_rows(env: Mapping[str, str]) -> dict[str, int]:
    with connect(env) as connection:
        return {
            table: len(connection.execute(f"SELECT 1 FROM {table} WHERE {row}").fetchall())  # noqa: S608  both are ours
            for table, row in ROWS.items()
        }


def test_a_released_database_migrates_and_keeps_its_rows(
    released_env: dict[str, str], tmp_path: Path
) -> None:
    assert {*count_rows(released_env).values()} == {1}
    migrated = forked_commands.run(["-c", MIGRATE], released_env)
    assert migrated.returncode == 0, migrated.stderr
    assert json.loads(migrated.stdout) == []
    assert {*count_rows(released_env).values()} == {1}
    with environment(tmp_path) as fresh:
        server.lay_tables(fresh)
        assert read_schema(released_env) == read_schema(fresh)


@pytest.mark.parametrize(
    "command",
    [
        ("manage.py", "migrate"),
        ("manage.py", "bootstrap"),
        ("manage.py", "up"),
        ("-m", "halo_mcp.server.serve"),
    ],
    ids=lambda words: words[-1],
)
def test_a_database_of_a_version_before_the_release_is_refused_in_one_sentence(
    command: tuple[str, ...], unreleased_env: dict[str, str]
) -> None:
    refused = forked_commands.run(command, unreleased_env)
    assert refused.returncode == 1
    assert "start the version of commit 2a72267 on it once, then this one." in refused.stderr
    assert "Traceback" not in refused.stderr


def test_a_first_start_that_was_interrupted_between_migrations_continues(tmp_path: Path) -> None:
    with environment(tmp_path) as env:
        begun = forked_commands.run(MIGRATE_ONE, env)
        assert begun.returncode == 0, begun.stderr
        with connect(env) as connection:
            # Recorded at the end of all migrations only.
            connection.execute(
                "DELETE FROM django_migrations WHERE name = '0001_squashed_accounts'"
            )
        migrated = forked_commands.run(["-c", MIGRATE], env)
        assert migrated.returncode == 0, migrated.stderr
