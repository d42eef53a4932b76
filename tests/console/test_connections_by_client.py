"""The connections of one client are one card: listed, searched and disconnected together."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from oauth.grants import connections
from oauth.models import Client
from tests.console import connected_people as cast
from tests.console import markup
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.oauth_client import Browser

SELF_REGISTERED = Client.RegistrationSource.DCR
LOOPBACK = {"registration_source": SELF_REGISTERED, "redirect_uris": ["http://127.0.0.1/cb"]}
WEBSITE = {"registration_source": SELF_REGISTERED, "redirect_uris": ["https://a.example/cb"]}


@pytest.fixture
def mine(grant: Grant) -> Grant:
    return grant


@pytest.fixture
def browser(mine: Grant) -> Browser:
    return Browser(mine.user)


def test_registrations_of_one_client_share_a_card(mine: Grant, browser: Browser) -> None:
    several = [cast.another(mine, name="Terminal", **LOOPBACK) for _ in range(3)]
    shown = cast.cards(browser)
    assert [*shown] == ["Terminal", "Test client"]
    earlier = shown["Terminal"].one("details", class_="earlier")
    assert earlier.one("summary").text == "2 earlier connections"
    links = [link.attributes["href"] for link in earlier.one("ul").all("a")]
    assert links == [cast.path(several[1]), cast.path(several[0])]


@pytest.mark.parametrize(
    "other",
    [
        {"name": "Another terminal", **LOOPBACK},
        {"name": "Terminal", **WEBSITE},
        {"name": "Terminal", "registration_source": Client.RegistrationSource.MANUAL},
        {"name": "Terminal", "registration_source": Client.RegistrationSource.CIMD},
    ],
    ids=["name", "redirect host", "registered by an admin", "metadata document"],
)
def test_clients_that_differ_have_cards_of_their_own(
    other: dict[str, object], mine: Grant, browser: Browser
) -> None:
    cast.another(mine, name="Terminal", **LOOPBACK)
    cast.another(mine, **other)
    assert len(cast.page(browser).all("article")) == 3


def test_disconnecting_all_of_a_client_leaves_every_other_connection(
    mine: Grant, browser: Browser, mcp: McpClient
) -> None:
    several = [cast.another(mine, name="Terminal", **LOOPBACK) for _ in range(3)]
    tokens = [McpClient(one.token()) for one in several]
    strangers = grants.make_grant(client_name="Terminal")
    shown = browser.open(f"{cast.path(several[0])}/revoke?all")
    page = markup.read(shown.content)
    assert "Disconnect all 3 connections of" in page.text
    fields = {
        one.attributes["name"]: one.attributes["value"]
        for one in page.one("main").one("form").all("input")
    }
    answer = browser.post(f"{cast.path(several[0])}/revoke", fields)
    assert [one.request("ping").status for one in tokens] == [401, 401, 401]
    assert mcp.request("ping").status == 200
    assert not cast.is_over(strangers)
    (text,) = cast.read_messages(browser, answer)
    assert text.startswith("Disconnected 3 connections of ")


def test_disconnecting_one_of_a_client_leaves_its_others(mine: Grant, browser: Browser) -> None:
    first, second = (cast.another(mine, name="Terminal", **LOOPBACK) for _ in range(2))
    cast.press(browser, f"{cast.path(first)}/revoke")
    assert (cast.is_over(first), cast.is_over(second)) == (True, False)


def test_another_person_cannot_disconnect_a_client(mine: Grant) -> None:
    stranger = Browser(grants.make_grant().user)
    for query in ("", "?all"):
        assert stranger.open(f"{cast.path(mine)}/revoke{query}").status_code == 404


@pytest.mark.parametrize("words", ["kitchen", "KITCHEN term", "terminal kitchen", "%6bitchen"])
def test_search_finds_a_client_by_words_of_its_name(
    words: str, mine: Grant, browser: Browser
) -> None:
    cast.another(mine, name="Kitchen terminal")
    assert [*cast.cards(browser, f"{cast.LIST}?q={words}")] == ["Kitchen terminal"]


@pytest.mark.parametrize("words", ["cafe", "CAFÉ", "grosse"])
def test_search_finds_a_name_with_other_letters(words: str, mine: Grant, browser: Browser) -> None:
    cast.another(mine, name="Café Größe")
    assert [*cast.cards(browser, f"{cast.LIST}?q={words}")] == ["Café Größe"]


def test_search_finds_the_clients_of_an_organization(mine: Grant, browser: Browser) -> None:
    found = cast.cards(browser, f"{cast.LIST}?q={mine.organization.name}")
    assert [*found] == ["Test client"]


@pytest.mark.parametrize("words", ["zzz", "%00", "%3Cb%3E", "z" * 5_000])
def test_a_search_that_matches_nothing_says_so_and_offers_all(
    words: str, mine: Grant, browser: Browser
) -> None:
    cast.another(mine)
    shown = cast.page(browser, f"{cast.LIST}?q={words}")
    if words == "%00":
        assert len(shown.all("article")) == 2
        return
    assert "No matching connections" in shown.text
    assert shown.one("section", aria_labelledby="nothing").one("a").attributes["href"] == cast.LIST


def test_pages_keep_the_search(
    mine: Grant, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CLIENTS_PER_PAGE", 1)
    for name in ("Kitchen & one", "Kitchen & two"):
        cast.another(mine, name=name)
    shown = cast.page(browser, f"{cast.LIST}?q=kitchen+%26")
    older = shown.one("nav", aria_label="Pages").one("a").attributes["href"]
    assert [*cast.cards(browser, cast.LIST + older)] == ["Kitchen & one"]


def test_a_card_lists_a_bounded_number_of_earlier_connections(
    mine: Grant, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "MAX_EARLIER", 1)
    for _ in range(4):
        cast.another(mine, name="Terminal", **LOOPBACK)
    card = cast.cards(browser)["Terminal"].one("details", class_="earlier")
    assert card.one("summary").text == "3 earlier connections"
    assert len(card.one("ul").all("li")) == 1
    assert "2 older connections are not listed." in card.text
    assert "Disconnect all 4" in card.text


def test_the_list_takes_as_many_statements_for_seven_of_a_client_as_for_one(
    mine: Grant, browser: Browser
) -> None:
    cast.another(mine, name="Terminal", **LOOPBACK)
    alone = _statements(browser)
    for _ in range(6):
        cast.record_call(cast.another(mine, name="Terminal", **LOOPBACK))
    assert _statements(browser) == alone


def _statements(browser: Browser) -> int:
    with CaptureQueriesContext(connection) as asked:
        browser.open(cast.LIST)
    return len(asked)
