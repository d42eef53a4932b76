"""Signing in and out, and where either leads."""

import pytest
from django.test import Client
from hypothesis import given
from hypothesis import strategies as st

from console.account.accounts import AccountAdapter
from tests.console import markup
from workspace.models import User

PASSWORD = "correct horse battery staple"
AUTHORIZE = "/api/mcp/oauth/authorize?client_id=x&state=a%2Fb"
ELSEWHERE = [
    "https://evil.example/",
    "//evil.example/",
    "///evil.example/",
    "/\\evil.example/",
    "\\\\evil.example",
    "http:evil.example",
    "javascript:alert(1)",
    "http://testserver/",
    "evil",
    "",
    "/\t/evil.example",
    "\x00/",
    "//",
]


@pytest.fixture(autouse=True)
def _password(ada: User) -> None:
    ada.set_password(PASSWORD)
    ada.save()


def sign_in(client: Client, **fields: str) -> "markup.Element | str":
    """Send the form; the address it leads to, or the page it is shown again on."""
    sent = {"login": "ada@acme.example", "password": PASSWORD} | fields
    response = client.post("/signin", sent)
    return response.headers.get("Location") or markup.read(response.content)


def test_signing_in_leads_home(client: Client) -> None:
    assert sign_in(client) == "/"


def test_signing_in_leads_back_to_the_request_that_asked_for_it(client: Client) -> None:
    assert sign_in(client, next=AUTHORIZE) == AUTHORIZE


@pytest.mark.parametrize("address", ELSEWHERE)
def test_signing_in_never_leads_off_this_site(client: Client, address: str) -> None:
    assert sign_in(client, next=address) == "/"


@given(st.text(alphabet="/\\\t\n\r:@.hts", max_size=12))
def test_what_is_safe_stays_on_this_site_as_a_browser_reads_it(address: str) -> None:
    # Browsers drop tabs and line breaks and take a backslash for a slash (WHATWG URL, 4.4).
    read = "".join(address.split()).replace("\\", "/")
    stays = read.startswith("/") and not read.startswith("//")
    assert stays or not AccountAdapter().is_safe_url(address)


def test_a_wrong_password_is_announced_without_saying_which_half_was_wrong(client: Client) -> None:
    wrong = sign_in(client, password="a guess")
    unknown = sign_in(client, login="nobody@acme.example")
    assert isinstance(wrong, markup.Element)
    assert isinstance(unknown, markup.Element)
    alert = wrong.one("div", role="alert")
    assert alert.text == unknown.one("div", role="alert").text != ""


def test_what_was_typed_stays_except_the_password(client: Client) -> None:
    page = sign_in(client, password="a guess", next=AUTHORIZE)
    assert isinstance(page, markup.Element)
    assert page.one("input", name="login").attributes["value"] == "ada@acme.example"
    assert "value" not in page.one("input", name="password").attributes
    assert page.one("input", name="next").attributes["value"] == AUTHORIZE


def test_a_malformed_address_is_explained_at_its_field(client: Client) -> None:
    page = sign_in(client, login="ada")
    assert isinstance(page, markup.Element)
    field = page.one("input", name="login")
    assert field.attributes["aria-invalid"] == "true"
    assert page.one("p", id=field.attributes["aria-describedby"]).text


def test_password_managers_are_given_what_each_field_is(client: Client) -> None:
    page = markup.read(client.get("/signin").content)
    assert page.one("input", name="login").attributes["autocomplete"] == "username"
    assert page.one("input", name="password").attributes["autocomplete"] == "current-password"
    labels = [label.attributes["for"] for label in page.all("label")]
    assert labels == ["id_login", "id_password"]


def test_somebody_on_the_way_to_connect_a_client_gets_a_message(client: Client) -> None:
    words = "Sign in to continue connecting your AI client."
    on_the_way = client.get("/signin", {"next": AUTHORIZE})
    assert words in markup.read(on_the_way.content).text
    misled = client.get("/signin", {"next": f"https://evil.example{AUTHORIZE}"})
    assert words not in markup.read(misled.content).text


def test_nobody_can_sign_up() -> None:
    assert not AccountAdapter().is_open_for_signup(None)  # type: ignore[arg-type]  # never looked at


def test_an_account_that_is_switched_off_gets_a_message(client: Client, ada: User) -> None:
    ada.is_active = False
    ada.save()
    response = client.post("/signin", {"login": ada.email, "password": PASSWORD}, follow=True)
    assert "Your account is deactivated" in markup.read(response.content).text
    assert "_auth_user_id" not in client.session


def test_the_page_after_signing_in_is_not_cluttered_with_a_notice(client: Client) -> None:
    sign_in(client)
    assert markup.read(client.get("/").content).all("ul", role="status") == []


def test_signing_out_asks_first_and_then_says_it_is_done(browser: Client) -> None:
    asked = markup.read(browser.get("/signout").content)
    assert "Sign out?" in asked.text
    assert "_auth_user_id" in browser.session
    done = markup.read(browser.post("/signout", follow=True).content)
    assert done.one("li", class_="alert alert-success").text == "You are signed out."
    assert "_auth_user_id" not in browser.session


def test_somebody_else_may_sign_in_for_the_same_request(browser: Client) -> None:
    response = browser.post("/signout", {"next": AUTHORIZE})
    assert response["Location"] == AUTHORIZE
