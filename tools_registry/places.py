"""Places in this process: how many of something one holder may have at a time.

What they keep apart is a process's own, its threads, memory and files, so they are counted in it.
"""

import threading
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final
from uuid import UUID

from django.conf import settings

from oauth.principal import Principal


class Places:
    """The places taken, by holder."""

    def __init__(self) -> None:
        self._taken: Counter[UUID] = Counter()
        self._lock = threading.Lock()

    def take(self, most: Mapping[UUID, int]) -> bool:
        """Take one more place for every holder; False, and none taken, when one has its most."""
        with self._lock:
            if any(self._taken[holder] >= limit for holder, limit in most.items()):
                return False
            self._taken.update(list(most))
            return True

    def give_back(self, holders: Iterable[UUID]) -> None:
        with self._lock:
            for holder in holders:
                self._taken[holder] -= 1
                if not self._taken[holder]:
                    del self._taken[holder]


# Calls that have a thread for streams, or wait for one.
STREAMING: Final = Places()


def shares(who: Principal) -> dict[UUID, int]:
    """How many streaming calls may run at a time for a connection, and for its organization.

    Parts of all threads, so that whatever one of them does leaves threads to the others.
    """
    threads = settings.HALO_STREAM_THREADS
    return {who.authorization_id: threads // 4, who.organization_id: threads // 2}
