"""Two refreshes of one client with one token, as the product is configured by default.

Several windows of an editor share a token, and a client refreshes for two requests at a time: mcpc
for its GET and its POST, Gemini CLI for two lists.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from threading import Barrier
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.db.models import Sum

from audit.models import SecurityEvent
from foundation.limits import Limit
from oauth.models import Authorization, RefreshToken
from tests.drivers.oauth_client import (
    ORIGIN,
    Browser,
    OAuthClient,
    Tokens,
    assert_refused,
    read,
    tokens_of,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
WINDOW = 20
THREADS = 6


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


def refresh_at(address: str, client: OAuthClient, token: str, **fields: str) -> Any:
    grant = {"grant_type": "refresh_token", "refresh_token": token}
    return client.send(address, grant | fields)


# The second is that of the document about projects.
@pytest.mark.parametrize("address", ["/api/mcp/oauth/token", "/oauth/token"])
def test_a_client_that_refreshes_twice_at_a_time_stays_signed_in(
    address: str, oauth_client: OAuthClient, browser: Browser, clock: time_machine.Traveller
) -> None:
    pair = oauth_client.connect(browser)
    for _ in range(3):  # each time that the access token expires
        first = refresh_at(address, oauth_client, pair.refresh)
        clock.shift(WINDOW - 1)
        second = refresh_at(address, oauth_client, pair.refresh, resource=f"{ORIGIN}/api/mcp")
        assert read(second) == read(first) | {"expires_in": 3600 - (WINDOW - 1)}
        pair = tokens_of(second)
        assert oauth_client.ping(pair.access) == 200
        clock.shift(3600)
    assert oauth_client.ping(pair.access) == 401


def test_each_client_authenticates_for_the_repeated_pair(
    confidential: OAuthClient, stranger: OAuthClient, browser: Browser
) -> None:
    pair = confidential.connect(browser)
    first = confidential.refresh(pair.refresh)
    assert assert_refused(stranger.refresh(pair.refresh)) == (400, "invalid_grant")
    nobody = OAuthClient(client_id=confidential.client_id)
    assert assert_refused(nobody.refresh(pair.refresh)) == (401, "invalid_client")
    assert read(confidential.refresh(pair.refresh))["refresh_token"] == read(first)["refresh_token"]


def test_of_two_refreshes_one_may_name_the_scope_that_it_has(
    tokens: Tokens, oauth_client: OAuthClient
) -> None:
    backwards = " ".join(reversed(tokens.scope.split()))
    assert backwards != tokens.scope
    first = oauth_client.refresh(tokens.refresh)
    assert tokens_of(oauth_client.refresh(tokens.refresh, scope=backwards)) == tokens_of(first)


def test_a_replay_after_twenty_seconds_ends_the_family(
    tokens: Tokens, oauth_client: OAuthClient, clock: time_machine.Traveller
) -> None:
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    clock.shift(WINDOW)
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == (400, "invalid_grant")
    assert oauth_client.ping(pair.access) == 401
    assert Authorization.objects.get().revoke_reason == "refresh_replay"


@pytest.mark.usefixtures("clock")
def test_using_the_new_access_token_does_not_end_the_window_and_the_new_refresh_token_does(
    tokens: Tokens, oauth_client: OAuthClient
) -> None:
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    assert oauth_client.ping(pair.access) == 200
    assert tokens_of(oauth_client.refresh(tokens.refresh)) == pair
    oauth_client.refresh(pair.refresh)
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == (400, "invalid_grant")
    assert oauth_client.ping(pair.access) == 401


@pytest.mark.django_db(transaction=True)
def test_of_many_refreshes_at_once_one_makes_a_pair_and_all_get_it(
    tokens: Tokens, oauth_client: OAuthClient, settings: Any
) -> None:
    settings.HALO_RATE_TOKEN = Limit(1_000_000, 60)
    pair = tokens
    for _ in range(3):
        answers = refresh_at_once(oauth_client, pair.refresh)
        assert {answer.status_code for answer in answers} == {200}
        (pair,) = {tokens_of(answer) for answer in answers}
        assert oauth_client.ping(pair.access) == 200
    assert RefreshToken.objects.count() == 4
    repeated = SecurityEvent.objects.filter(kind="refresh_repeated")
    assert repeated.aggregate(total=Sum("count"))["total"] == 3 * (THREADS - 1)
    assert not SecurityEvent.objects.filter(kind="refresh_replay").exists()


def refresh_at_once(client: OAuthClient, token: str) -> list[Any]:
    start = Barrier(THREADS)

    def refresh(_number: int) -> Any:
        try:
            start.wait(30)
            own = OAuthClient(client_id=client.client_id)  # Django's client is no thread's but one
            return own.refresh(token)
        finally:
            connection.close()

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(refresh, range(THREADS)))
