"""Shutdown: running calls are interrupted, recorded and abandoned, and the process ends.

One server stops while all of this is under way at it.
"""

import json
import signal
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.fixture_server import Laboratory, laboratory
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import McpClient, Reply, events_in, http_transport
from tests.drivers.websocket_client import open_socket
from tests.tools_registry.test_asgi_process import Line, call_of, last_row, wait_until
from tests.tools_registry.test_subscriptions_process import Open

pytestmark = pytest.mark.process

NEWEST_HANDSHAKE = Revision.V2025_11_25
STREAMED = REVISIONS[-2:]
PATHS = ["/api/mcp", "/api/mcp/oauth/token"]
# Less than the ten seconds after which the server cancels what is left of it.
BOUND = 9


@dataclass
class Clients:
    """Clients of a server that is about to stop, each of an organization of its own."""

    where: Laboratory
    folder: Path
    stack: ExitStack
    pool: ThreadPoolExecutor
    accounts: dict[str, Laboratory] = field(default_factory=dict)

    def account(self, name: str) -> Laboratory:
        if name not in self.accounts:
            self.accounts[name] = self.where.with_account()
        return self.accounts[name]

    def file(self, name: str) -> Path:
        """What the tool of this client waits for."""
        return self.folder / name

    def stream(self, name: str, revision: Revision, tool: str) -> Line:
        """A call that is answered with events, and runs."""
        line = Line(self.account(name))
        self.stack.enter_context(closing(line.socket))
        line.write(*call_of(line, revision, tool, self.file(name)))
        wait_until(begun_mark(self.file(name)).exists)
        return line

    def ask_for_json(self, name: str, tool: str) -> Future[Reply]:
        """A call that is answered in one piece, and runs."""
        client = McpClient(
            self.account(name).token, transport=http_transport(self.where.server.mcp_url)
        )
        call = self.pool.submit(client.call, tool, {"file": str(self.file(name))})
        wait_until(begun_mark(self.file(name)).exists)
        return call

    def send_half(self, path: str) -> Line:
        """A request whose body the application waits for."""
        line = Line(self.account("bodies"))
        self.stack.enter_context(closing(line.socket))
        head = line.head.replace("/api/mcp", path)
        line.write(head, "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n", b"{")
        line.read_until(b"100 Continue\r\n\r\n")
        return line

    def listen(self, request_id: int) -> Open:
        """A subscription."""
        stream = Open(self.account("listening"), request_id=request_id)
        self.stack.enter_context(closing(stream))
        stream.receives("acknowledged")
        return stream


@dataclass(frozen=True)
class Shutdown:
    """A server that was asked to stop: how it ended, and what its clients received."""

    accounts: Mapping[str, Laboratory]
    exit_code: int
    log: str
    seconds: float
    streamed: Mapping[str, Any]
    replies: Mapping[str, Reply]
    bodies: Mapping[str, bytes]
    subscriptions: list[Open]
    socket_codes: tuple[int | None, int | None]
    is_socket_answered: bool

    def row(self, name: str, tool: str) -> str:
        return last_row(self.accounts[name], tool)


@pytest.fixture(scope="module")
def shutdown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shutdown]:
    folder = tmp_path_factory.mktemp("stopping")
    with (
        laboratory(folder) as where,
        ThreadPoolExecutor(2) as pool,
        ExitStack() as stack,
    ):
        yield stop(where, Clients(where, folder, stack, pool))


def stop(where: Laboratory, clients: Clients) -> Shutdown:
    """Ask the server to stop while everything is under way."""
    streams = {
        str(revision): clients.stream(str(revision), revision, "write_slowly")
        for revision in STREAMED
    }
    streams["in time"] = clients.stream("in time", NEWEST_HANDSHAKE, "write_slowly")
    streams["disobedient stream"] = clients.stream(
        "disobedient stream", NEWEST_HANDSHAKE, "persist"
    )
    calls = {
        "in one piece": clients.ask_for_json("in one piece", "write_slowly"),
        "disobedient": clients.ask_for_json("disobedient", "persist"),
    }
    halves = {path: clients.send_half(path) for path in PATHS}
    subscriptions = [clients.listen(number) for number in range(3)]
    account = clients.account("sockets")
    sockets = (open_socket(account.port, account.token) for _ in range(2))
    idle, busy = (clients.stack.enter_context(socket) for socket in sockets)
    called = busy.call("persist", {"file": str(clients.file("socket"))})
    wait_until(begun_mark(clients.file("socket")).exists)

    begun = time.monotonic()
    where.server.process.send_signal(signal.SIGTERM)
    clients.file("in time").touch()
    idle_code = idle.close_code()
    clients.file("socket").touch()
    is_socket_answered = busy.receive()["id"] == called
    codes = idle_code, busy.close_code()
    bodies = {path: line.read_to_the_end() for path, line in halves.items()}
    answered = {name: line.read_to_the_end() for name, line in streams.items()}
    replies = {name: call.result(BOUND) for name, call in calls.items()}
    exit_code = where.server.process.wait(BOUND)
    seconds = time.monotonic() - begun

    log = where.server.log.read_text()
    events = {name: events_in(read.replace(b"\r\n", b"\n"))[-1] for name, read in answered.items()}
    return Shutdown(
        clients.accounts,
        exit_code,
        log,
        seconds,
        events,
        replies,
        bodies,
        subscriptions,
        codes,
        is_socket_answered,
    )


def test_it_ends_in_order_and_in_time(shutdown: Shutdown) -> None:
    assert shutdown.exit_code == 0
    assert shutdown.seconds < BOUND
    for complaint in (
        "Traceback",
        "Exception in ASGI",
        "Cancel ",
        "timeout graceful shutdown exceeded",
        '"level": "error"',
    ):
        assert complaint not in shutdown.log, shutdown.log


@pytest.mark.parametrize("revision", STREAMED, ids=str)
def test_a_call_that_streams_is_interrupted_with_a_message_and_recorded(
    shutdown: Shutdown, revision: Revision
) -> None:
    response = shutdown.streamed[str(revision)]
    assert response["id"] == 9
    assert response["error"]["message"].startswith("The server stopped before the call finished.")
    assert shutdown.row(str(revision), "write_slowly") == "interrupted interrupted"


def test_a_call_that_is_answered_in_one_piece_is_interrupted_too(shutdown: Shutdown) -> None:
    reply = shutdown.replies["in one piece"]
    # No status that clients repeat a change for.
    assert (reply.status, reply.json["id"]) == (200, 1)
    assert reply.error["message"].startswith("The server stopped before the call finished.")
    assert shutdown.row("in one piece", "write_slowly") == "interrupted interrupted"


def test_tools_that_do_not_obey_do_not_hold_the_end(shutdown: Shutdown) -> None:
    reply = shutdown.replies["disobedient"]
    assert (reply.status, reply.json["id"]) == (200, 1)
    stream = shutdown.streamed["disobedient stream"]
    assert stream["id"] == 9
    for error in (reply.error, stream["error"]):
        assert error["message"].startswith("The outcome is unknown")
    # The sweeper's to name.
    for name in ("disobedient", "disobedient stream"):
        assert shutdown.row(name, "persist") == "started"


def test_what_ends_in_time_is_answered_as_ever(shutdown: Shutdown) -> None:
    response = shutdown.streamed["in time"]
    assert json.loads(response["result"]["content"][0]["text"]) == {"found": "in time"}


@pytest.mark.parametrize("path", PATHS)
def test_a_body_that_does_not_come_does_not_hold_the_end(shutdown: Shutdown, path: str) -> None:
    assert shutdown.bodies[path].startswith(b"HTTP/1.1 408 ")


def test_subscriptions_end_in_order(shutdown: Shutdown) -> None:
    for stream in shutdown.subscriptions:
        stream.receives("acknowledged", "ended")
        assert stream.is_over()


def test_calls_of_websockets_are_answered_and_sockets_closed(shutdown: Shutdown) -> None:
    assert shutdown.is_socket_answered
    assert shutdown.socket_codes == (1001, 1001)
