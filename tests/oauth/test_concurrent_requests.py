"""Two of the same person, or two servers' chores, at the same moment."""

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial
from secrets import randbits
from threading import Barrier
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from foundation.limits import Limit
from oauth.grants import cleanup
from oauth.models import AccessToken, Authorization, Client, Grant, RefreshToken
from tests.drivers.oauth_client import Browser, OAuthClient, answer, read, tokens_of


@pytest.mark.parametrize("tabs", [pytest.param(2, id="V11")])
def test_two_tabs_approved_are_two_token_families_both_valid_and_both_listed(
    tabs: int, oauth_client: OAuthClient, browser: Browser
) -> None:
    address = oauth_client.authorize_address()
    pages = [browser.open(address) for _ in range(tabs)]
    codes = [answer(browser.decide(page))["code"] for page in pages]
    pairs = [tokens_of(oauth_client.exchange(code)) for code in codes]
    assert [oauth_client.ping(pair.access) for pair in pairs] == [200, 200]
    listed = browser.open("/connections").content.decode()
    families = Authorization.objects.all()
    assert len(families) == tabs
    assert all(str(family.pk) in listed for family in families)


@pytest.fixture
def high_limits(settings: Any) -> None:
    for name in ("TOKEN", "IP", "AUTHORIZE", "OTHER"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1_000_000, 60))


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("high_limits", "acme")
@pytest.mark.parametrize("rounds", [pytest.param(6, id="V10-prune-and-first-token")])
def test_a_prune_next_to_a_first_token_leaves_a_client_or_a_clean_refusal(
    rounds: int, ada: Any, pool: ThreadPoolExecutor
) -> None:
    for _ in range(rounds):
        client = OAuthClient()
        client.register()
        code = client.code(Browser(ada))
        # The code lives on for the exchange, which reads it first; for the clean-up it is over.
        Client.objects.update(created=timezone.now() - timedelta(days=31))
        AccessToken.objects.all().delete()
        Grant.objects.update(expires=timezone.now() + timedelta(milliseconds=30))
        message = run_at_once(pool, partial(client.exchange, code), cleanup.prune_unused_clients)
        survives = Client.objects.filter(client_id=client.client_id).exists()
        if message.status_code == 200:
            assert survives
            assert client.ping(tokens_of(message).access) == 200
        else:
            assert read(message)["error"] in {"invalid_grant", "invalid_client"}
            assert not AccessToken.objects.exists()
        RefreshToken.objects.all().delete()
        Client.objects.all().delete()


STORES = [
    "memory",
    pytest.param(
        os.environ.get("REDIS_URL"),
        marks=pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="REDIS_URL names none"),
        id="redis",
    ),
    pytest.param(
        "postgresql",
        marks=pytest.mark.skipif(connection.vendor != "postgresql", reason="needs PostgreSQL"),
    ),
]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("store", STORES)
def test_spec6_of_24_registrations_at_once_with_room_for_one_exactly_one_is_made(
    store: str, settings: Any
) -> None:
    settings.HALO_LIMIT_STORE = store
    # An address of its own: the counters of Redis outlive the test.
    place = f"2001:db8:{randbits(16):x}:{randbits(16):x}::1"
    statuses = [register_from(place) for _ in range(9)]
    start = Barrier(24)

    def run(_number: int) -> int:
        try:
            start.wait(30)
            return register_from(place)
        finally:
            connection.close()

    with ThreadPoolExecutor(24) as many:
        statuses += many.map(run, range(24))
    assert sorted(statuses) == [201] * 10 + [429] * 23
    assert Client.objects.count() == 10


def register_from(address: str) -> int:
    client = OAuthClient()
    client.http.defaults["REMOTE_ADDR"] = address
    status: int = client.register().status_code
    return status


def run_at_once(pool: ThreadPoolExecutor, exchange: Any, prune: Any) -> Any:
    start = Barrier(2)

    def run(act: Any) -> Any:
        try:
            start.wait(30)
            return act()
        finally:
            connection.close()

    def prune_repeatedly() -> None:
        for _ in range(20):
            prune()

    message = pool.submit(run, exchange)
    pool.submit(run, prune_repeatedly).result(60)
    return message.result(60)
