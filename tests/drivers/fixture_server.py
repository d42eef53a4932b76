"""The real server with the fixture tools and short timeouts, in its own process.

`laboratory` starts it and is what tests use; `main` is what runs in the process.
"""

import faulthandler
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tests.drivers.accounts import Account, open_account
from tests.drivers.evaluation import evaluate
from tests.drivers.server import RAISED as RAISED_RATES
from tests.drivers.server import (
    Server,
    backends_of_its_own,
    environment,
    free_port,
    lay_tables,
    start_server,
)

BODY_NAME = "HALO_TEST_BODY_SECONDS"
HEAD_NAME, WRITE_NAME = "HALO_TEST_HEAD_SECONDS", "HALO_TEST_WRITE_SECONDS"
KEEP_ALIVE_SECONDS = 0.05
ENDING_SECONDS, LEAVING_SECONDS = 2.0, 1.0
RATES = ("TOOLS_CALL", "OTHER", "TOOLS_LIST")
RAISED = RAISED_RATES | {f"HALO_RATE_{name}": "100000/m" for name in RATES}


@dataclass(frozen=True)
class Laboratory:
    """A running server with an organization, and the environment to reach its database."""

    server: Server
    account: Account
    env: Mapping[str, str]

    @property
    def token(self) -> str:
        """For everything in the organization."""
        return self.account.token

    def with_account(self) -> "Laboratory":
        """The same server with another organization, which is new."""
        return replace(self, account=open_account(self.env))

    @property
    def port(self) -> int:
        return int(self.server.url.rpartition(":")[2])

    def where_it_stands(self) -> str:
        """The log of a server that does not answer, with what each of its threads is at."""
        self.server.process.send_signal(signal.SIGUSR1)
        time.sleep(0.5)  # no event: the log has no mark for the end of what is written
        return self.server.log.read_text()

    def evaluate(self, code: str) -> str:
        """What a few lines of Python print that have this server's database and settings."""
        return evaluate(self.env, code)


@contextmanager
def laboratory(folder: Path, given: Mapping[str, str] | None = None) -> Iterator[Laboratory]:
    """Start the server on its own database; stop it afterwards, unless a test has killed it."""
    port = free_port()
    with backends_of_its_own(port) as backends:
        env = environment(folder, port) | backends | RAISED | dict(given or {})
        lay_tables(env)
        with _start(folder, env, port) as server:
            yield Laboratory(server, open_account(env), env)


@contextmanager
def second_server(running: Laboratory, folder: Path) -> Iterator[Laboratory]:
    """Another server process on the same database and data folder, under another port."""
    port = free_port()
    with _start(folder, {**running.env, "PORT": str(port)}, port) as server:
        yield replace(running, server=server)


def _start(folder: Path, env: Mapping[str, str], port: int) -> AbstractContextManager[Server]:
    words = ("-m", "tests.drivers.fixture_server")
    return start_server(f"http://127.0.0.1:{port}", folder / "server.log", env, *words)


def main() -> None:
    """Prepare the database, put the fixture tools in place, and serve."""
    faulthandler.register(signal.SIGUSR1)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")
    import django  # noqa: PLC0415  the environment first

    django.setup()
    from django.conf import settings  # noqa: PLC0415  settings are read now
    from django.core.management import call_command  # noqa: PLC0415

    from gateway import policies  # noqa: PLC0415
    from gateway import surface as gateway  # noqa: PLC0415
    from halo_mcp import asgi  # noqa: PLC0415
    from halo_mcp.server import launch  # noqa: PLC0415
    from halo_mcp.server.http_protocol import HttpProtocol  # noqa: PLC0415
    from tests.drivers import elicitation_tools, fixture_tools  # noqa: PLC0415
    from tests.drivers.fake_vendors import help_desk  # noqa: PLC0415
    from tests.drivers.websocket_client import PROJECT  # noqa: PLC0415
    from tools_registry import registry  # noqa: PLC0415
    from tools_registry.endpoint.asgi import McpApplication, Timeouts  # noqa: PLC0415
    from tools_registry.endpoint.surface import WORKSPACE_SURFACE  # noqa: PLC0415
    from tools_registry.pipeline import surfaces  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    timeouts = Timeouts(
        body=float(os.environ.get(BODY_NAME, Timeouts().body)),
        keep_alive=KEEP_ALIVE_SECONDS,
        ending=ENDING_SECONDS,
        changing=ENDING_SECONDS,
        leaving=LEAVING_SECONDS,
    )
    for name, attribute in ((HEAD_NAME, "head_seconds"), (WRITE_NAME, "write_seconds")):
        if name in os.environ:
            setattr(HttpProtocol, attribute, float(os.environ[name]))
    # WebSockets are for projects only: here one that does not exist is the workspace server.
    surfaces.mount_family(
        policies.PROJECT_SURFACES,
        lambda key: WORKSPACE_SURFACE if key == PROJECT else gateway.find_for_project(key),
    )
    asgi.application = asgi.Application(McpApplication(timeouts), body_seconds=timeouts.body)
    offered = (
        fixture_tools.CRM,
        fixture_tools.COUNTER,
        fixture_tools.LAB,
        elicitation_tools.ASKING,
    )
    with registry.including(*offered, help_desk.DESK, help_desk.PATIENT_DESK):
        launch.serve(launch.listen(settings.HOST, settings.PORT), settings.HALO_PROCESSES)


if __name__ == "__main__":
    main()
