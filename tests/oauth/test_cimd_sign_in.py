"""A client with a metadata document over HTTP: page, consent, tokens, clean-up."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from audit.models import SecurityEvent
from foundation.concurrency.concurrency_limit import ConcurrencyLimit
from oauth.clients.cimd import resolving
from oauth.grants import cleanup
from oauth.models import AuthorizationRequest, Client
from tests.drivers.metadata_site import PATH, MetadataSite, answering, serving
from tests.drivers.oauth_client import (
    SERVER_DOCUMENT,
    Browser,
    OAuthClient,
    Response,
    answer,
    assert_refused,
    read,
    tokens_of,
)
from tests.oauth.conftest import PASSWORD
from workspace.models import Organization, User

NAMELESS = b'{"client_id": "URL", "redirect_uris": ["https://app.example/callback"]}'


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataSite]:
    with serving(settings, monkeypatch) as site:
        yield site


@pytest.fixture
def editor(site: MetadataSite) -> OAuthClient:
    """A client that never registered: its id is where it describes itself."""
    return OAuthClient(client_id=site.publish())


def page(response: Response) -> str:
    """The text of a page of ours with status 400, which leads nowhere and which no cache keeps."""
    assert response.status_code == 400
    assert "Location" not in response
    assert response["Content-Type"].startswith("text/html")
    assert response["Cache-Control"] == "no-store"
    text: str = response.content.decode()
    assert "halo_ac_" not in text
    return text


def test_discovery_says_that_documents_are_read_here(browser: Browser, settings: Any) -> None:
    member = "client_id_metadata_document_supported"
    assert read(browser.open(SERVER_DOCUMENT))[member] is True
    settings.HALO_CIMD = False
    assert read(browser.open(SERVER_DOCUMENT))[member] is False


def test_a_client_that_never_registered_signs_a_person_in(
    editor: OAuthClient, browser: Browser, site: MetadataSite
) -> None:
    asked = browser.open(editor.authorize_address())
    code = answer(browser.decide(asked))["code"]
    # The token endpoint works on what is stored, whatever has become of the document.
    site.answers.clear()
    tokens = tokens_of(editor.exchange(code))
    assert editor.ping(tokens.access) == 200
    with time_machine.travel(timezone.now() + timedelta(days=2)):
        renewed = tokens_of(editor.refresh(tokens.refresh))
        assert editor.ping(renewed.access) == 200
        assert editor.revoke(renewed.refresh).status_code == 200
        assert editor.ping(renewed.access) == 401
    assert site.seen == [PATH]


@pytest.mark.usefixtures("acme")
def test_nothing_is_fetched_for_a_stranger(
    editor: OAuthClient, ada: User, site: MetadataSite
) -> None:
    anonymous = Browser()
    address = editor.authorize_address()
    bounce = anonymous.open(address)
    assert bounce.status_code == 302
    assert bounce["Location"].startswith("/signin?next=/api/mcp/oauth/authorize%3F")
    assert site.seen == []
    asked = anonymous.sign_in(bounce, ada.email, PASSWORD)
    assert "Example Editor" in asked.content.decode()
    assert site.seen == [PATH]


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize(
    "client_id",
    [
        pytest.param(f"https://{host}/a", id=f"B01-{host}")
        for host in (
            "127.0.0.1",
            "[::1]",
            "2130706433",
            "0x7f.1",
            "localhost",
            "169.254.169.254",
        )
    ],
)
def test_an_address_that_is_never_fetched_is_refused_on_a_page(
    client_id: str, site: MetadataSite
) -> None:
    text = page(Browser().open(OAuthClient(client_id=client_id).authorize_address()))
    assert "This client cannot be used" in text
    kinds = set(SecurityEvent.objects.values_list("kind", flat=True))
    assert kinds == {"cimd_refused", "authorize_rejected"}
    assert site.seen == []


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        pytest.param(b"[" * 8000, "not valid JSON", id="B05-nested"),
        pytest.param(b" " * 17_408, "cannot be fetched", id="B05-17-KB"),
        pytest.param(b"{}", "is not its address", id="B05-another-id"),
        pytest.param(NAMELESS, "holds no client_name", id="B05-no-name"),
    ],
)
def test_a_document_that_cannot_be_used_is_explained_on_a_page(
    body: bytes, reason: str, editor: OAuthClient, browser: Browser, site: MetadataSite
) -> None:
    site.answers[PATH] = answering(body.replace(b"URL", site.url().encode()))
    for _ in range(2):
        assert reason in page(browser.open(editor.authorize_address()))
    assert site.seen == [PATH]
    assert not AuthorizationRequest.objects.exists()


def test_a_redirect_that_the_document_does_not_name_is_not_followed(
    editor: OAuthClient, browser: Browser
) -> None:
    address = editor.authorize_address(redirect_uri="https://evil.example/cb")
    assert "connection request is not safe" in page(browser.open(address))


def test_the_page_names_the_host_that_speaks_for_the_client_and_calls_the_name_unverified(
    editor: OAuthClient, browser: Browser, site: MetadataSite
) -> None:
    text = browser.open(editor.authorize_address()).content.decode()
    assert f"Its description is published at {site.place}." in text
    assert "Unverified" in text


@pytest.mark.parametrize(
    "host", [pytest.param(host, id=f"B07-{host}") for host in ("localhost", "127.0.0.1")]
)
def test_another_program_behind_a_known_clients_name_meets_a_warning(
    host: str, browser: Browser, site: MetadataSite
) -> None:
    """The port is anybody's, and Claude Code's document names none."""
    loopback = [f"http://{name}/callback" for name in ("localhost", "127.0.0.1")]
    editor = OAuthClient(
        client_id=site.publish(redirect_uris=loopback),
        redirect_uri=f"http://{host}:54321/callback",
    )
    asked = browser.open(editor.authorize_address())
    text = asked.content.decode()
    assert f"a program on this computer ({host})" in text
    assert "could not verify which one" in text
    code = answer(browser.decide(asked), editor.redirect_uri)["code"]
    assert editor.exchange(code).status_code == 200


@pytest.mark.parametrize("moved", [pytest.param("https://app.example/moved", id="B08")])
def test_a_consent_page_is_closed_once_the_document_names_other_redirects(
    moved: str, editor: OAuthClient, browser: Browser, site: MetadataSite
) -> None:
    asked = browser.open(editor.authorize_address())
    Client.objects.update(cimd_expires_at=timezone.now())
    site.publish(redirect_uris=[moved])
    text = page(browser.open(editor.authorize_address()))
    assert "connection request is not safe" in text
    assert "This request expired" in page(browser.decide(asked))
    editor.redirect_uri = moved
    code = answer(browser.decide(browser.open(editor.authorize_address())), editor.redirect_uri)
    assert editor.exchange(code["code"]).status_code == 200


def test_too_many_fetches_at_once_answer_retry_later(
    editor: OAuthClient, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resolving, "_lookups", ConcurrencyLimit(total=0))
    response = browser.open(editor.authorize_address())
    assert response.status_code == 503
    assert response["Retry-After"] == "5"
    assert not Client.objects.exists()


def test_a_client_that_an_admin_disabled_gets_neither_page_nor_tokens(
    editor: OAuthClient, browser: Browser
) -> None:
    tokens = editor.connect(browser)
    Client.objects.update(disabled_at=timezone.now())
    assert "not accepted here" in page(browser.open(editor.authorize_address()))
    assert editor.ping(tokens.access) == 401
    assert assert_refused(editor.refresh(tokens.refresh)) == (400, "invalid_grant")


@pytest.mark.usefixtures("db")
def test_an_unknown_address_is_an_unknown_client_to_the_token_endpoint(site: MetadataSite) -> None:
    editor = OAuthClient(client_id=site.publish())
    assert assert_refused(editor.refresh("halo_rt_" + "a" * 43)) == (401, "invalid_client")
    assert site.seen == []


def make_unused_client(site: MetadataSite, path: str, **changes: Any) -> Client:
    long_ago = timezone.now() - timedelta(days=31)
    client = resolving.resolve(site.publish(path), asker="ada", address="198.51.100.7")
    stale = {"created": long_ago, "cimd_expires_at": long_ago}
    Client.objects.filter(pk=client.pk).update(**stale | changes)
    return client


@pytest.mark.usefixtures("acme")
def test_unused_descriptions_are_pruned_unless_an_admin_disabled_them(site: MetadataSite) -> None:
    now = timezone.now()
    pruned = make_unused_client(site, "/unused.json")
    kept = {
        make_unused_client(site, "/disabled.json", disabled_at=now),
        make_unused_client(site, "/used.json", first_token_at=now),
        make_unused_client(site, "/fresh.json", cimd_expires_at=now + timedelta(hours=1)),
        make_unused_client(site, "/young.json", created=now - timedelta(days=29)),
    }
    assert cleanup.prune_unused_clients() == 1
    assert set(Client.objects.all()) == kept
    event = SecurityEvent.objects.get()
    assert (event.kind, event.client_id) == ("client_pruned", pruned.client_id)


def test_with_documents_switched_off_their_clients_keep_their_tokens_only(
    editor: OAuthClient, browser: Browser, settings: Any, acme: Organization
) -> None:
    tokens = editor.connect(browser)
    settings.HALO_CIMD = False
    assert "This client has to register" in page(browser.open(editor.authorize_address()))
    assert acme.authorizations.count() == 1
    assert editor.ping(tokens.access) == 200
