"""The list of connections: all of mine, none of anybody else's, and what each one does."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.formats import date_format

from audit import usage
from oauth.grants import authorizations, connections
from oauth.models import Authorization, Client
from tests.console import connected_people as cast
from tests.console.test_pages import assert_obeys_the_policy
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.oauth_client import Browser

EVERY_SCOPE = "docs:read actions:hubspot:create_deal setup:read"
REASONS = {
    "revoked_by_person": "You disconnected it.",
    "revoked_by_client": "The client disconnected.",
    "revoked_by_admin": "An administrator disconnected it.",
    "refresh_replay": "Disconnected for security: a used token was presented again.",
    "code_replay": "Disconnected for security: a used token was presented again.",
    "scopes_removed": "The integrations that it could use no longer exist.",
    "something_new": "Disconnected.",
}


@pytest.fixture
def mine(grant: Grant) -> Grant:
    """A connection of the person whose browser this is."""
    return grant


@pytest.fixture
def browser(mine: Grant) -> Browser:
    return Browser(mine.user)


def addresses(grant: Grant) -> list[str]:
    return [cast.LIST, cast.END_ALL, cast.path(grant), f"{cast.path(grant)}/revoke"]


def test_a_stranger_signs_in_first_and_comes_back(mine: Grant) -> None:
    for address in addresses(mine):
        assert Browser().open(address)["Location"] == f"/signin?next={address}"


def test_a_deactivated_person_is_a_stranger(mine: Grant, browser: Browser) -> None:
    mine.user.is_active = False
    mine.user.save()
    assert browser.open(cast.LIST).status_code == 302


def test_every_page_is_private_and_under_the_strict_policy(mine: Grant, browser: Browser) -> None:
    for address in addresses(mine):
        assert browser.open(address)["Cache-Control"] == "no-store"
        assert_obeys_the_policy(cast.page(browser, address))


def test_a_connection_says_who_where_since_when_and_what_for(mine: Grant, browser: Browser) -> None:
    given = timezone.now() - timedelta(days=300)
    Authorization.objects.update(scope=EVERY_SCOPE, created_at=given)
    card = cast.cards(browser)["Test client"]
    assert cast.facts(card) == {
        "Organization": mine.organization.name,
        "Approved by you": date_format(given),
        "Expires": date_format(given + timedelta(days=365)),
        "Last used": "Never",
        "Calls in the last 7 days": "0",
    }
    assert [item.text for item in card.one("ul").all("li")] == [
        "Read the documentation",
        "Read the setup guide",
        "HubSpot: create deal",
    ]


def test_only_a_client_that_an_admin_registered_is_not_called_unverified(
    mine: Grant, browser: Browser
) -> None:
    cast.another(mine, name="Itself", registration_source=Client.RegistrationSource.DCR)
    cards = cast.cards(browser)
    assert "Unverified: anyone can choose this name" in cards["Itself"].text
    assert "It registered itself on" in cards["Itself"].text
    assert "Unverified" not in cards["Test client"].text
    assert "Registered by an administrator." in cards["Test client"].text


def test_a_name_of_markup_is_text_and_cannot_turn_the_page(mine: Grant, browser: Browser) -> None:
    name = "<b>Claude</b>\N{RIGHT-TO-LEFT OVERRIDE}ved"
    cast.another(mine, name=name)
    (heading,) = [one for one in cast.page(browser).all("h2") if "Claude" in one.text]
    assert heading.one("bdi").text == name
    assert cast.page(browser).all("b") == []


def test_the_newest_connection_comes_first(mine: Grant, browser: Browser) -> None:
    cast.another(mine, name="Second")
    cast.another(mine, name="Third")
    assert [*cast.cards(browser)] == ["Third", "Second", "Test client"]


def test_nobody_sees_anybody_elses_connections(browser: Browser) -> None:
    theirs = grants.make_grant(client_name="Theirs")
    authorizations.revoke(grants.make_grant(client_name="Theirs").authorization.pk, reason="x")
    assert "Theirs" not in cast.page(browser).text
    assert [*cast.cards(Browser(theirs.user))] == ["Theirs"]


def test_a_call_shows_as_use_at_once(mine: Grant, browser: Browser, mcp: McpClient) -> None:
    mcp.call("search_docs", {"query": "scope"})
    mcp.call("no_such_tool")
    shown = cast.facts(cast.cards(browser)["Test client"])
    assert (shown["Last used"], shown["Calls in the last 7 days"]) == ("Just now", "2")
    assert cast.facts(cast.page(browser, cast.path(mine))) == shown


def test_very_many_calls_are_reported_as_at_least_so_many(
    mine: Grant, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "MAX_CALLS", 2)
    cast.record_call(mine)
    assert cast.facts(cast.cards(browser)["Test client"])["Calls in the last 7 days"] == "1"
    cast.record_call(mine)
    shown = cast.facts(cast.cards(browser)["Test client"])
    assert shown["Calls in the last 7 days"] == "2 or more"


def test_use_long_ago_is_reported_in_round_figures(mine: Grant, browser: Browser) -> None:
    cast.record_call(mine, ago=timedelta(days=9, hours=5))
    shown = cast.facts(cast.cards(browser)["Test client"])
    assert shown["Last used"].replace("\N{NO-BREAK SPACE}", " ") == "1 week ago"
    assert shown["Calls in the last 7 days"] == "0"


def test_somebody_without_a_connection_learns_how_to_get_one(mine: Grant, browser: Browser) -> None:
    authorizations.revoke(mine.authorization.pk, reason="revoked_by_person")
    shown = cast.page(browser)
    assert "No connections yet" in shown.text
    assert shown.one("main").one("a", class_="button").attributes["href"] == "/"


def test_a_connection_that_an_admin_stopped_is_shown_as_paused(
    mine: Grant, browser: Browser
) -> None:
    stopped = cast.another(mine, name="Stopped", disabled_at=timezone.now())
    assert "administrator has disabled this client" in cast.cards(browser)["Stopped"].text
    assert "Paused" not in cast.cards(browser)["Test client"].text
    mine.organization.suspended_at = timezone.now()
    mine.organization.save()
    assert "the organization is suspended" in cast.cards(browser)["Test client"].text
    assert "Paused" in cast.page(browser, cast.path(stopped)).text


def test_a_connection_in_an_organization_that_was_left_is_over(
    mine: Grant, browser: Browser
) -> None:
    mine.membership.delete()
    assert cast.cards(browser) == {}
    assert browser.open(cast.path(mine))["Location"] == cast.LIST


@pytest.mark.parametrize("reason", REASONS)
def test_what_ended_lately_is_listed_with_its_reason(
    reason: str, mine: Grant, browser: Browser
) -> None:
    authorizations.revoke(mine.authorization.pk, reason=reason)
    (row,) = cast.page(browser).one("section", aria_labelledby="ended").all("li")
    assert "Test client" in row.text
    assert REASONS[reason] in row.text


def test_what_ended_more_than_thirty_days_ago_is_not_listed(mine: Grant, browser: Browser) -> None:
    authorizations.revoke(mine.authorization.pk, reason="revoked_by_person")
    Authorization.objects.update(revoked_at=timezone.now() - timedelta(days=31))
    assert cast.page(browser).all("section", aria_labelledby="ended") == []


def test_the_list_takes_as_many_statements_for_seven_connections_as_for_one(
    mine: Grant, browser: Browser
) -> None:
    cast.record_call(mine)
    alone = statements(browser)
    for _ in range(6):
        cast.record_call(cast.another(mine, "docs:read actions:hubspot:*"))
    assert len(cast.cards(browser)) == 7
    assert statements(browser) == alone


def statements(browser: Browser) -> int:
    with CaptureQueriesContext(connection) as asked:
        browser.open(cast.LIST)
    return len(asked)


def test_many_connections_are_shown_a_page_at_a_time(
    mine: Grant, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "CLIENTS_PER_PAGE", 2)
    for name in ("Second", "Third"):
        cast.another(mine, name=name)
    assert [*cast.cards(browser)] == ["Third", "Second"]
    older = cast.page(browser).one("nav", aria_label="Pages").one("a").attributes["href"]
    assert [*cast.cards(browser, cast.LIST + older)] == ["Test client"]
    newer = cast.page(browser, cast.LIST + older).one("nav", aria_label="Pages").one("a")
    assert newer.attributes["href"] == "?page=1"


@pytest.mark.parametrize("number", ["0", "-1", "99", "x", "", "%00", "1e9"])
def test_a_page_that_is_not_there_is_the_nearest_one(number: str, browser: Browser) -> None:
    assert [*cast.cards(browser, f"{cast.LIST}?page={number}")] == ["Test client"]


def test_one_connection_shows_its_scopes_as_they_were_shown_at_consent(
    mine: Grant, browser: Browser
) -> None:
    Authorization.objects.update(scope=EVERY_SCOPE)
    form = cast.page(browser, cast.path(mine)).one("form", action=cast.path(mine))
    boxes = form.all("input", type="checkbox", name="scope")
    assert {box.attributes["value"] for box in boxes} == {*EVERY_SCOPE.split()}
    assert all("checked" in box.attributes for box in boxes)
    assert [legend.text for legend in form.all("legend")] == ["Read", "Act on your behalf"]
    assert "Show all 2 tools" in form.text


def test_links_of_the_list_name_the_client_they_are_for(mine: Grant, browser: Browser) -> None:
    card = cast.cards(browser)["Test client"]
    named = {one.attributes["id"]: one.text for one in card if "id" in one.attributes}
    spoken = [
        " ".join(named[part] for part in link.attributes["aria-labelledby"].split())
        for link in card.all("a")
    ]
    assert spoken == ["Change Test client", "Disconnect Test client"]
    assert [link.attributes["href"] for link in card.all("a")] == [
        cast.path(mine),
        f"{cast.path(mine)}/revoke",
    ]


def test_the_header_leads_there(browser: Browser) -> None:
    links = cast.page(browser, "/").one("header").all("a", href=cast.LIST)
    assert [link.text for link in links] == ["Connections"]


def test_a_connection_shows_its_latest_calls_and_why_one_was_refused(
    mine: Grant, browser: Browser, mcp: McpClient
) -> None:
    mine.narrow("docs:read")
    mcp.call("search_docs", {"query": "scope"})
    mcp.call("setup_get_install_snippet")
    stranger = grants.make_grant()
    McpClient(stranger.token()).call("read_doc", {"page": "scopes"})
    calls = cast.page(browser, cast.path(mine)).one("section", aria_labelledby="calls").all("li")
    refused, done = (call.text for call in calls)
    assert "setup_get_install_snippet Refused" in refused
    assert "Ask the user to reconnect and approve" in refused
    assert "search_docs Success" in done


def test_a_connection_without_calls_says_so(mine: Grant, browser: Browser) -> None:
    shown = cast.page(browser, cast.path(mine))
    assert "No calls yet." in shown.one("section", aria_labelledby="calls").text
