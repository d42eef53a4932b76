"""Security events with different details are different rows, within a bound on rows."""

import threading
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import record
from audit.models import SecurityEvent
from audit.record import OTHER_DETAILS

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
ROWS = SecurityEvent.SHARED_SLOT + 1
AT_ONCE = 24


def count(detail: str, **given: Any) -> None:
    record.security_event(
        "authorize_rejected", **{"address": "198.51.100.7", **given}, detail=detail
    )


def count_by_detail() -> dict[str, int]:
    return dict(SecurityEvent.objects.values_list("detail", "count"))


@time_machine.travel(NOON, tick=False)
def test_each_detail_has_a_row_and_a_count() -> None:
    for detail in ("unknown client", "foreign redirect", "unknown client", "", "", ""):
        count(detail)
    assert count_by_detail() == {"unknown client": 2, "foreign redirect": 1, "": 3}


@time_machine.travel(NOON, tick=False)
def test_details_beyond_the_bound_are_counted_in_one_further_row() -> None:
    for number in range(100):
        count(f"made up {number}")
    count("made up 3")
    kept = {f"made up {number}": 1 for number in range(SecurityEvent.SHARED_SLOT)}
    assert count_by_detail() == kept | {
        "made up 3": 2,
        OTHER_DETAILS: 100 - SecurityEvent.SHARED_SLOT,
    }


@time_machine.travel(NOON, tick=False)
def test_a_detail_that_reads_like_the_shared_row_is_counted_like_any_other() -> None:
    count(OTHER_DETAILS)
    for number in range(20):
        count(str(number))
    count(OTHER_DETAILS)
    rows = SecurityEvent.objects.filter(detail=OTHER_DETAILS).values_list("slot", "count")
    assert sorted(rows) == [(0, 2), (SecurityEvent.SHARED_SLOT, 13)]


@time_machine.travel(NOON, tick=False)
def test_the_bound_holds_for_each_place_and_subject_on_its_own() -> None:
    for given in ({}, {"address": "203.0.113.1"}, {"subject": "an-authorization"}):
        for number in range(20):
            count(str(number), **given)
    assert SecurityEvent.objects.count() == 3 * ROWS


@time_machine.travel(NOON, tick=False)
def test_counting_is_one_statement_with_and_without_a_free_slot() -> None:
    for number in range(ROWS + 1):
        with CaptureQueriesContext(connection) as statements:
            count(str(number))
        assert len(statements) == 1


def count_at_once(details: Sequence[str]) -> None:
    """Counts one event for each detail, all at the same time and in the same minute."""
    barrier = threading.Barrier(len(details))

    def one(detail: str) -> None:
        barrier.wait()
        count(detail)
        connection.close()

    threads = [threading.Thread(target=one, args=(detail,)) for detail in details]
    with time_machine.travel(NOON, tick=False):
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("different", [1, 3, ROWS, AT_ONCE])
def test_24_events_at_once_lose_no_count_and_make_no_row_too_many(different: int) -> None:
    details = [f"cause {number % different}" for number in range(AT_ONCE)]
    count_at_once(details)
    rows = list(SecurityEvent.objects.all())
    assert sum(row.count for row in rows) == AT_ONCE
    assert len(rows) == min(different, ROWS)
    assert sorted(row.slot for row in rows) == list(range(len(rows)))
    own = [row for row in rows if row.slot < SecurityEvent.SHARED_SLOT]
    assert {row.detail: row.count for row in own} == {
        row.detail: details.count(row.detail) for row in own
    }
