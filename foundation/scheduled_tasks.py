"""When the tasks of the schedule were sent last: a row for each, which one scheduler claims.

Several schedulers may run at the same time, each in a worker: a task that is due is sent by the one
whose update of its row succeeds.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import Final

from django.utils import timezone

from foundation.models import ScheduledTask

# The entry of the schedule whose task only says that it was run.
HEARTBEAT: Final = "note-schedule"
# The heartbeat is sent every minute.
LATE_AFTER: Final = timedelta(minutes=5)


def read_sent(names: Collection[str]) -> Mapping[str, datetime]:
    """Returns when each task was sent last. One that never was counts as sent now."""
    sent = dict(ScheduledTask.objects.values_list("name", "sent_at"))
    if missing := [name for name in names if name not in sent]:
        now = timezone.now()
        rows = [ScheduledTask(name=name, sent_at=now) for name in missing]
        ScheduledTask.objects.bulk_create(rows, ignore_conflicts=True)
        sent = dict(ScheduledTask.objects.values_list("name", "sent_at"))
    return {name: sent[name] for name in names if name in sent}


def claim(name: str, *, seen: datetime, now: datetime) -> bool:
    """Marks a task as sent now, unless another scheduler has done so since its row was read."""
    row = ScheduledTask.objects.filter(name=name, sent_at=seen)
    return bool(row.update(sent_at=now))


def give_back(name: str, *, seen: datetime, now: datetime) -> None:
    """Undoes a claim: the task could not be sent, and is due again."""
    ScheduledTask.objects.filter(name=name, sent_at=now).update(sent_at=seen)


def note_run() -> None:
    """Records that a worker has run a task of the schedule."""
    ScheduledTask.objects.filter(name=HEARTBEAT).update(ran_at=timezone.now())


def schedule_last_ran() -> datetime | None:
    """Returns when a worker ran a task of the schedule last; None if none ever did."""
    rows = ScheduledTask.objects.filter(name=HEARTBEAT)
    return rows.values_list("ran_at", flat=True).first()


def is_schedule_late() -> bool:
    """Returns whether no worker has run a task of the schedule for five minutes."""
    last = schedule_last_ran()
    return last is None or last < timezone.now() - LATE_AFTER
