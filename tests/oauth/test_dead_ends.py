"""Clients that cannot go on: what they, and the people in front of them, read."""

from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.drivers.oauth_client import ORIGIN, Browser, OAuthClient


def error_at_client(browser: Browser, address: str) -> dict[str, str]:
    """The parameters that a client gets back."""
    return dict(parse_qsl(urlsplit(browser.open(address)["Location"]).query))


@pytest.mark.parametrize(
    "resource",
    [
        f"{ORIGIN}/w/acme/api/mcp",
        "http://localhost:8000/w/acme/api/mcp/",
        "http://acme.localhost:8000/api/mcp",
    ],
)
def test_a_client_that_signs_in_where_keys_are_used_reads_that(
    oauth_client: OAuthClient, browser: Browser, settings: Any, resource: str
) -> None:
    settings.HALO_PEOPLE_HOST = ".localhost"
    returned = error_at_client(browser, oauth_client.authorize_address(resource=resource))
    assert returned["error"] == "invalid_target"
    assert "takes API keys" in returned["error_description"]
    assert f"{ORIGIN}/api-keys" in returned["error_description"]


@pytest.mark.parametrize(
    "resource", ["https://elsewhere.example/w/acme/api/mcp", f"{ORIGIN}/w/acme/api", "http://[::1"]
)
def test_no_other_address_is_said_to_take_keys(
    oauth_client: OAuthClient, browser: Browser, resource: str
) -> None:
    returned = error_at_client(browser, oauth_client.authorize_address(resource=resource))
    assert returned["error"] == "invalid_target"
    assert "takes API keys" not in returned["error_description"]


def test_the_page_of_api_keys_says_that_clients_do_not_sign_in(browser: Browser) -> None:
    page = browser.open("/api-keys").content.decode()
    assert "AI clients cannot sign in to the HR endpoint" in page
