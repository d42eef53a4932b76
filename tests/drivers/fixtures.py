"""Fixtures that more than one folder of tests uses."""

from collections.abc import Iterator
from typing import Any

import pytest

from foundation.outbound import retry
from mcp_protocol.revisions import Revision
from tests.browser import chromium
from tests.browser.chromium import SharedBrowser
from tests.drivers import (
    billing,
    elicitation_tools,
    fixture_resources,
    fixture_tools,
    grants,
)
from tests.drivers.asgi import application
from tests.drivers.elicitation_client import ElicitationClient, start_session
from tests.drivers.fake_vendors.stripe import Stripe, serving
from tests.drivers.fixture_server import Laboratory
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.server import Server
from tests.drivers.servers import SharedServer
from tools_registry import registry
from tools_registry.endpoint.streams import conversation


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SharedServer]:
    shared = SharedServer(tmp_path_factory.mktemp)
    yield shared
    shared.close()


@pytest.fixture(scope="session")
def shared_browser() -> Iterator[SharedBrowser]:
    """Chromium, or a skipped test where none is installed."""
    executable = chromium.find()
    if executable is None:
        pytest.skip("no Chromium at /usr/bin/chromium or on the PATH")
    shared = SharedBrowser(executable)
    yield shared
    shared.close()


# One of these for a file, which may have it start or end another: see `tests/drivers/servers.py`.
@pytest.fixture(scope="module")
def server(shared_server: SharedServer) -> Server:
    return shared_server.product("server")


@pytest.fixture(scope="module")
def new_server(shared_server: SharedServer) -> Server:
    return shared_server.product("new_server")


@pytest.fixture(scope="module")
def four_processes(shared_server: SharedServer) -> Server:
    return shared_server.product("four_processes")


@pytest.fixture(scope="module")
def laboratory(shared_server: SharedServer) -> Laboratory:
    return shared_server.laboratory("laboratory")


@pytest.fixture(scope="module")
def second_laboratory(laboratory: Laboratory, shared_server: SharedServer) -> Laboratory:  # noqa: ARG001  first
    return shared_server.second("laboratory")


@pytest.fixture(scope="module")
def impatient_laboratory(shared_server: SharedServer) -> Laboratory:
    return shared_server.laboratory("impatient_laboratory")


@pytest.fixture(scope="module")
def second_impatient_laboratory(
    impatient_laboratory: Laboratory,  # noqa: ARG001  first
    shared_server: SharedServer,
) -> Laboratory:
    return shared_server.second("impatient_laboratory")


@pytest.fixture(scope="module")
def wide_laboratory(shared_server: SharedServer) -> Laboratory:
    return shared_server.laboratory("wide_laboratory")


@pytest.fixture
def grant(db: None) -> Grant:  # noqa: ARG001  opens the database for the test
    """A consent to everything."""
    return grants.make_grant("actions:*")


@pytest.fixture
def mcp(grant: Grant) -> McpClient:
    """A client that holds a token for everything, in process, at the default revision."""
    return McpClient(grant.token())


@pytest.fixture
def lab() -> Iterator[None]:
    """The fixture tools of `tests/drivers`, for as long as the test runs."""
    with registry.including(fixture_tools.CRM, fixture_tools.LAB, elicitation_tools.ASKING):
        yield


@pytest.fixture
def elicitation_client(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> Iterator[ElicitationClient]:
    """A client that can be asked everything, in a session of the newest revision that has them."""
    # No notice leaves the transaction of a test, so a stream has to look often.
    monkeypatch.setattr(conversation, "CHECK_SECONDS", 0.02)
    with application() as app:
        yield ElicitationClient(app, start_session(mcp, Revision.V2025_11_25))


@pytest.fixture
def books() -> Iterator[None]:
    """What `tests/drivers/fixture_resources.py` offers, for as long as the test runs."""
    with registry.including(fixture_resources.LIBRARY, fixture_resources.PAPERS):
        yield


@pytest.fixture
def stripe(grant: Grant, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stripe]:
    """A fake vendor that the organization of `grant` is connected to; tries follow quickly."""
    monkeypatch.setattr(retry, "FIRST_DELAY", 0.005)
    with serving() as (fake, url):
        settings.HALO_VENDOR_URLS = {"stripe": url}
        billing.connect(grant)
        yield fake
