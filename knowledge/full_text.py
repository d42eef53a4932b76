"""Finds the passages that have the words of a question, with the full-text index of the database.

The index has the words of `KnowledgeChunk.search_text`. Passages of an earlier version, whose words
have not been computed yet, are found by the index of that version.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from django.db import connection

from foundation.db.statements import Statement, Value
from foundation.text.words import Form
from workspace.access import Access

# Of one word. If more passages have it, some of them are taken: it says little.
MAX_HAVING: Final = 1_500
# Of passages without computed words.
MAX_UNFILLED: Final = 50
TABLE: Final = "workspace_knowledgechunk"
SCOPE: Final = "chunk.organization_id = %s AND (%s = '' OR chunk.source_id = %s)"
# CROSS JOIN: SQLite would otherwise read all passages of the organization.
SQLITE: Final = f"""
    SELECT * FROM (
        SELECT {{place}}, chunk.id FROM {TABLE}_search
        CROSS JOIN {TABLE} AS chunk ON chunk.id = {TABLE}_search.rowid
        WHERE {TABLE}_search MATCH %s AND {SCOPE} LIMIT {MAX_HAVING}
    )
"""  # noqa: S608  all constants
POSTGRESQL: Final = f"""
    (SELECT {{place}}, chunk.id FROM {TABLE} AS chunk
    WHERE chunk.search_words @@ %s::text::tsquery AND {SCOPE} LIMIT {MAX_HAVING})
"""  # noqa: S608  all constants
UNFILLED: Final = {
    "sqlite": Statement(f"""
        SELECT chunk.id FROM {TABLE}_words
        JOIN {TABLE} AS chunk ON chunk.id = {TABLE}_words.rowid
        WHERE {TABLE}_words MATCH %s AND chunk.search_text IS NULL AND {SCOPE}
        ORDER BY bm25({TABLE}_words, 2.0, 3.0, 1.0), chunk.id LIMIT {MAX_UNFILLED}
    """),  # noqa: S608  all constants
    "postgresql": Statement(f"""
        SELECT chunk.id FROM {TABLE} AS chunk
        WHERE words @@ to_tsquery('english', %s) AND chunk.search_text IS NULL AND {SCOPE}
        ORDER BY ts_rank(words, to_tsquery('english', %s), 1) DESC, id LIMIT {MAX_UNFILLED}
    """),  # noqa: S608  all constants
}
HAS_UNFILLED: Final = Statement(f"SELECT id FROM {TABLE} WHERE search_text IS NULL LIMIT 1")  # noqa: S608  all constants


@dataclass(frozen=True, slots=True)
class PassageScope:
    """The passages that are searched: those of an organization, or of one of its sources."""

    access: Access
    source_id: str = ""

    @property
    def values(self) -> tuple[Value, ...]:
        return self.access.organization_id, self.source_id, self.source_id


def find_having(scope: PassageScope, terms: Sequence[tuple[Form, ...]]) -> list[list[int]]:
    """Returns for each term the ids of passages that have one of its forms; of many, some."""
    having: list[list[int]] = [[] for _ in terms]
    if not terms:
        return having
    values: list[Value] = []
    for forms in terms:
        values += [_expression(forms), *scope.values]
    for place, number in _statement(connection.vendor, len(terms)).rows(*values):
        having[place].append(number)
    return having


def find_unfilled(scope: PassageScope, words: Sequence[str]) -> list[int]:
    """Returns the ids of passages with any of the words among those of an earlier version."""
    if not words or HAS_UNFILLED.row() is None:
        return []
    if connection.vendor == "sqlite":
        text = " OR ".join(f'"{word}"' for word in words)
        return [number for (number,) in UNFILLED["sqlite"].rows(text, *scope.values)]
    text = " | ".join(f"'{word}'" for word in words)
    return [number for (number,) in UNFILLED["postgresql"].rows(text, *scope.values, text)]


@lru_cache(maxsize=64)
def _statement(vendor: str, terms: int) -> Statement:
    each = SQLITE if vendor == "sqlite" else POSTGRESQL
    return Statement(" UNION ALL ".join(each.format(place=place) for place in range(terms)))


def _expression(forms: Sequence[Form]) -> str:
    """Returns the expression for any of the forms (FTS5, section 3; a tsquery).

    Index words have letters, digits and pictures only, so in quotes they contain no operators. The
    index of PostgreSQL has no places: of a phrase it finds the words.
    """
    if connection.vendor == "sqlite":
        return " OR ".join(_fts5_phrase(form) for form in forms)
    return " | ".join("(" + " & ".join(_lexeme(word) for word in form) + ")" for form in forms)


def _fts5_phrase(form: Form) -> str:
    phrase = " ".join(form)
    return f'"{phrase.removesuffix("*")}" *' if phrase.endswith("*") else f'"{phrase}"'


def _lexeme(word: str) -> str:
    return f"'{word.removesuffix('*')}':*" if word.endswith("*") else f"'{word}'"
