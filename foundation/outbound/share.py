"""How many may be on their way at once, with a share for each of those who ask."""

import threading
from collections import Counter
from collections.abc import Hashable, Iterator
from contextlib import contextmanager


class NoRoom(Exception):
    """All that may be under way for this key is under way already."""


class Room:
    """Room for `size` at once. A key has a quarter of it, and a single place once half is taken.

    So a few keys that hold on to theirs leave room for many that come later.
    """

    def __init__(self, size: int) -> None:
        self._size = size
        self._lock = threading.Lock()
        self._taken: Counter[Hashable] = Counter()
        self._total = 0

    @contextmanager
    def place(self, key: Hashable) -> Iterator[None]:
        """Hold a place while the block runs. Raises NoRoom at once where there is none."""
        self._take(key)
        try:
            yield
        finally:
            self._give_back(key)

    def _take(self, key: Hashable) -> None:
        with self._lock:
            if self._total >= self._size or self._taken[key] >= self._share():
                raise NoRoom
            self._taken[key] += 1
            self._total += 1

    def _share(self) -> int:
        is_crowded = self._total * 2 >= self._size
        return 1 if is_crowded else max(self._size // 4, 1)

    def _give_back(self, key: Hashable) -> None:
        with self._lock:
            self._total -= 1
            self._taken[key] -= 1
            if not self._taken[key]:
                del self._taken[key]
