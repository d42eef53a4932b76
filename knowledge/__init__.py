"""The knowledge base: documents and web pages of an organization, searched by words and by meaning.

`sources.py` adds and removes sources, `indexing.py` turns them into passages (in the worker,
`workspace/tasks.py`), `searching.py` searches the passages. The latter two are imported when they
are used: they need numpy, which takes 60 ms and 20 MB.
"""

from knowledge.hits import AmbiguousSource, KnowledgeAnswer, KnowledgeHit
from knowledge.sources import UnusableSource, add, remove, request_index
from workspace.access import Access

__all__ = [
    "AmbiguousSource",
    "KnowledgeAnswer",
    "KnowledgeHit",
    "UnusableSource",
    "add",
    "index",
    "remove",
    "request_index",
    "search",
]


def index(source_id: str) -> None:
    """Indexes a source that waits, as `indexing.index` describes."""
    from knowledge import indexing  # noqa: PLC0415  numpy

    indexing.index(source_id)


def search(access: Access, query: str, *, source: str = "", limit: int = 5) -> KnowledgeAnswer:
    """Returns the passages that best answer a query, as `searching.search` describes."""
    from knowledge import searching  # noqa: PLC0415  numpy

    return searching.search(access, query, source=source, limit=limit)
