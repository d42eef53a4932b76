"""Connections to PostgreSQL that the fibers of a loop share, in libpq's pipeline mode.

A statement goes out without waiting for those before it, and its fiber is resumed with the answer
when the socket has it. Each ends with a Sync, so that it is a transaction by itself and its error
is nobody else's (PostgreSQL 15, 34.5, Pipeline Mode). A line that is lost fails all that wait on
it, since nobody can say which of their statements were carried out; the next one opens another.
"""

import asyncio
import itertools
from collections import deque
from collections.abc import Callable
from typing import Any, Final, cast

import psycopg
from django.conf import settings
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg.pq import ConnStatus, ExecStatus
from psycopg.pq.abc import PGresult

from foundation.fibers import Fiber, Ground, awaited, current
from foundation.prepared import Known, Written


class Line:
    """One connection; it asks as libpq's own does, but has only the fiber wait for an answer.

    `known` is what it has prepared. Used on the loop, but for `connect`, which blocks.
    """

    def __init__(self, ground: Ground) -> None:
        self.known: Final[Known] = {}
        self._ground = ground
        self._asking: deque[Fiber] = deque()
        self._result: PGresult | None = None
        self._is_closed = False

    def connect(self) -> None:
        """Connect as Django does. In a thread; it raises what the driver does."""
        database = connections.create_connection(DEFAULT_DB_ALIAS)
        database.connect()
        self._raw: psycopg.Connection[Any] = database.connection

    def listen(self) -> None:
        """From here on it may be asked, and its answers are read as they come."""
        wire = self._wire = self._raw.pgconn
        wire.nonblocking = 1
        wire.enter_pipeline_mode()
        self._fd = wire.socket
        self._ground.loop.add_reader(self._fd, self._read)

    @property
    def status(self) -> int:
        return self._wire.status

    def get_error_message(self) -> str:
        return self._wire.get_error_message()

    def prepare(self, name: bytes, sql: bytes) -> PGresult:
        return self._answer(self._wire.send_prepare, name, sql)

    def exec_prepared(self, name: bytes, values: Written) -> PGresult:
        return self._answer(self._wire.send_query_prepared, name, values)

    def exec_params(self, sql: bytes, values: Written | None) -> PGresult:
        return self._answer(self._wire.send_query_params, sql, values)

    def close(self) -> None:
        """Close the connection; what waits on it is told that it is lost."""
        if self._is_closed:
            return
        self._is_closed = True
        self._ground.unwatch(self._fd)
        # The driver's own: Django's refuses to close on a loop, where nothing of it blocks.
        self._raw.close()
        lost, self._asking = self._asking, deque()
        for fiber in lost:
            # Later, since it may be a fiber that has found out.
            error = psycopg.OperationalError("the connection to PostgreSQL was lost")
            self._ground.loop.call_soon(fiber.fail, error)

    def _answer(self, send: Callable[..., None], *what: Any) -> PGresult:
        fiber = cast(Fiber, current())
        try:
            send(*what)
            self._wire.pipeline_sync()
            self._write()
        except psycopg.Error:
            # How much of it went out is unknown, and with it whose the next answer would be.
            self.close()
            raise
        self._asking.append(fiber)
        return cast(PGresult, fiber.pause())

    def _write(self) -> None:
        """Send what libpq holds; the rest when the socket takes more."""
        if self._wire.flush():
            self._ground.loop.add_writer(self._fd, self._write_on)

    def _write_on(self) -> None:
        try:
            is_all_sent = self._wire.flush() == 0
        except psycopg.Error:
            self.close()
            return
        if is_all_sent:
            self._ground.loop.remove_writer(self._fd)

    def _read(self) -> None:
        wire = self._wire
        try:
            wire.consume_input()
        except psycopg.Error:
            self.close()
            return
        # A fiber that goes on may lose the line by what it asks next; then nobody waits on it.
        while self._asking and wire.status == ConnStatus.OK and not wire.is_busy():
            self._take(wire.get_result())
        if wire.status != ConnStatus.OK:  # it was not understood, which raises nothing
            self.close()

    def _take(self, result: PGresult | None) -> None:
        if result is None:  # the end of one statement's results
            return
        if result.status != ExecStatus.PIPELINE_SYNC:
            self._result = result
            return
        whole, self._result = self._result, None
        self._asking.popleft().resume(whole)


class Lines:
    """The lines of one loop, at most `HALO_CORE_THREADS`, each opened when it is first needed.

    PostgreSQL runs the statements of one connection one after the other, and a commit waits for
    the disk: what reads has a line of its own, so that it never stands behind one. `errors` is the
    context in which the driver's errors become Django's.
    """

    def __init__(self, ground: Ground) -> None:
        # Made once: Django's `connections` are others on every fiber, and are never opened there.
        self.errors: Final = connections.create_connection(DEFAULT_DB_ALIAS).wrap_database_errors
        self._ground = ground
        self._lines: list[Line | None] = [None] * max(2, settings.HALO_CORE_THREADS)
        self._opening: dict[int, asyncio.Task[None]] = {}
        self._writers = itertools.cycle(range(1, len(self._lines)))
        self._is_closed = False

    def take(self, fiber: Fiber, *, reads: bool) -> Line:
        """A line that stands, for a statement that only reads or for another.

        Raises what connecting does.
        """
        place = 0 if reads else next(self._writers)
        line = self._lines[place]
        if line is None or line.status != ConnStatus.OK:
            if place not in self._opening:
                self._opening[place] = asyncio.ensure_future(self._open(place))
            awaited(fiber, self._opening[place])
            line = cast(Line, self._lines[place])
        return line

    def close(self) -> None:
        """Close all of them, and whichever is being opened."""
        self._is_closed = True
        for line in filter(None, self._lines):
            line.close()

    async def _open(self, place: int) -> None:
        try:
            line = Line(self._ground)
            await self._ground.own(line.connect)
            line.listen()
            self._lines[place] = line
            if self._is_closed:
                line.close()
        finally:
            del self._opening[place]
