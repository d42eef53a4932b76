"""How many calls of this process wait for other servers, and which wait for a slot.

A call counts for all, for its organization, for its target (a project, or an integration of the
organization) and for the origin behind the target, which targets of other organizations may have
too. A slow target or origin is out of slots before it takes those of others. A call without a slot
waits a few seconds for one, in the order of arrival, and is refused then.
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Final, TypeAlias
from uuid import UUID

from django.conf import settings

from foundation.db.waits import give_back_connection
from tools_registry.api import ToolFailure

# Each call that waits has a thread, so that their number is limited, too.
MAX_WAITING: Final = 16
MAX_WAITING_OF_ORGANIZATION: Final = 8
MAX_WAITING_OF_TARGET: Final = 4
MAX_WAIT_SECONDS: Final = 5.0
CANCEL_CHECK_SECONDS: Final = 0.1
# What a refused caller is asked to wait; by then a call that hangs may have reached its deadline.
RETRY_AFTER_SECONDS: Final = 5

Limits: TypeAlias = Sequence[tuple[Hashable, int]]


class UpstreamBusy(ToolFailure):
    """No slot became free in time, or too many calls wait for one. Nothing was sent."""

    kind = "busy"
    retry_after = RETRY_AFTER_SECONDS

    def __init__(self) -> None:
        super().__init__(
            "Too many calls wait for this API at the moment. Nothing was sent. "
            f"Try again in {RETRY_AFTER_SECONDS} seconds."
        )


@dataclass(frozen=True, slots=True)
class Upstream:
    """What a call waits for. `seconds` is the time that the call may take, with its wait."""

    organization_id: UUID
    target: str
    origin: str
    seconds: float

    @property
    def keys(self) -> tuple[Hashable, Hashable, Hashable]:
        """Returns what the call counts for: its organization, its target and its origin."""
        organization = str(self.organization_id)
        return ("organization", organization), (organization, self.target), ("origin", self.origin)


@dataclass(slots=True, eq=False)
class _QueuedCall:
    upstream: Upstream
    granted: threading.Event = field(default_factory=threading.Event)


class Slots:
    """The slots of one process, `total` of them.

    A target has a quarter, an organization half and an origin three quarters. Once half of all are
    in use, a target has one, and an organization one more than the quarter: a few slow targets
    leave slots to every other one.
    """

    def __init__(self, total: int) -> None:
        self._total = total
        self._lock = threading.Lock()
        self._used: Counter[Hashable] = Counter()
        self._in_use = 0
        self._queue: list[_QueuedCall] = []

    @property
    def waiting(self) -> int:
        """Returns how many calls wait for a slot."""
        return len(self._queue)

    def count_in_use(self, upstream: Upstream) -> int:
        """Returns how many calls of its target have a slot."""
        return self._used[upstream.keys[1]]

    def acquire(self, upstream: Upstream, is_unwanted: Callable[[], bool]) -> float:
        """Takes a slot, and returns the seconds that the call has waited for it.

        Raises UpstreamBusy, also once `is_unwanted` returns True meanwhile.
        """
        with self._lock:
            # Whoever waits has no room either: those that have were granted a slot by a release.
            if self._has_room(upstream):
                self._count(upstream)
                return 0.0
            if not self._may_wait(upstream):
                raise UpstreamBusy
            queued = _QueuedCall(upstream)
            self._queue.append(queued)
        # Others may use the connection to the database while this thread waits.
        give_back_connection()
        began = time.monotonic()
        until = began + min(MAX_WAIT_SECONDS, upstream.seconds / 2)
        while not queued.granted.wait(CANCEL_CHECK_SECONDS):
            if time.monotonic() >= until or is_unwanted():
                break
        with self._lock:
            if not queued.granted.is_set():
                self._queue.remove(queued)
                raise UpstreamBusy
        return time.monotonic() - began

    def release(self, upstream: Upstream) -> None:
        """Frees the slot of a call; those that waited for it get it in their order."""
        with self._lock:
            self._in_use -= 1
            for key in upstream.keys:
                self._used[key] -= 1
                if not self._used[key]:
                    del self._used[key]
            for queued in [*self._queue]:
                if self._has_room(queued.upstream):
                    self._queue.remove(queued)
                    self._count(queued.upstream)
                    queued.granted.set()

    def _count(self, upstream: Upstream) -> None:
        self._in_use += 1
        self._used.update(upstream.keys)

    def _has_room(self, upstream: Upstream) -> bool:
        if self._in_use >= self._total:
            return False
        return all(self._used[key] < most for key, most in self._limits(upstream))

    def _limits(self, upstream: Upstream) -> Limits:
        share = max(self._total // 4, 1)
        is_crowded = self._in_use * 2 >= self._total
        of_organization = share + 1 if is_crowded else max(self._total // 2, share + 1)
        of_target = 1 if is_crowded else share
        of_origin = max(self._total - share, 1)
        return [*zip(upstream.keys, (of_organization, of_target, of_origin), strict=True)]

    def _may_wait(self, upstream: Upstream) -> bool:
        organization, target, _origin = upstream.keys
        keys = [queued.upstream.keys for queued in self._queue]
        return (
            len(keys) < MAX_WAITING
            and sum(one[0] == organization for one in keys) < MAX_WAITING_OF_ORGANIZATION
            and sum(one[1] == target for one in keys) < MAX_WAITING_OF_TARGET
        )


@cache
def get_process_slots() -> Slots:
    """Returns the slots of this process, HALO_VENDOR_CALLS of them."""
    return Slots(settings.HALO_VENDOR_CALLS)
