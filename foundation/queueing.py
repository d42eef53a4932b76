"""Sends tasks to the background worker by name, without loading Celery before the first one."""

from importlib import import_module
from typing import Final

import structlog

log = structlog.get_logger(__name__)

# By name: this layer may not import the application.
APPLICATION: Final = "halo_mcp.celery"


def send(task: str, *arguments: str) -> None:
    """Queues a task with its arguments.

    A broker that cannot be reached is a line in the log: a schedule repeats what was not queued.
    """
    try:
        import_module(APPLICATION).app.send_task(task, arguments)
    except Exception as error:  # noqa: BLE001  brokers raise errors of their own libraries
        log.warning("task_not_queued", task=task, error=type(error).__name__)
