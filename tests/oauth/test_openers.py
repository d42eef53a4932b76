"""Which pages leave the window that opened them its handle, by Cross-Origin-Opener-Policy (P1)."""

import pytest
from django.test import Client
from django.urls import reverse

from tests.drivers.oauth_client import AUTHORIZE, CONSENT, Browser, OAuthClient, answer
from workspace.models import User

HEADER = "Cross-Origin-Opener-Policy"
NONE = "unsafe-none"
FLOW = [
    AUTHORIZE,
    f"{AUTHORIZE}/",
    "/oauth/authorize",
    CONSENT,
    *map(
        reverse,
        (
            "account_login",
            "mfa_authenticate",
            "mfa_login_webauthn",
            "account_inactive",
            "account_reauthenticate",
            "account_logout",
        ),
    ),
]


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["get", "post", "put"])
@pytest.mark.parametrize("path", FLOW)
def test_p1_no_page_redirect_or_error_of_the_flow_severs_its_opener(
    path: str, method: str, client: Client
) -> None:
    assert getattr(client, method)(path)[HEADER] == NONE


def test_p1_the_whole_flow_leaves_the_opener_its_window(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address())
    assert page[HEADER] == NONE
    sent = browser.decide(page)
    assert "code" in answer(sent)
    assert sent[HEADER] == NONE
    bounced = Browser().open(oauth_client.authorize_address())
    assert (bounced.status_code, bounced[HEADER]) == (302, NONE)


def test_p1_changing_the_account_on_the_page_leaves_the_opener_its_window(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address())
    left = browser.submit(page, "next")
    assert (left.status_code, left[HEADER]) == (302, NONE)
    assert browser.open(left["Location"])[HEADER] == NONE


def test_p1_an_expired_form_token_is_reported_in_the_popup(browser: Browser) -> None:
    refused = browser.http.post(CONSENT, {"decision": "approve"})
    assert (refused.status_code, refused[HEADER]) == (403, NONE)


def test_p1_pages_outside_of_the_flow_keep_their_windows_apart(client: Client, ada: User) -> None:
    client.force_login(ada)
    for path in ("/", "/connections", "/admin/", "/account/security", "/docs/", "/nowhere"):
        assert client.get(path)[HEADER] == "same-origin", path
