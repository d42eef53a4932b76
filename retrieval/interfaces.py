"""What an embedder and a reranker provide."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

# One row for each text; each row has length 1.
Matrix: TypeAlias = NDArray[np.float32]
Vector: TypeAlias = NDArray[np.float32]

STORED: Final = np.dtype("<f2")


class RetrievalUnavailable(Exception):
    """A hosted model gave no usable answer; the message has no key and no text in it."""


@dataclass(frozen=True, slots=True)
class Passage:
    """A part of a document under one heading: what is embedded and ranked."""

    title: str
    heading: str
    text: str

    @property
    def whole(self) -> str:
        """The passage as one text, for models that take one."""
        return "\n".join(filter(None, (self.title, self.heading, self.text)))


class Embedder(Protocol):
    """Maps texts to vectors; texts of similar meaning have a larger dot product.

    `name` changes with everything that changes the vectors. Both methods raise
    RetrievalUnavailable.
    """

    @property
    def name(self) -> str: ...
    def passages(self, passages: Sequence[Passage], /) -> Matrix: ...
    def query(self, query: str, /) -> Vector: ...


class Reranker(Protocol):
    """Scores passages, given best first, for a query; more is better, 0 is irrelevant.

    Raises RetrievalUnavailable.
    """

    @property
    def name(self) -> str: ...
    def scores(self, query: str, passages: Sequence[Passage], /) -> list[float]: ...


def normalize_rows(matrix: NDArray[Any]) -> Matrix:
    """Returns the rows with length 1; a row of zeros stays one."""
    rows = np.asarray(matrix, dtype=np.float32)
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    return (rows / np.where(lengths > 0, lengths, 1)).astype(np.float32)


def encode_vector(vector: Vector) -> bytes:
    """Returns a vector as 16-bit floats, little-endian."""
    return vector.astype(STORED).tobytes()
