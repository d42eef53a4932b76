"""Cookies of ours and those of another site on the same host (P7; RFC 6265 section 8.5)."""

import pytest
from django.test import Client

from halo_mcp import cookies
from tests.drivers.oauth_client import HERE, Browser, OAuthClient, answer
from workspace.models import User

# What another Django site on the host sets, with the values of its own.
OF_ANOTHER_SITE = {
    "csrftoken": "b" * 64,
    "sessionid": "c" * 32,
    "messages": "not signed here",
    "django_language": "de",
}


def test_p7_another_site_on_the_host_breaks_no_form(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address())
    for name, value in OF_ANOTHER_SITE.items():
        browser.http.cookies[name] = value

    assert "code" in answer(browser.decide(page))


def test_p7_every_cookie_has_a_name_of_ours(
    oauth_client: OAuthClient, browser: Browser, ada: User
) -> None:
    oauth_client.connect(browser)
    ada.set_password("correct horse battery staple")
    ada.save()
    person = Client(**HERE)
    person.get("/signin")
    sent = {"login": ada.email, "password": "correct horse battery staple"}
    assert person.post("/signin", sent).status_code == 302
    person.post("/signout")

    names = {*person.cookies, *browser.http.cookies}
    assert len(names) > 2
    assert [name for name in names if not name.startswith("halo_")] == []
    assert [name for name in names if not name.endswith("_8000")] == []


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("http://127.0.0.1:8000", "halo_csrf_8000"),
        ("http://127.0.0.1:8001", "halo_csrf_8001"),
        ("https://mcp.example.com", "__Host-halo_csrf"),
        ("https://mcp.example.com:8443", "__Host-halo_csrf_8443"),
    ],
)
def test_p7_deployments_on_one_host_have_different_cookies(address: str, name: str) -> None:
    assert cookies.name("csrf", address) == name
