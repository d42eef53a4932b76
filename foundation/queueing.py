"""Sends tasks to the background worker by name, without loading Celery before the first one.

A thread of its own publishes them: whoever answers a person or a client waits for no broker. A task
that cannot be published is a line in the log, since rows say what is left to do and a schedule
repeats it.
"""

import queue
import threading
import time
from importlib import import_module
from typing import Final, TypeAlias

import structlog

from foundation.db import waits
from foundation.outage import Outage

log = structlog.get_logger(__name__)

# By name: this layer may not import the application.
APPLICATION: Final = "halo_mcp.celery"
# Of those that wait to be published; a further one is not.
MAX_WAITING: Final = 1000
# How long a process that ends waits for them.
LAST_SECONDS: Final = 2.0
# How long a command waits: the first task imports Celery, and the broker has limits of its own.
COMMAND_SECONDS: Final = 15.0

NamedTask: TypeAlias = tuple[str, tuple[str, ...]]


class Publisher:
    """Publishes tasks in the order in which they were sent, in one thread, started by the first."""

    def __init__(self) -> None:
        self._tasks: queue.Queue[NamedTask] = queue.Queue(MAX_WAITING)
        self._outage = Outage()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    def add(self, task: str, arguments: tuple[str, ...]) -> None:
        """Has a task published soon; it is lost while too many wait."""
        try:
            self._tasks.put_nowait((task, arguments))
        except queue.Full:
            log.warning("task_not_queued", task=task, error="too many wait")
            return
        with self._lock:
            # After a fork the thread is missing in the new process.
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._run, name="tasks", daemon=True)
                self._thread.start()

    def wait_until_published(self, seconds: float) -> bool:
        """Waits until no task waits, and returns whether that is so."""
        until = time.monotonic() + seconds
        with self._tasks.all_tasks_done:
            while self._tasks.unfinished_tasks and (left := until - time.monotonic()) > 0:
                self._tasks.all_tasks_done.wait(left)
            return not self._tasks.unfinished_tasks

    def _run(self) -> None:
        while True:
            task, arguments = self._tasks.get()
            try:
                self._publish(task, arguments)
            except Exception as error:  # noqa: BLE001  brokers raise errors of their own libraries
                log.warning("task_not_queued", task=task, error=type(error).__name__)
            finally:
                self._tasks.task_done()

    def _publish(self, task: str, arguments: tuple[str, ...]) -> None:
        if self._outage.skips_store():
            raise ConnectionError("The broker failed a moment ago.")
        try:
            # Once. CELERY_BROKER_TRANSPORT_OPTIONS limits how long the broker may take.
            import_module(APPLICATION).app.send_task(task, arguments, retry=False)
        except Exception:
            self._outage.record_failure()
            raise
        self._outage.record_success()


_publisher: Final = Publisher()


def send(task: str, *arguments: str) -> None:
    """Queues a task with its arguments. Web processes and the worker do not wait for the broker."""
    _publisher.add(task, arguments)
    if not waits.current().is_pooled:
        # A command may end at once, and its thread could import nothing while it ends.
        _publisher.wait_until_published(COMMAND_SECONDS)


def wait_until_published(seconds: float) -> bool:
    """Waits until the broker has the tasks of this process; returns whether none is left.

    A process that sends tasks calls it before it ends.
    """
    return _publisher.wait_until_published(seconds)
