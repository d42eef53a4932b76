"""“Don't ask again for exactly this”: who is offered it, and which request it answers."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError

from audit.models import SecurityEvent
from oauth.grants import authorizations, cleanup, codes, connections
from oauth.models import Authorization, AuthorizationRequest, Client, RememberedConsent
from tests.console.second_factors import FactorVisitor, code, page
from tests.drivers.oauth_client import (
    AUTHORIZE,
    FORM,
    ORIGIN,
    Browser,
    OAuthClient,
    answer,
    tokens_of,
)
from tests.oauth.conftest import PASSWORD
from tests.oauth.remembered_clients import BOX, OTHER_CALLBACK, asks, register_client, remember
from workspace import organizations
from workspace.models import Membership, Organization, User

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
HERE = "198.51.100.7"
Source = Client.RegistrationSource


@pytest.fixture
def editor(browser: Browser) -> OAuthClient:  # noqa: ARG001  the cast comes first
    return register_client()


@pytest.fixture
def silent(editor: OAuthClient, browser: Browser) -> OAuthClient:
    """A client that Ada does not want to be asked about again."""
    remember(editor, browser)
    return editor


def is_asked_again(client: OAuthClient, browser: Browser, **changes: Any) -> bool:
    return asks(browser.open(client.authorize_address(**changes)))


def events() -> list[str]:
    return list(SecurityEvent.objects.order_by("first_at").values_list("kind", flat=True))


def test_the_box_is_offered_and_not_ticked(editor: OAuthClient, browser: Browser) -> None:
    page = browser.open(editor.authorize_address())
    text = page.content.decode()
    assert BOX in text
    assert "For 30 days, identical requests that redirect to" in text
    assert "requests that redirect to app.example are approved without asking" in text
    browser.decide(page)
    assert not RememberedConsent.objects.exists()
    assert is_asked_again(editor, browser)


LOCAL = "http://127.0.0.1/callback"


@pytest.mark.parametrize(
    "columns",
    [
        pytest.param({"registration_source": Source.DCR}, id="C20-dynamic"),
        pytest.param({"redirect_uris": [LOCAL]}, id="B07-loopback"),
        pytest.param({"redirect_uris": ["http://localhost/cb"]}, id="B07-localhost"),
        pytest.param({"redirect_uris": ["http://[::1]/cb"]}, id="B07-loopback-6"),
        pytest.param({"redirect_uris": ["https://127.0.0.1/cb"]}, id="B07-loopback-tls"),
        pytest.param({"redirect_uris": ["cursor://mcp/cb"]}, id="B07-app"),
        pytest.param({"redirect_uris": ["com.example.app:/cb"]}, id="B07-reverse-dns"),
        pytest.param(
            {"redirect_uris": [LOCAL], "auth_method": "client_secret_basic"}, id="B07-secret"
        ),
    ],
)
def test_where_another_program_can_pose_as_the_client_the_box_is_neither_offered_nor_heeded(
    columns: dict[str, Any], browser: Browser
) -> None:
    client = register_client("not-sure", **columns)
    where = columns.get("redirect_uris", [client.redirect_uri])[0]
    page = browser.open(client.authorize_address(redirect_uri=where))
    assert BOX not in page.content.decode()
    sent = answer(browser.decide(page, remember="yes"), where)
    assert set(sent) == {"code", "state", "iss"}
    assert not RememberedConsent.objects.exists()
    assert is_asked_again(client, browser, redirect_uri=where)


def test_what_was_once_kept_for_such_a_client_is_not_used(
    silent: OAuthClient, browser: Browser
) -> None:
    # The row by itself opens nothing: who may be remembered is asked again each time.
    RememberedConsent.objects.update(redirect_uri=LOCAL)
    Client.objects.update(redirect_uris=[LOCAL])
    assert is_asked_again(silent, browser, redirect_uri=LOCAL)


def test_the_same_request_again_is_answered_at_once_and_put_on_record(
    silent: OAuthClient, browser: Browser, ada: User
) -> None:
    sent = answer(browser.open(silent.authorize_address(state="an0ther")))
    tokens = tokens_of(silent.exchange(sent.pop("code")))
    assert sent == {"state": "an0ther", "iss": ORIGIN}
    assert tokens.scope == "docs:read setup:read"
    assert silent.ping(tokens.access) == 200
    root = Authorization.objects.get()
    assert events() == ["consent_remembered", "consent_reused"]
    event = SecurityEvent.objects.get(kind="consent_reused")
    assert (event.subject, event.user_id) == (str(root.pk), str(ada.pk))
    assert (event.client_id, event.organization_id) == ("by-hand", str(root.organization_id))


def test_a_silent_answer_leaves_no_open_request_behind(
    silent: OAuthClient, browser: Browser
) -> None:
    browser.open(silent.authorize_address())
    assert not AuthorizationRequest.objects.filter(decided_at__isnull=True).exists()


def test_it_gives_what_was_left_ticked_and_no_more(editor: OAuthClient, browser: Browser) -> None:
    remember(editor, browser, scope=["docs:read"])
    code = answer(browser.open(editor.authorize_address()))["code"]
    assert tokens_of(editor.exchange(code)).scope == "docs:read"


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": "setup:read docs:read"},
        {"scope": "docs:read setup:read docs:read nonsense"},
        {"resource": f"{ORIGIN}/api/mcp/"},
        {"resource": "http://localhost:8000/api/mcp"},
        {"state": None, "code_challenge": "c" * 43},
        {"prompt": "none"},
        {"prompt": ""},
    ],
    ids=str,
)
def test_another_way_of_asking_for_the_same_is_the_same(
    changes: dict[str, Any], silent: OAuthClient, browser: Browser
) -> None:
    sent = answer(browser.open(silent.authorize_address(**changes)))
    assert "code" in sent


@pytest.mark.parametrize(
    "changes",
    [
        {"redirect_uri": OTHER_CALLBACK},
        {"scope": "docs:read setup:read data:read"},
        {"scope": "docs:read"},
        {"scope": "docs:read setup:read actions:*"},
        {"scope": None},
        {"prompt": "consent"},
        {"prompt": "login"},
        {"prompt": "select_account"},
        {"prompt": "login consent"},
        {"prompt": "something-new"},
    ],
    ids=str,
)
def test_whatever_differs_is_asked_for(
    changes: dict[str, Any], silent: OAuthClient, browser: Browser
) -> None:
    assert is_asked_again(silent, browser, **changes)
    assert not is_asked_again(silent, browser)


def test_another_client_of_the_same_name_and_address_is_asked_about(
    silent: OAuthClient, browser: Browser
) -> None:
    assert is_asked_again(register_client("look-alike"), browser)
    assert not is_asked_again(silent, browser)


def test_another_person_is_asked(silent: OAuthClient, acme: Organization) -> None:
    eve = User.objects.create_user("eve@acme.example")
    organizations.join(acme, eve)
    assert is_asked_again(silent, Browser(eve))


def test_the_person_is_known_in_another_browser_and_must_be_signed_in_there(
    silent: OAuthClient, ada: User
) -> None:
    elsewhere = Browser()
    bounce = elsewhere.open(silent.authorize_address())
    assert bounce["Location"].startswith("/signin?next=")
    assert not asks(elsewhere.sign_in(bounce, ada.email, PASSWORD))


def revoke(root: Authorization) -> None:
    connections.revoke(root.user, root.pk, address=HERE)


def end_by_an_admin(root: Authorization) -> None:
    authorizations.revoke(root.pk, reason="revoked_by_admin")


def narrow(root: Authorization) -> None:
    connections.narrow(root.user, root.pk, ["docs:read"], address=HERE)


def ask_again(root: Authorization) -> None:
    connections.ask_again(root.user, root.pk, address=HERE)


def leave_and_join_again(root: Authorization) -> None:
    Membership.objects.all().delete()
    organizations.join(root.organization, root.user)


def suspend(root: Authorization) -> None:
    organizations.create("Elsewhere", owner=root.user)
    Organization.objects.filter(pk=root.organization_id).update(suspended_at=NOON)


def rename(_root: Authorization) -> None:
    Client.objects.update(name="Renamed")


def add_a_redirect(root: Authorization) -> None:
    Client.objects.update(redirect_uris=[*root.client.redirect_uris, "https://app.example/new"])


def give_it_a_secret(_root: Authorization) -> None:
    Client.objects.update(auth_method="client_secret_post")


def register_it_dynamically(_root: Authorization) -> None:
    Client.objects.update(registration_source=Source.DCR)


@pytest.mark.parametrize(
    "change",
    [
        revoke,
        end_by_an_admin,
        narrow,
        ask_again,
        leave_and_join_again,
        suspend,
        rename,
        add_a_redirect,
        give_it_a_secret,
        register_it_dynamically,
    ],
)
def test_once_anything_is_not_as_it_was_the_person_is_asked(
    change: Any, silent: OAuthClient, browser: Browser
) -> None:
    change(Authorization.objects.get())
    assert is_asked_again(silent, browser)


def test_another_password_is_another_consent(silent: OAuthClient, ada: User) -> None:
    ada.set_password("another one of some length")
    ada.save()
    assert is_asked_again(silent, Browser(ada))


def test_a_second_step_turned_on_makes_it_another_consent(silent: OAuthClient, ada: User) -> None:
    visitor = FactorVisitor(email=ada.email)
    visitor.sign_in(password=PASSWORD)
    visitor.browser.post("/signin/confirm", {"password": PASSWORD})
    secret = page(visitor.browser.get("/account/security/app")).one("code").text
    assert not asks(visitor.browser.get(silent.authorize_address()))
    visitor.browser.post("/account/security/app", {"code": code(secret)})
    assert asks(visitor.browser.get(silent.authorize_address()))


def test_a_disabled_client_gets_no_silent_answer(silent: OAuthClient, browser: Browser) -> None:
    Client.objects.update(disabled_at=NOON)
    response = browser.open(silent.authorize_address())
    assert (response.status_code, response.has_header("Location")) == (400, False)


def test_ending_the_connection_ends_what_was_answered_silently(
    silent: OAuthClient, browser: Browser
) -> None:
    code = answer(browser.open(silent.authorize_address()))["code"]
    tokens = tokens_of(silent.exchange(code))
    revoke(Authorization.objects.get())
    assert silent.ping(tokens.access) == 401


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("granted", "now", "hours", "asks_again"),
    [
        (30, 30, 30 * 24 - 1, False),
        (30, 30, 30 * 24, True),
        (30, 1, 23, False),
        (30, 1, 24, True),
        (1, 30, 24, True),
        (30, 0, 0, True),
    ],
)
def test_it_lasts_as_long_as_was_said_and_no_longer_than_the_setting_says_now(
    granted: int, now: int, hours: int, *, asks_again: bool, ada: User, settings: Any
) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        settings.HALO_REMEMBER_CONSENT_DAYS = granted
        client = register_client()
        remember(client, Browser(ada))
        settings.HALO_REMEMBER_CONSENT_DAYS = now
        clock.shift(timedelta(hours=hours))
        assert is_asked_again(client, Browser(ada)) is asks_again


def test_zero_days_offer_nothing(editor: OAuthClient, browser: Browser, settings: Any) -> None:
    settings.HALO_REMEMBER_CONSENT_DAYS = 0
    assert BOX not in browser.open(editor.authorize_address()).content.decode()
    remember(editor, browser)
    assert not RememberedConsent.objects.exists()


@pytest.mark.parametrize(
    ("sent", "code"),
    [({"decision": "approve", "scope": ["docs:read"]}, True), ({"decision": "cancel"}, False)],
    ids=["less", "cancelled"],
)
def test_a_later_decision_on_the_same_request_replaces_the_earlier_one(
    sent: dict[str, Any], code: str, silent: OAuthClient, browser: Browser
) -> None:
    page = browser.open(silent.authorize_address(prompt="consent"))
    assert ("code" in answer(browser.decide(page, **sent))) is code
    assert is_asked_again(silent, browser)


def test_a_decision_on_another_request_leaves_it_alone(
    silent: OAuthClient, browser: Browser
) -> None:
    browser.decide(browser.open(silent.authorize_address(scope="docs:read")), "cancel")
    assert not is_asked_again(silent, browser)


@pytest.mark.parametrize("person", ["ada", "nobody"])
def test_without_a_page_and_without_a_memory_there_is_one_answer_for_everybody(
    person: str, editor: OAuthClient, browser: Browser
) -> None:
    visitor = browser if person == "ada" else Browser()
    sent = answer(visitor.open(editor.authorize_address(prompt="none")))
    assert sent["error"] == "interaction_required"
    assert not AuthorizationRequest.objects.exists()


def test_none_with_another_prompt_is_a_mistake(silent: OAuthClient, browser: Browser) -> None:
    sent = answer(browser.open(silent.authorize_address(prompt="none consent")))
    assert sent["error"] == "invalid_request"


def test_a_request_by_post_is_answered_as_a_get_would_be(
    silent: OAuthClient, browser: Browser
) -> None:
    parameters = silent.authorize_address().partition("?")[2]
    assert not asks(browser.http.post(AUTHORIZE, parameters, content_type=FORM))


def test_a_connection_that_goes_at_that_moment_is_no_error_of_ours(
    silent: OAuthClient, browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise IntegrityError

    monkeypatch.setattr(codes, "issue", fail)
    assert is_asked_again(silent, browser)
    assert "consent_reused" not in events()


@pytest.mark.usefixtures("silent")
def test_the_clean_up_takes_what_holds_no_longer() -> None:
    assert cleanup.prune_spent_credentials() == 0
    RememberedConsent.objects.update(expires_at=NOON - timedelta(days=999))
    assert cleanup.prune_spent_credentials() == 1
    assert Authorization.objects.filter(revoked_at__isnull=True).count() == 1
