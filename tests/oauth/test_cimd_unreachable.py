"""A metadata document whose host this server cannot reach: the page, the log and the way out."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
import structlog
import time_machine
from structlog.testing import capture_logs

from foundation.outbound import reach
from oauth.clients.cimd import announcing, resolving
from tests.drivers.metadata_site import HOST, MetadataSite, answering, serving
from tests.drivers.oauth_client import SERVER_DOCUMENT, Browser, OAuthClient, read

CODEX = "https://chatgpt.com/oauth/codex/client.json"
WARNING = "client_metadata_unreachable"


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataSite]:
    with serving(settings, monkeypatch) as site:
        yield site


def page_text(browser: Browser, client_id: str, status: int = 503) -> str:
    """The text of the page that a client with this id gets, which leads nowhere."""
    response = browser.open(OAuthClient(client_id=client_id).authorize_address())
    assert response.status_code == status
    assert "Location" not in response
    text: str = response.content.decode()
    return text


def warnings(logs: Any) -> list[Any]:
    return [line for line in logs if line["event"] == WARNING]


@pytest.mark.usefixtures("site")
def test_a_host_that_cannot_be_reached_is_named_on_the_page(browser: Browser) -> None:
    for _ in range(2):  # the second is not fetched again within the minute
        text = page_text(browser, CODEX)
        assert "This server could not reach chatgpt.com" in text
        assert "This client cannot be used" not in text


@pytest.mark.parametrize(
    "addresses",
    [
        pytest.param([], id="no-such-host"),
        pytest.param(["93.184.215.14"], id="no-connection"),
        pytest.param(["10.0.0.1"], id="an-address-inside"),
    ],
)
def test_every_way_of_not_reaching_a_host_gives_the_same_page(
    addresses: list[str], site: MetadataSite, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page must not reveal the network that this server is in."""
    if addresses:
        site.names["chatgpt.com"] = addresses
    monkeypatch.setattr("socket.create_connection", refuse)
    assert "This server could not reach chatgpt.com" in page_text(browser, CODEX)


def refuse(*_address: Any, **_options: Any) -> None:
    raise ConnectionRefusedError


def test_a_closed_port_cannot_be_reached(site: MetadataSite, browser: Browser) -> None:
    url = site.publish()
    site.server.shutdown()
    site.server.server_close()
    assert "This server could not reach app.example" in page_text(browser, url)


@pytest.mark.parametrize("body", [b"{}", b"no JSON"])
def test_a_document_that_was_fetched_and_is_bad_is_the_makers_affair(
    body: bytes, site: MetadataSite, browser: Browser
) -> None:
    url = site.publish()
    site.answers["/client.json"] = answering(body)
    with capture_logs() as logs:
        text = page_text(browser, url, 400)
    assert "This client cannot be used" in text
    assert "could not reach" not in text
    assert not warnings(logs)


@pytest.mark.usefixtures("site")
def test_the_log_names_the_host_and_the_setting_once_a_minute(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A logger that was used before keeps its processors and cannot be captured.
    monkeypatch.setattr(resolving, "log", structlog.get_logger("oauth.clients.cimd.resolving"))
    one, other = (f"https://once.example/{name}.json" for name in ("one", "other"))
    with time_machine.travel("2026-03-01T00:00:00Z", tick=False) as clock, capture_logs() as logs:
        for url in (one, one, other):
            page_text(browser, url)
        (warning,) = warnings(logs)
        assert warning["host"] == "once.example"
        assert warning["reason"] == "its name does not resolve"
        assert "HALO_CIMD" in warning["hint"]
        assert warning["log_level"] == "warning"

        page_text(browser, "https://elsewhere.example/client.json")
        assert len(warnings(logs)) == 2
        if os.environ.get("REDIS_URL"):
            return  # the clock of Redis cannot be moved
        clock.shift(61)
        page_text(browser, one)
        assert len(warnings(logs)) == 3


@pytest.mark.usefixtures("site")
def test_once_documents_are_switched_off_they_are_not_advertised_and_clients_register(
    browser: Browser, settings: Any
) -> None:
    settings.HALO_CIMD = False
    metadata = read(browser.open(SERVER_DOCUMENT))
    assert metadata["client_id_metadata_document_supported"] is False
    assert "registration_endpoint" in metadata
    client = OAuthClient()
    assert client.register().status_code == 201
    assert client.ping(client.connect(browser).access) == 200


CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"


@pytest.fixture
def undecided_site(
    settings: Any, monkeypatch: pytest.MonkeyPatch, site: MetadataSite
) -> MetadataSite:
    """A server whose setting leaves documents open, and which has sent nothing out yet."""
    settings.HALO_CIMD = None
    monkeypatch.setattr(reach, "_has_answered", threading.Event())
    monkeypatch.setattr(announcing, "_probe", announcing._Probe())  # the pause of another test
    return site


def are_announced(browser: Browser) -> bool:
    said = read(browser.open(SERVER_DOCUMENT))["client_id_metadata_document_supported"]
    assert isinstance(said, bool)
    return said


def wait_for_probe() -> None:
    for thread in threading.enumerate():
        if thread.name == "cimd_probe":
            thread.join(10)


def on_the_internet(site: MetadataSite, monkeypatch: pytest.MonkeyPatch) -> None:
    """The site answers at a public address, to which no test connects."""
    site.names[HOST] = ["93.184.215.14"]
    usual = socket.create_connection
    monkeypatch.setattr(
        "socket.create_connection",
        lambda _address, *rest, **more: usual(("127.0.0.1", site.port), *rest, **more),
    )
    monkeypatch.setattr(announcing, "PROBED", f"https://{HOST}/")


@pytest.mark.usefixtures("undecided_site")
def test_without_internet_no_documents_are_announced_and_clients_register(
    browser: Browser,
) -> None:
    for _ in range(2):
        assert not are_announced(browser)
        wait_for_probe()
    client = OAuthClient()
    assert client.register().status_code == 201
    assert client.ping(client.connect(browser).access) == 200


def test_documents_are_announced_once_an_outgoing_request_has_worked(
    undecided_site: MetadataSite, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_the_internet(undecided_site, monkeypatch)
    assert not are_announced(browser)
    wait_for_probe()
    assert are_announced(browser)


def test_an_answer_inside_the_network_does_not_announce_documents(
    undecided_site: MetadataSite, browser: Browser
) -> None:
    client = OAuthClient(client_id=undecided_site.publish())
    assert browser.open(client.authorize_address()).status_code == 200
    assert not are_announced(browser)


def test_a_server_that_asked_in_vain_asks_again_after_a_pause(
    undecided_site: MetadataSite, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert not are_announced(browser)
    wait_for_probe()
    on_the_internet(undecided_site, monkeypatch)
    assert not are_announced(browser)
    wait_for_probe()
    assert not are_announced(browser)
    later = time.monotonic() + announcing.PAUSE_SECONDS
    monkeypatch.setattr("oauth.clients.cimd.announcing.time.monotonic", lambda: later)
    assert not are_announced(browser)
    wait_for_probe()
    assert are_announced(browser)


@pytest.mark.usefixtures("undecided_site")
@pytest.mark.parametrize(
    ("client_id", "step"),
    [
        (CLAUDE_CODE, "claude mcp remove halo"),
        (CODEX, "codex mcp login halo --oauth-client-registration dcr"),
        ("https://editor.example/client.json", "In your AI client, remove this server."),
    ],
)
def test_the_page_says_how_the_client_registers_instead(
    browser: Browser, settings: Any, client_id: str, step: str
) -> None:
    assert step in page_text(browser, client_id)
    settings.HALO_CIMD = False
    text = page_text(browser, client_id, 400)
    assert step in text
    assert "This client has to register" in text
    assert "developer of the client" not in text
    settings.HALO_CIMD = True
    assert step not in page_text(browser, client_id)
