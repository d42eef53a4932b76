"""The nightly clean-up: what has served its time goes, and nothing that is still needed."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from audit.models import SecurityEvent
from oauth import mcp_tokens, server_keys, tasks
from oauth.grants import cleanup
from oauth.models import (
    AccessToken,
    Authorization,
    AuthorizationRequest,
    Client,
    Grant,
    McpToken,
    RefreshToken,
    ServerKey,
)
from tests.drivers.oauth_client import (
    Browser,
    OAuthClient,
    Tokens,
    answer,
    assert_refused,
    tokens_of,
)
from workspace.models import Membership, Organization, User

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
MONTH = timedelta(days=30)

pytestmark = pytest.mark.usefixtures("acme")


@pytest.fixture(autouse=True)
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


def sign_in(user: User) -> Browser:
    """A session opened now: an older one would have run out with the clock."""
    return Browser(user)


@pytest.mark.parametrize(
    ("age", "pruned"),
    [
        pytest.param(MONTH + SECOND, 1, id="A22-over"),
        pytest.param(MONTH, 0, id="A22-boundary"),
        pytest.param(MONTH - timedelta(hours=1), 0, id="A22-under"),
    ],
)
def test_a_client_has_thirty_days_to_get_its_first_token(
    age: timedelta, pruned: int, oauth_client: OAuthClient, clock: time_machine.Traveller
) -> None:
    clock.shift(age)
    assert cleanup.prune_unused_clients() == pruned
    assert Client.objects.filter(client_id=oauth_client.client_id).exists() is not bool(pruned)


@pytest.mark.usefixtures("tokens")
@pytest.mark.parametrize("years", [pytest.param(10, id="A22-used")])
def test_a_client_that_ever_got_a_token_stays_while_an_authorization_for_it_is_kept(
    years: int, clock: time_machine.Traveller
) -> None:
    clock.shift(timedelta(days=365 * years))
    cleanup.prune_spent_credentials()
    assert cleanup.prune_unused_clients() == 0


@pytest.mark.parametrize(
    ("days", "left"), [pytest.param(400, True, id="kept"), pytest.param(401, False, id="over")]
)
def test_an_authorization_that_ended_long_ago_goes_with_its_tokens_and_then_its_client(
    days: int,
    *,
    left: bool,
    tokens: Tokens,
    oauth_client: OAuthClient,
    clock: time_machine.Traveller,
) -> None:
    oauth_client.revoke(tokens.refresh)
    clock.shift(timedelta(days=days))
    cleanup.prune_spent_credentials()
    assert (Authorization.objects.exists(), RefreshToken.objects.exists()) == (left, left)
    assert cleanup.prune_unused_clients() == (not left)
    assert Client.objects.exists() == left
    # Its rows of the audit log and its security events have texts, and stay.
    assert SecurityEvent.objects.filter(kind="client_pruned").exists() != left
    assert SecurityEvent.objects.exclude(kind="client_pruned").exists()


def test_a_client_with_one_authorization_in_force_stays(
    tokens: Tokens, oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    oauth_client.revoke(tokens.refresh)
    clock.shift(timedelta(days=401))
    oauth_client.connect(sign_in(ada))
    cleanup.prune_spent_credentials()
    assert cleanup.prune_unused_clients() == 0
    assert Authorization.objects.count() == 1


def test_without_a_period_what_has_ended_is_kept(
    tokens: Tokens, oauth_client: OAuthClient, clock: time_machine.Traveller, settings: Any
) -> None:
    settings.HALO_RETENTION_CREDENTIALS_DAYS = 0
    oauth_client.revoke(tokens.refresh)
    clock.shift(timedelta(days=9_000))
    cleanup.prune_spent_credentials()
    assert cleanup.prune_unused_clients() == 0
    assert (Authorization.objects.count(), RefreshToken.objects.count()) == (1, 1)


KEPT, OVER = timedelta(days=400), timedelta(days=401)


@pytest.mark.parametrize(
    ("ended", "age", "left"),
    [
        ("expires_at", KEPT, 1),
        ("expires_at", OVER, 0),
        ("revoked_at", KEPT, 1),
        ("revoked_at", OVER, 0),
        ("created_at", OVER, 1),  # it has no end
    ],
)
def test_keys_and_mcp_tokens_go_long_after_their_end(
    ended: str, age: timedelta, left: int, ada: User, acme: Organization
) -> None:
    mcp_tokens.issue(ada, acme, "/prj_x", name="Laptop", days=0, address="")
    key = server_keys.build_row(acme, "Backend", server_keys.SDK_SCOPES, 0)
    server_keys.issue(key, user=ada, address="")
    for model in (McpToken, ServerKey):
        model.objects.update(**{ended: NOON - age})
    cleanup.prune_spent_credentials()
    assert (McpToken.objects.count(), ServerKey.objects.count()) == (left, left)


@pytest.mark.parametrize(("used", "left"), [(KEPT, 1), (OVER, 0), (None, 0)])
def test_a_token_of_somebody_who_has_left_goes_long_after_its_last_use(
    used: timedelta | None, left: int, ada: User, acme: Organization
) -> None:
    mcp_tokens.issue(ada, acme, "/prj_x", name="Laptop", days=0, address="")
    Membership.objects.filter(user=ada, organization=acme).delete()
    last_used_at = NOON - used if used else None
    McpToken.objects.update(created_at=NOON - OVER, last_used_at=last_used_at)
    cleanup.prune_spent_credentials()
    assert McpToken.objects.count() == left


@pytest.mark.usefixtures("oauth_client")
def test_a_client_that_an_admin_registered_stays(clock: time_machine.Traveller) -> None:
    Client.objects.update(registration_source=Client.RegistrationSource.MANUAL)
    clock.shift(MONTH * 2)
    assert cleanup.prune_unused_clients() == 0


def test_a_pruned_client_is_on_record_and_looks_unknown(
    oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    row = Client.objects.get()
    clock.shift(MONTH + SECOND)
    cleanup.prune_unused_clients()
    event = SecurityEvent.objects.get()
    assert (event.kind, event.client_id) == ("client_pruned", oauth_client.client_id)
    assert event.subject == str(row.pk)
    page = sign_in(ada).open(oauth_client.authorize_address())
    assert "Unknown client" in page.content.decode()
    assert assert_refused(oauth_client.refresh("x")) == (401, "invalid_client")


@pytest.mark.parametrize("seconds", [pytest.param(299, id="A22-code-in-flight")])
def test_a_code_in_flight_is_not_broken(
    seconds: int, oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    clock.shift(MONTH + SECOND)
    browser = sign_in(ada)
    page = browser.open(oauth_client.authorize_address())
    clock.shift(timedelta(minutes=9))
    code = answer(browser.decide(page))["code"]
    clock.shift(timedelta(seconds=seconds))
    assert cleanup.prune_unused_clients() == 0
    assert oauth_client.exchange(code).status_code == 200


def test_a_client_goes_once_its_code_has_run_out(
    oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    clock.shift(MONTH + SECOND)
    browser = sign_in(ada)
    code = oauth_client.code(browser)
    clock.shift(timedelta(minutes=11))
    assert cleanup.prune_unused_clients() == 1
    assert not Authorization.objects.exists()
    assert assert_refused(oauth_client.exchange(code)) == (401, "invalid_client")


def test_a_person_at_the_consent_page_is_not_interrupted(
    oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    clock.shift(MONTH + SECOND)
    browser = sign_in(ada)
    page = browser.open(oauth_client.authorize_address())
    clock.shift(timedelta(minutes=9))
    assert cleanup.prune_unused_clients() == 0
    assert browser.decide(page).status_code == 302


@pytest.mark.usefixtures("oauth_client")
def test_a_client_disabled_before_its_first_token_goes_too(clock: time_machine.Traveller) -> None:
    Client.objects.update(disabled_at=NOON)
    clock.shift(MONTH + SECOND)
    assert cleanup.prune_unused_clients() == 1


def test_many_clients_go_in_batches_and_once(
    clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cleanup, "BATCH", 3)
    Client.objects.bulk_create(
        Client(
            client_id=f"c{number}",
            redirect_uris=["https://app.example/cb"],
            registration_source=Client.RegistrationSource.DCR,
        )
        for number in range(8)
    )
    Client.objects.update(created=NOON)
    clock.shift(MONTH + SECOND)
    assert [cleanup.prune_unused_clients() for _ in range(2)] == [8, 0]
    assert SecurityEvent.objects.filter(kind="client_pruned").count() == 8


@pytest.mark.usefixtures("tokens")
@pytest.mark.parametrize(
    ("age", "left"),
    [(timedelta(minutes=5) + timedelta(days=1), 1), (timedelta(days=1, minutes=5) + SECOND, 0)],
)
def test_a_spent_code_stays_a_day_to_recognise_its_replay(
    age: timedelta, left: int, clock: time_machine.Traveller
) -> None:
    clock.shift(age)
    cleanup.prune_spent_credentials()
    assert Grant.objects.count() == left


@pytest.mark.parametrize(("hours", "left"), [(1, 1), (2, 0)])
def test_a_request_that_ran_out_goes(
    hours: int, left: int, oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    sign_in(ada).open(oauth_client.authorize_address())
    clock.shift(timedelta(hours=hours))
    cleanup.prune_spent_credentials()
    assert AuthorizationRequest.objects.count() == left


@pytest.mark.usefixtures("tokens")
@pytest.mark.parametrize(("days", "left"), [(7, 1), (8, 0)])
def test_an_access_token_goes_a_week_after_it_ran_out(
    days: int, left: int, clock: time_machine.Traveller
) -> None:
    clock.shift(timedelta(days=days))
    cleanup.prune_spent_credentials()
    assert AccessToken.objects.count() == left


def test_used_refresh_tokens_are_kept_and_a_replay_is_detected_while_the_family_is_valid(
    tokens: Tokens, oauth_client: OAuthClient, clock: time_machine.Traveller
) -> None:
    newest = tokens
    for _ in range(4):
        newest = tokens_of(oauth_client.refresh(newest.refresh))
        clock.shift(timedelta(days=80))
        cleanup.prune_spent_credentials()
    assert RefreshToken.objects.count() == 5
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == (400, "invalid_grant")
    assert Authorization.objects.get().revoke_reason == "refresh_replay"


@pytest.mark.usefixtures("tokens")
def test_a_consent_that_came_to_nothing_goes_and_one_in_use_stays(
    oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    oauth_client.code(sign_in(ada))
    assert Authorization.objects.count() == 2
    clock.shift(timedelta(days=3))
    cleanup.prune_spent_credentials()
    assert Authorization.objects.get() == RefreshToken.objects.get().authorization


@pytest.mark.usefixtures("tokens")
def test_the_second_run_finds_nothing(
    oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    oauth_client.code(sign_in(ada))
    clock.shift(timedelta(days=30))
    assert cleanup.prune_spent_credentials() > 0
    assert cleanup.prune_spent_credentials() == 0


@pytest.mark.usefixtures("acme")
def test_the_nightly_tasks_do_the_same(
    oauth_client: OAuthClient, ada: User, clock: time_machine.Traveller
) -> None:
    sign_in(ada).open(oauth_client.authorize_address())
    clock.shift(MONTH + SECOND)
    assert tasks.prune_spent_credentials() == 1
    assert tasks.prune_unused_clients() == 1
