"""What every test stands on: an environment of its own, read before Django's settings are."""

import atexit
import contextlib
import datetime as dt
import functools
import gc
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import django
import hypothesis
import pytest
import time_machine

# Without compiled modules each of the many processes that are started here would compile all of
# Django for itself, which takes it twice as long as all that follows.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# Python's own number, 700, looks through all that is loaded so often that it takes a seventh of the
# time of the quick tests.
gc.set_threshold(50_000)

DATA_DIR = Path(tempfile.mkdtemp(prefix="halo-tests-"))
atexit.register(shutil.rmtree, DATA_DIR, ignore_errors=True)

for name, value in list(os.environ.items()):
    if name.startswith("HALO_") and ("TEST" not in name or not value):
        del os.environ[name]
os.environ["HALO_DATA_DIR"] = str(DATA_DIR)
os.environ["HOST"], os.environ["PORT"] = "127.0.0.1", "8000"
# No test sends a request to the internet to find out whether that works.
os.environ["HALO_CIMD"] = "yes"
if redis_url := os.environ.get("REDIS_URL"):
    # Emptied before each test: two runs on one machine must not have the same.
    from tests.drivers.server import REDIS_OF_TESTS, free_redis_database

    redis_lock = contextlib.ExitStack()
    os.environ["REDIS_URL"] = free_redis_database(redis_url, REDIS_OF_TESTS, redis_lock)
    atexit.register(redis_lock.close)
# Named here and not in pyproject.toml, and not left to the worker processes either: where it finds
# the name, pytest-django reads the settings before this file has set the environment.
os.environ["DJANGO_SETTINGS_MODULE"] = "halo_mcp.settings"
django.setup()
del os.environ["DJANGO_SETTINGS_MODULE"]

# The quick tests pass on any day: `./run verify` runs them on later ones.
if days_ahead := int(os.environ.get("HALO_TEST_DAYS_AHEAD", "0")):
    time_machine.travel(dt.timedelta(days=days_ahead), tick=True).start()

# A busy machine is no failure: no example has a deadline.
hypothesis.settings.register_profile("halo", hypothesis.settings(), deadline=None)
hypothesis.settings.load_profile("halo")


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[Any]:
    """What is imported and collected stays: no collection of garbage has to look at it."""
    gc.disable()
    collected = yield
    gc.freeze()
    gc.enable()
    return collected


def pytest_itemcollected(item: pytest.Item) -> None:
    """What starts a server or a browser takes seconds: `./run test` alone leaves it to CI."""
    if item.get_closest_marker("process") or item.get_closest_marker("browser"):
        item.add_marker("slow")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """After pytest-randomly has shuffled them, a server that tests share is started once."""
    from tests.drivers import servers  # noqa: PLC0415  settings first

    items[:] = servers.sort_items(items)


@pytest.fixture(autouse=True)
def _fresh_counters() -> Iterator[None]:
    """Every test starts with empty rate limits, wherever they are counted."""
    from django.core.cache import cache  # noqa: PLC0415  settings first

    from foundation import limits  # noqa: PLC0415
    from oauth.endpoints import page_limits  # noqa: PLC0415  settings first

    if os.environ.get("REDIS_URL"):
        _redis().flushdb()
    cache.clear()
    limits.reset_store()
    limits.reset_shares()
    page_limits.outage.forget()
    yield
    limits.reset_store()
    limits.reset_shares()
    page_limits.outage.forget()


@functools.cache
def _redis() -> Any:
    """One connection for all tests: to open one takes longer than to empty the database."""
    import redis  # noqa: PLC0415  only where there is one

    return redis.Redis.from_url(os.environ["REDIS_URL"])


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:  # noqa: ARG001  its names
    """On PostgreSQL the tables are copied, for migrations take as long as hundreds of tests."""
    from django.db import connection  # noqa: PLC0415  settings first

    from tests.drivers.server import migrated_on_postgresql  # noqa: PLC0415  settings first

    if connection.vendor == "postgresql":
        server = os.environ["DATABASE_URL"].rpartition("/")[0]
        connection.settings_dict["TEST"]["TEMPLATE"] = migrated_on_postgresql(server)


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None) -> Iterator[None]:  # noqa: ARG001  it creates the database
    """The threads of the application in process work on the connection of a test."""
    from django.db import connection  # noqa: PLC0415  settings first

    from tests.drivers import in_process_server  # noqa: PLC0415  settings first
    from tests.drivers.shared_connection import SharedConnection  # noqa: PLC0415  settings first

    shared = SharedConnection()
    with shared.share(), pytest.MonkeyPatch.context() as patched:
        _empty_tables_by_delete(patched)
        _keep_what_migrations_wrote(patched)
        yield
        # Before the database is dropped, which nobody may use then.
        in_process_server.close()
        shared.close_others()
        if hasattr(connection, "close_pool"):
            connection.close_pool()


def _empty_tables_by_delete(patched: pytest.MonkeyPatch) -> None:
    """PostgreSQL makes new files for a table and each of its indexes to truncate it.

    That takes longer than most tests; to delete a few rows does not. References are checked at the
    end of the transaction, so the order does not matter.
    """
    from django.db.backends.postgresql.operations import (  # noqa: PLC0415  settings first
        DatabaseOperations,
    )

    def sql_flush(operations: Any, _style: Any, tables: Any, **_options: Any) -> list[str]:
        names = (operations.quote_name(table) for table in tables)
        deleting = [f"DELETE FROM {name}" for name in names]  # noqa: S608  names of tables
        return ["; ".join(deleting)]  # sent at once

    patched.setattr(DatabaseOperations, "sql_flush", sql_flush)


def _keep_what_migrations_wrote(patched: pytest.MonkeyPatch) -> None:
    """Content types and permissions, which Django deletes and writes again after such a test.

    That takes a fifth of a second, and no test changes them.
    """
    from django.core.management.commands import flush  # noqa: PLC0415  settings first
    from django.db.backends.base.introspection import (  # noqa: PLC0415  settings first
        BaseDatabaseIntrospection,
    )

    find = BaseDatabaseIntrospection.django_table_names
    kept = {"django_content_type", "auth_permission"}

    def changed_by_tests(*args: Any, **options: Any) -> Any:
        return [name for name in find(*args, **options) if name not in kept]

    patched.setattr(BaseDatabaseIntrospection, "django_table_names", changed_by_tests)
    patched.setattr(flush, "emit_post_migrate_signal", lambda *_: None)


@pytest.fixture(autouse=True)
def _threads_of_the_application_start_again() -> Iterator[None]:
    """A test that may not use the database meets no connection that another test has opened."""
    from tests.drivers import shared_connection  # noqa: PLC0415  settings first

    yield
    shared_connection.close_others()


@pytest.fixture(autouse=True)
def _cheap_passwords(settings: Any) -> None:
    """The deployed hash costs a quarter of a second a person; no test is about its strength."""
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


@pytest.fixture(autouse=True, scope="session")
def _static_files_found_once() -> Iterator[None]:
    """Every test client builds the middleware again; its files on disk do not change."""
    from whitenoise.middleware import WhiteNoiseMiddleware  # noqa: PLC0415  settings first

    found: dict[str, Any] = {}
    look = WhiteNoiseMiddleware.add_files_from_finders

    def look_once(middleware: Any) -> None:
        if not found:
            look(middleware)
            found.update(middleware.files)
        middleware.files.update(found)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(WhiteNoiseMiddleware, "add_files_from_finders", look_once)
        yield


@pytest.fixture(autouse=True, scope="session")
def _documents_read_in_this_process() -> Iterator[None]:
    """Most tests of the gateway import a document, and a process for it takes half a second."""
    from tests.drivers import document_reader  # noqa: PLC0415  settings first

    with document_reader.read_in_this_process():
        yield


pytest_plugins = ["tests.drivers.fixtures"]
