"""A relay on loopback that adds a bearer where a request has none, and changes nothing else.

The suite can send no token (no option of it sets a header), and it judges hosts, origins, the case
and the blanks of headers, streams and disconnects. So bytes are passed on as they come, in both
directions; of a request only the head and its framing are looked at, to know where the next begins.
"""

import asyncio
import threading
from asyncio import IncompleteReadError, LimitOverrunError, StreamReader, StreamWriter
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Final

HOST: Final = "127.0.0.1"
BLANK: Final = b"\r\n"
ROOM: Final = 65_536
SECONDS: Final = 10


@dataclass(frozen=True)
class Relay:
    """Where requests go, and the token they go with."""

    port: int
    token: str

    async def attend(self, client: StreamReader, to_client: StreamWriter) -> None:
        """Serve one connection; when the server ends it, it is over for the client too."""
        try:
            server, to_server = await asyncio.open_connection(HOST, self.port, limit=ROOM)
        except OSError:
            to_client.close()
            return
        asking = asyncio.ensure_future(self._pass_requests(client, to_server))
        try:
            await pour(server, to_client)
        finally:
            asking.cancel()
            to_server.close()
            to_client.close()

    async def _pass_requests(self, client: StreamReader, to_server: StreamWriter) -> None:
        """Pass requests on until the client leaves, then close the connection to the server."""
        try:
            while await self._pass_request(client, to_server):
                pass
            await pour(client, to_server)
            to_server.write_eof()
        except OSError:
            to_server.transport.abort()

    async def _pass_request(self, client: StreamReader, to_server: StreamWriter) -> bool:
        """Pass one request on; False where the end of the request is unknown."""
        try:
            head = await client.readuntil(BLANK + BLANK)
        except IncompleteReadError as rest:
            await send(to_server, rest.partial)
            return False
        except LimitOverrunError:
            return False
        await send(to_server, with_bearer(head, self.token))
        return await pass_body(head, client, to_server)


def with_bearer(head: bytes, token: str) -> bytes:
    """The head of a request with a bearer as its last header, unless it has credentials."""
    if values(head, b"authorization"):
        return head
    return head.removesuffix(BLANK) + f"Authorization: Bearer {token}".encode() + BLANK + BLANK


def values(head: bytes, name: bytes) -> list[bytes]:
    lines = (line.partition(b":") for line in head.split(BLANK)[1:])
    return [value.strip() for given, _, value in lines if given.strip().lower() == name]


async def pass_body(head: bytes, client: StreamReader, to_server: StreamWriter) -> bool:
    """Pass the body on (RFC 9112 section 6.3); False where its end is unknown.

    What is framed twice or strangely is the server's to judge: it gets the bytes as they are, and
    nothing after them is taken for another request.
    """
    lengths, codings = values(head, b"content-length"), values(head, b"transfer-encoding")
    match lengths, [coding.lower() for coding in codings]:
        case [], []:
            return True
        case [length], [] if length.isdigit():
            return await pass_bytes(int(length), client, to_server)
        case [], [b"chunked"]:
            return await pass_chunks(client, to_server)
    return False


async def pass_bytes(left: int, client: StreamReader, to_server: StreamWriter) -> bool:
    while left > 0:
        piece = await client.read(min(left, ROOM))
        if not piece:
            return False
        left -= len(piece)
        await send(to_server, piece)
    return True


async def pass_chunks(client: StreamReader, to_server: StreamWriter) -> bool:
    """RFC 9112 section 7.1: chunks until one of no length, then trailers until a blank line."""
    while True:
        line = await client.readline()
        await send(to_server, line)
        try:
            size = int(line.partition(b";")[0], 16)
        except ValueError:
            return False
        if size == 0:
            break
        if not await pass_bytes(size + len(BLANK), client, to_server):
            return False
    while line.strip():
        line = await client.readline()
        await send(to_server, line)
    return bool(line)


async def pour(source: StreamReader, target: StreamWriter) -> None:
    """Pass on what comes, as it comes, until there is no more."""
    with suppress(ConnectionError):
        while piece := await source.read(ROOM):
            await send(target, piece)


async def send(target: StreamWriter, piece: bytes) -> None:
    target.write(piece)
    await target.drain()


@contextmanager
def relaying(port: int, token: str) -> Iterator[int]:
    """A relay to a port of this machine while the block runs; yields the port to go to instead."""
    ready: Future[RunningRelay] = Future()
    thread = threading.Thread(target=lambda: asyncio.run(_relay(Relay(port, token), ready)))
    thread.start()
    running = ready.result(SECONDS)
    try:
        yield running.port
    finally:
        running.loop.call_soon_threadsafe(running.over.set)
        thread.join(SECONDS)


@dataclass(frozen=True)
class RunningRelay:
    """Where a relay listens, and how its thread is stopped."""

    port: int
    loop: asyncio.AbstractEventLoop
    over: asyncio.Event


async def _relay(relay: Relay, ready: "Future[RunningRelay]") -> None:
    over = asyncio.Event()
    attending: set[asyncio.Task[None]] = set()

    def attend(client: StreamReader, to_client: StreamWriter) -> None:
        task = asyncio.create_task(relay.attend(client, to_client))
        attending.add(task)
        task.add_done_callback(attending.discard)

    server = await asyncio.start_server(attend, HOST, 0, limit=ROOM)
    own = server.sockets[0].getsockname()[1]
    ready.set_result(RunningRelay(own, asyncio.get_running_loop(), over))
    await over.wait()
    # Whoever is still connected is cut off when the loop ends.
    server.close()
