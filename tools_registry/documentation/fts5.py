"""The full-text index on SQLite (https://www.sqlite.org/fts5.html)."""

from collections.abc import Sequence
from typing import Final

from django.db import connection

from tools_registry.documentation.query import Term
from tools_registry.documentation.ranking import Match
from tools_registry.documentation.snippet import CLOSED, OPENED

INDEX: Final = "tools_registry_documentationsearch"
HOLDS: Final = f"section.id IN (SELECT rowid FROM {INDEX} WHERE {INDEX} MATCH %s)"  # noqa: S608  all constants
# bm25() is the better the smaller it is; its weights are those of page_title, heading and text.
# It favours short sections so much that one beneath the right title would beat the section with
# the right heading: a word in either counts again.
MATCHES: Final = f"""
    SELECT %s, section.id, section.page,
        -bm25({INDEX}, 4.0, 3.0, 1.0) * (1 + 0.6 * ({HOLDS}) + 0.4 * ({HOLDS}))
    FROM {INDEX}
    JOIN tools_registry_documentationsection AS section ON section.id = {INDEX}.rowid
    WHERE {INDEX} MATCH %s
"""  # noqa: S608  all constants
MARKED: Final = f"""
    SELECT rowid, highlight({INDEX}, 2, %s, %s)
    FROM {INDEX} WHERE {INDEX} MATCH %s AND rowid IN ({{places}})
"""  # noqa: S608  constants, and placeholders to come
REBUILD: Final = f"INSERT INTO {INDEX} ({INDEX}) VALUES ('rebuild')"  # noqa: S608  all constants


def matches(terms: Sequence[Term]) -> list[Match]:
    """Find the sections that match each term."""
    asked = [part for place, term in enumerate(terms) for part in (place, *_expressions(term))]
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join([MATCHES] * len(terms)), asked)
        return [Match(*row) for row in cursor.fetchall()]


def marked(sections: Sequence[int], term: Term) -> dict[int, str]:
    """Give the texts of sections that match a term, with OPENED and CLOSED around what does."""
    statement = MARKED.format(places=", ".join(["%s"] * len(sections)))
    with connection.cursor() as cursor:
        cursor.execute(statement, [OPENED, CLOSED, _expression(term), *sections])
        return dict(cursor.fetchall())


def refresh() -> None:
    """Take in the sections as they are now."""
    with connection.cursor() as cursor:
        cursor.execute(REBUILD)


def _expressions(term: Term) -> tuple[str, str, str]:
    """The term in the title, in the heading, and anywhere (FTS5, section 3.6)."""
    anywhere = _expression(term)
    return f"page_title : ({anywhere})", f"heading : ({anywhere})", anywhere


def _expression(term: Term) -> str:
    # In quotes a word is a word, even AND, OR, NOT and NEAR (FTS5, section 3.1).
    return " OR ".join(f'"{" ".join(phrase)}"' for phrase in term)
