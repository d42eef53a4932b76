"""The servers that tests share, by the settings that they need.

A test uses one of them, with an organization and people of its own, unless it is about starting,
stopping or killing a server. A setting that adds a capability, or raises a limit, belongs to a
server that there is.

Of each test process one runs at a time, for each of its threads holds a connection to PostgreSQL,
which has a hundred. `sort_items` brings the tests of each together, so that it starts once. A file
uses one of them only.

A vendor listens on a port that its server knows from the start: `vendor_port` is where a test has
to put its fake.
"""

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import pytest

from tests.drivers import fixture_server, server
from tests.drivers.fixture_server import (
    BODY_NAME,
    HEAD_NAME,
    WRITE_NAME,
    Laboratory,
    second_server,
)
from tests.drivers.server import RAISED, Server, free_port

HEAD_SECONDS: Final = 2.0
WRITE_SECONDS: Final = 2.0
BODY_SECONDS: Final = 3.0
REQUESTS_OF_ONE_ADDRESS: Final = 12
# In flight at a server with wide pools: each holds a connection to the database, and PostgreSQL
# has 100.
WIDE_THREADS: Final = 30
SOCKETS_PER_CREDENTIAL: Final = 3
VENDORS, ORIGINS = "HALO_VENDOR_URLS", "HALO_AGENTS_ORIGINS"


@dataclass(frozen=True)
class Kind:
    """What a server has that others have not: settings, a name, and vendors that tests put up.

    A vendor is named with the path of its API.
    """

    env: Mapping[str, str]
    name: str = "127.0.0.1"
    vendors: Mapping[str, str] = field(default_factory=dict)
    has_application: bool = False

    def settings(self) -> dict[str, str]:
        """The settings, with an address for each vendor and for the application in a page."""
        urls = [f"{name}={_make_address()}{path}" for name, path in self.vendors.items()]
        given = {VENDORS: ",".join(urls)} if urls else {}
        origin = {ORIGINS: _make_address()} if self.has_application else {}
        return {**self.env, **given, **origin}


def _make_address() -> str:
    return f"http://127.0.0.1:{free_port()}"


# The product, as `./run` starts it.
PRODUCTS: Final[Mapping[str, Kind]] = {
    # For everything that needs no other.
    "server": Kind(
        RAISED | {"HALO_RATE_AGENTS": "100000/m", "HALO_HR_WRITE_MODE": "enabled"},
        vendors={"stripe": ""},
        has_application=True,
    ),
    # As a first start leaves it: the only organization is the one that it made, and stays so.
    # Browsers keep passkeys for a name only, and it logs all that it can.
    "new_server": Kind(
        RAISED | {"HALO_LOG_LEVEL": "DEBUG"},
        name="localhost",
        vendors={"hubspot": "", "linear": "", "slack": "/api", "stripe": ""},
    ),
    "four_processes": Kind({"HALO_PROCESSES": "4", "HALO_RATE_TOOLS_CALL": "120/h"}),
}
# The web processes alone, with the tools of `tests/drivers/fixture_server.py`.
LABORATORIES: Final[Mapping[str, Kind]] = {
    "laboratory": Kind({}, vendors={"desk": "", "patient": ""}),
    # Short timeouts, few requests of an address, and no Redis.
    "impatient_laboratory": Kind(
        {
            HEAD_NAME: str(HEAD_SECONDS),
            WRITE_NAME: str(WRITE_SECONDS),
            BODY_NAME: str(BODY_SECONDS),
            "HALO_GATEWAY_SOCKET_IDLE_SECONDS": "1",
            "HALO_TRUSTED_PROXIES": "127.0.0.1",
            "HALO_RATE_IP": f"{REQUESTS_OF_ONE_ADDRESS}/h",
            "REDIS_URL": "",
        }
    ),
    # Many threads, few sockets, no window for replays, and a log of all that it can.
    "wide_laboratory": Kind(
        {
            "HALO_CORE_THREADS": str(WIDE_THREADS),
            "HALO_GATEWAY_SOCKETS_PER_CREDENTIAL": str(SOCKETS_PER_CREDENTIAL),
            "HALO_REFRESH_REPLAY_SECONDS": "0",
            "HALO_LOG_LEVEL": "DEBUG",
        }
    ),
}


class SharedServer:
    """The shared server that runs in this test process: the one that was needed last."""

    def __init__(self, make_folder: Callable[[str], Path]) -> None:
        self._make_folder = make_folder
        self._stack = ExitStack()
        self._name = ""
        self._product: Server | None = None
        self._laboratory: Laboratory | None = None
        self._second: Laboratory | None = None

    def product(self, name: str) -> Server:
        """One of `PRODUCTS`."""
        if self._name != name or self._product is None:
            self.close()
            kind, folder = PRODUCTS[name], self._make_folder(name)
            starting = server.running(folder, kind.settings(), name=kind.name)
            self._product, self._name = self._stack.enter_context(starting), name
        return self._product

    def laboratory(self, name: str) -> Laboratory:
        """One of `LABORATORIES`."""
        if self._name != name or self._laboratory is None:
            self.close()
            starting = fixture_server.laboratory(
                self._make_folder(name), LABORATORIES[name].settings()
            )
            self._laboratory, self._name = self._stack.enter_context(starting), name
        return self._laboratory

    def second(self, name: str) -> Laboratory:
        """Another process on the database of the laboratory with this name."""
        first = self.laboratory(name)
        if self._second is None:
            starting = second_server(first, self._make_folder(f"second_{name}"))
            self._second = self._stack.enter_context(starting)
        return self._second

    def close(self) -> None:
        self._product = self._laboratory = self._second = None
        self._name = ""
        self._stack.close()


def sort_items(items: list[pytest.Item]) -> list[pytest.Item]:
    """The tests of each shared server next to each other, and before those that use none.

    Towards its end, a process that is done takes over the last tests of the others: short ones.
    """
    names = [*PRODUCTS, *LABORATORIES]
    return sorted(items, key=lambda item: _get_place(item, names))


def _get_place(item: pytest.Item, names: list[str]) -> int:
    used = set(getattr(item, "fixturenames", ()))
    return next((place for place, name in enumerate(names) if name in used), len(names))


def vendor_port(env: Mapping[str, str], name: str) -> int:
    """Where the server with this environment looks for a vendor."""
    urls = dict(pair.split("=") for pair in env[VENDORS].split(","))
    return port_of(urls[name])


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port
