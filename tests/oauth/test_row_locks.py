"""What a request finds that had to wait for another one to commit.

PostgreSQL only: SQLite has one writer at a time, who begins before it reads. After such a wait
PostgreSQL looks again at the conditions on the row it waited for, and at no others, so a claim
that a joined table helped to decide would be won twice.
"""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from oauth import mcp_tokens
from oauth.addresses import MCP_PATH
from oauth.models import AccessToken, Grant, RefreshToken
from tests.drivers.grants import make_grant
from tests.drivers.oauth_client import Browser, OAuthClient, assert_refused, tokens_of
from workspace import organizations

# Not pg_stat_activity, of which a transaction sees one state until it ends.
WAITING = "SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid"

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "postgresql", reason="SQLite has one writer at a time anyway"
    ),
]


def wait_until_somebody_waits() -> None:
    with connection.cursor() as cursor:
        for _ in range(1000):
            cursor.execute(WAITING)
            if cursor.fetchone():
                return
            time.sleep(0.01)
    pytest.fail("nobody came to wait for the row")


def run_in_a_thread(ask: Callable[[], Any], done: Event) -> Any:
    try:
        return ask()
    finally:
        done.set()
        connection.close()


def while_another_spends(spend: Callable[[], object], ask: Callable[[], Any]) -> Any:
    """The answer to a request that came while another had spent its token, uncommitted."""
    done = Event()
    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            spend()
            waiting = threads.submit(run_in_a_thread, ask, done)
            wait_until_somebody_waits()
            assert not done.is_set()
        return waiting.result(60)


def test_a_refresh_token_that_another_has_just_spent_is_spent(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    tokens = oauth_client.connect(browser)

    def spend() -> object:
        return RefreshToken.objects.update(used_at=timezone.now())

    answer = while_another_spends(spend, lambda: oauth_client.refresh(tokens.refresh))
    assert assert_refused(answer) == (400, "invalid_grant")
    assert AccessToken.objects.count() == 1


def test_a_refresh_that_waited_for_another_gets_the_pair_of_that_one(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    tokens = oauth_client.connect(browser)
    first: list[Any] = []

    def spend() -> None:
        first.append(oauth_client.refresh(tokens.refresh))

    answer = while_another_spends(spend, lambda: oauth_client.refresh(tokens.refresh))
    assert tokens_of(answer) == tokens_of(first[0])


def test_a_code_that_another_has_just_exchanged_is_spent(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    code = oauth_client.code(browser)

    def spend() -> object:
        return Grant.objects.update(consumed_at=timezone.now())

    answer = while_another_spends(spend, lambda: oauth_client.exchange(code))
    assert assert_refused(answer) == (400, "invalid_grant")
    assert not AccessToken.objects.exists()


def test_creating_a_token_does_not_wait_for_changes_of_other_members() -> None:
    """They lock the organization, then memberships: the other order would be a deadlock."""
    grant, done = make_grant(), Event()

    def issue() -> Any:
        user, place = grant.user, grant.organization
        more = {"name": "t", "address": "", "scope": "docs:read"}
        return mcp_tokens.issue(user, place, MCP_PATH, days=1, **more)

    with ThreadPoolExecutor(1) as threads, transaction.atomic():
        organizations.lock_memberships(grant.organization.pk)
        creating = threads.submit(run_in_a_thread, issue, done)
        assert done.wait(20)
    assert creating.result(60).row.user == grant.user
