"""The port is taken before anything else happens, or the start ends there."""

import socket

import pytest

from halo_mcp.server import launch
from tests.drivers.server import free_port


def test_a_free_port_is_listened_on_at_once() -> None:
    port = free_port()

    with launch.listen("127.0.0.1", port), socket.create_connection(("127.0.0.1", port), 5):
        pass


def test_a_busy_port_is_refused_with_what_to_do() -> None:
    port = free_port()

    with launch.listen("127.0.0.1", port), pytest.raises(launch.PortTaken) as taken:
        launch.listen("127.0.0.1", port)

    assert str(taken.value) == (
        f"Cannot listen on 127.0.0.1:{port} (Address already in use). "
        "Stop what runs there, or choose another PORT."
    )


def test_a_host_that_is_not_this_machine_is_refused() -> None:
    # 192.0.2.0/24 is for documentation (RFC 5737): no machine has an address in it.
    with pytest.raises(launch.PortTaken, match=r"192\.0\.2\.1"):
        launch.listen("192.0.2.1", free_port())
