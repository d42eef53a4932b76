"""B08: a consent to a client with a metadata document lasts no longer than what it says there."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.utils import timezone

from oauth.models import Client, RememberedConsent
from tests.drivers.metadata_site import CALLBACK, MetadataSite, serving
from tests.drivers.oauth_client import Browser, OAuthClient
from tests.oauth.remembered_clients import BOX, asks, remember


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataSite]:
    with serving(settings, monkeypatch) as site:
        yield site


@pytest.fixture
def editor(site: MetadataSite, browser: Browser) -> OAuthClient:
    """A client known by its document, which Ada does not want to be asked about again."""
    client = OAuthClient(client_id=site.publish())
    assert BOX in browser.open(client.authorize_address()).content.decode()
    remember(client, browser)
    return client


@pytest.mark.parametrize(
    ("changes", "asked"),
    [
        pytest.param({}, False, id="B08-same"),
        pytest.param({"contacts": ["ada@app.example"]}, False, id="B08-not-shown"),
        pytest.param({"redirect_uris": [CALLBACK, "https://x.example/cb"]}, True, id="B08-more"),
        pytest.param({"client_name": "Renamed"}, True, id="B08-renamed"),
    ],
)
def test_a_document_that_says_something_else_is_asked_about(
    changes: dict[str, Any],
    asked: bool,  # noqa: FBT001  a case's outcome
    editor: OAuthClient,
    browser: Browser,
    site: MetadataSite,
) -> None:
    site.publish(**changes)
    Client.objects.update(cimd_expires_at=timezone.now())
    assert asks(browser.open(editor.authorize_address())) is asked


def test_a_document_that_is_gone_gets_no_silent_answer(
    editor: OAuthClient, browser: Browser, site: MetadataSite
) -> None:
    """B08."""
    site.answers.clear()
    Client.objects.update(cimd_expires_at=timezone.now())
    response = browser.open(editor.authorize_address())
    assert (response.status_code, response.has_header("Location")) == (503, False)


def test_a_program_on_this_computer_is_asked_about_every_time(
    browser: Browser, site: MetadataSite
) -> None:
    """B07: its document is genuine, and the port is anybody's."""
    loopback = "http://127.0.0.1:54321/callback"
    client = OAuthClient(
        client_id=site.publish(redirect_uris=["http://127.0.0.1/callback"]), redirect_uri=loopback
    )
    page = browser.open(client.authorize_address())
    assert BOX not in page.content.decode()
    assert browser.decide(page, remember="yes").status_code == 302
    assert not RememberedConsent.objects.exists()
    assert asks(browser.open(client.authorize_address()))
