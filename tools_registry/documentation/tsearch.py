"""The full-text index on PostgreSQL (https://www.postgresql.org/docs/current/textsearch.html)."""

import re
from collections.abc import Sequence
from typing import Final

from django.db import connection

from tools_registry.documentation.query import Term
from tools_registry.documentation.ranking import Match
from tools_registry.documentation.snippet import CLOSED, OPENED

# The weights are those of D (text), C (unused), B (heading) and A (page title). Normalisation 1
# divides by the logarithm of the length, 32 keeps the tenth mention from counting like the first.
MATCHES: Final = """
    WITH asked AS (
        SELECT place, to_tsquery('english', term) AS query
        FROM unnest(%s::text[]) WITH ORDINALITY AS term_list (term, place)
    )
    SELECT place - 1, id, page, ts_rank_cd('{0.2, 0.2, 0.7, 1.0}', search_vector, query, 1 | 32)
    FROM asked JOIN tools_registry_documentationsection ON search_vector @@ query
"""
MARKED: Final = """
    SELECT id, text, ts_headline(
        'english', tools_registry_plain_words(text), to_tsquery('english', %s), %s
    )
    FROM tools_registry_documentationsection WHERE id = ANY(%s)
"""
MARKS: Final = re.compile(f"([{OPENED}{CLOSED}])")
WHOLE_TEXT: Final = f"HighlightAll=true, StartSel={OPENED}, StopSel={CLOSED}"


def matches(terms: Sequence[Term]) -> list[Match]:
    """Find the sections that match each term."""
    with connection.cursor() as cursor:
        cursor.execute(MATCHES, [[_expression(term) for term in terms]])
        return [Match(*row) for row in cursor.fetchall()]


def marked(sections: Sequence[int], term: Term) -> dict[int, str]:
    """Give the texts of sections with OPENED and CLOSED around what matches a term."""
    with connection.cursor() as cursor:
        cursor.execute(MARKED, [_expression(term), WHOLE_TEXT, list(sections)])
        return {section: _restored(text, plain) for section, text, plain in cursor.fetchall()}


def refresh() -> None:
    """Nothing to do: the vector is a generated column."""


def _expression(term: Term) -> str:
    # Words hold letters and digits only (query.py), so nothing in them can be an operator.
    return " | ".join(f"({' <-> '.join(phrase)})" for phrase in term)


def _restored(text: str, plain: str) -> str:
    """Put back the punctuation that the index does without, character for character."""
    pieces, place = [], 0
    for piece in MARKS.split(plain):
        is_mark = piece in {OPENED, CLOSED}
        pieces.append(piece if is_mark else text[place : place + len(piece)])
        place += 0 if is_mark else len(piece)
    return "".join(pieces)
