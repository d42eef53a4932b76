"""Sends the tasks of the schedule when they are due, in a thread of the worker.

Celery's own scheduler is a process that may die unnoticed, keeps its times in a file that two of
them cannot share, and sends everything once for each of them. This one reads its times from rows
(`foundation/scheduled_tasks.py`), ends with its worker, and survives what a tick raises.
"""

import threading
from typing import Final

import structlog
from django.db import close_old_connections
from django.utils import timezone

from foundation import leases, scheduled_tasks
from halo_mcp.celery import app
from halo_mcp.schedule import SCHEDULE

log = structlog.get_logger(__name__)

TICK_SECONDS: Final = 2.0


def start() -> None:
    """Runs the schedule in a thread until this process is stopped."""
    threading.Thread(target=_run, name="schedule", daemon=True).start()


def send_due() -> int:
    """Sends the tasks that are due and that no other scheduler has sent; returns how many."""
    sent = 0
    for name, seen in scheduled_tasks.read_sent(SCHEDULE).items():
        entry = SCHEDULE[name]
        now = timezone.now()
        is_due, _next_in = entry.when.is_due(seen)
        if not is_due or not scheduled_tasks.claim(name, seen=seen, now=now):
            continue
        try:
            app.send_task(entry.task)
        except Exception as error:  # noqa: BLE001  brokers raise errors of their own libraries
            scheduled_tasks.give_back(name, seen=seen, now=now)
            log.warning("task_not_queued", task=entry.task, error=type(error).__name__)
            break  # the others would wait for the same broker
        sent += 1
    return sent


def _run() -> None:
    while not leases.is_stopping():
        try:
            close_old_connections()
            send_due()
        except Exception:  # the next tick may succeed
            log.exception("schedule_tick_failed")
        leases.wait_for_stop(TICK_SECONDS)
