import socket
import socketserver
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest

from tests.faults.proxy import HOST, Fault, FaultProxy

# Long enough for an answer on loopback of a busy machine, and short for one that never comes.
ANSWER_SECONDS = 10.0
SILENCE_SECONDS = 0.2


class _Echo(socketserver.BaseRequestHandler):
    def handle(self) -> None:
        with suppress(ConnectionError):
            while data := self.request.recv(1_000):
                self.request.sendall(data)


class _EchoServer(socketserver.ThreadingTCPServer):
    daemon_threads = True
    # Without a wait for threads of connections that are still open.
    block_on_close = False


@pytest.fixture
def proxy() -> Iterator[FaultProxy]:
    with _EchoServer((HOST, 0), _Echo) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        with FaultProxy(server.server_address[1]) as proxy:
            yield proxy
        server.shutdown()
        thread.join()


def _connect(proxy: FaultProxy) -> socket.socket:
    return socket.create_connection((HOST, proxy.port), ANSWER_SECONDS)


def _echo(connection: socket.socket, timeout: float = ANSWER_SECONDS) -> bytes:
    connection.settimeout(timeout)
    connection.sendall(b"word")
    return connection.recv(1_000)


def _is_silent(connection: socket.socket) -> bool:
    try:
        _echo(connection, SILENCE_SECONDS)
    except TimeoutError:
        return True
    return False


def test_bytes_pass_in_both_directions(proxy: FaultProxy) -> None:
    with _connect(proxy) as connection:
        assert _echo(connection) == b"word"
        assert proxy.open_connections == 1
    assert proxy.accepted_count == 1


def test_a_cut_resets_connections_and_refuses_new_ones(proxy: FaultProxy) -> None:
    with _connect(proxy) as connection:
        _echo(connection)
        proxy.set_fault(Fault.CUT)
        with pytest.raises(ConnectionError):
            _read_until_closed(connection)
    with _connect(proxy) as connection, suppress(ConnectionError):
        assert _echo(connection) == b""
    proxy.set_fault(Fault.PASS)
    with _connect(proxy) as connection:
        assert _echo(connection) == b"word"


def _read_until_closed(connection: socket.socket) -> None:
    connection.settimeout(ANSWER_SECONDS)
    while True:
        connection.sendall(b"word")
        if not connection.recv(1_000):
            raise ConnectionResetError


def test_a_hang_keeps_every_connection_silent_until_it_ends(proxy: FaultProxy) -> None:
    with _connect(proxy) as old:
        _echo(old)
        with proxy.fault(Fault.HANG), _connect(proxy) as new:
            assert _is_silent(old)
            assert _is_silent(new)
        old.settimeout(ANSWER_SECONDS)
        assert old.recv(1_000) == b"word"


def test_a_freeze_is_for_good_and_spares_new_connections(proxy: FaultProxy) -> None:
    with _connect(proxy) as old:
        _echo(old)
        proxy.set_fault(Fault.FREEZE)
        with _connect(proxy) as new:
            assert _echo(new) == b"word"
            proxy.set_fault(Fault.PASS)
            assert _is_silent(old)
            assert _echo(new) == b"word"


def test_a_delay_keeps_each_chunk_for_its_time(proxy: FaultProxy) -> None:
    with _connect(proxy) as connection:
        _echo(connection)
        proxy.set_fault(Fault.DELAY, delay_seconds=SILENCE_SECONDS)
        began = time.monotonic()
        assert _echo(connection) == b"word"
        # Once on the way there and once on the way back.
        assert time.monotonic() - began >= 2 * SILENCE_SECONDS
