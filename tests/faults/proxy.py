"""A TCP proxy on loopback that breaks the connections between the product and one of its stores."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager, suppress
from enum import Enum
from typing import Final, Self

HOST: Final = "127.0.0.1"
CHUNK_BYTES: Final = 65_536
START_SECONDS: Final = 10


class Fault(Enum):
    """What the proxy does with connections."""

    PASS = "pass"
    # Each chunk of bytes is forwarded after `delay_seconds`.
    DELAY = "delay"
    # New connections are closed with a reset at once, and so are those that exist.
    CUT = "cut"
    # Every connection is accepted and kept, and no byte is forwarded, as by a stopped process.
    HANG = "hang"
    # The connections that exist forward nothing more, also after the next change; new ones pass.
    # This is a failover: the old peer has gone without a word, and its successor answers.
    FREEZE = "freeze"


class FaultProxy:
    """Forwards TCP connections to one port of this machine and applies one fault at a time.

    Runs in a thread of its own. `set_fault` returns once the fault is in force.
    """

    def __init__(self, target_port: int) -> None:
        self._target_port = target_port
        self._fault = Fault.PASS
        self._delay_seconds = 0.0
        self._connections: set[_Connection] = set()
        self._accepted = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._port = 0

    def __enter__(self) -> Self:
        self._thread.start()
        self._run(self._start)
        return self

    def __exit__(self, *_error: object) -> None:
        self._run(self._stop)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(START_SECONDS)
        self._loop.close()

    @property
    def port(self) -> int:
        """Where the product connects to."""
        return self._port

    @property
    def accepted_count(self) -> int:
        """How many connections were accepted so far."""
        return self._accepted

    @property
    def open_connections(self) -> int:
        """How many connections exist now."""
        return len(self._connections)

    def set_fault(self, fault: Fault, delay_seconds: float = 0.0) -> None:
        """Applies the fault to the connections that exist and to new ones."""

        async def apply() -> None:
            self._delay_seconds = delay_seconds
            self._fault = fault
            for connection in list(self._connections):
                if fault is Fault.CUT:
                    connection.reset()
                elif fault is Fault.FREEZE:
                    connection.freeze()
                else:
                    connection.notify()

        self._run(apply)

    def cut_connections(self) -> None:
        """Resets the connections that exist; the fault in force does not change."""

        async def reset() -> None:
            for connection in list(self._connections):
                connection.reset()

        self._run(reset)

    @contextmanager
    def fault(self, fault: Fault, delay_seconds: float = 0.0) -> Iterator[None]:
        """The fault for the time of a `with` block; afterwards bytes pass again."""
        self.set_fault(fault, delay_seconds)
        try:
            yield
        finally:
            self.set_fault(Fault.PASS)

    @property
    def fault_in_force(self) -> Fault:
        """The fault that new bytes meet."""
        return self._fault

    @property
    def delay_seconds(self) -> float:
        """How long each chunk is kept when the fault is a delay."""
        return self._delay_seconds

    def _run(self, function: Callable[[], Coroutine[None, None, None]]) -> None:
        asyncio.run_coroutine_threadsafe(function(), self._loop).result(START_SECONDS)

    async def _start(self) -> None:
        self._server = await asyncio.start_server(self._accept, HOST, 0)
        self._port = self._server.sockets[0].getsockname()[1]

    async def _stop(self) -> None:
        self._server.close()
        for connection in list(self._connections):
            connection.reset()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._accepted += 1
        if self._fault is Fault.CUT:
            writer.transport.abort()
            return
        connection = _Connection(self, reader, writer)
        self._connections.add(connection)
        try:
            await connection.forward(self._target_port)
        finally:
            self._connections.discard(connection)


class _Connection:
    """One accepted connection and the one to the target that belongs to it."""

    def __init__(
        self, proxy: FaultProxy, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self._proxy = proxy
        self._reader = reader
        self._writer = writer
        self._target: asyncio.StreamWriter | None = None
        self._is_frozen = False
        self._changed = asyncio.Event()

    def freeze(self) -> None:
        """Forwards nothing more, whatever the fault is later."""
        self._is_frozen = True

    def notify(self) -> None:
        """Lets bytes that are held look at the fault again."""
        self._changed.set()

    def reset(self) -> None:
        """Closes both sides with a reset."""
        self._writer.transport.abort()
        if self._target is not None:
            self._target.transport.abort()

    async def forward(self, target_port: int) -> None:
        """Forwards in both directions until one side has closed both."""
        await self._wait_until_free()
        try:
            reader, self._target = await asyncio.open_connection(HOST, target_port)
        except OSError:
            self.reset()
            return
        try:
            await asyncio.gather(
                self._copy(self._reader, self._target), self._copy(reader, self._writer)
            )
        finally:
            self._writer.close()
            self._target.close()

    async def _copy(self, source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            while data := await source.read(CHUNK_BYTES):
                if self._proxy.fault_in_force is Fault.DELAY:
                    await asyncio.sleep(self._proxy.delay_seconds)
                await self._wait_until_free()
                sink.write(data)
                await sink.drain()
            await self._wait_until_free()
            if sink.can_write_eof():
                sink.write_eof()
            return
        self.reset()

    async def _wait_until_free(self) -> None:
        while self._is_frozen or self._proxy.fault_in_force is Fault.HANG:
            self._changed.clear()
            await self._changed.wait()
