"""Vectors in memory: an exact search over the passages of one owner, and a bounded cache."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from retrieval.interfaces import STORED, Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class VectorIndex:
    """The ids of passages in ascending order, and their vectors, a row each."""

    ids: NDArray[np.int64]
    matrix: Matrix

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[int, bytes]]) -> "VectorIndex":
        """Returns an index of (id, stored vector), in ascending order of ids.

        Vectors of another length than the first one are left out.
        """
        listed = list(rows)
        length = len(listed[0][1]) if listed else 0
        kept = [(number, vector) for number, vector in listed if len(vector) == length]
        stored = np.frombuffer(b"".join(vector for _, vector in kept), STORED)
        matrix = stored.reshape(len(kept), -1) if kept else np.zeros((0, 0))
        ids = np.fromiter((number for number, _ in kept), np.int64, len(kept))
        return cls(ids, matrix.astype(np.float32))

    @property
    def count(self) -> int:
        """The number of passages."""
        return len(self.ids)

    @property
    def size(self) -> int:
        """The bytes in memory."""
        return self.ids.nbytes + self.matrix.nbytes

    def nearest(
        self, query: Vector, limit: int, among: Iterable[int] | None = None
    ) -> list[tuple[int, float]]:
        """Returns the ids with the largest cosine above 0, best first, each with the cosine.

        `among` limits the ids. A query of another length than the vectors finds nothing.
        """
        if not len(self.ids) or query.shape != self.matrix.shape[1:]:
            return []
        cosines = self.matrix @ query
        if among is not None:
            is_among = np.isin(self.ids, np.fromiter(among, np.int64))
            cosines = np.where(is_among, cosines, -1)
        places = _largest(cosines, limit)
        return [(int(self.ids[at]), float(cosines[at])) for at in places if cosines[at] > 0]


class Sized(Protocol):
    """What has a size in bytes."""

    @property
    def size(self) -> int: ...


T = TypeVar("T", bound=Sized)


class IndexCache(Generic[T]):
    """Keeps the indexes that were used last, within a number of bytes, each at one version.

    Threads that need the same index wait for the one that loads it.
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self._kept: OrderedDict[Hashable, tuple[Hashable, T]] = OrderedDict()
        self._lock = threading.Lock()
        self._loading: dict[Hashable, threading.Lock] = {}

    def get_or_load(self, owner: Hashable, version: Hashable, load: Callable[[], T]) -> T:
        """Returns an owner's index at a version, loaded if another version or none is kept."""
        found = self._find(owner, version)
        if found is not None:
            return found
        with self._lock:
            loading = self._loading.setdefault(owner, threading.Lock())
        with loading:
            found = self._find(owner, version)
            if found is None:
                found = load()
                self._keep(owner, version, found)
        return found

    def _find(self, owner: Hashable, version: Hashable) -> T | None:
        with self._lock:
            kept = self._kept.get(owner)
            if kept is None or kept[0] != version:
                return None
            self._kept.move_to_end(owner)
            return kept[1]

    def _keep(self, owner: Hashable, version: Hashable, index: T) -> None:
        with self._lock:
            self._loading.pop(owner, None)
            self._kept[owner] = (version, index)
            self._kept.move_to_end(owner)
            # The newest one stays, even alone above the limit: it is needed now.
            while len(self._kept) > 1 and self._total() > self.max_bytes:
                self._kept.popitem(last=False)

    def _total(self) -> int:
        return sum(index.size for _, index in self._kept.values())


def _largest(cosines: NDArray[np.float32], limit: int) -> list[int]:
    """Returns the positions of the largest values, largest first, equal ones in order."""
    if limit < len(cosines):
        chosen = np.sort(np.argpartition(-cosines, limit)[:limit])
    else:
        chosen = np.arange(len(cosines))
    order = np.argsort(-cosines[chosen], kind="stable")
    return [int(place) for place in chosen[order]]
