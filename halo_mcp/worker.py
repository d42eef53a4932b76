"""The background worker: a process for each lane, and the schedule in one of them.

This process only watches the others. It has no other thread, so that they can be forked at any time
and share the memory of what is loaded.
"""

import gc
import multiprocessing
import os
import select
import signal
import sys
import time
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing.connection import wait
from multiprocessing.context import BaseContext
from multiprocessing.process import BaseProcess
from typing import Final

import django
import structlog
from django.db import connections

from halo_mcp import celery, scheduler
from halo_mcp.parent_process import end_with_parent

log = structlog.get_logger(__name__)

STDIN: Final = 0
WATCH_SECONDS: Final = 0.2
RESTART_SECONDS: Final = 5.0
# Beyond what its lane may take, before a process that does not end is killed.
KILL_AFTER_SECONDS: Final = 2.0
ENDINGS: Final = (signal.SIGTERM, signal.SIGINT)
# The lane whose process sends the tasks of the schedule.
SCHEDULING: Final = "short"


@dataclass(slots=True)
class _Stop:
    is_wanted: bool = False

    def want(self, *_signal: object) -> None:
        self.is_wanted = True


def run(*, until_stdin_closes: bool) -> None:
    """Runs the lanes until SIGTERM, and starts the process of a lane again that ends before."""
    stop = _Stop()
    for ending in ENDINGS:
        signal.signal(ending, stop.want)
    # Loaded once, for all lanes.
    celery.app.loader.import_default_modules()
    _close_connections()
    # The collector writes to each object that it looks at, which would copy its page in each fork.
    gc.freeze()
    context = _get_context()
    running = {name: _start(context, name) for name in celery.LANES}
    while not (stop.is_wanted or (until_stdin_closes and _is_stdin_closed())):
        wait([process.sentinel for process in running.values()], WATCH_SECONDS)
        for name, process in running.items():
            if process.is_alive() or stop.is_wanted:
                continue
            log.warning("worker_process_ended", lane=name, code=process.exitcode)
            _wait_to_restart(stop)
            running[name] = _start(context, name)
    _end(running.items())


def _get_context() -> BaseContext:
    # A fork without an exec is not supported by macOS.
    return multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")


def _start(context: BaseContext, name: str) -> BaseProcess:
    process: BaseProcess = context.Process(target=_run_lane, args=(name,), name=name)  # type: ignore[attr-defined]  # of every kind of context
    process.start()
    return process


def _run_lane(name: str) -> None:
    django.setup()  # does nothing in a fork
    for ending in ENDINGS:
        signal.signal(ending, signal.SIG_DFL)
    end_with_parent()
    if name == SCHEDULING:
        scheduler.start()
    celery.run_worker(celery.LANES[name])


def _close_connections() -> None:
    """Closes what the checks have opened: a connection and the threads of a pool do not fork."""
    for connection in connections.all(initialized_only=True):
        connection.close()
        if hasattr(connection, "close_pool"):
            connection.close_pool()


def _is_stdin_closed() -> bool:
    readable, _, _ = select.select([STDIN], [], [], 0)
    # Not through sys.stdin, whose buffer select does not know.
    return bool(readable) and not os.read(STDIN, 1024)


def _wait_to_restart(stop: _Stop) -> None:
    until = time.monotonic() + RESTART_SECONDS
    while not stop.is_wanted and time.monotonic() < until:
        time.sleep(WATCH_SECONDS)


def _end(running: Iterable[tuple[str, BaseProcess]]) -> None:
    processes = [*running]
    for _name, process in processes:
        process.terminate()
    started = time.monotonic()
    for name, process in processes:
        until = started + celery.LANES[name].end_seconds + KILL_AFTER_SECONDS
        process.join(max(0.0, until - time.monotonic()))
        if process.is_alive():
            process.kill()
            process.join()
