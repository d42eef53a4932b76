"""Shutdown: running calls are interrupted, recorded and abandoned, and the process ends."""

import json
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.fixture_server import Laboratory, laboratory
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import McpClient, events_in, over_http
from tests.tools_registry.test_asgi_process import Line, call_of, last_row, until

pytestmark = pytest.mark.process

NEWEST_HANDSHAKE = Revision.V2025_11_25
# Less than the ten seconds after which the server cancels what is left of it.
BOUND = 9


@dataclass
class StoppingServer:
    """A server that is asked to stop, and its output."""

    where: Laboratory

    def begin(self) -> None:
        self.where.server.process.send_signal(signal.SIGTERM)

    def left_in_order(self) -> None:
        assert self.where.server.process.wait(BOUND) == 0
        log = self.where.server.log.read_text()
        assert "Traceback" not in log, log
        assert "Exception in ASGI" not in log, log
        assert "Cancel " not in log, log


@pytest.fixture
def ending(tmp_path: Path) -> Iterator[StoppingServer]:
    with laboratory(tmp_path) as where:
        yield StoppingServer(where)


@contextmanager
def streaming(where: Laboratory, revision: Revision, tool: str, awaited: Path) -> Iterator[Line]:
    line = Line(where)
    with closing(line.socket):
        line.write(*call_of(line, revision, tool, awaited))
        until(begun_mark(awaited).exists)
        yield line


@contextmanager
def asking_for_json(where: Laboratory, tool: str, awaited: Path) -> Iterator[Callable[[], int]]:
    """A call that is answered in one piece; gives how to get the status of its answer."""
    client = McpClient(where.token, transport=over_http(where.server.mcp_url))
    with ThreadPoolExecutor(1) as pool:
        call = pool.submit(client.call, tool, {"file": str(awaited)})
        until(begun_mark(awaited).exists)
        yield lambda: call.result(BOUND).status


@pytest.mark.parametrize("revision", REVISIONS[-2:], ids=str)
def test_a_call_that_streams_is_interrupted_with_a_message_and_recorded(
    ending: StoppingServer, revision: Revision, tmp_path: Path
) -> None:
    with streaming(ending.where, revision, "write_slowly", tmp_path / "go") as line:
        ending.begin()
        response = events_in(line.read_to_the_end().replace(b"\r\n", b"\n"))[-1]
    assert response["id"] == 9
    assert response["error"]["message"].startswith("The server stopped before the call finished.")
    ending.left_in_order()
    assert last_row(ending.where, "write_slowly") == "interrupted interrupted"


def test_a_call_that_is_answered_in_one_piece_is_interrupted_too(
    ending: StoppingServer, tmp_path: Path
) -> None:
    with asking_for_json(ending.where, "write_slowly", tmp_path / "go") as status:
        ending.begin()
        assert status() == 503
    ending.left_in_order()
    assert last_row(ending.where, "write_slowly") == "interrupted interrupted"


def test_tools_that_do_not_obey_do_not_hold_the_end(ending: StoppingServer, tmp_path: Path) -> None:
    where = ending.where
    with (
        streaming(where, NEWEST_HANDSHAKE, "persist", tmp_path / "one"),
        asking_for_json(where, "persist", tmp_path / "other") as status,
    ):
        ending.begin()
        assert status() == 503
        ending.left_in_order()
    # The sweeper's to name.
    assert last_row(where, "persist") == "started"


def test_what_ends_in_time_is_answered_as_ever(ending: StoppingServer, tmp_path: Path) -> None:
    with streaming(ending.where, NEWEST_HANDSHAKE, "write_slowly", tmp_path / "go") as line:
        ending.begin()
        (tmp_path / "go").touch()
        response = events_in(line.read_to_the_end().replace(b"\r\n", b"\n"))[-1]
    assert json.loads(response["result"]["content"][0]["text"]) == {"found": "go"}
    ending.left_in_order()


@pytest.mark.parametrize("path", ["/api/mcp", "/api/mcp/oauth/token"])
def test_a_body_that_does_not_come_does_not_hold_the_end(ending: StoppingServer, path: str) -> None:
    line = Line(ending.where)
    with closing(line.socket):
        head = line.head.replace("/api/mcp", path)
        line.write(head, "Expect: 100-continue\r\nContent-Length: 100\r\n\r\n", b"{")
        line.read_until(b"100 Continue\r\n\r\n")  # the application waits for the body now
        begun = time.monotonic()
        ending.begin()
        assert line.read_to_the_end().startswith(b"HTTP/1.1 408 ")
        ending.left_in_order()
    assert time.monotonic() - begun < BOUND
