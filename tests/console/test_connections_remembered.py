"""A connection whose client need not ask again: how it is shown, and made to ask."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.formats import date_format

from audit.models import SecurityEvent
from oauth.consent import remembered
from oauth.models import Authorization, AuthorizationRequest, RememberedConsent
from tests.console import connected_people as cast
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.oauth_client import CALLBACK, Browser
from tests.drivers.person import form_with

PASSWORD = "correct horse battery staple"
LABEL = "Reconnects without asking until"


@pytest.fixture
def mine(grant: Grant) -> Grant:
    """A connection that its person does not want to be asked about again."""
    return keep(grant)


@pytest.fixture
def browser(mine: Grant) -> Browser:
    return Browser(mine.user)


def keep(grant: Grant) -> Grant:
    root = grant.authorization
    asked = AuthorizationRequest(redirect_uri=CALLBACK, scope=root.scope)
    remembered.keep(Authorization.objects.get(pk=root.pk), asked)
    return grant


def address(grant: Grant) -> str:
    return f"{cast.path(grant)}/ask-again"


def press(browser: Browser, page: str, grant: Grant) -> Any:
    """Press “Ask me again” where a page shows it."""
    shown = browser.open(page)
    assert f'action="{address(grant)}"' in shown.content.decode()
    token = dict(form_with(shown.content.decode(), "csrfmiddlewaretoken").fields)
    return browser.post(address(grant), token)


def test_the_list_and_the_page_say_until_when_it_does_not_ask(
    mine: Grant, browser: Browser
) -> None:
    day = date_format(timezone.now() + timedelta(days=30), "DATE_FORMAT")
    asking = cast.another(mine, name="Asking")
    cards = cast.cards(browser)
    assert cast.facts(cards["Test client"])[LABEL] == f"{day} Ask me again"
    assert LABEL not in cast.facts(cards["Asking"])
    assert LABEL in cast.facts(cast.page(browser, cast.path(mine)))
    assert LABEL not in cast.facts(cast.page(browser, cast.path(asking)))


@pytest.mark.parametrize("where", ["list", "page"])
def test_one_press_makes_it_ask_again_and_leaves_the_connection(
    where: str, mine: Grant, browser: Browser
) -> None:
    answer = press(browser, cast.LIST if where == "list" else cast.path(mine), mine)
    (said,) = cast.read_messages(browser, answer)
    assert said.startswith("You will be asked the next time ")
    assert LABEL not in cast.facts(cast.cards(browser)["Test client"])
    assert not RememberedConsent.objects.exists()
    assert not cast.is_over(mine)
    event = SecurityEvent.objects.get()
    assert (event.kind, event.subject) == ("connection_asks_again", str(mine.authorization.pk))


def test_a_second_press_finds_nothing_to_forget_and_is_no_event(
    mine: Grant, browser: Browser
) -> None:
    token = dict(form_with(browser.open(cast.LIST).content.decode(), "csrfmiddlewaretoken").fields)
    assert [browser.post(address(mine), token).status_code for _ in range(2)] == [302, 302]
    assert SecurityEvent.objects.get().count == 1


def test_what_holds_no_longer_is_not_shown(mine: Grant, browser: Browser, settings: Any) -> None:
    cast.keep(browser, mine, "actions:*")  # nothing taken: it holds
    assert LABEL in cast.facts(cast.cards(browser)["Test client"])
    settings.HALO_REMEMBER_CONSENT_DAYS = 0
    assert LABEL not in cast.facts(cast.cards(browser)["Test client"])


def test_it_takes_a_post_with_a_token_by_the_connections_own_person(
    mine: Grant, browser: Browser
) -> None:
    assert browser.open(address(mine))["Location"] == cast.path(mine)
    assert browser.post(address(mine), {}).status_code == 403
    theirs = keep(grants.make_grant())
    assert browser.open(address(theirs)).status_code == 404
    token = dict(form_with(browser.open(cast.LIST).content.decode(), "csrfmiddlewaretoken").fields)
    assert browser.post(address(theirs), token).status_code == 404
    assert RememberedConsent.objects.count() == 2


def test_who_signs_in_again_on_the_way_lands_at_the_connection(grant: Grant) -> None:
    grant.user.set_password(PASSWORD)
    grant.user.save()
    mine = keep(grant)
    fresh = Browser()
    token = dict(form_with(fresh.open("/signin").content.decode(), "csrfmiddlewaretoken").fields)
    bounced = fresh.post(address(mine), token)
    arrived = fresh.sign_in(bounced, mine.user.email, PASSWORD)
    assert (arrived.status_code, arrived["Location"]) == (302, cast.path(mine))
    shown = fresh.open(arrived["Location"])
    assert f'action="{address(mine)}"' in shown.content.decode()
    assert RememberedConsent.objects.exists()


def test_a_connection_that_is_over_has_nothing_to_forget(mine: Grant, browser: Browser) -> None:
    token = dict(form_with(browser.open(cast.LIST).content.decode(), "csrfmiddlewaretoken").fields)
    mine.revoke()
    assert browser.post(address(mine), token)["Location"] == cast.LIST
    assert not SecurityEvent.objects.exists()


def test_the_list_takes_as_many_statements_for_seven_as_for_one(
    mine: Grant, browser: Browser
) -> None:
    alone = statements(browser)
    for _ in range(6):
        keep(cast.another(mine))
    assert statements(browser) == alone
    assert all(LABEL in cast.facts(card) for card in cast.cards(browser).values())


def statements(browser: Browser) -> int:
    with CaptureQueriesContext(connection) as asked:
        browser.open(cast.LIST)
    return len(asked)
