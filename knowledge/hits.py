"""What a search of the knowledge base finds."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KnowledgeHit:
    """A passage that answers a query. `score` is comparable within one answer; more is better.

    `source_id` and `source` are the id and the title of its source, `position` its number in it.
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
