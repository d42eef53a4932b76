"""POST /consent more than once for one request: the first decision holds and is repeated."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from audit.models import SecurityEvent
from foundation import sealing
from foundation.sealing import SealBroken
from oauth import tasks
from oauth.consent import decisions
from oauth.grants import connections
from oauth.models import Authorization, AuthorizationRequest, Client, Grant
from tests.console import markup
from tests.drivers.oauth_client import Browser, OAuthClient, Response, answer, tokens_of
from workspace import organizations
from workspace.models import Organization, User

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
APPROVED = "You already approved this request"
CANCELLED = "You already cancelled this request"


@pytest.fixture
def clock() -> Any:
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def page(clock: Any, oauth_client: OAuthClient, ada: User, browser: Browser) -> Response:  # noqa: ARG001  time first
    browser.http.force_login(ada)
    return browser.open(oauth_client.authorize_address())


def heading(response: Response) -> str:
    assert not response.has_header("Location")
    return markup.read(response.content).one("h1").text


def links(response: Response) -> list[str]:
    return [link.attributes["href"] for link in markup.read(response.content).one("main").all("a")]


@pytest.mark.parametrize("decision", ["approve", "cancel"])
def test_spec_1_a_second_submit_gets_the_redirect_of_the_first(
    decision: str, page: Response, browser: Browser, clock: Any
) -> None:
    first = browser.decide(page, decision)
    clock.shift(59)
    second = browser.decide(page, decision)
    assert (second.status_code, second["Location"]) == (302, first["Location"])
    assert second["Cache-Control"] == "no-store"
    assert Authorization.objects.count() == Grant.objects.count() == (decision == "approve")


def test_a_repeated_code_is_still_single_use(
    page: Response, browser: Browser, oauth_client: OAuthClient
) -> None:
    browser.decide(page)
    code = answer(browser.decide(page))["code"]
    pair = tokens_of(oauth_client.exchange(code))
    # A redirect that arrives late names the code that the client has exchanged already.
    assert answer(browser.decide(page))["code"] == code
    assert oauth_client.ping(pair.access) == 200
    assert oauth_client.exchange(code).status_code == 400
    assert oauth_client.ping(pair.access) == 401


def test_the_first_decision_rules_whatever_the_second_submit_says(
    page: Response, browser: Browser, oauth_client: OAuthClient, ada: User
) -> None:
    first = browser.decide(page, scope=["docs:read"])
    other = organizations.create("Second", owner=ada)
    second = browser.decide(page, scope=["setup:read"], organization=str(other.pk))
    assert second["Location"] == first["Location"]
    assert tokens_of(oauth_client.exchange(answer(second)["code"])).scope == "docs:read"


def test_a_decision_is_put_on_record_once(page: Response, browser: Browser) -> None:
    for _ in range(2):
        browser.decide(page, "cancel")
    assert SecurityEvent.objects.filter(kind="consent_denied").get().count == 1


def test_after_a_minute_a_page_says_that_it_was_approved_and_links_to_connections(
    page: Response, browser: Browser, clock: Any
) -> None:
    browser.decide(page)
    clock.shift(60)
    later = browser.decide(page)
    assert heading(later) == APPROVED
    assert links(later) == ["/connections"]
    assert later["Cache-Control"] == "no-store"


def test_after_a_minute_a_page_says_that_it_was_cancelled(
    page: Response, browser: Browser, clock: Any
) -> None:
    browser.decide(page, "cancel")
    clock.shift(60)
    assert heading(browser.decide(page, "cancel")) == CANCELLED


@pytest.mark.parametrize("second", ["cancel", "switch"])
def test_an_approval_is_not_taken_back_by_another_button(
    second: str, page: Response, browser: Browser, oauth_client: OAuthClient
) -> None:
    code = answer(browser.decide(page))["code"]
    assert heading(browser.decide(page, second)) == APPROVED
    assert oauth_client.exchange(code).status_code == 200


@pytest.mark.parametrize("second", ["approve", "switch"])
def test_a_cancelled_request_cannot_be_approved(
    second: str, page: Response, browser: Browser
) -> None:
    browser.decide(page, "cancel")
    assert heading(browser.decide(page, second)) == CANCELLED
    assert not Authorization.objects.exists()


def end(page: Response, browser: Browser, ada: User) -> None:  # noqa: ARG001  one of several ways
    connections.revoke(ada, Authorization.objects.get().pk, address="198.51.100.7")


def leave(page: Response, browser: Browser, ada: User) -> None:  # noqa: ARG001  as above
    ada.memberships.all().delete()


def suspend(page: Response, browser: Browser, ada: User) -> None:  # noqa: ARG001  as above
    Organization.objects.update(suspended_at=NOON)


@pytest.mark.parametrize("change", [end, leave, suspend])
def test_no_code_is_repeated_once_the_connection_is_no_longer_active(
    change: Any, page: Response, browser: Browser, ada: User
) -> None:
    browser.decide(page)
    change(page, browser, ada)
    again = browser.decide(page)
    assert heading(again) == APPROVED
    assert "has ended" in again.content.decode()


@pytest.mark.parametrize("decision", ["approve", "cancel"])
def test_nothing_is_repeated_for_a_client_disabled_since(
    decision: str, page: Response, browser: Browser
) -> None:
    browser.decide(page, decision)
    Client.objects.update(disabled_at=NOON)
    assert heading(browser.decide(page, decision)) == "This request expired"


def test_nothing_is_repeated_in_another_session(page: Response, browser: Browser) -> None:
    browser.decide(page)
    AuthorizationRequest.objects.update(session_sha256="0" * 64)
    assert heading(browser.decide(page)) == "This request expired"


def test_nothing_is_repeated_for_another_person(page: Response, browser: Browser) -> None:
    browser.decide(page)
    AuthorizationRequest.objects.update(user=User.objects.create_user("eve@acme.example"))
    assert heading(browser.decide(page)) == "This request expired"


def test_a_code_is_not_repeated_once_it_has_expired(
    page: Response, browser: Browser, clock: Any, settings: Any
) -> None:
    settings.HALO_CODE_SECONDS = 30
    browser.decide(page)
    clock.shift(30)
    assert heading(browser.decide(page)) == APPROVED


def test_the_kept_code_is_sealed_for_its_own_request(page: Response, browser: Browser) -> None:
    code = answer(browser.decide(page))["code"]
    row = AuthorizationRequest.objects.get()
    sealed = bytes(row.sealed_code or b"")
    assert code.encode() not in sealed
    assert sealing.unseal(sealed, context=decisions.context_of(row)) == code.encode()
    with pytest.raises(SealBroken):
        sealing.unseal(sealed, context=decisions.context_of(AuthorizationRequest()))


def test_the_kept_code_is_emptied_within_minutes_and_not_before(
    page: Response, browser: Browser, clock: Any
) -> None:
    browser.decide(page)
    clock.shift(60)
    assert tasks.forget_replies() == 0
    clock.shift(timedelta(seconds=1))
    assert [tasks.forget_replies(), tasks.forget_replies()] == [1, 0]
    assert AuthorizationRequest.objects.get().sealed_code is None
    assert heading(browser.decide(page)) == APPROVED
