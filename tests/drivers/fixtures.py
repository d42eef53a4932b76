"""Fixtures that more than one folder of tests uses."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.drivers import grants, library, toolbox
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.server import Server, running
from tools_registry import registry


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One real server process for the tests of one test process; limits raised out of the way."""
    folder: Path = tmp_path_factory.mktemp("server")
    raised = {f"HALO_RATE_{name}": "100000/m" for name in ("REGISTER", "TOKEN", "IP", "AUTHORIZE")}
    with running(folder, raised | {"HALO_RATE_SIGNIN": "100000/m"}) as server:
        yield server


@pytest.fixture
def grant(db: None) -> Grant:  # noqa: ARG001  opens the database for the test
    """A consent to everything."""
    return grants.granted("actions:*")


@pytest.fixture
def mcp(grant: Grant) -> McpClient:
    """A client that holds a token for everything, in process, at the default revision."""
    return McpClient(grant.token())


@pytest.fixture
def lab() -> Iterator[None]:
    """The fixture tools of `tests/drivers/toolbox.py`, for as long as the test runs."""
    with registry.including(toolbox.CRM, toolbox.LAB):
        yield


@pytest.fixture
def books() -> Iterator[None]:
    """What `tests/drivers/library.py` offers, for as long as the test runs."""
    with registry.including(library.LIBRARY, library.PAPERS):
        yield
