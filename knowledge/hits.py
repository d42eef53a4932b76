"""What a search of the knowledge base finds."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class KnowledgeHit:
    """A passage that answers a query; `score` is from 0 to 1, more is better.

    With the offline models the score says how much of the query the passage has. `source_id` and
    `source` are the id and the title of its source, `position` its number in it. `heading` has the
    headings above it, the outermost first; `read_at` is when the document was read.
    """

    id: int
    title: str
    heading: str
    url: str
    source_id: str
    source: str
    position: int
    text: str
    score: float
    read_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class SourceCandidate:
    """A source that has the title which was asked for, as others do."""

    id: str
    added_at: datetime


class AmbiguousSource(Exception):
    """Several sources have a title; `candidates` are those, the newest first."""

    def __init__(self, candidates: Sequence[SourceCandidate]) -> None:
        super().__init__(len(candidates))
        self.candidates = candidates


@dataclass(frozen=True, slots=True)
class KnowledgeAnswer:
    """The passages that fit a query, best first, and which of its words were of no use.

    `nearest` are passages that have something of the query but do not fit it, if none does.
    `ignored` are the words that were not looked for, `missing` those that no passage has.
    """

    hits: Sequence[KnowledgeHit] = ()
    nearest: Sequence[KnowledgeHit] = ()
    ignored: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
