"""Waits for PostgreSQL have a limit, and so have the connections of a process."""

import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from foundation import outbound
from foundation.db import waits
from foundation.db.statements import Statement
from foundation.db.waits import COMMAND, WaitLimits
from halo_mcp import celery
from tests.faults.proxy import HOST, Fault, FaultProxy

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(settings.ON_SQLITE, reason="a file does not fall silent"),
]

# Short, for what is never answered; long, for what is.
SHORT, LONG = 0.1, 20.0
ONE = WaitLimits(connections=1, statement=LONG, lock=LONG, idle_in_transaction=LONG, reply=LONG)


@pytest.fixture(autouse=True)
def limits(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """The limits of a command; a test may change them, and has an outage of its own."""
    from foundation.db.postgresql.connection import outage  # noqa: PLC0415  psycopg

    monkeypatch.setattr(waits, "_current", COMMAND)
    outage.forget()
    yield monkeypatch
    outage.forget()


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with FaultProxy(int(connection.settings_dict["PORT"] or 5432)) as proxy:
        yield proxy


@contextmanager
def connect_through(proxy: FaultProxy) -> Iterator[Any]:
    """A connection of Django through the proxy, and the pool that it has."""
    other: Any = connection.copy()
    other.settings_dict = {**other.settings_dict, "HOST": HOST, "PORT": str(proxy.port)}
    other._connection_pools = {}
    with closing(other):
        yield other
    if other.pool is not None:
        other.close_pool()


@contextmanager
def transaction_of(of: BaseDatabaseWrapper) -> Iterator[None]:
    """A transaction, whose connection stays with its thread."""
    read(of)
    of.in_atomic_block = True
    yield
    of.in_atomic_block = False


def read(of: BaseDatabaseWrapper) -> int:
    with of.cursor() as cursor:
        cursor.execute("SELECT 42")
        (found,) = cursor.fetchone()
        return int(found)


def test_f8_a_statement_that_is_not_answered_raises_and_closes_its_connection(
    proxy: FaultProxy,
) -> None:
    with connect_through(proxy) as other:
        assert read(other) == 42
        with proxy.fault(Fault.HANG), waits.reply_limit(SHORT), pytest.raises(OperationalError):
            read(other)
        assert other.connection.closed
        other.close()
        assert read(other) == 42


def test_f8_a_prepared_statement_that_is_not_answered_raises_too(
    proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    statement = Statement("SELECT %s::int")
    with connect_through(proxy) as other:
        monkeypatch.setattr("foundation.db.statements.connections", {"default": other})
        assert statement.row(42) == (42,)
        with proxy.fault(Fault.HANG), waits.reply_limit(SHORT), pytest.raises(OperationalError):
            statement.row(42)
        assert other.connection.closed


def test_f8_a_server_that_accepts_and_says_nothing_is_not_waited_for(proxy: FaultProxy) -> None:
    with connect_through(proxy) as other:
        other.settings_dict["OPTIONS"] = {**other.settings_dict["OPTIONS"], "connect_timeout": 2}
        with proxy.fault(Fault.HANG), pytest.raises(OperationalError):
            read(other)


def test_f8_idle_connections_to_a_silent_server_are_replaced_by_the_first_that_finds_out(
    proxy: FaultProxy, limits: pytest.MonkeyPatch
) -> None:
    from foundation.db.postgresql import base  # noqa: PLC0415  psycopg

    limits.setattr(waits, "_current", ONE)
    limits.setattr(base, "TRUSTED_SECONDS", -1)
    limits.setattr(base, "CHECK_SECONDS", SHORT)
    with connect_through(proxy) as other:
        assert read(other) == 42
        other.close()
        proxy.set_fault(Fault.FREEZE)
        assert read(other) == 42


def test_f9_a_thread_waits_until_another_one_gives_its_connection_back(
    proxy: FaultProxy, limits: pytest.MonkeyPatch
) -> None:
    limits.setattr(waits, "_current", ONE)
    found: list[int] = []
    with connect_through(proxy) as one, connect_through(proxy) as two:
        two._connection_pools = one._connection_pools
        two.inc_thread_sharing()
        assert read(one) == 42
        waiting = threading.Thread(target=lambda: found.append(read(two)))
        waiting.start()
        assert not found
        one.close()
        waiting.join(LONG)
        assert found == [42]
        assert proxy.accepted_count == 1


def test_f9_a_thread_that_gets_no_connection_in_time_raises(
    proxy: FaultProxy, limits: pytest.MonkeyPatch
) -> None:
    from foundation.db.postgresql import base  # noqa: PLC0415  psycopg

    limits.setattr(waits, "_current", ONE)
    limits.setattr(base, "WAIT_SECONDS", SHORT)
    with connect_through(proxy) as one, connect_through(proxy) as two:
        two._connection_pools = one._connection_pools
        # The pool opens its first connection in the background, which may take longer.
        one.pool.open(wait=True)
        assert read(one) == 42
        with pytest.raises(OperationalError):
            read(two)


def test_a_connection_that_an_error_broke_is_not_given_to_another_thread(
    proxy: FaultProxy, limits: pytest.MonkeyPatch
) -> None:
    limits.setattr(waits, "_current", ONE)
    with connect_through(proxy) as other:
        assert read(other) == 42
        broken = other.connection
        with pytest.raises(Exception, match="nothing"), other.cursor() as cursor:
            cursor.execute("SELECT nothing")
        other.close()
        assert broken.closed
        assert read(other) == 42


def test_a_connection_that_came_back_within_a_transaction_is_used_again_without_it(
    proxy: FaultProxy, limits: pytest.MonkeyPatch
) -> None:
    limits.setattr(waits, "_current", ONE)
    limits.setattr("foundation.db.postgresql.base.TRUSTED_SECONDS", -1.0)  # it is tried first
    with connect_through(proxy) as other:
        other.set_autocommit(False)
        assert read(other) == 42
        first = other.connection
        other.close()

        other.connect()

        assert other.connection is first
        assert first.autocommit
        assert first.info.transaction_status.name == "IDLE"


def test_a_thread_that_waits_for_another_server_gives_its_connection_back(
    proxy: FaultProxy, limits: pytest.MonkeyPatch
) -> None:
    limits.setattr(waits, "_current", ONE)
    with connect_through(proxy) as other:
        limits.setattr("django.db.connections.all", lambda **_options: [other])
        assert read(other) == 42
        # Refused before anything is sent.
        with pytest.raises(outbound.OutboundError):
            outbound.fetch("GET", "https://127.0.0.1/")
        assert other.connection is None
        with transaction_of(other), pytest.raises(outbound.OutboundError):
            outbound.fetch("GET", "https://127.0.0.1/")
        assert other.connection is not None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("statement_timeout", "20s"),
        ("lock_timeout", "20s"),
        ("idle_in_transaction_session_timeout", "20s"),
    ],
)
def test_postgresql_has_the_limits_of_the_work_of_a_process(
    proxy: FaultProxy, limits: pytest.MonkeyPatch, name: str, value: str
) -> None:
    def shown_value() -> str:
        with connect_through(proxy) as other, other.cursor() as cursor:
            cursor.execute(f"SHOW {name}")
            return str(cursor.fetchone()[0])

    assert shown_value() == "0"
    limits.setattr(waits, "_current", ONE)
    assert shown_value() == value


def test_migrations_and_commands_have_no_limits() -> None:
    assert waits.current() == COMMAND
    assert waits.reply_seconds() is None


def test_pages_and_calls_have_a_limit_above_the_longest_that_they_may_take() -> None:
    web = waits.web_limits()
    assert web.statement is not None
    assert web.reply is not None
    assert settings.HALO_PAGE_SECONDS < web.statement < web.reply
    worker = waits.worker_limits()
    assert worker.statement is not None
    assert worker.statement > web.statement


def test_the_connections_of_the_worker_are_counted_for_each_of_its_processes() -> None:
    assert len(celery.LANES) == waits.WORKER_PROCESSES
    assert waits.worker_limits().connections > max(lane.threads for lane in celery.LANES.values())
