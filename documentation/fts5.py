"""The full-text index on SQLite (https://www.sqlite.org/fts5.html)."""

import json
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

from django.db import connection

from documentation.query import Term
from documentation.ranking import MarkedSection, TermMatch
from documentation.snippet import CLOSED, OPENED
from foundation.db.statements import Statement

INDEX: Final = "tools_registry_documentationsearch"
HOLDS: Final = f"section.id IN (SELECT rowid FROM {INDEX} WHERE {INDEX} MATCH %s)"  # noqa: S608  all constants
# bm25() is smaller for a better match; its weights are those of page_title, heading and text. It
# favours short sections so much that one under the right title would rank above the section with
# the right heading, so a word in either counts twice.
MATCHES: Final = f"""
    SELECT %s, section.id, section.page,
        -bm25({INDEX}, 4.0, 3.0, 1.0) * (1 + 0.6 * ({HOLDS}) + 0.4 * ({HOLDS}))
    FROM {INDEX}
    JOIN tools_registry_documentationsection AS section ON section.id = {INDEX}.rowid
    WHERE {INDEX} MATCH %s
"""  # noqa: S608  all constants
MARKED: Final = Statement(
    f"""
    SELECT section.id, section.page, section.page_title, section.heading, section.anchor,
        highlight({INDEX}, 2, %s, %s)
    FROM {INDEX}
    JOIN tools_registry_documentationsection AS section ON section.id = {INDEX}.rowid
    WHERE {INDEX} MATCH %s AND {INDEX}.rowid IN (SELECT value FROM json_each(%s))
"""  # noqa: S608  all constants
)
REBUILD: Final = f"INSERT INTO {INDEX} ({INDEX}) VALUES ('rebuild')"  # noqa: S608  all constants


def matches(terms: Sequence[Term]) -> list[TermMatch]:
    """Returns the sections that match each term."""
    asked = [part for place, term in enumerate(terms) for part in (place, *_expressions(term))]
    return [TermMatch(*row) for row in _matches(len(terms)).rows(*asked)]


def mark_matches(sections: Sequence[int], term: Term) -> dict[int, MarkedSection]:
    """Return sections that match a term, with OPENED and CLOSED around each match in the text."""
    rows = MARKED.rows(OPENED, CLOSED, _expression(term), json.dumps(sections))
    return {row[0]: MarkedSection(*row[1:]) for row in rows}


def refresh() -> None:
    """Updates the index from the sections."""
    with connection.cursor() as cursor:
        cursor.execute(REBUILD)


@lru_cache(maxsize=32)
def _matches(terms: int) -> Statement:
    return Statement(" UNION ALL ".join([MATCHES] * terms))


def _expressions(term: Term) -> tuple[str, str, str]:
    """Returns the expressions for the term in the title, the heading, and anywhere (FTS5, 3.6)."""
    anywhere = _expression(term)
    return f"page_title : ({anywhere})", f"heading : ({anywhere})", anywhere


def _expression(term: Term) -> str:
    # In quotes, AND, OR, NOT and NEAR are words too (FTS5, section 3.1).
    return " OR ".join(f'"{" ".join(phrase)}"' for phrase in term)
