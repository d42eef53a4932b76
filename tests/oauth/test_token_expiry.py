"""L1 and E12: refresh tokens expire when they are not used, and a family a year after consent."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from audit.models import SecurityEvent
from oauth.grants import cleanup
from oauth.models import AccessToken, Authorization, RefreshToken
from tests.drivers.oauth_client import Browser, OAuthClient, Tokens, assert_refused, read, tokens_of

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MINUTE = timedelta(minutes=1)
INVALID_GRANT = (400, "invalid_grant")


@pytest.fixture
def clock() -> Any:
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


@pytest.fixture
def pair(clock: Any, tokens: Tokens) -> Tokens:  # noqa: ARG001  the clock stands first
    """Tokens that were issued at NOON."""
    return tokens


def test_l1_e12_a_refresh_token_not_used_for_90_days_has_expired(
    pair: Tokens, oauth_client: OAuthClient, clock: Any
) -> None:
    clock.shift(timedelta(days=90))
    over = oauth_client.refresh(pair.refresh)
    assert assert_refused(over) == INVALID_GRANT
    assert "not used for 90 days" in read(over)["error_description"]
    assert Authorization.objects.get().revoke_reason == "expired"
    assert SecurityEvent.objects.filter(kind="refresh_expired").count() == 1
    # The family is over: going back in time does not bring it back.
    clock.move_to(NOON)
    assert assert_refused(oauth_client.refresh(pair.refresh)) == INVALID_GRANT
    assert oauth_client.ping(pair.access) == 401


def test_l1_each_refresh_starts_the_90_days_again(
    pair: Tokens, oauth_client: OAuthClient, clock: Any
) -> None:
    for _ in range(4):
        clock.shift(timedelta(days=90) - MINUTE)
        pair = tokens_of(oauth_client.refresh(pair.refresh))
    assert oauth_client.ping(pair.access) == 200


def test_l1_e12_a_family_expires_a_year_after_the_consent(
    pair: Tokens, oauth_client: OAuthClient, clock: Any
) -> None:
    for _ in range(6):
        clock.shift(timedelta(days=60))
        pair = tokens_of(oauth_client.refresh(pair.refresh))
    clock.move_to(NOON + timedelta(days=365))
    over = oauth_client.refresh(pair.refresh)
    assert assert_refused(over) == INVALID_GRANT
    assert "expired 365 days after it was granted" in read(over)["error_description"]
    assert Authorization.objects.get().revoke_reason == "expired"


def test_l1_no_access_token_outlives_the_year(
    pair: Tokens, oauth_client: OAuthClient, clock: Any
) -> None:
    RefreshToken.objects.update(created=NOON + timedelta(days=364))
    clock.move_to(NOON + timedelta(days=365) - MINUTE)
    reply = oauth_client.refresh(pair.refresh)
    assert read(reply)["expires_in"] == 60
    clock.shift(MINUTE)
    assert oauth_client.ping(tokens_of(reply).access) == 401


def test_l1_the_lifetimes_are_settings(
    pair: Tokens, oauth_client: OAuthClient, clock: Any, settings: Any
) -> None:
    settings.HALO_REFRESH_IDLE_DAYS, settings.HALO_REFRESH_MAX_DAYS = 400, 30
    clock.shift(timedelta(days=29))
    pair = tokens_of(oauth_client.refresh(pair.refresh))
    clock.shift(timedelta(days=1))
    assert "30 days after" in read(oauth_client.refresh(pair.refresh))["error_description"]


def test_l1_a_used_token_that_comes_back_is_a_replay_however_old(
    pair: Tokens, oauth_client: OAuthClient, clock: Any
) -> None:
    oauth_client.refresh(pair.refresh)
    clock.shift(timedelta(days=100))
    assert assert_refused(oauth_client.refresh(pair.refresh)) == INVALID_GRANT
    assert Authorization.objects.get().revoke_reason == "refresh_replay"


@pytest.mark.usefixtures("pair")
def test_l1_another_client_cannot_end_a_family_by_presenting_its_expired_token(
    pair: Tokens, stranger: OAuthClient, clock: Any
) -> None:
    clock.shift(timedelta(days=90))
    assert assert_refused(stranger.refresh(pair.refresh)) == INVALID_GRANT
    assert Authorization.objects.get().revoked_at is None


def test_l1_the_nightly_clean_up_ends_what_expired_and_later_deletes_used_tokens(
    pair: Tokens, oauth_client: OAuthClient, browser: Browser, clock: Any
) -> None:
    oauth_client.refresh(pair.refresh)
    clock.shift(timedelta(days=60))
    in_use = oauth_client.connect(Browser(browser.user))
    clock.shift(timedelta(days=30))
    cleanup.prune_spent_credentials()
    reasons = Authorization.objects.order_by("pk").values_list("revoke_reason", flat=True)
    assert [*reasons] == ["expired", ""]
    assert RefreshToken.objects.count() == 3
    clock.shift(timedelta(days=31))
    cleanup.prune_spent_credentials()
    assert Authorization.objects.count() == 2
    assert RefreshToken.objects.filter(used_at__isnull=False).count() == 0
    assert assert_refused(oauth_client.refresh(pair.refresh)) == INVALID_GRANT
    assert tokens_of(oauth_client.refresh(in_use.refresh)).scope == in_use.scope
    assert cleanup.prune_spent_credentials() == 0


def test_l1_the_connections_page_shows_when_a_connection_expires(
    pair: Tokens, oauth_client: OAuthClient, browser: Browser, clock: Any
) -> None:
    shown = browser.open("/connections").content.decode()
    assert "Expires if not used" in shown
    assert 'datetime="2026-05-30T' in shown
    for _ in range(4):
        clock.shift(timedelta(days=80))
        pair = tokens_of(oauth_client.refresh(pair.refresh))
    browser = Browser(browser.user)
    shown = browser.open("/connections").content.decode()
    assert "Expires if not used" not in shown
    assert 'datetime="2027-03-01T' in shown
    clock.shift(timedelta(days=50))
    browser = Browser(browser.user)
    shown = browser.open("/connections").content.decode()
    assert 'datetime="2027-03-01T' not in shown
    cleanup.prune_spent_credentials()
    assert "It expired." in browser.open("/connections").content.decode()
    assert AccessToken.objects.filter(expires__gt=datetime.now(UTC)).count() == 0
