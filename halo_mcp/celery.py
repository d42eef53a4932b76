"""The background worker's application."""

import os
import warnings

from celery import Celery
from celery.exceptions import SecurityWarning
from django.conf import settings

from halo_mcp import broker, schedule

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

app = Celery("halo_mcp")
# For every thread: another one would send to the broker that Celery chooses for itself.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.beat_schedule = schedule.BEAT
app.autodiscover_tasks()


def work() -> None:
    """Run the worker and its schedule in this process until SIGTERM."""
    broker.make_folders()
    # Who may run this is the operator's decision; messages are JSON, which runs no code.
    warnings.simplefilter("ignore", SecurityWarning)
    options = {
        "--pool": "threads",
        "--concurrency": "2",
        "--loglevel": "WARNING",
        "--schedule": str(settings.HALO_DATA_DIR / "beat-schedule"),
    }
    quiet = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    words = (f"{name}={value}" for name, value in options.items())
    app.worker_main(["--quiet", "worker", "--beat", *words, *quiet])
