"""The product itself with the suite's fixtures in it, on a database and a port of its own.

    python -m tests.conformance.fixture_server

Authentication is on as ever. It prints one line of JSON once it answers, the address of the MCP
endpoint and a token for everything on it, and serves until SIGTERM or Ctrl-C. `running` starts it
in a process; `./run conformance --serve-only` is it.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

import httpx2

from tests.drivers.server import ROOT, backends_of_its_own, environment, free_port, lay_tables

RATES: Final = (
    "REGISTER",
    "REGISTER_ATTEMPTS",
    "TOOLS_LIST",
    "TOOLS_CALL",
    "OTHER",
    "TOKEN",
    "AUTHORIZE",
    "SIGNIN",
    "IP",
    "SDK",
    "GATEWAY_LIST",
    "GATEWAY_CALL",
    "GATEWAY_OTHER",
    "HR_API",
    "AGENTS",
)
RAISED: Final = {f"HALO_RATE_{name}": "1000000/m" for name in RATES}
# As long as anybody may want to try things out on it.
TOKEN_SECONDS: Final = 30 * 24 * 3600
START_SECONDS, STOP_SECONDS = 60, 30
LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class LoopbackOrigins:
    """Origins of this machine, whatever the port: nobody knows that of somebody else's relay."""

    def __contains__(self, origin: object) -> bool:
        return isinstance(origin, str) and urlsplit(origin).hostname in LOOPBACK


@dataclass(frozen=True)
class FixtureServer:
    """The server, running: its endpoint, a token for it, and its log."""

    url: str
    token: str
    log: Path

    @property
    def port(self) -> int:
        port = urlsplit(self.url).port
        assert port
        return port


@contextmanager
def running(folder: Path) -> Iterator[FixtureServer]:
    """Start the server in a process of its own, its log in a folder, and stop it afterwards."""
    log = folder / "fixture-server.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.conformance.fixture_server"],
            cwd=ROOT,
            stdout=subprocess.PIPE,
            stderr=errors,
        )
    assert process.stdout
    try:
        with process.stdout as output:
            said = output.readline()
            assert said, log.read_text()
            yield FixtureServer(**json.loads(said), log=log)
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)


def main() -> None:
    """Serve until asked to stop, and leave nothing behind."""
    port = free_port()
    with (
        tempfile.TemporaryDirectory(prefix="halo-fixtures-") as folder,
        backends_of_its_own(port) as backends,
    ):
        given = environment(Path(folder), port) | backends | RAISED
        given["HALO_ACCESS_TOKEN_SECONDS"] = str(TOKEN_SECONDS)
        lay_tables(given)
        given["DJANGO_SETTINGS_MODULE"] = "halo_mcp.settings"
        os.environ.clear()
        os.environ.update(given)
        serve()


def serve() -> None:
    """The product as `./run` starts it, with more in its registry; the environment is set."""
    import django  # noqa: PLC0415  the environment first

    django.setup()
    from django.conf import settings  # noqa: PLC0415  settings are read now
    from django.db import connections  # noqa: PLC0415

    from halo_mcp import bootstrap  # noqa: PLC0415
    from halo_mcp.server import launch  # noqa: PLC0415
    from tests.conformance import fixtures  # noqa: PLC0415
    from tests.drivers import grants  # noqa: PLC0415

    settings.HALO_ALLOWED_ORIGINS = LoopbackOrigins()
    launch.obey_signals()
    with launch.listen(settings.HOST, settings.PORT) as sock:
        bootstrap.bootstrap()
        token = grants.make_grant("actions:*").token()
        connections.close_all()
        address = f"http://{settings.HOST}:{settings.PORT}"
        threading.Thread(target=announce, args=(address, token), daemon=True).start()
        with fixtures.include_fixtures():
            launch.serve(sock, 1)


def announce(address: str, token: str) -> None:
    """Say where the server is once it answers: one line, and never another."""
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline:
        with suppress(httpx2.TransportError):
            if httpx2.get(f"{address}/health", timeout=2).status_code == 200:
                sys.stdout.write(json.dumps({"url": f"{address}/api/mcp", "token": token}) + "\n")
                sys.stdout.flush()
                return
        time.sleep(0.05)


if __name__ == "__main__":
    main()
