"""The endpoint in a real server process, over real sockets."""

import json
import signal
import socket
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers import fixture_server, sockets
from tests.drivers.fixture_server import Laboratory
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import BOTH, McpClient, events_in, http_transport

pytestmark = pytest.mark.process

MODERN, NEWEST_HANDSHAKE = Revision.V2026_07_28, Revision.V2025_11_25
TOKEN = {"progressToken": "p1"}
# Longer than a statement waits for SQLite's lock, so that a stalled disk shows as an error there.
TIMEOUT = 60
LAST_ROW = """
from audit.models import ActionExecution
rows = ActionExecution.objects.filter(organization_id={organization!r}, tool={tool!r})
row = rows.latest("id")
print(row.outcome, row.reason)
"""
SWEEP = """
from datetime import timedelta
from audit import record
print(record.finish_interrupted(older_than=timedelta(0)))
"""


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    return laboratory.with_account()


@pytest.fixture
def client(running: Laboratory) -> McpClient:
    return McpClient(running.token, transport=http_transport(running.server.mcp_url))


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


class Line:
    """One connection, written and read byte by byte."""

    def __init__(self, running: Laboratory) -> None:
        self.token = running.token
        self.running = running
        self.socket = socket.create_connection(("127.0.0.1", running.port), timeout=TIMEOUT)
        self.head = (
            f"POST /api/mcp HTTP/1.1\r\nHost: 127.0.0.1:{running.port}\r\n"
            f"Authorization: Bearer {running.token}\r\nContent-Type: application/json\r\n"
        )

    def write(self, *parts: bytes | str) -> None:
        for part in parts:
            self.socket.sendall(part.encode() if isinstance(part, str) else part)

    def read_until(self, mark: bytes) -> bytes:
        read = b""
        while mark not in read:
            try:
                chunk = self.socket.recv(65_536)
            except TimeoutError:
                pytest.fail(f"nothing came behind {read!r}: {self.running.where_it_stands()}")
            assert chunk, read
            read += chunk
        return read

    def read_to_the_end(self) -> bytes:
        return b"".join(iter(lambda: self.socket.recv(65_536), b""))


@pytest.fixture
def line(running: Laboratory) -> Iterator[Line]:
    line = Line(running)
    with closing(line.socket):
        yield line


def call_of(line: Line, revision: Revision, tool: str, awaited: Path) -> list[bytes | str]:
    """The bytes of a call that asks for events."""
    client = McpClient(line.token, revision)
    params = client.params({"name": tool, "arguments": {"file": str(awaited)}, "_meta": TOKEN})
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    body = json.dumps(message).encode()
    mirrored = {**client.mirror("tools/call", params), "Accept": BOTH}
    lines = "".join(f"{name}: {value}\r\n" for name, value in mirrored.items())
    version = f"MCP-Protocol-Version: {revision}\r\n"
    return [line.head, lines, version, f"Content-Length: {len(body)}\r\n\r\n", body]


def peers(running: Laboratory) -> set[int]:
    """The ports of the clients whose connections the server holds."""
    return {one.peer for one in sockets.sockets_of(running.server.process.pid)}


def last_row(running: Laboratory, tool: str) -> str:
    code = LAST_ROW.format(organization=running.account.organization, tool=tool)
    return running.evaluate(code).strip()


def test_events_arrive_while_the_tool_still_runs(
    running: Laboratory, line: Line, tmp_path: Path
) -> None:
    awaited = tmp_path / "go"
    line.write(*call_of(line, NEWEST_HANDSHAKE, "wait", awaited))
    head = line.read_until(b": keep-alive\n\n")
    assert b"x-accel-buffering: no\r\n" in head
    awaited.touch()
    rest = line.read_until(b"0\r\n\r\n")
    response = events_in(rest.replace(b"\r\n", b"\n"))[-1]
    assert json.loads(response["result"]["content"][0]["text"]) == {"found": "go"}
    assert last_row(running, "wait") == "success"


@pytest.mark.parametrize(
    ("revision", "outcome"),
    [(MODERN, "cancelled cancelled"), (NEWEST_HANDSHAKE, "success")],
    ids=str,
)
def test_hanging_up_cancels_at_the_newest_revision_only(
    running: Laboratory, line: Line, tmp_path: Path, revision: Revision, outcome: str
) -> None:
    awaited = tmp_path / "go"
    line.write(*call_of(line, revision, "write_slowly", awaited))
    line.read_until(b"notifications/progress")
    assert last_row(running, "write_slowly") == "started"
    port = line.socket.getsockname()[1]
    line.socket.close()
    if revision != MODERN:
        # After the server has closed the connection and answered another request on the same event
        # loop, a cancellation would have been passed to the tool, which looks for the file first.
        wait_until(lambda: port not in peers(running))
        other = McpClient(running.token, transport=http_transport(running.server.mcp_url))
        assert other.request("ping").status == 200
        awaited.touch()
    wait_until(lambda: last_row(running, "write_slowly") != "started")
    assert last_row(running, "write_slowly") == outcome


def test_hanging_up_with_a_request_behind_the_stream_cancels_as_well(
    running: Laboratory, line: Line, tmp_path: Path
) -> None:
    before = len(running.server.log.read_text())  # other tests have asked this server as well
    line.write(*call_of(line, MODERN, "write_slowly", tmp_path / "go"))
    line.read_until(b"notifications/progress")
    # The server tells only the newest request of a connection that its client has gone.
    line.write(line.head, "Content-Length: 100\r\n\r\n", b"{")
    line.socket.close()
    wait_until(lambda: last_row(running, "write_slowly") != "started")
    assert last_row(running, "write_slowly") == "cancelled cancelled"
    assert "Traceback" not in running.server.log.read_text()[before:]


def test_i23_a_body_that_never_ends_is_answered_and_the_connection_closed(line: Line) -> None:
    line.write(line.head, "Transfer-Encoding: chunked\r\n\r\n")
    chunk = b"10000\r\n" + b" " * 65_536 + b"\r\n"
    # One byte over the cap and no more: closing on bytes that nobody read resets the connection,
    # and a reset may take the answer with it.
    line.write(*[chunk] * 16, b"1\r\n \r\n")
    answer = line.read_to_the_end()
    assert answer.startswith(b"HTTP/1.1 413 ")
    assert b"connection: close" in answer


def test_i23_a_length_over_the_cap_is_refused_before_the_body(line: Line) -> None:
    line.write(line.head, "Content-Length: 99999999\r\n\r\n")
    assert line.read_to_the_end().startswith(b"HTTP/1.1 413 ")


@pytest.mark.parametrize(
    "head",
    [
        "Content-Length: 5\r\nContent-Length: 6\r\n\r\n",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: x\r\n\r\n",
        "Transfer-Encoding: gzip\r\n\r\n",
        "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
    ],
    ids=["two-lengths", "negative", "word", "unknown-coding", "both"],
)
def test_a_request_that_two_servers_could_cut_differently_runs_nothing(
    line: Line, head: str
) -> None:
    line.write(line.head, head)
    line.socket.shutdown(socket.SHUT_WR)
    assert line.read_to_the_end().split(b" ")[1] in {b"400", b"408", b"501"}


def test_one_connection_carries_many_requests(line: Line) -> None:
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    for _ in range(3):
        line.write(line.head, f"Content-Length: {len(body)}\r\n\r\n", body)
        assert b'"result":{}' in line.read_until(b'"result":{}}')


def test_long_streams_leave_room_for_short_calls(
    running: Laboratory, client: McpClient, tmp_path: Path
) -> None:
    awaited = tmp_path / "go"
    with ExitStack() as stack:
        lines = [Line(running) for _ in range(4)]
        for line in lines:
            stack.enter_context(closing(line.socket))
            line.write(*call_of(line, MODERN, "wait", awaited))
            line.read_until(b"notifications/progress")
        assert client.request("ping").result == {}
        # These are all the places that the connection has. Each comes back before the response is
        # sent, and the next test needs one.
        awaited.touch()
        for line in lines:
            line.read_until(b'"id":9')


@pytest.mark.sqlite
def test_w05_a_process_that_dies_midway_leaves_a_row_that_the_sweeper_names(
    tmp_path: Path,
) -> None:
    with fixture_server.laboratory(tmp_path) as dying:
        awaited = tmp_path / "go"
        line = Line(dying)
        line.write(*call_of(line, NEWEST_HANDSHAKE, "write_slowly", awaited))
        wait_until(begun_mark(awaited).exists)
        dying.server.process.send_signal(signal.SIGKILL)
        dying.server.process.wait(TIMEOUT)
        assert last_row(dying, "write_slowly") == "started"
        assert dying.evaluate(SWEEP).strip() == "1"
        assert last_row(dying, "write_slowly") == "interrupted interrupted"
        line.socket.close()
