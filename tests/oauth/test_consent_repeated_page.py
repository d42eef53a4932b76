"""The page shown more than once for one request: for another place, and to who connected before."""

from typing import Any

import pytest
import time_machine
from django.utils import timezone

from audit.models import SecurityEvent
from oauth.grants import connections
from oauth.models import Authorization, AuthorizationRequest
from tests.console import markup
from tests.console.markup import Element
from tests.drivers.oauth_client import (
    CONSENT,
    ORIGIN,
    Browser,
    OAuthClient,
    Response,
    answer,
    read,
)
from tests.oauth.remembered_clients import register_client
from workspace import organizations
from workspace.models import Organization, User


@pytest.fixture
def quiet(ada: User, acme: Organization) -> Organization:  # noqa: ARG001  acme comes first
    """Ada's second organization, where no scope unlocks anything today."""
    organization = organizations.create("Quiet", owner=ada)
    organization.flags.create(name="mcp_server", enabled=False)
    return organization


@pytest.fixture
def page(quiet: Organization, browser: Browser) -> Response:  # noqa: ARG001  it exists by then
    return browser.open(register_client().authorize_address())


def boxes(response: Response) -> dict[str, bool]:
    """Every box of the consent form, and whether it is ticked."""
    form = markup.read(response.content).one("form", action="/api/mcp/oauth/consent")
    ticks = form.all("input", type="checkbox")
    return {box.attributes["value"]: "checked" in box.attributes for box in ticks}


def chosen_organizations(response: Response) -> list[str]:
    radios = markup.read(response.content).all("input", type="radio", name="organization")
    return [one.attributes["value"] for one in radios if "checked" in one.attributes]


def message(response: Response) -> str:
    status: Element = markup.read(response.content).one("p", role="status")
    return status.text


def unlocks(response: Response) -> bool:
    return "search_docs" in response.content.decode()


def test_switching_shows_what_is_unlocked_there_and_keeps_every_tick(
    page: Response, browser: Browser, quiet: Organization
) -> None:
    assert unlocks(page)
    sent = {"organization": str(quiet.pk), "scope": ["setup:read"], "remember": "yes"}
    shown = browser.decide(page, "switch", **sent)
    assert shown.status_code == 200
    assert not unlocks(shown)
    assert chosen_organizations(shown) == [str(quiet.pk)]
    assert boxes(shown) == {"docs:read": False, "setup:read": True, "actions:*": False, "yes": True}
    assert message(shown) == "The tools shown are now those of Quiet."


def test_the_page_shown_again_obeys_the_policy_of_the_first(
    page: Response, browser: Browser, quiet: Organization
) -> None:
    shown = browser.decide(page, "switch", organization=str(quiet.pk))
    for header in ("Content-Security-Policy", "Cache-Control", "Referrer-Policy"):
        assert shown[header] == page[header]


def test_switching_to_and_fro_leaves_the_request_open(
    page: Response, browser: Browser, quiet: Organization, acme: Organization
) -> None:
    there = browser.decide(page, "switch", organization=str(quiet.pk))
    back = browser.decide(there, "switch", organization=str(acme.pk))
    assert unlocks(back)
    assert boxes(back) == boxes(page)
    assert AuthorizationRequest.objects.get().decided_at is None
    assert "code" in answer(browser.decide(back))
    assert Authorization.objects.get().organization == acme


def test_approving_for_an_organization_that_was_not_shown_shows_it_first(
    page: Response, browser: Browser, quiet: Organization
) -> None:
    sent = {"organization": str(quiet.pk), "scope": ["docs:read"]}
    shown = browser.decide(page, **sent)
    assert shown.status_code == 200
    assert message(shown) == "The tools shown are now those of Quiet. Approve again to confirm."
    assert (unlocks(shown), chosen_organizations(shown)) == (False, [str(quiet.pk)])
    assert not Authorization.objects.exists()
    assert "code" in answer(browser.decide(shown))
    given = Authorization.objects.get()
    assert (given.organization, given.scope) == (quiet, "docs:read")


@pytest.mark.parametrize("shown", [None, "", "x", "\0"])
def test_a_form_that_does_not_say_what_it_showed_is_shown_again(
    shown: str | None, page: Response, browser: Browser
) -> None:
    assert "Approve again to confirm." in message(browser.decide(page, shown=shown))
    assert not Authorization.objects.exists()


def test_cancelling_needs_no_second_look(
    page: Response, browser: Browser, quiet: Organization
) -> None:
    sent = answer(browser.decide(page, "cancel", organization=str(quiet.pk)))
    assert sent["error"] == "access_denied"


@pytest.mark.parametrize("decision", ["switch", "approve"])
@pytest.mark.parametrize(
    ("changes", "status"),
    [
        pytest.param({"scope": ["docs:read", "data:read"]}, 400, id="C20"),
        pytest.param({"organization": "globex"}, 403, id="C26"),
    ],
)
def test_showing_it_again_offers_nothing_that_was_not_there(
    changes: dict[str, Any], status: int, decision: str, page: Response, browser: Browser
) -> None:
    globex = organizations.create("Globex", owner=User.objects.create_user("boss@globex.example"))
    if "organization" in changes:
        changes = {"organization": str(globex.pk)}
    refused = browser.decide(page, decision, **changes)
    assert refused.status_code == status
    assert "Globex" not in refused.content.decode()
    assert SecurityEvent.objects.get().kind == "consent_forged"


def test_with_nothing_ticked_the_other_organization_is_shown_all_the_same(
    page: Response, browser: Browser, quiet: Organization
) -> None:
    again = browser.decide(page, scope=[], organization=str(quiet.pk), remember="yes")
    assert again.status_code == 400
    assert (unlocks(again), chosen_organizations(again)) == (False, [str(quiet.pk)])
    assert boxes(again) == {
        "docs:read": False,
        "setup:read": False,
        "actions:*": False,
        "yes": True,
    }


@pytest.mark.parametrize("state", [None, "a b&c=d%+/?#\u00e9"])
def test_whoever_signs_in_instead_is_asked_the_same_and_is_always_asked(
    state: str | None, browser: Browser, quiet: Organization, acme: Organization
) -> None:
    client = register_client()
    page = browser.open(client.authorize_address(state=state))
    shown = browser.decide(page, "switch", organization=str(quiet.pk))
    away = browser.submit(shown, "next")
    eve = User.objects.create_user("eve@acme.example")
    organizations.join(acme, eve)
    elsewhere = Browser(eve)
    instead = elsewhere.open(away["Location"])
    sent = answer(elsewhere.decide(instead, remember="yes"))
    assert sent.pop("code")
    assert sent == {"iss": ORIGIN} | ({} if state is None else {"state": state})
    again = elsewhere.open(away["Location"])
    assert "wants to connect" in earlier(again)


def test_with_one_organization_there_is_nothing_to_switch(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    text = browser.open(oauth_client.authorize_address()).content.decode()
    assert "Show its tools" not in text


def earlier(response: Response) -> str:
    return " ".join(markup.read(response.content).one("main").text.split())


def test_who_connected_the_client_before_is_shown_what_another_approval_does(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    address = oauth_client.authorize_address()
    assert "Already" not in earlier(browser.open(address))
    first = oauth_client.connect(browser)
    Authorization.objects.update(created_at="2026-03-01T12:00Z")
    with time_machine.travel("2026-06-01T12:00Z"):
        assert "Already connected (Mar 1). Approving adds a second connection." in earlier(
            browser.open(address)
        )
    Authorization.objects.update(created_at=timezone.now())
    second = oauth_client.connect(browser)
    assert "Already connected (2 times, most recently" in earlier(browser.open(address))
    assert [oauth_client.ping(one.access) for one in (first, second)] == [200, 200]


def test_connections_that_ended_or_are_elsewhere_or_of_others_are_not_counted(
    oauth_client: OAuthClient, stranger: OAuthClient, browser: Browser, ada: User
) -> None:
    stranger.connect(browser)
    oauth_client.connect(browser)
    root = Authorization.objects.get(client__client_id=oauth_client.client_id)
    connections.revoke(ada, root.pk, address="198.51.100.7")
    assert "Already" not in earlier(browser.open(oauth_client.authorize_address()))


def test_switching_says_what_the_client_has_in_that_organization(
    page: Response, browser: Browser, quiet: Organization
) -> None:
    assert "code" in answer(browser.decide(page))
    page = browser.open(OAuthClient(client_id="by-hand").authorize_address())
    assert "Already connected" in earlier(page)
    shown = browser.decide(page, "switch", organization=str(quiet.pk))
    assert "Already connected" not in earlier(shown)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (30, "30 seconds"),
        (60, "1 minute"),
        (90, "90 seconds"),
        (600, "10 minutes"),
        (3600, "1 hour"),
        (86_400, "1 day"),
    ],
)
def test_every_text_on_time_follows_its_setting(
    seconds: int, words: str, oauth_client: OAuthClient, browser: Browser, settings: Any
) -> None:
    settings.HALO_CONSENT_SECONDS = settings.HALO_ACCESS_TOKEN_SECONDS = seconds
    page = browser.open(oauth_client.authorize_address())
    assert f"This request expires in {words}." in earlier(page)
    assert f"Access tokens last {words} and renew" in earlier(page)
    code = answer(browser.decide(page))["code"]
    assert read(oauth_client.exchange(code))["expires_in"] == seconds
    assert f"answered once, within {words}," in earlier(browser.open(CONSENT))


def lines(response: Response) -> list[str]:
    """What the page says of choices that are unticked and still allowed."""
    return [line.text for line in markup.read(response.content).all("p", class_="still-held")]


def test_unticking_what_a_wider_scope_includes_is_said_before_it_is_taken(
    browser: Browser, oauth_client: OAuthClient
) -> None:
    page = browser.open(oauth_client.authorize_address(scope="docs:read actions:*"))
    assert lines(page) == []
    shown = browser.decide(page, scope=["actions:*"])
    assert (shown.status_code, boxes(shown)) == (200, {"docs:read": False, "actions:*": True})
    assert message(shown) == (
        "A permission that you cleared is included in another one, so it is still allowed. "
        "Approve again to confirm."
    )
    (line,) = lines(shown)
    assert "Still allowed" in line
    assert not Authorization.objects.exists()
    code = answer(browser.decide(shown))["code"]
    assert read(oauth_client.exchange(code))["scope"] == "actions:*"


def test_unticking_the_wider_one_as_well_is_taken_at_once(
    browser: Browser, oauth_client: OAuthClient
) -> None:
    asked = oauth_client.authorize_address(scope="docs:read setup:read actions:*")
    shown = browser.decide(browser.open(asked), scope=["setup:read", "actions:*"])
    code = answer(browser.decide(shown, scope=["setup:read"]))["code"]
    assert read(oauth_client.exchange(code))["scope"] == "setup:read"


def test_each_further_scope_unticked_in_vain_is_said_too(
    browser: Browser, oauth_client: OAuthClient
) -> None:
    asked = oauth_client.authorize_address(scope="docs:read setup:read actions:*")
    first = browser.decide(browser.open(asked), scope=["setup:read", "actions:*"])
    second = browser.decide(first, scope=["actions:*"])
    assert (second.status_code, len(lines(second))) == (200, 2)
    assert browser.decide(second).status_code == 302


def test_what_the_switched_page_said_of_a_choice_need_not_be_said_again(
    browser: Browser, quiet: Organization, oauth_client: OAuthClient
) -> None:
    page = browser.open(oauth_client.authorize_address(scope="docs:read actions:*"))
    sent = {"organization": str(quiet.pk), "scope": ["actions:*"]}
    unsaid = browser.decide(page, **sent)
    assert "are now those of Quiet" in message(unsaid)
    assert "it is still allowed" in message(unsaid)
    shown = browser.decide(page, "switch", **sent)
    assert len(lines(shown)) == 1
    assert browser.decide(shown).status_code == 302
