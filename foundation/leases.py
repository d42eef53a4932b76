"""Leases on rows: long work belongs to one process, for as long as that process lives.

The process that works on a row renews its lease every 20 seconds. A process that dies leaves the
row to the others within a minute. One that is stopped gives its rows back at once.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

import structlog
from django.db import connections

log = structlog.get_logger(__name__)

LEASE: Final = timedelta(seconds=60)
RENEWAL_SECONDS: Final = 20.0

_stopping: Final = threading.Event()
_lock: Final = threading.Lock()
_held: Final[set["Lease"]] = set()


class WorkStopped(Exception):
    """The process is stopping, or the row belongs to another process: nothing may be stored."""


@dataclass(eq=False, slots=True)
class Lease:
    """A row that this process works on.

    `renew` extends the lease and returns whether the row still belongs to this process.
    `give_back` makes the row wait again, as if the work had not begun.
    """

    renew: Callable[[], bool]
    give_back: Callable[[], None]
    is_lost: threading.Event = field(default_factory=threading.Event)

    def check(self) -> None:
        """Called between the steps of the work. Raises WorkStopped."""
        if _stopping.is_set() or self.is_lost.is_set():
            raise WorkStopped


@contextmanager
def hold(lease: Lease) -> Iterator[None]:
    """Renews the lease during the block. A block that raises WorkStopped gives the row back."""
    with _lock:
        _held.add(lease)
    ended = threading.Event()
    # A thread for each lease: the connection of one may wait for a lock of the database.
    renewer = threading.Thread(target=_renew, args=(lease, ended), daemon=True)
    renewer.start()
    try:
        yield
    except WorkStopped:
        if not lease.is_lost.is_set():
            lease.give_back()
        raise
    finally:
        ended.set()
        with _lock:
            _held.discard(lease)


def is_stopping() -> bool:
    """Returns whether this process is being stopped."""
    return _stopping.is_set()


def begin_stop() -> None:
    """Has all work end at its next check. Safe in a handler of a signal."""
    _stopping.set()


def wait_for_stop(seconds: float | None = None) -> bool:
    """Waits until this process is being stopped, or for so long; returns whether it is."""
    return _stopping.wait(seconds)


def give_back_all() -> None:
    """Gives back what is still held, because the process ends without waiting for it."""
    with _lock:
        left = list(_held)
    for lease in left:
        lease.is_lost.set()
        try:
            lease.give_back()
        except Exception:  # the lease ends by itself in a minute
            log.exception("lease_not_given_back")


def _renew(lease: Lease, ended: threading.Event) -> None:
    try:
        while not ended.wait(RENEWAL_SECONDS):
            try:
                is_ours = lease.renew()
            except Exception as error:  # noqa: BLE001  the next renewal may succeed
                log.warning("lease_not_renewed", error=type(error).__name__)
                continue
            if not is_ours:
                lease.is_lost.set()
                return
    finally:
        connections.close_all()
