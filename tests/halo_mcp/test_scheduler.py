"""The schedule: sent once however many schedulers there are, and visible when it stands still."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.test import Client as Http

from foundation import scheduled_tasks
from foundation.models import ScheduledTask
from foundation.tasks import note_schedule
from halo_mcp import scheduler
from halo_mcp.celery import app
from halo_mcp.schedule import SCHEDULE
from tests.drivers.grants import Grant
from workspace.models import Membership, Role, User

pytestmark = pytest.mark.django_db

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
EVERY_MINUTE = {
    "agents.end_abandoned",
    "approvals.execute_queued",
    "approvals.settle",
    "foundation.replay_journal",
    "foundation.note_schedule",
    "gateway.mail_waiting",
    "people.recount",
    "workspace.send_mails",
    "workspace.pick_up_imports",
    "workspace.pick_up_knowledge",
}


@pytest.fixture
def sent_tasks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The tasks that are sent, which nothing runs."""
    tasks: list[str] = []
    monkeypatch.setattr(app, "send_task", tasks.append)
    return tasks


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as clock:
        scheduler.send_due()
        yield clock


def test_a_task_is_sent_when_it_is_due_and_by_one_scheduler(
    sent_tasks: list[str], clock: time_machine.Traveller
) -> None:
    assert sent_tasks == []
    clock.shift(61)
    assert [scheduler.send_due() for _ in range(3)] == [len(EVERY_MINUTE), 0, 0]
    assert {*sent_tasks} == EVERY_MINUTE
    clock.shift(timedelta(hours=24))
    scheduler.send_due()
    assert {*sent_tasks} == {entry.task for entry in SCHEDULE.values()}


def test_a_scheduler_that_was_overtaken_sends_nothing(
    sent_tasks: list[str], clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.shift(61)
    seen = scheduled_tasks.read_sent([*SCHEDULE])
    assert scheduler.send_due() == len(EVERY_MINUTE)
    monkeypatch.setattr(scheduled_tasks, "read_sent", lambda _names: seen)
    assert scheduler.send_due() == 0
    assert len(sent_tasks) == len(EVERY_MINUTE)


def test_what_was_missed_while_no_worker_ran_is_sent_by_the_next(
    sent_tasks: list[str], clock: time_machine.Traveller
) -> None:
    clock.shift(timedelta(days=3))
    scheduler.send_due()
    assert sent_tasks.count("audit.prune") == 1


def test_a_task_that_could_not_be_sent_is_due_at_the_next_tick(
    sent_tasks: list[str], clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock.shift(61)
    with monkeypatch.context() as patched:

        def refuse(_name: str) -> None:
            raise ConnectionRefusedError

        patched.setattr(app, "send_task", refuse)
        assert scheduler.send_due() == 0
    assert scheduler.send_due() == len(EVERY_MINUTE)
    assert {*sent_tasks} == EVERY_MINUTE


def test_the_admin_shows_when_the_schedule_last_ran(
    clock: time_machine.Traveller, sent_tasks: list[str]
) -> None:
    staff = User.objects.create_superuser("root@example.com", "x" * 20)
    browser = Http()
    browser.force_login(staff)

    def page_text() -> str:
        return " ".join(browser.get("/admin/").content.decode().split())

    assert "The background worker has not run yet." in page_text()
    assert scheduled_tasks.is_schedule_late()
    clock.shift(61)
    assert scheduler.send_due()
    assert "foundation.note_schedule" in sent_tasks
    note_schedule()
    assert not scheduled_tasks.is_schedule_late()
    assert scheduled_tasks.schedule_last_ran() == NOON + timedelta(seconds=61)
    assert "errornote" not in page_text()
    clock.shift(timedelta(minutes=6))
    page = page_text()
    assert scheduled_tasks.is_schedule_late()
    assert 'class="errornote"' in page
    assert "The background worker last ran 6 minutes ago." in page


def test_admins_of_organizations_are_not_shown_the_state_of_the_server(grant: Grant) -> None:
    user = User.objects.create_user("boss@example.com")
    Membership.objects.create(user=user, organization=grant.organization, role=Role.ADMIN)
    browser = Http()
    browser.force_login(user)
    page = browser.get("/admin/")
    assert page.status_code == 200
    assert "background worker" not in page.content.decode()
    assert not ScheduledTask.objects.exists()
