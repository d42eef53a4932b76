"""Django's PostgreSQL backend with limits: of waits, of statements, and of connections.

Web processes and the worker take connections from one pool of the process and give them back after
each unit of work. It is psycopg's; Django's option for it has no health check that trusts a
connection which has just worked, and no memory of an outage.
"""

import time
from typing import Any, Final

import psycopg
from django.db.backends.base.base import NO_DB_ALIAS
from django.db.backends.postgresql import base

from foundation.db import waits
from foundation.db.postgresql.connection import LimitedConnection, outage

MIN_CONNECTIONS: Final = 2
# How long a thread waits for a connection of the pool; while an outage is known, only for one that
# another thread gives back.
WAIT_SECONDS: Final = 5.0
OUTAGE_WAIT_SECONDS: Final = 0.5
# How long after its last use a connection is taken for alive, and how long a check may take.
TRUSTED_SECONDS: Final = 1.0
CHECK_SECONDS: Final = 1.0
IDLE_SECONDS: Final = 120.0
# The pool connects in the background, and tries again for this long.
RECONNECT_SECONDS: Final = 1.0

# A statement instead of startup options, which poolers of connections such as PgBouncer refuse.
SET_LIMITS: Final = """
SELECT set_config('statement_timeout', %s, false), set_config('lock_timeout', %s, false),
       set_config('idle_in_transaction_session_timeout', %s, false)
"""
# By default PostgreSQL assumes that the next row of an index takes four times as long to read as
# that of a table, as on a spinning disk, and reads whole tables where an index takes a third of the
# time. A value that the operator has set for the server, the database, the role or in DATABASE_URL
# is kept (PostgreSQL, Planner Cost Constants; pg_settings).
PLAN_FOR_FAST_DISKS: Final = """
SELECT set_config(name, '1.1', false) FROM pg_settings
 WHERE name = 'random_page_cost' AND source = 'default'
"""


class DatabaseWrapper(base.DatabaseWrapper):
    """A connection of a thread, from the pool if the work of this process has one."""

    # False for a connection that its thread keeps, such as one that listens.
    uses_pool = True

    @property
    def pool(self) -> Any:
        """The pool of this process, or None."""
        if self.alias == NO_DB_ALIAS or not (self.uses_pool and waits.current().is_pooled):
            return None
        pools = self._connection_pools  # type: ignore[attr-defined]  # the stubs lack it
        return pools.get(self.alias) or pools.setdefault(self.alias, self._build_pool())

    def get_connection_params(self) -> dict[str, Any]:
        # The pool has them; Django asks with each connection that a thread takes.
        pools = self._connection_pools  # type: ignore[attr-defined]  # the stubs lack it
        has_pool = self.alias in pools and self.pool is not None
        return {} if has_pool else super().get_connection_params()

    def _build_pool(self) -> Any:
        from psycopg_pool import ConnectionPool  # noqa: PLC0415  commands have none

        size = waits.current().connections
        return ConnectionPool(
            connection_class=LimitedConnection,
            kwargs=self.get_connection_params() | {"autocommit": True},
            configure=self._configure_connection,
            # `reset` would wake a thread of the pool after each call.
            check=_check,
            open=False,
            min_size=min(MIN_CONNECTIONS, size),
            max_size=size,
            timeout=WAIT_SECONDS,
            max_idle=IDLE_SECONDS,
            reconnect_timeout=RECONNECT_SECONDS,
            num_workers=2,
        )

    def get_new_connection(self, conn_params: dict[str, Any]) -> Any:
        self.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
        pool = self.pool
        if pool is None:
            return LimitedConnection.connect(**conn_params)
        if pool.closed:
            pool.open()
        is_down = outage.retry_at is not None and outage.skips_store()
        return pool.getconn(OUTAGE_WAIT_SECONDS if is_down else None)

    def connect(self) -> None:
        super().connect()
        if self.pool is not None:
            # Django gives it back when the request or task ends.
            self.close_at = 0.0

    def _set_autocommit(self, autocommit: bool) -> None:  # noqa: FBT001  Django calls it so
        # Django sets it for each use of a connection; psycopg's own way takes longer than to look.
        if self.connection is None or self.connection.autocommit != autocommit:
            super()._set_autocommit(autocommit)  # type: ignore[misc]  # the stubs lack it

    def _configure_connection(self, connection: Any) -> Any:
        changed = super()._configure_connection(connection)  # type: ignore[misc]  # the same
        connection.execute(PLAN_FOR_FAST_DISKS)
        limits = waits.current()
        if limits.statement is not None:
            values = (limits.statement, limits.lock, limits.idle_in_transaction)
            connection.execute(SET_LIMITS, [_milliseconds(value) for value in values])
        return changed

    def _close(self) -> None:
        raw: Any = self.connection
        if raw is None:
            return
        if self.errors_occurred:
            if raw.broken:
                # A restart of the server, or a failover, has ended the idle ones too.
                raw.replace_idle_ones()
            # What psycopg has prepared on it may fit the tables no more (PostgreSQL: "cached plan
            # must not change result type"), and would fail for as long as it lives.
            raw.close()
        pool = getattr(raw, "_pool", None)
        if pool is None:
            with self.wrap_database_errors:
                raw.close()
            return
        raw.returned_at = time.monotonic()
        self.connection = None
        with self.wrap_database_errors:
            pool.putconn(raw)


def _check(connection: LimitedConnection) -> None:
    """Raises an error unless a connection works; one that has just worked is not tried.

    It may come from within a transaction, which the pool has ended.
    """
    if not connection.autocommit:
        connection.autocommit = True
    if time.monotonic() - connection.returned_at <= TRUSTED_SECONDS:
        return
    try:
        with waits.reply_limit(CHECK_SECONDS):
            connection.execute("SELECT 1")
    except psycopg.Error:
        connection.replace_idle_ones()
        raise


def _milliseconds(seconds: float | None) -> str:
    return str(int((seconds or 0) * 1000))
