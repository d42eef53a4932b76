"""POST /consent: one decision, by the person who was asked, about what was shown."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.db import IntegrityError

from audit.models import ActionExecution, SecurityEvent
from foundation.limits import Limit
from oauth.grants import authorizations
from oauth.models import Authorization, AuthorizationRequest, Client, Grant
from tests.drivers.oauth_client import (
    CONSENT,
    ORIGIN,
    SERVER_DOCUMENT,
    Browser,
    OAuthClient,
    Response,
    answer,
    read,
)
from tests.drivers.person import form_with
from workspace import organizations
from workspace.models import Membership, Organization, User

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def page(oauth_client: OAuthClient, browser: Browser) -> Response:
    return browser.open(oauth_client.authorize_address())


@pytest.fixture
def globex(db: None) -> Organization:  # noqa: ARG001  asked for: it opens the database
    """An organization of somebody else's."""
    boss = User.objects.create_user("boss@globex.example")
    return organizations.create("Globex", owner=boss)


def nothing_was_given() -> bool:
    return not Authorization.objects.exists() and not Grant.objects.exists()


def events() -> list[str]:
    return list(SecurityEvent.objects.values_list("kind", flat=True))


def fields_of(page: Response) -> dict[str, Any]:
    sent: dict[str, Any] = {"decision": "approve"}
    for name, value in form_with(page.content.decode(), "request").fields:
        sent.setdefault(name, []).append(value)
    return sent


@pytest.mark.parametrize("issuer", [pytest.param(ORIGIN, id="C29")])
def test_approval_sends_a_code_the_state_and_the_issuer_each_once(
    issuer: str, page: Response, browser: Browser
) -> None:
    sent = answer(browser.decide(page))
    assert re.fullmatch(r"halo_ac_[A-Za-z0-9_-]{43}", sent.pop("code"))
    assert sent == {"state": "st4te", "iss": issuer}
    assert read(browser.open(SERVER_DOCUMENT))["issuer"] == issuer


def test_only_the_hash_of_a_code_is_kept(page: Response, browser: Browser) -> None:
    code = answer(browser.decide(page))["code"]
    row = Grant.objects.get()
    kept = [str(getattr(row, field.attname)) for field in row._meta.concrete_fields]
    assert not [value for value in kept if code.removeprefix("halo_ac_") in value]


def test_what_was_consented_to_is_written_down(
    page: Response, browser: Browser, acme: Organization
) -> None:
    browser.decide(page)
    given = Authorization.objects.get()
    assert given.organization == acme
    assert given.membership == Membership.objects.get()
    assert given.scope == "docs:read setup:read"
    assert given.resource == f"{ORIGIN}/api/mcp"


def remove_token(fields: dict[str, Any]) -> dict[str, Any]:
    return fields | {"csrfmiddlewaretoken": None}


def with_a_strangers_token(fields: dict[str, Any]) -> dict[str, Any]:
    stranger = Browser()
    token = dict(form_with(stranger.open("/signin").content.decode(), "login").fields)
    return fields | {"csrfmiddlewaretoken": token["csrfmiddlewaretoken"]}


@pytest.mark.parametrize(
    ("forge", "headers"),
    [
        pytest.param(remove_token, {}, id="C19-no-token"),
        pytest.param(with_a_strangers_token, {}, id="C19-other-token"),
        pytest.param(dict, {"origin": "https://evil.example"}, id="C19-origin"),
        pytest.param(dict, {"origin": "null"}, id="C19-null-origin"),
    ],
)
def test_a_forged_post_gives_nothing_and_is_counted(
    forge: Any, headers: dict[str, str], page: Response, browser: Browser
) -> None:
    response = browser.post(CONSENT, forge(fields_of(page)), **headers)
    assert response.status_code == 403
    assert nothing_was_given()
    assert events() == ["consent_csrf"]


def test_a_forged_post_elsewhere_is_no_event_of_consent(browser: Browser) -> None:
    assert browser.post("/signout", {}).status_code == 403
    assert events() == []


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"redirect_uri": "https://evil.example/cb"}, id="C20-redirect"),
        pytest.param({"client_id": "halo_client_other"}, id="C20-client"),
        pytest.param({"resource": "https://evil.example"}, id="C20-resource"),
        pytest.param({"code_challenge": "x" * 43}, id="C20-challenge"),
        pytest.param({"state": "evil", "user": "1"}, id="C20-state"),
    ],
)
def test_fields_that_the_form_never_had_change_nothing(
    changes: dict[str, str], page: Response, browser: Browser, oauth_client: OAuthClient
) -> None:
    sent = answer(browser.decide(page, **changes))
    assert sent["state"] == "st4te"
    assert oauth_client.exchange(sent["code"]).status_code == 200


@pytest.mark.parametrize(
    "scope",
    [
        pytest.param(["docs:read", "data:read"], id="C20-wider"),
        pytest.param(["docs:read", "actions:crm:*"], id="C20-other-action"),
        pytest.param(["docs:read setup:read"], id="C20-joined"),
        pytest.param(["docs:read", "DOCS:READ"], id="C20-case"),
        pytest.param(["docs:read", ""], id="C20-empty"),
        pytest.param(["docs:read", "\0"], id="C20-nul"),
    ],
)
def test_a_scope_that_was_not_shown_cannot_be_approved(
    scope: list[str], page: Response, browser: Browser
) -> None:
    response = browser.decide(page, scope=scope)
    assert (response.status_code, events()) == (400, ["consent_forged"])
    assert nothing_was_given()


def test_an_unticked_scope_is_not_given(
    page: Response, browser: Browser, oauth_client: OAuthClient
) -> None:
    code = answer(browser.decide(page, scope=["docs:read"]))["code"]
    assert read(oauth_client.exchange(code))["scope"] == "docs:read"


def test_nothing_ticked_asks_again_and_takes_the_next_answer(
    page: Response, browser: Browser
) -> None:
    again = browser.decide(page, scope=[])
    assert again.status_code == 400
    assert "Select at least one permission, or cancel." in again.content.decode()
    assert nothing_was_given()
    assert "scope" not in fields_of(again)
    assert set(answer(browser.decide(again, scope=["docs:read"]))) == {"code", "state", "iss"}


def test_asking_again_keeps_the_organization_that_was_chosen(
    page: Response, browser: Browser, ada: User, globex: Organization
) -> None:
    organizations.join(globex, ada)
    again = browser.decide(page, scope=[], organization=str(globex.pk))
    assert fields_of(again)["organization"] == [str(globex.pk)]


def test_a_box_repeated_thousands_of_times_is_one_box(
    page: Response, browser: Browser, oauth_client: OAuthClient
) -> None:
    code = answer(browser.decide(page, scope=["docs:read"] * 1_500))["code"]
    assert read(oauth_client.exchange(code))["scope"] == "docs:read"


def test_with_the_server_switched_off_no_scope_unlocks_anything(
    oauth_client: OAuthClient, browser: Browser, acme: Organization
) -> None:
    acme.flags.create(name="mcp_server", enabled=False)
    page = browser.open(oauth_client.authorize_address())
    assert "search_docs" not in page.content.decode()


@pytest.mark.parametrize("redirect", [pytest.param("https://app.example", id="C22")])
def test_the_page_cannot_be_framed_kept_or_sent_elsewhere(redirect: str, page: Response) -> None:
    directives = dict(part.split(" ", 1) for part in page["Content-Security-Policy"].split("; "))
    targets = directives["form-action"].split()
    assert directives["frame-ancestors"] == "'none'"
    assert targets[:2] == ["'self'", redirect]
    assert all(target.endswith(":") for target in targets[2:])
    assert page["X-Frame-Options"] == "DENY"
    assert page["Cache-Control"] == "no-store"
    assert page["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize("decision", [pytest.param("cancel", id="C23"), "", "APPROVE", "x"])
def test_whatever_is_no_approval_cancels(
    decision: str, page: Response, browser: Browser, ada: User
) -> None:
    sent = answer(browser.decide(page, decision))
    assert sent.pop("error_description")
    assert sent == {"error": "access_denied", "state": "st4te", "iss": ORIGIN}
    assert nothing_was_given()
    event = SecurityEvent.objects.get()
    assert (event.kind, event.user_id) == ("consent_denied", str(ada.pk))
    assert not ActionExecution.objects.exists()


@pytest.mark.parametrize("decision", ["approve", "cancel"])
def test_a_request_closed_while_it_is_decided_gives_nothing(
    decision: str, page: Response, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Both have read the open request; something else has just closed it.
    monkeypatch.setattr("oauth.consent.decisions.close", lambda *_given: False)
    assert browser.decide(page, decision).status_code == 400
    assert nothing_was_given()


def test_a_client_that_goes_while_the_person_decides_is_no_error_of_ours(
    page: Response, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise IntegrityError

    monkeypatch.setattr(authorizations, "give", fail)
    assert browser.decide(page).status_code == 400
    assert nothing_was_given()
    assert AuthorizationRequest.objects.get().decided_at is None


@pytest.mark.parametrize(("minutes", "status"), [(9.9, 302), (10, 400)])
def test_a_page_can_be_answered_for_ten_minutes(
    minutes: float, status: int, oauth_client: OAuthClient, browser: Browser
) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        browser.http.force_login(User.objects.get())
        page = browser.open(oauth_client.authorize_address())
        clock.move_to(NOON + timedelta(minutes=minutes))
        assert browser.decide(page).status_code == status


def test_a_page_is_answered_from_the_browser_it_was_opened_in(page: Response, ada: User) -> None:
    elsewhere = Browser(ada)
    fresh = elsewhere.open("/signout")
    token = dict(form_with(fresh.content.decode(), "csrfmiddlewaretoken").fields)
    sent = fields_of(page) | {"csrfmiddlewaretoken": token["csrfmiddlewaretoken"]}
    assert elsewhere.post(CONSENT, sent).status_code == 400
    assert (events(), nothing_was_given()) == (["consent_stale"], True)


@pytest.mark.usefixtures("ada")
def test_a_page_is_answered_by_the_person_it_was_shown_to(page: Response, browser: Browser) -> None:
    # The same session, another person: the row itself has to say no.
    AuthorizationRequest.objects.update(user=User.objects.create_user("eve@acme.example"))
    assert browser.decide(page).status_code == 400
    assert nothing_was_given()


def test_who_signed_out_meanwhile_gives_nothing(page: Response, browser: Browser) -> None:
    browser.http.cookies.pop(settings.SESSION_COOKIE_NAME)
    assert browser.decide(page).status_code == 400
    assert nothing_was_given()


def test_who_was_deactivated_meanwhile_gives_nothing(page: Response, browser: Browser) -> None:
    User.objects.update(is_active=False)
    assert browser.decide(page).status_code == 400
    assert nothing_was_given()


def test_a_client_disabled_meanwhile_gets_nothing(page: Response, browser: Browser) -> None:
    Client.objects.update(disabled_at=NOON)
    assert browser.decide(page).status_code == 400
    assert nothing_was_given()


@pytest.mark.parametrize("request_id", ["", "x", "{}", "\0", "0" * 32, "1" * 5_000])
def test_a_request_id_out_of_thin_air_opens_nothing(
    request_id: str, page: Response, browser: Browser
) -> None:
    assert browser.decide(page, request=request_id).status_code == 400
    assert nothing_was_given()


@pytest.mark.parametrize("name", [pytest.param("Second", id="C26-offered")])
def test_only_the_persons_own_organizations_are_offered(
    name: str, oauth_client: OAuthClient, browser: Browser, ada: User, globex: Organization
) -> None:
    second = organizations.create(name, owner=ada)
    content = browser.open(oauth_client.authorize_address()).content.decode()
    assert str(second.pk) in content
    assert str(globex.pk) not in content


@pytest.mark.parametrize("chosen", [pytest.param("globex", id="C26"), "", "x", "\0"])
def test_another_organization_cannot_be_chosen(
    chosen: str, page: Response, browser: Browser, globex: Organization
) -> None:
    organization = str(globex.pk) if chosen == "globex" else chosen
    assert browser.decide(page, organization=organization).status_code == 403
    assert (nothing_was_given(), events()) == (True, ["consent_forged"])


def test_the_chosen_organization_is_the_one_that_counts(
    oauth_client: OAuthClient, browser: Browser, ada: User
) -> None:
    second = organizations.create("Second", owner=ada)
    page = browser.open(oauth_client.authorize_address())
    browser.decide(page, organization=str(second.pk), shown=str(second.pk))
    assert Authorization.objects.get().organization == second


def selected_organization(page: Response) -> str:
    fields = form_with(page.content.decode(), "shown").fields
    return str(dict(fields)["shown"])


def test_the_organization_that_the_client_was_connected_to_last_is_selected_first(
    oauth_client: OAuthClient, browser: Browser, ada: User, acme: Organization
) -> None:
    second = organizations.create("Second", owner=ada)
    page = browser.open(oauth_client.authorize_address())
    assert selected_organization(page) == str(acme.pk)
    browser.decide(page, organization=str(second.pk), shown=str(second.pk))
    page = browser.open(oauth_client.authorize_address())
    assert selected_organization(page) == str(second.pk)


def test_a_suspended_organization_cannot_be_chosen(
    page: Response, browser: Browser, acme: Organization
) -> None:
    Organization.objects.filter(pk=acme.pk).update(suspended_at=NOON)
    assert browser.decide(page).status_code == 403
    assert nothing_was_given()


@pytest.mark.usefixtures("ada")
def test_who_belongs_nowhere_gets_a_message(oauth_client: OAuthClient) -> None:
    loner = Browser(User.objects.create_user("loner@acme.example"))
    page = loner.open(oauth_client.authorize_address())
    assert page.status_code == 403
    assert "belong to an organization" in page.content.decode()


def test_a_scope_that_unlocks_nothing_today_says_so(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    asked = oauth_client.authorize_address(scope="actions:hubspot:*")
    assert "No tools available yet" in browser.open(asked).content.decode()
    asked = oauth_client.authorize_address(scope="docs:read")
    page = browser.open(asked).content.decode()
    assert "No tools available yet" not in page
    assert "search_docs" in page


@pytest.mark.parametrize("name", [pytest.param("<script>alert(1)</script>", id="A16")])
def test_a_clients_name_is_shown_escaped_and_called_unverified(name: str, browser: Browser) -> None:
    client = OAuthClient()
    client.register(client_name=name)
    page = browser.open(client.authorize_address()).content.decode()
    assert name not in page
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in page
    assert "Unverified" in page
    assert "app.example" in page


@pytest.mark.parametrize("method", ["GET", "HEAD", "PUT", "DELETE", "OPTIONS"])
def test_a_decision_is_posted(method: str, browser: Browser) -> None:
    assert browser.http.generic(method, CONSENT).status_code in {403, 405}


@pytest.mark.parametrize("user", ["ada", None])
def test_who_opens_the_decision_by_its_address_is_asked_to_start_again(
    user: str | None, browser: Browser, settings: Any
) -> None:
    settings.HALO_RATE_AUTHORIZE = Limit.parse("1/h")
    tab = browser if user else Browser()
    for _ in range(2):
        page = tab.open(CONSENT)
        assert (page.status_code, page["Allow"]) == (405, "POST")
        assert page["Cache-Control"] == "no-store"
        assert "This request expired" in page.content.decode()
        assert "Start again in your AI client" in page.content.decode()
