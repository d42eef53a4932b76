"""The Celery application of the background worker, and its lanes."""

import os
import signal
import threading
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from types import FrameType
from typing import Any, Final

from celery import Celery
from celery.bootsteps import StartStopStep
from celery.exceptions import SecurityWarning, WorkerShutdown
from django.conf import settings

from foundation import leases, queueing
from foundation.db import waits
from halo_mcp import broker

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")


@dataclass(frozen=True, slots=True)
class Lane:
    """A queue with a process of its own, so that no other kind of work can keep it waiting.

    `grace_seconds` is how long running tasks may take to end when the worker is stopped. What has
    not ended by then is given back or repeated by its row. A lane that `executes_requests` has
    HALO_STOP_SECONDS for those that run.
    """

    queue: str
    threads: int
    grace_seconds: float = 4.0
    executes_requests: bool = False

    @property
    def end_seconds(self) -> float:
        """How long the process of the lane may take to end."""
        stop_seconds: int = settings.HALO_STOP_SECONDS
        return max(self.grace_seconds, stop_seconds * self.executes_requests)


# Celery's default queue, to which processes of earlier versions send everything.
SHORT: Final = Lane("celery", threads=4, executes_requests=True)
# More threads than `customers.document_jobs` has for documents: the others are for clean-ups.
LONG: Final = Lane("long", threads=4)
LANES: Final[Mapping[str, Lane]] = {"short": SHORT, "long": LONG}
# Tasks that may take longer than a second; all others are in the short lane.
LONG_TASKS: Final = frozenset(
    {
        *("audit.prune", "console.prune_sessions", "gateway.prune_documents"),
        *("ingestion.prune_repeatable_requests", "oauth.prune_spent_credentials"),
        *("oauth.prune_unused_clients", "oauth.remove_obsolete_scopes"),
        *("people.apply_employment", "people.fill_search_texts"),
        *("people.prune_data_use", "people.recount"),
        *("tools_registry.check_connections", "tools_registry.prune_asking"),
        "tools_registry.prune_repeatable_calls",
        *("workspace.count_teams", "workspace.embed_missing", "workspace.fill_search_texts"),
        *("workspace.finish_erasure", "workspace.renew_name_keys"),
        *("workspace.finish_erasures", "workspace.index_knowledge", "workspace.prune_data"),
        *("workspace.refresh_changed_kpis", "workspace.refresh_kpis"),
        *("workspace.refresh_older_kpis", "workspace.run_import"),
    }
)
# Where Celery's main thread waits for messages: without and with an event loop.
WAITS_IN: Final = frozenset({"drain_events", "poll"})

app = Celery("halo_mcp")
# For every thread: in another one, Celery would send to its default broker.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_routes = {task: {"queue": LONG.queue} for task in LONG_TASKS}
app.autodiscover_tasks()


class StopWhileWaiting(StartStopStep):
    """Ends a worker that waits for messages as soon as SIGTERM arrives.

    Celery's handler sets a flag, which is read only every two seconds, or when a message arrives.
    The worker stops in the same order either way: running tasks are completed first, and those
    that may take long end at their next step.
    """

    def start(self, _worker: object) -> None:
        set_flag = signal.getsignal(signal.SIGTERM)

        def stop(number: int, frame: FrameType | None) -> None:
            leases.begin_stop()
            if callable(set_flag):
                set_flag(number, frame)
            # Only while it waits: a message that is being read would be lost.
            if frame is not None and frame.f_code.co_name in WAITS_IN:
                raise WorkerShutdown(0)

        signal.signal(signal.SIGTERM, stop)


app.steps["worker"].add(StopWhileWaiting)


def run_worker(lane: Lane) -> None:
    """Runs the tasks of a lane in this process until SIGTERM.

    The requests that it executes then have as long as calls of a web process that is stopped.
    """
    broker.make_folders()
    waits.begin(waits.worker_limits())
    threading.Thread(target=_end_after_grace, args=(lane,), daemon=True).start()
    # Celery warns about root; the operator chooses the user, and messages are JSON, which runs no
    # code.
    warnings.simplefilter("ignore", SecurityWarning)
    options: dict[str, Any] = {
        "--pool": "threads",
        "--concurrency": lane.threads,
        "--queues": lane.queue,
        "--loglevel": "WARNING",
    }
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    words = (f"{name}={value}" for name, value in options.items())
    try:
        app.worker_main(["--quiet", "worker", *words, *quiet])
    finally:
        _complete(settings.HALO_STOP_SECONDS)


def _end_after_grace(lane: Lane) -> None:
    """Ends a process whose tasks do not end; their messages and rows come back."""
    leases.wait_for_stop()
    threading.Event().wait(lane.grace_seconds)
    leases.give_back_all()
    _complete(settings.HALO_STOP_SECONDS - lane.grace_seconds)
    os._exit(0)


def _complete(seconds: float) -> None:
    """Waits so long for the requests that are executed, and then for the tasks that were sent."""
    from approvals import execution  # noqa: PLC0415  apps first

    execution.stop(seconds)
    queueing.wait_until_published(queueing.LAST_SECONDS)
