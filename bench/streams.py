"""`./run bench streams` and `./run bench sockets`: a thousand idle connections to one process.

Streams listen, and all are notified of a change. WebSockets send `initialize` and nothing else,
until the token of one is revoked. Exits with 1 if a stream costs 15 KB, a WebSocket 20 KB or more,
if connections cost threads, or if one does not receive the change or outlives its token by more
than a second.
"""

import asyncio
import json
import resource
import sys
import threading
import time
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2
from websockets.asyncio.client import ClientConnection, connect

from bench import harness, load, protocol
from bench.harness import Bench
from bench.measures import percentile
from bench.protocol import HANDSHAKE, META, MODERN, PATH
from bench.servers import Server

LIMITS: Final = ("TOOLS_CALL", "OTHER")
SCOPE: Final = "docs:read actions:bench:*"
SPARE_FILES: Final = 100
WARM: Final = 64
AT_ONCE: Final = 50
TIMEOUT: Final = 60  # seconds
# Until the server has given up what it held for the connections that were there before.
SETTLING_SECONDS: Final = 8
MAX_SECONDS: Final = 1.0
MAX_BYTES: Final = {"stream": 15_000, "WebSocket": 20_000}
UNAUTHENTICATED: Final = 4401  # the close code
ACKNOWLEDGED: Final = b"notifications/subscriptions/acknowledged"
CHANGED: Final = b"notifications/tools/list_changed"
PROJECT: Final = "prj_" + "a" * 22
CLIENT: Final = META["io.modelcontextprotocol/clientInfo"]
MINIMAL_META: Final = {
    name: value for name, value in META.items() if not name.endswith("clientInfo")
}
PARAMS: Final = {"protocolVersion": HANDSHAKE, "capabilities": {}, "clientInfo": CLIENT}
INITIALIZE: Final = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": PARAMS}

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Background:
    """An event loop in a thread, which keeps connections while this thread measures."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()

    def start(self, coroutine: Coroutine[Any, Any, Any]) -> Callable[[], Any]:
        """Start a coroutine; returns a function that waits for its result."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result

    @contextmanager
    def open(
        self, one: Callable[[str, str], Any], server: Server, tokens: Sequence[str]
    ) -> Iterator[list[Any]]:
        """A connection for each token, not too many at a time; closed after the block."""

        async def open_all() -> list[Any]:
            places = asyncio.Semaphore(AT_ONCE)

            async def open_in_turn(token: str) -> Any:
                async with places:
                    return await one(server.url, token)

            return await asyncio.gather(*map(open_in_turn, tokens))

        connections = self.start(open_all())()
        try:
            yield connections
        finally:
            self.start(_close(connections))()


async def _close(connections: Sequence[Stream | ClientConnection]) -> None:
    for connection in connections:
        if isinstance(connection, tuple):
            connection[1].close()
        else:
            await connection.close()


async def _open_stream(url: str, token: str) -> Stream:
    address = urlsplit(url)
    reader, writer = await asyncio.open_connection(address.hostname, address.port, limit=4096)
    # The least that a client has to send: the server keeps it as long as the stream.
    params = {"notifications": {"toolsListChanged": True}, "_meta": MINIMAL_META}
    request = protocol.post(MODERN, "subscriptions/listen", params, token)
    writer.write(load.to_http(url + PATH, request))
    await _read_until(reader, ACKNOWLEDGED)
    return reader, writer


async def _read_until(reader: asyncio.StreamReader, mark: bytes) -> None:
    """Read past the line with a mark. Raises EOFError when the server ends first."""
    async with asyncio.timeout(TIMEOUT):
        while mark not in (line := await reader.readline()):
            if not line:
                raise EOFError


async def _wait_for_change(streams: Sequence[Stream]) -> None:
    await asyncio.gather(*(_read_until(reader, CHANGED) for reader, _ in streams))


async def _open_socket(url: str, token: str) -> ClientConnection:
    address = f"ws{url.removeprefix('http')}/?projectId={PROJECT}&token={token}"
    socket = await connect(address, compression=None, open_timeout=TIMEOUT, max_queue=1)
    await socket.send(json.dumps(INITIALIZE))
    await socket.recv()
    return socket


async def _wait_for_close(socket: ClientConnection) -> tuple[float, int | None]:
    """When the WebSocket was closed, on the monotonic clock, and with which code."""
    await asyncio.wait_for(socket.wait_closed(), TIMEOUT)
    return time.monotonic(), socket.close_code


def main() -> int:
    parser = harness.options_parser("streams", __doc__, streams=1000, calls=1000, silence=20.0)
    transports = {"http": _measure_streams, "websocket": _measure_sockets}
    parser.add_argument("--transport", choices=transports, default="http")
    parser.add_argument("--sockets", dest="streams", type=int, help="the same as --streams")
    options = parser.parse_args()
    allowed = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    if allowed < options.streams + SPARE_FILES:
        sys.exit(f"{options.streams} need more open files than the {allowed} that ulimit allows.")
    with harness.prepare(options, LIMITS) as bench:
        from bench import tenant  # noqa: PLC0415  settings first

        pairs = tenant.create_grants(tenant.create_organization(), SCOPE, options.streams + WARM)
        with bench.serve("bench.application:application") as server:
            # As the health check of a deployment: what it loads is there before the connections.
            httpx2.get(f"{server.url}/health", timeout=TIMEOUT).raise_for_status()
            return transports[options.transport](bench, server, [pair.access for pair in pairs])


def _measure_streams(bench: Bench, server: Server, tokens: Sequence[str]) -> int:
    from bench import tenant  # noqa: PLC0415  settings first

    options, background = bench.options, Background()
    # Pools, caches and imports are there before anything is measured.
    for _ in range(2):
        with background.open(_open_stream, server, tokens[:WARM]):
            _call(server, tokens[0], max(options.calls // 4, 1))
        time.sleep(SETTLING_SECONDS)
    alone, before = _call(server, tokens[0], options.calls), _footprint(server)
    with background.open(_open_stream, server, tokens[WARM:]) as streams:
        time.sleep(options.silence)
        loaded, after = _call(server, tokens[0], options.calls), _footprint(server)
        busy, wait = server.cpu_seconds(), background.start(_wait_for_change(streams))
        tenant.publish_change()
        since = time.perf_counter()
        wait()
        seconds, cpu = time.perf_counter() - since, server.cpu_seconds() - busy
    is_good = _report("stream", options.streams, before, after)
    for name, calls in (("without", alone), ("with", loaded)):
        p50, p99 = percentile(calls, 50), percentile(calls, 99)
        sys.stdout.write(f"tools/call {name}: p50 {p50:.1f} ms, p99 {p99:.1f} ms\n")
    sys.stdout.write(
        f"the last stream was notified of a switch {seconds:.2f} s after it was turned\n"
        f"  CPU of the process for it: {1000 * cpu / options.streams:.2f} ms a stream\n"
    )
    return harness.GOOD if is_good else harness.MISSED


def _call(server: Server, token: str, count: int) -> list[float]:
    """Milliseconds of so many calls on one connection, one after the other."""
    request = protocol.call_tool(MODERN, "search_docs", {"query": "rate limits"}, token)
    # Compression takes memory of the server, which is not that of the streams.
    headers = {**request.headers, "Accept-Encoding": "identity"}
    taken = []
    with httpx2.Client(headers=headers, timeout=TIMEOUT) as http:
        for _ in range(count):
            since = time.perf_counter()
            response = http.post(server.url + PATH, content=request.body)
            taken.append((time.perf_counter() - since) * 1000)
            if protocol.result_text(response.content) is None:
                raise RuntimeError(f"a call failed: {response.text}")
    return taken


def _measure_sockets(bench: Bench, server: Server, tokens: Sequence[str]) -> int:
    from bench import tenant  # noqa: PLC0415  settings first

    options, background = bench.options, Background()
    with background.open(_open_socket, server, tokens[:WARM]):
        pass
    time.sleep(SETTLING_SECONDS)
    before = _footprint(server)
    with background.open(_open_socket, server, tokens[WARM:]) as sockets:
        busy = server.cpu_seconds()
        time.sleep(options.silence)
        cpu, after = (server.cpu_seconds() - busy) / options.silence, _footprint(server)
        wait = background.start(_wait_for_close(sockets[-1]))
        tenant.revoke_newest()
        revoked_at = time.monotonic()
        closed_at, code = wait()
    is_good, seconds = _report("WebSocket", options.streams, before, after), closed_at - revoked_at
    sys.stdout.write(
        f"CPU of the process while they are idle: {100 * cpu:.1f} %\n"
        f"closed with {code} {seconds:.2f} s after its token was revoked\n"
    )
    is_good = is_good and seconds <= MAX_SECONDS and code == UNAUTHENTICATED
    return harness.GOOD if is_good else harness.MISSED


def _footprint(server: Server) -> tuple[int, int]:
    """Resident memory in KiB, and threads."""
    return server.status("VmRSS"), server.status("Threads")


def _report(kind: str, count: int, before: tuple[int, int], after: tuple[int, int]) -> bool:
    """Print what connections cost; returns whether that is within the goal."""
    each, threads = (after[0] - before[0]) * 1024 / count, after[1] - before[1]
    sys.stdout.write(
        f"{count} {kind}s are open to one process\n"
        f"memory: {each / 1000:.1f} KB a {kind} ({before[0]} KiB before, {after[0]} after)\n"
        f"threads: {before[1]} before, {after[1]} with them\n"
    )
    return each < MAX_BYTES[kind] and threads < count / 10


if __name__ == "__main__":
    harness.run(main)
