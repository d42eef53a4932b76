"""Slow tools that are answered in one piece, on the server as `./run` has it: one process."""

from contextlib import ExitStack
from pathlib import Path

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.fixture_server import Laboratory
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import McpClient, http_transport
from tests.tools_registry.test_asgi_process import wait_until
from tests.tools_registry.test_cancelling_json import message, send_body

pytestmark = pytest.mark.process

CORE_THREADS = 4  # the default


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    return laboratory.with_account()


@pytest.mark.parametrize("calls", [1, CORE_THREADS, 2 * CORE_THREADS])
def test_slow_calls_do_not_hold_up_the_others(
    calls: int, running: Laboratory, tmp_path: Path
) -> None:
    revision = Revision.V2026_07_28
    client = McpClient(running.token, revision, http_transport(running.server.mcp_url))
    awaited = [tmp_path / f"go-{turn}" for turn in range(calls)]
    with ExitStack() as stack:
        lines = [
            stack.enter_context(send_body(running, revision, message(file, client)))
            for file in awaited
        ]
        wait_until(lambda: all(begun_mark(file).exists() for file in awaited))

        assert client.call("echo", {"value": "quick"}).result["isError"] is False
        assert client.request("tools/list").result["tools"]

        for file in awaited:
            file.touch()
        for line in lines:
            assert b'"isError":false' in line.read_until(b"}}").replace(b" ", b"")
