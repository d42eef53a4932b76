"""The Celery application of the background worker."""

import os
import signal
import warnings
from types import FrameType
from typing import Final

from celery import Celery
from celery.bootsteps import StartStopStep
from celery.exceptions import SecurityWarning, WorkerShutdown
from django.conf import settings

from halo_mcp import broker, schedule

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

app = Celery("halo_mcp")
# For every thread: in another one, Celery would send to its default broker.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = schedule.BEAT
app.autodiscover_tasks()

# More than `workspace.document_jobs` has for documents: the others are for what people wait for.
THREADS: Final = 4
# Where Celery's main thread waits for messages: without and with an event loop.
WAITS_IN: Final = frozenset({"drain_events", "poll"})


class StopWhileWaiting(StartStopStep):
    """Ends a worker that waits for messages as soon as SIGTERM arrives.

    Celery's handler sets a flag, which is read only every two seconds, or when a message arrives.
    The worker stops in the same order either way: running tasks are completed first.
    """

    def start(self, _worker: object) -> None:
        set_flag = signal.getsignal(signal.SIGTERM)

        def stop(number: int, frame: FrameType | None) -> None:
            if callable(set_flag):
                set_flag(number, frame)
            # Only while it waits: a message that is being read would be lost.
            if frame is not None and frame.f_code.co_name in WAITS_IN:
                raise WorkerShutdown(0)

        signal.signal(signal.SIGTERM, stop)


app.steps["worker"].add(StopWhileWaiting)


def work() -> None:
    """Runs the worker and its schedule in this process until SIGTERM."""
    broker.make_folders()
    # Celery warns about root; the operator chooses the user, and messages are JSON, which runs no
    # code.
    warnings.simplefilter("ignore", SecurityWarning)
    options = {
        "--pool": "threads",
        "--concurrency": str(THREADS),
        "--loglevel": "WARNING",
        "--schedule": str(settings.HALO_DATA_DIR / "beat-schedule"),
    }
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    words = (f"{name}={value}" for name, value in options.items())
    app.worker_main(["--quiet", "worker", "--beat", *words, *quiet])
