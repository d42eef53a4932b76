"""Use of connections, read off the audit trail in one statement."""

from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from audit import usage
from foundation.ids import uuid7
from tests.console import connected_people as cast
from tests.drivers.grants import Grant

pytestmark = pytest.mark.django_db


def get_usage(grant: Grant) -> usage.ConnectionUsage:
    return usage.summarize([grant.authorization.pk])[grant.authorization.pk]


def test_a_week_is_counted_and_what_came_before_is_not(grant: Grant) -> None:
    for ago in (timedelta(days=6, hours=23), timedelta(days=7, hours=1), timedelta(hours=1)):
        cast.record_call(grant, ago=ago)
    assert get_usage(grant).calls == 2


def test_last_used_is_the_latest_row_whatever_order_they_came_in(grant: Grant) -> None:
    for ago in (timedelta(hours=2), timedelta(hours=1), timedelta(days=20)):
        cast.record_call(grant, ago=ago)
    last = get_usage(grant).last_at
    assert last is not None
    assert timedelta(minutes=59) < timezone.now() - last < timedelta(minutes=61)


def test_a_refused_request_is_use_and_no_call(grant: Grant) -> None:
    cast.record_call(grant, method="resources/list")
    assert get_usage(grant).last_at is not None
    assert get_usage(grant).calls == 0


def test_what_has_no_row_has_no_usage(grant: Grant) -> None:
    assert usage.summarize([grant.authorization.pk, uuid7()]) == {}


def test_nothing_asked_costs_nothing() -> None:
    with CaptureQueriesContext(connection) as asked:
        assert usage.summarize([]) == {}
    assert len(asked) == 0


def test_each_authorization_has_its_own_figures_in_one_statement(grant: Grant) -> None:
    other = cast.another(grant)
    for one in (grant, other, other):
        cast.record_call(one)
    with CaptureQueriesContext(connection) as asked:
        found = usage.summarize([grant.authorization.pk, other.authorization.pk])
    assert {key: one.calls for key, one in found.items()} == {
        grant.authorization.pk: 1,
        other.authorization.pk: 2,
    }
    assert len(asked) == 1


def test_counting_stops_where_more_would_only_mean_many(
    grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(usage, "MAX_CALLS", 3)
    for _ in range(5):
        cast.record_call(grant)
    assert get_usage(grant).calls == 3


def test_every_look_up_goes_through_the_index(grant: Grant) -> None:
    cast.record_call(grant)
    with CaptureQueriesContext(connection) as asked:
        get_usage(grant)
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            # An empty table is cheaper to read from end to end; what counts is that it need not be.
            cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute(f"{EXPLAIN[connection.vendor]} {asked[0]['sql']}")
        plan = "\n".join(str(row) for row in cursor.fetchall())
    assert plan.count("audit_by_authorization") == 2, plan


EXPLAIN = {"sqlite": "EXPLAIN QUERY PLAN", "postgresql": "EXPLAIN"}
