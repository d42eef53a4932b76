"""The replay window: a client refreshes twice at a time, or asks once more for a lost reply."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine

from audit.models import SecurityEvent
from halo_mcp.schedule import SCHEDULE, every
from oauth import tasks
from oauth.grants import cleanup
from oauth.models import AccessToken, Authorization, Client, RefreshToken
from tests.drivers.oauth_client import Browser, OAuthClient, Tokens, assert_refused, read, tokens_of
from workspace.models import Membership, Organization, User

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECONDS = 30
INVALID_GRANT = (400, "invalid_grant")
CREATE_DEAL = "actions:hubspot:create_deal"


@pytest.fixture(autouse=True)
def clock(settings: Any) -> Iterator[time_machine.Traveller]:
    settings.HALO_REFRESH_REPLAY_SECONDS = SECONDS
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


def is_ended() -> bool:
    return Authorization.objects.get().revoke_reason == "refresh_replay"


def repeats() -> int:
    return SecurityEvent.objects.filter(kind="refresh_repeated").count()


@pytest.mark.parametrize(
    "seconds", [pytest.param(0, id="E04"), pytest.param(SECONDS - 1, id="E04-late")]
)
def test_a_lost_reply_is_given_again(
    seconds: int, tokens: Tokens, oauth_client: OAuthClient, clock: time_machine.Traveller
) -> None:
    first = oauth_client.refresh(tokens.refresh)
    clock.shift(seconds)
    again = oauth_client.refresh(tokens.refresh)
    assert read(again) == read(first) | {"expires_in": 3600 - seconds}
    assert (AccessToken.objects.count(), RefreshToken.objects.count()) == (2, 2)
    assert oauth_client.ping(tokens_of(again).access) == 200
    assert oauth_client.refresh(tokens_of(again).refresh).status_code == 200
    assert repeats() == 1


def test_a_reply_is_kept_only_by_one_who_can_open_it(
    tokens: Tokens, oauth_client: OAuthClient
) -> None:
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    kept = bytes(RefreshToken.objects.get(used_at__isnull=False).sealed_reply or b"")
    assert kept
    assert all(secret.encode() not in kept for secret in (pair.access, pair.refresh))
    assert b"halo_" not in kept


@pytest.mark.parametrize("seconds", [SECONDS, 86_400])
def test_the_window_shuts(
    seconds: int, tokens: Tokens, oauth_client: OAuthClient, clock: time_machine.Traveller
) -> None:
    oauth_client.refresh(tokens.refresh)
    clock.shift(seconds)
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT
    assert is_ended()


def test_with_zero_seconds_there_is_no_window(
    settings: Any, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    settings.HALO_REFRESH_REPLAY_SECONDS = 0
    oauth_client.refresh(tokens.refresh)
    assert not RefreshToken.objects.filter(sealed_reply__isnull=False).exists()
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT


def test_shutting_the_window_shuts_it_for_what_is_kept_already(
    settings: Any, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    oauth_client.refresh(tokens.refresh)
    settings.HALO_REFRESH_REPLAY_SECONDS = 0
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT
    assert is_ended()


@pytest.mark.parametrize("generations", [pytest.param(1, id="E05"), pytest.param(4, id="E05-old")])
def test_once_the_successor_was_used_the_reply_has_arrived(
    generations: int, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    for _ in range(generations):
        pair = tokens_of(oauth_client.refresh(pair.refresh))
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT
    assert is_ended()
    assert oauth_client.ping(pair.access) == 401


@pytest.mark.parametrize(
    "changes",
    [
        {"scope": "docs:read"},
        {"scope": "actions:*"},
        {"scope": "bogus"},
        {"resource": "https://evil.example"},
    ],
)
def test_only_the_same_request_is_a_repeated_one(
    changes: dict[str, str], tokens: Tokens, oauth_client: OAuthClient
) -> None:
    oauth_client.refresh(tokens.refresh)
    assert assert_refused(oauth_client.refresh(tokens.refresh, **changes)) == INVALID_GRANT
    assert is_ended()


def test_a_narrowing_request_may_be_repeated(oauth_client: OAuthClient, browser: Browser) -> None:
    pair = oauth_client.connect(browser, scope="actions:*")
    first = oauth_client.refresh(pair.refresh, scope=CREATE_DEAL)
    again = oauth_client.refresh(pair.refresh, scope=CREATE_DEAL)
    assert read(again) == read(first)
    assert tokens_of(again).scope == CREATE_DEAL


def test_what_the_person_took_away_meanwhile_is_not_named(
    tokens: Tokens, oauth_client: OAuthClient
) -> None:
    oauth_client.refresh(tokens.refresh)
    Authorization.objects.update(scope="docs:read")
    assert tokens_of(oauth_client.refresh(tokens.refresh)).scope == "docs:read"


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda: User.objects.update(is_active=False), id="deactivated"),
        pytest.param(lambda: Membership.objects.all().delete(), id="left"),
        pytest.param(lambda: Organization.objects.update(suspended_at=NOON), id="suspended"),
        pytest.param(lambda: Client.objects.update(disabled_at=NOON), id="disabled"),
        pytest.param(lambda: Authorization.objects.update(revoked_at=NOON), id="revoked"),
    ],
)
def test_nothing_is_repeated_once_what_stood_behind_it_is_gone(
    end: Any, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    oauth_client.refresh(tokens.refresh)
    end()
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT
    assert repeats() == 0


def test_another_client_hears_nothing(
    tokens: Tokens, oauth_client: OAuthClient, stranger: OAuthClient
) -> None:
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    assert assert_refused(stranger.refresh(tokens.refresh)) == INVALID_GRANT
    assert oauth_client.ping(pair.access) == 200


def test_what_is_kept_goes_within_minutes_after_the_window_and_nothing_before(
    tokens: Tokens, oauth_client: OAuthClient, clock: time_machine.Traveller
) -> None:
    schedule = {entry.task: entry.when for entry in SCHEDULE.values()}
    assert schedule[tasks.forget_replies.name] == every(timedelta(minutes=5))
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    clock.shift(timedelta(seconds=SECONDS))
    assert tasks.forget_replies() == 0
    clock.shift(1)
    assert [tasks.forget_replies(), tasks.forget_replies()] == [1, 0]
    assert not RefreshToken.objects.filter(sealed_reply__isnull=False).exists()
    assert oauth_client.ping(pair.access) == 200


def test_what_is_kept_goes_once_the_window_is_switched_off(
    tokens: Tokens, oauth_client: OAuthClient, clock: time_machine.Traveller, settings: Any
) -> None:
    oauth_client.refresh(tokens.refresh)
    settings.HALO_REFRESH_REPLAY_SECONDS = 0
    clock.shift(1)
    assert tasks.forget_replies() == 1


def test_a_kept_reply_is_forgotten_by_night_and_its_token_is_not(
    tokens: Tokens, oauth_client: OAuthClient, clock: time_machine.Traveller
) -> None:
    oauth_client.refresh(tokens.refresh)
    clock.shift(timedelta(seconds=SECONDS))
    assert cleanup.prune_spent_credentials() == 0
    clock.shift(1)
    assert cleanup.prune_spent_credentials() == 1
    assert not RefreshToken.objects.filter(sealed_reply__isnull=False).exists()
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT
    assert is_ended()
