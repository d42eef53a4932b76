"""The writer of audit rows: begun and finished, interrupted, counted."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import record, tasks
from audit.models import ActionExecution, Outcome, SecurityEvent
from audit.record import Actor, Execution

pytestmark = pytest.mark.django_db

ACTOR = Actor(user_id="u", organization_id="o")
STARTED = Execution(method="tools/call", tool="crm.create_deal")
SUCCEEDED = Execution(method="tools/call", tool="crm.create_deal", outcome=Outcome.SUCCESS)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def the_row() -> ActionExecution:
    return ActionExecution.objects.get()


def test_a_begun_call_stands_there_as_started_until_it_is_finished() -> None:
    execution = record.insert_call(ACTOR, STARTED)
    assert (the_row().outcome, the_row().duration_us) == ("started", None)
    record.finish(execution, replace(SUCCEEDED, duration_us=12, row_count=3))
    assert (the_row().outcome, the_row().duration_us, the_row().row_count) == ("success", 12, 3)


def test_a_finished_call_is_not_finished_again() -> None:
    execution = record.insert_call(ACTOR, STARTED)
    record.finish(execution, SUCCEEDED)
    record.finish(execution, Execution(outcome=Outcome.TOOL_ERROR, reason="late"))
    assert (the_row().outcome, the_row().reason) == ("success", "")


def test_finishing_is_one_statement() -> None:
    execution = record.insert_call(ACTOR, STARTED)
    with CaptureQueriesContext(connection) as statements:
        record.finish(execution, SUCCEEDED)
    assert len(statements) == 1


def test_w05_what_a_crash_left_is_named_once_it_is_old_enough(settings: Any) -> None:
    settings.HALO_AUDIT_INTERRUPTED_SECONDS = 900
    with time_machine.travel(NOON, tick=False) as clock:
        record.insert_call(ACTOR, Execution(tool="old"))
        clock.shift(timedelta(seconds=1))
        record.insert_call(ACTOR, Execution(tool="young"))
        finished = record.insert_call(ACTOR, Execution(tool="done"))
        record.finish(finished, SUCCEEDED)
        clock.shift(timedelta(seconds=900))
        assert [tasks.finish_interrupted(), tasks.finish_interrupted()] == [1, 0]
    outcomes = {row.tool: (row.outcome, row.reason) for row in ActionExecution.objects.all()}
    assert outcomes == {
        "old": ("interrupted", "interrupted"),
        "young": ("started", ""),
        "done": ("success", ""),
    }


def test_a_call_that_ends_after_the_sweeper_has_marked_it_gets_its_outcome() -> None:
    execution = record.insert_call(ACTOR, STARTED)
    assert record.finish_interrupted(older_than=timedelta(0)) == 1
    record.finish(execution, SUCCEEDED)
    assert the_row().outcome == "success"


def test_rows_are_ordered_by_their_key_as_they_were_written() -> None:
    written = [record.insert_call(ACTOR, SUCCEEDED) for _ in range(20)]
    assert list(ActionExecution.objects.order_by("id").values_list("id", flat=True)) == written


@pytest.mark.parametrize("hostile", ["\x00", "\ud800", "a\udfff\x00"], ids=ascii)
def test_text_that_no_database_stores_is_spelled_out_in_every_column(hostile: str) -> None:
    fields = ("client_id", "client_name", "user_email")
    texts = ("address", "method", "tool", "reason", "detail")
    call = Execution(
        arguments={hostile: [hostile, {"x": hostile}]},
        outcome=Outcome.SUCCESS,
        **dict.fromkeys(texts, hostile),
    )
    record.insert_call(Actor(**dict.fromkeys(fields, hostile)), call)
    spelled = "".join(c if c == "a" else f"\\u{ord(c):04x}" for c in hostile)
    row = the_row()
    message = {row.client_id, row.client_name, row.address, row.method, row.tool, row.detail}
    assert message == {spelled}
    assert row.arguments == {spelled: [spelled, {"x": spelled}]}


def test_text_longer_than_its_column_is_cut() -> None:
    record.insert_call(Actor(client_name="c" * 999), replace(SUCCEEDED, detail="d" * 999))
    assert (len(the_row().client_name), len(the_row().detail)) == (255, 500)


def test_equal_events_of_one_minute_and_place_are_one_row_with_a_count() -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        for second in (0, 20, 39):
            clock.move_to(NOON + timedelta(seconds=second))
            record.security_event("bearer_rejected", address="198.51.100.7", detail="expired")
    event = SecurityEvent.objects.get()
    assert (event.kind, event.count, event.minute) == ("bearer_rejected", 3, NOON)
    assert (event.address_prefix, event.detail) == ("198.51.100.0/24", "expired")
    assert (event.first_at, event.last_at) == (NOON, NOON + timedelta(seconds=39))


@pytest.mark.parametrize(
    "other",
    [
        {"kind": "origin_refused"},
        {"address": "203.0.113.1"},
        {"subject": "an-authorization"},
        {"at": NOON + timedelta(minutes=1)},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_kind_place_subject_or_minute_is_another_row(other: dict[str, Any]) -> None:
    usual: dict[str, Any] = {"kind": "bearer_rejected", "address": "198.51.100.7", "at": NOON}
    for given in (usual, usual | other, usual):
        with time_machine.travel(given["at"], tick=False):
            record.security_event(
                given["kind"], address=given["address"], subject=given.get("subject", "")
            )
    assert sorted(SecurityEvent.objects.values_list("count", flat=True)) == [1, 2]


def test_neighbours_share_a_row_and_garbage_has_one_of_its_own() -> None:
    with time_machine.travel(NOON, tick=False):
        for address in ("198.51.100.7", "198.51.100.200", "garbage", ""):
            record.security_event("bearer_rejected", address=address)
    prefixes = SecurityEvent.objects.values_list("address_prefix", "count")
    assert set(prefixes) == {("198.51.100.0/24", 2), ("unknown", 2)}


def test_counting_is_one_statement() -> None:
    with CaptureQueriesContext(connection) as statements:
        record.security_event("bearer_rejected", address="198.51.100.7")
    assert len(statements) == 1


def test_what_a_stranger_says_is_stored_spelled_out() -> None:
    record.security_event("x", address="::1", detail="a\x00\ud800" + "y" * 999, client_id="\x00")
    event = SecurityEvent.objects.get()
    assert event.detail.startswith(r"a\u0000\ud800yyy")
    assert (len(event.detail), event.client_id) == (500, r"\u0000")
