"""What is asked of a database's full-text index; `fts5.py` and `tsearch.py` answer."""

from collections.abc import Mapping, Sequence
from typing import Final, Protocol

from django.db import connection

from tools_registry.documentation import fts5, tsearch
from tools_registry.documentation.query import Term
from tools_registry.documentation.ranking import Match


class FullText(Protocol):
    def matches(self, terms: Sequence[Term], /) -> list[Match]: ...
    def marked(self, sections: Sequence[int], term: Term, /) -> dict[int, str]: ...
    def refresh(self) -> None: ...


BY_VENDOR: Final[Mapping[str, FullText]] = {"sqlite": fts5, "postgresql": tsearch}


def here() -> FullText:
    """The full-text index of the database in use."""
    return BY_VENDOR[connection.vendor]
