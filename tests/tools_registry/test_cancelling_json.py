"""Cancelling a call that is answered in one piece."""

import json
import select
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mcp_protocol.revisions import HANDSHAKE, Revision
from tests.drivers.fixture_server import Laboratory
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import McpClient, http_transport
from tests.tools_registry.test_asgi_process import Line, last_row, wait_until
from tools_registry.endpoint.streams.disconnects import WATCHES_AFTER

pytestmark = pytest.mark.process

MODERN, NEWEST_HANDSHAKE = Revision.V2026_07_28, HANDSHAKE[-1]
TOOL = "write_slowly"
# Long enough for a server that did hear a cancellation to show it.
SHOWN = 10 * WATCHES_AFTER


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    return laboratory.with_account()


@pytest.fixture(scope="module")
def other(running: Laboratory, second_laboratory: Laboratory) -> Laboratory:
    """Another process with the same account."""
    return replace(second_laboratory, account=running.account)


@pytest.fixture
def awaited_file(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "go"
    (tmp_path / "go").touch()


def message(awaited: Path, client: McpClient, request_id: int = 9) -> dict[str, Any]:
    params = client.params({"name": TOOL, "arguments": {"file": str(awaited)}})
    return {"jsonrpc": "2.0", "id": request_id, "method": "tools/call", "params": params}


@contextmanager
def send_body(running: Laboratory, revision: Revision, body: Any) -> Iterator[Line]:
    """A connection on which a body went out that is to be answered as JSON."""
    line = Line(running)
    member = body[0] if isinstance(body, list) else body
    client = McpClient(line.token, revision)
    mirrored = client.mirror("tools/call", member["params"])
    lines = "".join(f"{name}: {value}\r\n" for name, value in mirrored.items())
    content = json.dumps(body).encode()
    version = f"MCP-Protocol-Version: {revision}\r\n"
    with closing(line.socket):
        line.write(line.head, lines, version, f"Content-Length: {len(content)}\r\n\r\n", content)
        yield line


@contextmanager
def begin_call(
    running: Laboratory, revision: Revision, awaited: Path, request_id: int = 9
) -> Iterator[Line]:
    client = McpClient(running.token, revision)
    with send_body(running, revision, message(awaited, client, request_id)) as line:
        wait_until(begun_mark(awaited).exists)
        yield line


def cancel(where: Laboratory, revision: Revision, request_id: int = 9) -> None:
    client = McpClient(where.token, revision, http_transport(where.server.mcp_url))
    given = {"requestId": request_id}
    assert client.notify("notifications/cancelled", given).status == 202


def cancel_until(
    true: Callable[[], bool], where: Laboratory, revision: Revision, request_id: int = 9
) -> None:
    """Cancel again and again: from when on a server listens cannot be seen from outside."""

    def is_done() -> bool:
        cancel(where, revision, request_id)
        return true()

    wait_until(is_done)


def is_answered(line: Line) -> bool:
    return bool(select.select([line.socket], [], [], 0)[0])


def answer_on(line: Line) -> Any:
    head, _, body = line.read_until(b"}}").partition(b"\r\n\r\n")
    assert b"content-type: application/json" in head.lower()
    return json.loads(body)


def test_closing_the_connection_cancels_at_the_newest_revision(
    running: Laboratory, awaited_file: Path
) -> None:
    with begin_call(running, MODERN, awaited_file):
        assert last_row(running, TOOL) == "started"
    wait_until(lambda: last_row(running, TOOL) != "started")
    assert last_row(running, TOOL) == "cancelled cancelled"


def test_closing_the_connection_did_not_cancel_before(
    running: Laboratory, awaited_file: Path
) -> None:
    with begin_call(running, NEWEST_HANDSHAKE, awaited_file):
        pass
    time.sleep(SHOWN)  # no event: nothing is to happen in that time
    assert last_row(running, TOOL) == "started"
    awaited_file.touch()
    wait_until(lambda: last_row(running, TOOL) != "started")
    assert last_row(running, TOOL) == "success"


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_a_notification_cancels_before_the_newest_revision(
    running: Laboratory, awaited_file: Path, revision: Revision
) -> None:
    with begin_call(running, revision, awaited_file) as line:
        cancel(running, revision, 8)
        cancel_until(lambda: is_answered(line), running, revision)
        assert answer_on(line)["error"]["message"] == "The call was cancelled."
    assert last_row(running, TOOL) == "cancelled cancelled"


def test_a_notification_at_another_process_finds_the_call(
    running: Laboratory, other: Laboratory, awaited_file: Path
) -> None:
    with begin_call(running, NEWEST_HANDSHAKE, awaited_file) as line:
        cancel_until(lambda: is_answered(line), other, NEWEST_HANDSHAKE)
        assert "error" in answer_on(line)
    assert last_row(running, TOOL) == "cancelled cancelled"


def test_a_notification_that_may_mean_either_of_two_calls_cancels_neither(
    running: Laboratory, awaited_file: Path, tmp_path: Path
) -> None:
    # The server listens for calls, and hears of notifications, in the order in which they came.
    def cancel_another(name: str, request_id: int) -> None:
        with begin_call(running, NEWEST_HANDSHAKE, tmp_path / name, request_id) as line:
            cancel_until(lambda: is_answered(line), running, NEWEST_HANDSHAKE, request_id)

    # Other ids than in other tests, whose last notifications may still arrive.
    with (
        begin_call(running, NEWEST_HANDSHAKE, awaited_file, 20) as one,
        begin_call(running, NEWEST_HANDSHAKE, tmp_path / "also", 20) as other,
    ):
        cancel_another("before", 21)
        cancel(running, NEWEST_HANDSHAKE, 20)
        cancel_another("after", 22)
        for line, file in ((one, awaited_file), (other, tmp_path / "also")):
            file.touch()
            assert "result" in json.loads(line.read_until(b"}}").partition(b"\r\n\r\n")[2])


def test_of_a_batch_the_member_that_runs_is_cancelled_and_the_next_is_not(
    running: Laboratory, awaited_file: Path, tmp_path: Path
) -> None:
    revision = Revision.V2025_03_26
    client = McpClient(running.token, revision)
    batch = [message(awaited_file, client, 1), message(tmp_path / "next", client, 2)]
    with send_body(running, revision, batch) as line:
        wait_until(begun_mark(awaited_file).exists)
        cancel_until(begun_mark(tmp_path / "next").exists, running, revision, 1)
        cancel(running, revision, 1)
        (tmp_path / "next").touch()
        first, second = json.loads(line.read_until(b"}}]").partition(b"\r\n\r\n")[2])
    assert "error" in first
    assert "result" in second
