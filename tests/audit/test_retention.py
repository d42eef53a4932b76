"""H1: audit rows and security events are deleted once they are older than the retention period."""

from datetime import UTC, datetime, timedelta
from io import StringIO
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit import retention, tasks
from audit.models import ActionExecution, Outcome, SecurityEvent
from foundation import ids

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)

EXACT = timedelta(days=400)


def add_rows(*ages: timedelta) -> None:
    """One audit row and one security event of each age, with its days as its name.

    The keys are made here: those of the product never go back in time, whatever the clock says.
    """
    for age in ages:
        key, days = ids.first_key(NOW - age), str(age.days)
        ActionExecution.objects.create(id=key, tool=days, outcome=Outcome.SUCCESS)
        SecurityEvent.objects.create(id=key, minute=NOW - age, kind="x", detail=days)


def kept_rows() -> tuple[list[str], list[str]]:
    return (
        list(ActionExecution.objects.order_by("id").values_list("tool", flat=True)),
        list(SecurityEvent.objects.order_by("id").values_list("detail", flat=True)),
    )


def command(*options: str) -> list[str]:
    out = StringIO()
    call_command("prune_audit", *options, stdout=out)
    return out.getvalue().splitlines()


@pytest.fixture(autouse=True)
def _retention(settings: Any) -> None:
    settings.HALO_AUDIT_RETENTION_DAYS = 400


def test_h1_rows_over_the_retention_period_are_deleted_and_no_others() -> None:
    add_rows(timedelta(days=900), timedelta(days=400, seconds=1), EXACT, timedelta(0))
    with time_machine.travel(NOW, tick=False):
        assert [tasks.prune(), tasks.prune()] == [4, 0]
    assert kept_rows() == (["400", "0"], ["400", "0"])


def test_h1_zero_days_keep_rows_for_ever(settings: Any) -> None:
    settings.HALO_AUDIT_RETENTION_DAYS = 0
    add_rows(timedelta(days=9000))
    with time_machine.travel(NOW, tick=False):
        assert tasks.prune() == 0
    assert kept_rows() == (["9000"], ["9000"])


def test_h1_rows_are_deleted_in_batches_of_a_bounded_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    add_rows(*(timedelta(days=500 + number) for number in range(5)))
    with time_machine.travel(NOW, tick=False), CaptureQueriesContext(connection) as statements:
        assert list(retention.prune_table(ActionExecution)) == [2, 2, 1]
    deleting = [one["sql"] for one in statements if one["sql"].startswith("DELETE")]
    assert len(deleting) == 3
    assert kept_rows()[0] == []


def test_h1_a_stopped_run_is_continued_by_the_next(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(retention, "BATCH", 2)
    add_rows(*(timedelta(days=500 + number) for number in range(5)))
    with time_machine.travel(NOW, tick=False):
        assert next(retention.prune_table(ActionExecution)) == 2
        assert tasks.prune() == 3 + 5


def test_the_command_counts_with_dry_run_and_deletes_without() -> None:
    add_rows(timedelta(days=500), timedelta(days=1))
    with time_machine.travel(NOW, tick=False):
        assert command("--dry-run") == ["audit log: 1 due", "security events: 1 due"]
        assert command() == ["audit log: 1 deleted", "security events: 1 deleted"]
        assert command("--dry-run") == ["audit log: 0 due", "security events: 0 due"]
    assert kept_rows() == (["1"], ["1"])
