"""Runs a task of the background worker, and those that it sends."""

from collections.abc import Callable
from typing import TypeVar
from unittest.mock import patch

from customers import tasks

Result = TypeVar("Result")


def run_with_sent(task: Callable[[], Result]) -> Result:
    """Runs a task and then what it sends, in the order of a queue; returns its result."""
    sent: list[tuple[str, str]] = []
    with patch("foundation.queueing.send", lambda name, key: sent.append((name, key))):
        result = task()
        while sent:
            name, key = sent.pop(0)
            getattr(tasks, name.removeprefix("workspace."))(key)
    return result
