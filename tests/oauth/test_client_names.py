"""What a client says of itself, as a person and an admin read it, and that nothing is fetched."""

import re
import socket
from typing import Any

import pytest
from django.test import Client as Http
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format

from foundation.admin_urls import row_url
from oauth.models import Client
from tests.drivers.oauth_client import Browser, OAuthClient, answer
from workspace.models import User

NAMES = [
    pytest.param("Claude\u202egpj.exe", "Claudegpj.exe", id="A16-bidi"),
    pytest.param("Cla\u200bude", "Claude", id="A16-zero-width"),
    pytest.param("\u0421laude", "\u0421laude", id="A16-homoglyph"),
    pytest.param("<script>x</script>", "&lt;script&gt;x&lt;/script&gt;", id="A16-markup"),
    pytest.param("\"><img src=x onerror='x'>", "&quot;&gt;&lt;img src=x", id="A16-attribute"),
]
WEB = {80, 443, "80", "443", "http", "https"}
LINKS = {
    "logo_uri": "https://cdn.example/logo.png",
    "client_uri": "https://cdn.example/about",
    "tos_uri": "https://cdn.example/tos",
    "policy_uri": "https://cdn.example/policy",
    "jwks_uri": "https://cdn.example/jwks.json",
}


@pytest.fixture
def _no_packets(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on whoever turns to a web server, or looks one up, fails the test."""
    connect, look_up = socket.create_connection, socket.getaddrinfo

    def connect_elsewhere(place: Any, *given: Any, **named: Any) -> Any:
        if place[1] in WEB:
            pytest.fail(f"{place} was connected to")
        return connect(place, *given, **named)

    def looked_up(host: Any, port: Any, *given: Any, **named: Any) -> Any:
        if port in WEB:
            pytest.fail(f"{host} was looked up")
        return look_up(host, port, *given, **named)

    monkeypatch.setattr(socket, "create_connection", connect_elsewhere)
    monkeypatch.setattr(socket, "getaddrinfo", looked_up)


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("https://Claude.ai/about", "It claims to be from claude.ai. We could not verify that."),
        ("https://cdn.example:8443/", "It claims to be from cdn.example:8443."),
        (None, "It registered itself on"),
    ],
)
def test_the_page_tells_when_it_registered_and_whose_it_says_it_is(
    said: str | None, shown: str, browser: Browser
) -> None:
    client = OAuthClient()
    client.register(client_uri=said)
    page = browser.open(client.authorize_address()).content.decode()
    assert f"It registered itself on {date_format(timezone.now(), 'DATE_FORMAT')}" in page
    assert shown in page
    assert ("It claims to be from" in page) is bool(said)


@pytest.mark.parametrize(("name", "shown"), NAMES)
def test_the_consent_page_shows_a_name_escaped_next_to_where_it_leads(
    name: str, shown: str, browser: Browser
) -> None:
    client = OAuthClient()
    client.register(client_name=name)
    page = browser.open(client.authorize_address()).content.decode()
    assert shown in page
    assert "Unverified" in page
    assert "app.example" in page
    assert name == shown or name not in page


@pytest.mark.parametrize(("name", "shown"), NAMES)
def test_the_admin_shows_a_name_escaped_too(
    name: str, shown: str, oauth_client: OAuthClient
) -> None:
    oauth_client.register(client_name=name)
    root = Http()
    root.force_login(User.objects.create_superuser("root@halo.example"))
    row = Client.objects.get(client_id=oauth_client.client_id)
    for address in (
        reverse("admin:oauth_client_changelist"),
        row_url(row),
    ):
        page = root.get(address).content.decode()
        assert shown.replace("&quot;", '"') in page.replace("&quot;", '"')
        assert name == shown or name not in page


@pytest.mark.usefixtures("_no_packets")
@pytest.mark.parametrize("member", [pytest.param(name, id=f"A17-{name}") for name in LINKS])
def test_an_address_a_client_names_is_kept_and_never_fetched_or_embedded(
    member: str, browser: Browser
) -> None:
    client = OAuthClient()
    client.register(**{member: LINKS[member]})
    assert Client.objects.get().metadata[member] == LINKS[member]
    page = browser.open(client.authorize_address())
    text = page.content.decode()
    assert LINKS[member] not in text
    assert not re.search(r"""=["'][^"']*cdn\.example""", text)
    assert client.exchange(answer(browser.decide(page))["code"]).status_code == 200


@pytest.mark.usefixtures("_no_packets")
@pytest.mark.parametrize(
    ("parameter", "error"),
    [
        pytest.param("request_uri", "request_uri_not_supported", id="C10-no-fetch"),
        pytest.param("resource", "invalid_target", id="C14-no-fetch"),
    ],
)
def test_an_address_in_a_request_is_not_fetched(
    parameter: str, error: str, oauth_client: OAuthClient, browser: Browser
) -> None:
    asked = oauth_client.authorize_address(**{parameter: "http://169.254.169.254/latest"})
    assert answer(browser.open(asked))["error"] == error


@pytest.mark.usefixtures("_no_packets", "acme")
@pytest.mark.parametrize(
    "host",
    [
        pytest.param(host, id=f"B01-no-packet-{host}")
        for host in (
            *("127.0.0.1", "[::1]", "2130706433", "0x7f.1", "localhost", "169.254.169.254"),
            *("127.1", "localhost.", "[::ffff:127.0.0.1]", "0", "[::]", "[fe80::1%25lo]"),
        )
    ],
)
def test_a_metadata_address_inside_is_refused_without_a_packet(host: str, browser: Browser) -> None:
    client = OAuthClient(client_id=f"https://{host}/a")
    response = browser.open(client.authorize_address())
    assert response.status_code == 400
    assert "Location" not in response


@pytest.mark.parametrize("scheme", [pytest.param("com.example.app", id="A07-consent")])
def test_an_app_is_shown_by_its_scheme_and_as_one_on_this_device(
    scheme: str, browser: Browser
) -> None:
    client = OAuthClient(redirect_uri=f"{scheme}:/callback")
    assert client.register(application_type="native").status_code == 201
    page = browser.open(client.authorize_address()).content.decode()
    assert f"an app on this device ({scheme}:)" in page
