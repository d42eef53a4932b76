"""The background worker's application."""

import os
import warnings
from pathlib import Path

from celery import Celery
from celery.exceptions import SecurityWarning
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")

app = Celery("halo_mcp")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()

BROKER_FOLDERS = ("data_folder_in", "data_folder_out", "control_folder")


def work() -> None:
    """Run the worker and its schedule in this process until SIGTERM."""
    make_broker_folders()
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


def make_broker_folders() -> None:
    """Without Redis, messages are files here; the transport makes only some of its folders."""
    for name in BROKER_FOLDERS:
        folder = settings.CELERY_BROKER_TRANSPORT_OPTIONS.get(name)
        if folder:
            Path(folder).mkdir(parents=True, exist_ok=True)
