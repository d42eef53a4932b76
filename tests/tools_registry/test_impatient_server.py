"""A server with short timeouts, and one that publishes without Redis."""

import select
from contextlib import closing
from pathlib import Path

import pytest

from tests.drivers.fixture_server import Laboratory
from tests.drivers.websocket_client import open_socket
from tests.tools_registry.test_asgi_process import Line
from tests.tools_registry.test_subscriptions_process import publish

pytestmark = pytest.mark.process

PAUSE_SECONDS = 0.05


def test_u01_a_body_that_does_not_come_is_given_up(impatient_laboratory: Laboratory) -> None:
    line = Line(impatient_laboratory)
    with closing(line.socket):
        line.write(line.head, "Content-Length: 100\r\n\r\n", b'{"jsonrpc"')
        assert line.read_to_the_end().startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("path", ["/api/mcp", "/api/mcp/oauth/token"])
def test_a_body_that_comes_too_slowly_is_refused_while_it_comes(
    impatient_laboratory: Laboratory, path: str
) -> None:
    line = Line(impatient_laboratory)
    with closing(line.socket):
        line.write(line.head.replace("/api/mcp", path), "Content-Length: 100000\r\n\r\n")
        while not select.select([line.socket], [], [], PAUSE_SECONDS)[0]:
            line.write(b"x")
        # The client has not read the answer yet, and sends on: the connection is not reset.
        for _ in range(3):
            line.write(b"x")
            assert select.select([], [line.socket], [], PAUSE_SECONDS)[1]
        assert line.read_until(b"\r\n").startswith(b"HTTP/1.1 408 ")


def test_an_idle_socket_is_closed_and_one_that_waits_is_not(
    impatient_laboratory: Laboratory, tmp_path: Path
) -> None:
    awaited = tmp_path / "go"
    where = impatient_laboratory.with_account()
    with open_socket(where.port, where.token) as waits:
        waits.call("wait", {"file": str(awaited)})
        with open_socket(where.port, where.token) as idle:
            assert idle.close_code() == 4408
        awaited.touch()
        assert "result" in waits.receive()


def test_a_switch_turned_in_the_admin_of_one_process_is_published_without_redis(
    impatient_laboratory: Laboratory, second_impatient_laboratory: Laboratory
) -> None:
    publish(impatient_laboratory.with_account(), second_impatient_laboratory)
