"""Threads for what people start and what then waits for other servers.

A page answers at once and shows later what came of it. A job that finds no thread free is refused
and never queued here. The limits are those of this process, like its threads: of a web process for
what its pages start, of the worker for the requests that it executes.
"""

import threading
import time
from collections.abc import Callable, Hashable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Final

import structlog
from django.db import connections
from django.utils.translation import gettext as _

from foundation.concurrency.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitReached

log = structlog.get_logger(__name__)

THREADS: Final = 12
# Of an organization, and one once half of the threads are in use: a few organizations together
# leave some to the others.
OF_ORGANIZATION: Final = 3
NAME: Final = "page_job"

_all = ConcurrencyLimit(total=THREADS)
_organizations = ConcurrencyLimit(
    per_key=lambda running: OF_ORGANIZATION if running * 2 < THREADS else 1
)
_people = ConcurrencyLimit(per_key=1)


class NoJobThread(Exception):
    """The person, their organization or all have as many jobs as they may; the text is for them."""


class JobThread:
    """A thread that a job may have. It is given back unless a job is started."""

    def __init__(self, held: ExitStack) -> None:
        self._held = held

    def start(self, job: Callable[[], object]) -> None:
        """Runs the job in a thread. Raises NoJobThread if the machine has none."""
        held = self._held.pop_all()
        try:
            threading.Thread(target=_run, args=(job, held), name=NAME, daemon=True).start()
        except RuntimeError:
            held.close()
            raise NoJobThread(_("The server is busy. Try again in a moment.")) from None


@contextmanager
def reserve(person: Hashable, organization: Hashable) -> Iterator[JobThread]:
    """Reserves a thread for one job of a person. Raises NoJobThread without waiting."""
    with ExitStack() as held:
        _hold(held, _people, person, _("Something that you started is still running."))
        yield _reserve_thread(held, organization)


@contextmanager
def reserve_for_organization(organization: Hashable) -> Iterator[JobThread]:
    """Reserves a thread for one job of an organization. Raises NoJobThread without waiting."""
    with ExitStack() as held:
        yield _reserve_thread(held, organization)


def wait_until_idle(seconds: float) -> bool:
    """Waits for the jobs that run now, and returns whether all of them have ended."""
    until = time.monotonic() + seconds
    running = [thread for thread in threading.enumerate() if thread.name == NAME]
    for thread in running:
        thread.join(max(0.0, until - time.monotonic()))
    return not any(thread.is_alive() for thread in running)


def _reserve_thread(held: ExitStack, organization: Hashable) -> JobThread:
    of_organization = _("Others in your organization have started too much at the same time.")
    _hold(held, _organizations, organization, of_organization)
    _hold(held, _all, None, _("The server is busy."))
    return JobThread(held)


def _hold(held: ExitStack, limit: ConcurrencyLimit, key: Hashable, reached: str) -> None:
    try:
        held.enter_context(limit.hold(key))
    except ConcurrencyLimitReached:
        raise NoJobThread(f"{reached} {_('Try again in a moment.')}") from None


def _run(job: Callable[[], object], held: ExitStack) -> None:
    try:
        with held:
            job()
    except (Exception, SystemExit):
        log.exception("page_job_failed")
    finally:
        connections.close_all()
