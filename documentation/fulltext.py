"""The interface of a database's full-text index; `fts5.py` and `tsearch.py` implement it."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from django.db import connection

from documentation import fts5, tsearch
from documentation.query import Term
from documentation.ranking import MarkedSection, TermMatch


class FullText(Protocol):
    def matches(self, terms: Sequence[Term], /) -> list[TermMatch]: ...
    def mark_matches(self, sections: Sequence[int], term: Term, /) -> dict[int, MarkedSection]: ...
    def refresh(self) -> None: ...


BY_VENDOR: Final[Mapping[str, FullText]] = {"sqlite": fts5, "postgresql": tsearch}


def here() -> FullText:
    """Returns the full-text index of the database in use."""
    return BY_VENDOR[connection.vendor]
