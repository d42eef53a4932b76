"""manage.py prune_oauth: what it says, what it deletes, and how two of them get along."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection, connections
from django.utils import timezone

from audit import record
from audit.models import SecurityEvent
from oauth.grants import cleanup
from oauth.models import AccessToken, Authorization, Client, Grant, RefreshToken
from tests.drivers import grants

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
NOTHING = {
    "unused clients": 0,
    "clients whose authorizations ended long ago": 0,
    "authorization requests": 0,
    "remembered consents": 0,
    "authorization codes": 0,
    "used client assertions": 0,
    "access tokens": 0,
    "consents without tokens": 0,
    "expired authorizations": 0,
    "used refresh tokens of ended authorizations": 0,
    "authorizations that ended long ago": 0,
    "MCP tokens that ended long ago": 0,
    "keys that ended long ago": 0,
    "replies kept for the replay window": 0,
    "codes kept for a second submit": 0,
}


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as clock:
        yield clock


def old_clients(count: int) -> None:
    Client.objects.bulk_create(
        Client(client_id=f"old-{number}", registration_source=Client.RegistrationSource.DCR)
        for number in range(count)
    )
    long_ago = timezone.now() - timedelta(days=31)
    Client.objects.filter(client_id__startswith="old-").update(created=long_ago)


def old_tokens(count: int) -> grants.Grant:
    """A family in use, with this many access tokens that ran out long ago and one that has not."""
    family = grants.make_grant("docs:read")
    for _ in range(count):
        family.token()
    AccessToken.objects.update(expires=timezone.now() - timedelta(days=8))
    family.token()
    return family


def prune(*options: str) -> dict[str, int]:
    """What the command says, by kind of row."""
    out = StringIO()
    call_command("prune_oauth", *options, stdout=out)
    said = (line.rsplit(":", 1) for line in out.getvalue().splitlines())
    return {name: int(count.split()[0]) for name, count in said}


@pytest.mark.django_db
def test_a_dry_run_counts_and_deletes_nothing() -> None:
    old_clients(3)
    old_tokens(2)
    due = NOTHING | {"unused clients": 3, "access tokens": 2}
    assert [prune("--dry-run"), prune("--dry-run")] == [due, due]
    assert (Client.objects.count(), AccessToken.objects.count()) == (4, 3)
    assert not SecurityEvent.objects.exists()


@pytest.mark.django_db
def test_a_run_deletes_what_it_had_counted_and_a_second_finds_nothing() -> None:
    old_clients(3)
    family = old_tokens(2)
    due = prune("--dry-run")
    assert [prune(), prune()] == [due, NOTHING]
    assert Client.objects.get() == family.client
    assert (AccessToken.objects.count(), RefreshToken.objects.count()) == (1, 3)


@pytest.mark.django_db
def test_a_consent_goes_in_the_same_run_as_its_code(clock: time_machine.Traveller) -> None:
    family = grants.make_grant("docs:read")
    Grant.objects.create(
        code="c" * 64,
        authorization=family.authorization,
        redirect_uri="https://app.example/callback",
        code_challenge="c" * 43,
        expires=timezone.now(),
    )
    clock.shift(timedelta(days=3))
    assert prune() == NOTHING | {"authorization codes": 1, "consents without tokens": 1}
    assert not Authorization.objects.exists()


@pytest.mark.django_db
def test_a_run_that_was_cut_short_is_taken_up_by_the_next(monkeypatch: Any) -> None:
    monkeypatch.setattr(cleanup, "BATCH", 2)
    old_clients(7)
    half = cleanup.prune(cleanup.UNUSED_CLIENTS[0])
    assert [next(half), next(half)] == [2, 2]
    assert Client.objects.count() == 3
    assert prune()["unused clients"] == 3
    assert SecurityEvent.objects.filter(kind="client_pruned").count() == 7


@pytest.mark.django_db(transaction=True)
def test_a_client_never_goes_without_its_record(monkeypatch: pytest.MonkeyPatch) -> None:
    def down(*_given: Any, **_facts: Any) -> None:
        raise ConnectionError("the record cannot be written")

    old_clients(2)
    with monkeypatch.context() as patched:
        patched.setattr(record, "security_event", down)
        with pytest.raises(ConnectionError):
            prune()
    assert Client.objects.count() == 2
    assert prune()["unused clients"] == 2


@pytest.mark.django_db(transaction=True)
def test_runs_at_once_share_the_work_and_none_of_them_fails(monkeypatch: Any) -> None:
    monkeypatch.setattr(cleanup, "BATCH", 3)
    old_clients(20)
    old_tokens(10)

    def run(_number: int) -> dict[str, int]:
        try:
            return prune()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        runs = list(pool.map(run, range(4)))
    assert sum(each["unused clients"] for each in runs) == 20
    assert sum(each["access tokens"] for each in runs) == 10
    assert SecurityEvent.objects.filter(kind="client_pruned").count() == 20


@pytest.mark.django_db(transaction=True)
def test_on_postgresql_a_batch_waits_for_its_turn() -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has one writer at a time anyway")
    old_clients(1)

    def run() -> int:
        try:
            with connection.cursor() as cursor:
                cursor.execute("SET lock_timeout = '200ms'")
            return cleanup.prune_unused_clients()
        finally:
            connections.close_all()

    with connection.cursor() as cursor, ThreadPoolExecutor(1) as pool:
        cursor.execute("SELECT pg_advisory_lock(%s)", [cleanup.TURN])
        # What PostgreSQL says when a lock is not to be had in time.
        with pytest.raises(Exception, match="lock timeout"):
            pool.submit(run).result(60)
        cursor.execute("SELECT pg_advisory_unlock(%s)", [cleanup.TURN])
        assert pool.submit(run).result(60) == 1
