"""The real server with the fixture tools in it, less patience and one token, in its own process.

`laboratory` starts it and is what tests use; `main` is what runs in the process.
"""

import faulthandler
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.drivers.server import (
    ROOT,
    Server,
    database_of_its_own,
    environment,
    evaluate,
    free_port,
    lay_tables,
    wait_until_ready,
)

BODY_NAME = "HALO_TEST_BODY_SECONDS"
HANDED_OVER = "HALO_TEST_HANDED_OVER"
BODY_SECONDS, KEEP_ALIVE_SECONDS = 1.0, 0.05
ENDING_SECONDS, LEAVING_SECONDS = 1.0, 1.0
RAISED = {f"HALO_RATE_{name}": "100000/m" for name in ("IP", "TOOLS_CALL", "OTHER", "TOOLS_LIST")}


@dataclass(frozen=True)
class Laboratory:
    """A running server, a token for everything on it, and the environment to reach its database."""

    server: Server
    token: str
    env: Mapping[str, str]

    @property
    def port(self) -> int:
        return int(self.server.url.rpartition(":")[2])

    def where_it_stands(self) -> str:
        """The log of a server that does not answer, with what each of its threads is at."""
        self.server.process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)
        return self.server.log.read_text()

    def evaluate(self, code: str) -> str:
        """What a few lines of Python print that have this server's database and settings."""
        return evaluate(self.env, code)


@contextmanager
def laboratory(folder: Path, given: Mapping[str, str] | None = None) -> Iterator[Laboratory]:
    """Start the server on its own database; stop it afterwards, unless a test has killed it."""
    port, handed_over = free_port(), folder / "handed-over.json"
    with database_of_its_own(port) as database:
        env = environment(folder, port) | database | RAISED | dict(given or {})
        lay_tables(folder)
        env |= {HANDED_OVER: str(handed_over), "HALO_PUBLIC_URL": f"http://127.0.0.1:{port}"}
        with _started(folder, env, port) as server:
            yield Laboratory(server, json.loads(handed_over.read_text())["token"], env)


@contextmanager
def beside(running: Laboratory, folder: Path) -> Iterator[Laboratory]:
    """Another server process on the same database and data folder, under another port."""
    port = free_port()
    env = {key: value for key, value in running.env.items() if key != HANDED_OVER}
    with _started(folder, env | {"PORT": str(port)}, port) as server:
        yield Laboratory(server, running.token, running.env)


@contextmanager
def _started(folder: Path, env: Mapping[str, str], port: int) -> Iterator[Server]:
    log = folder / "server.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "tests.drivers.fixture_server"],
            cwd=ROOT,
            env=env,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    server = Server(f"http://127.0.0.1:{port}", log, process)
    try:
        wait_until_ready(server)
        yield server
    finally:
        process.terminate()
        process.wait(30)


def main() -> None:
    """Prepare the database, put the fixture tools and a token in place, and serve."""
    faulthandler.register(signal.SIGUSR1)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")
    import django  # noqa: PLC0415  the environment first

    django.setup()
    from django.conf import settings  # noqa: PLC0415  settings are read now
    from django.core.management import call_command  # noqa: PLC0415

    from halo_mcp import asgi, launch  # noqa: PLC0415
    from tests.drivers import asking_tools, grants, toolbox  # noqa: PLC0415
    from tests.drivers.standins import desk  # noqa: PLC0415
    from tools_registry import registry  # noqa: PLC0415
    from tools_registry.asgi import McpApplication, Patience  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    if HANDED_OVER in os.environ:
        token = grants.granted("actions:*").token()
        Path(os.environ[HANDED_OVER]).write_text(json.dumps({"token": token}))
    patience = Patience(
        body=float(os.environ.get(BODY_NAME, BODY_SECONDS)),
        keep_alive=KEEP_ALIVE_SECONDS,
        ending=ENDING_SECONDS,
        leaving=LEAVING_SECONDS,
    )
    asgi.application = asgi.Application(McpApplication(patience))
    offered = (toolbox.CRM, toolbox.COUNTER, toolbox.LAB, asking_tools.ASKING)
    with registry.including(*offered, desk.DESK, desk.PATIENT_DESK):
        launch.serve(launch.listen(settings.HOST, settings.PORT), settings.HALO_PROCESSES)


if __name__ == "__main__":
    main()
