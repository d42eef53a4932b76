"""A psycopg connection whose waits have a limit, and the outage that all connections share.

libpq waits for an answer without limit. PostgreSQL's own limits end statements, not the wait for a
peer that is silent: a server after a failover, or behind a network that drops packets.
"""

import select
from collections.abc import Callable
from typing import Any, Final, Self

import psycopg
import structlog
from psycopg import pq
from psycopg.abc import PQGen
from psycopg.errors import _WaitTimeout

from foundation.db import waits
from foundation.outage import Outage

log = structlog.get_logger(__name__)

# Recorded by every attempt to connect, and every wait that was given up.
outage: Final = Outage()

SILENT: Final = "the database has not answered within its time limit"
# How long psycopg waits before it looks at signals.
INTERVAL: Final = 0.1


class LimitedConnection(psycopg.Connection[Any]):
    """Waits for an answer no longer than `waits.reply_seconds()`, and is closed then."""

    # When the pool got it back, in seconds of the monotonic clock.
    returned_at = 0.0
    _poll: Callable[[float | None], object] | None = None

    @classmethod
    def connect(cls, conninfo: str = "", **options: Any) -> Self:
        """Connects as psycopg does, and records whether that succeeded."""
        try:
            connection = super().connect(conninfo, **options)
        except psycopg.OperationalError as error:
            _record_failure(str(error).partition("\n")[0])
            raise
        if outage.retry_at is not None and outage.record_success():
            log.info("database_up")
        return connection

    def wait(
        self, gen: PQGen[Any], interval: float = INTERVAL, timeout: float | None = None
    ) -> Any:
        """Waits as psycopg does. Raises OperationalError if the time is over."""
        if timeout is not None:
            return super().wait(gen, interval, timeout)
        try:
            return super().wait(gen, interval, waits.reply_seconds())
        except _WaitTimeout:
            raise self._give_up() from None

    def result_of(self, send: Callable[..., None], *values: Any) -> pq.abc.PGresult:
        """Returns the result of what `send`, a function of libpq, sends. Raises OperationalError.

        About as quick as the functions of libpq that wait, which have no limit.
        """
        wire = self.pgconn
        send(*values)
        seconds = waits.reply_seconds()
        milliseconds = None if seconds is None else seconds * 1000
        if wire.flush():
            self._send_rest(milliseconds)
        poll = self._poll or self._start_poll()
        answer = None
        while True:
            while wire.is_busy():
                if not poll(milliseconds):
                    raise self._give_up()
                wire.consume_input()
            result = wire.get_result()
            if result is None:
                break
            answer = result
        if answer is None:
            raise psycopg.OperationalError(wire.get_error_message())
        return answer

    def _start_poll(self) -> Callable[[float | None], object]:
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN)
        self._poll = poll.poll
        return self._poll

    def _send_rest(self, milliseconds: float | None) -> None:
        """Sends what did not fit into the buffer of the socket."""
        poll = select.poll()
        poll.register(self.pgconn.socket, select.POLLIN | select.POLLOUT)
        while self.pgconn.flush():
            if not poll.poll(milliseconds):
                raise self._give_up()
            # PostgreSQL may send before it has read everything, and would wait for its reader.
            self.pgconn.consume_input()

    def replace_idle_ones(self) -> None:
        """Lets the pool replace its idle connections, which lead to the same peer as this one.

        Each would cost its next user the same wait.
        """
        pool = getattr(self, "_pool", None)
        if pool is not None:
            pool.drain()

    def _give_up(self) -> psycopg.OperationalError:
        """Closes the connection, whose answer may still come, and the idle ones of its pool."""
        self.pgconn.finish()
        _record_failure(SILENT)
        self.replace_idle_ones()
        return psycopg.OperationalError(SILENT)


def _record_failure(reason: str) -> None:
    if not waits.current().is_pooled:
        # A command ends with the error.
        return
    outage.record_failure()
    if outage.is_report_due():
        log.error("database_down", reason=reason)
