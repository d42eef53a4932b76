"""Fixtures that more than one folder of tests uses."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers import asking_tools, billing, grants, library, toolbox
from tests.drivers.asgi import application
from tests.drivers.asked import Asked, in_session
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.server import Server, running
from tests.drivers.standins.stripe import Stripe, serving
from tools_registry import conversation, registry


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
    """The fixture tools of `tests/drivers`, for as long as the test runs."""
    with registry.including(toolbox.CRM, toolbox.LAB, asking_tools.ASKING):
        yield


@pytest.fixture
def asked(mcp: McpClient, monkeypatch: pytest.MonkeyPatch) -> Iterator[Asked]:
    """A client that can be asked everything, in a session of the newest revision that has them."""
    # No notice leaves the transaction of a test, so a stream has to look often.
    monkeypatch.setattr(conversation, "LOOKS_EVERY", 0.02)
    with application() as app:
        # The threads share one connection, and must not use it at once.
        app._streams = app._quiet = app._core
        yield Asked(app, in_session(mcp, Revision.V2025_11_25))


@pytest.fixture
def books() -> Iterator[None]:
    """What `tests/drivers/library.py` offers, for as long as the test runs."""
    with registry.including(library.LIBRARY, library.PAPERS):
        yield


@pytest.fixture
def stripe(grant: Grant, settings: Any) -> Iterator[Stripe]:
    """A stand-in that the organization of `grant` is connected to."""
    with serving() as (standin, url):
        settings.HALO_VENDOR_URLS = {"stripe": url}
        billing.connect(grant)
        yield standin
