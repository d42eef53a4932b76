"""The full-text index on PostgreSQL (https://www.postgresql.org/docs/current/textsearch.html)."""

from collections.abc import Sequence
from typing import Final

from documentation.query import Term
from documentation.ranking import MarkedSection, TermMatch
from documentation.snippet import CLOSED, OPENED, with_marks
from foundation.db.statements import Statement

# The weights are those of D (text), C (unused), B (heading) and A (page title). Normalisation 1
# divides by the logarithm of the length, 32 reduces the weight of repeated mentions. Terms contain
# no line break, so all of them are one value.
MATCHES: Final = Statement("""
    WITH asked AS (
        SELECT place, to_tsquery('english', term) AS query
        FROM unnest(string_to_array(%s, chr(10))) WITH ORDINALITY AS term_list (term, place)
    )
    SELECT place - 1, id, page, ts_rank_cd('{0.2, 0.2, 0.7, 1.0}', search_vector, query, 1 | 32)
    FROM asked JOIN tools_registry_documentationsection ON search_vector @@ query
""")
MARKED: Final = Statement("""
    SELECT id, page, page_title, heading, anchor, text, ts_headline(
        'english', tools_registry_plain_words(text), to_tsquery('english', %s), %s
    )
    FROM tools_registry_documentationsection WHERE id = ANY(%s::bigint[])
""")
WHOLE_TEXT: Final = f"HighlightAll=true, StartSel={OPENED}, StopSel={CLOSED}"


def matches(terms: Sequence[Term]) -> list[TermMatch]:
    """Returns the sections that match each term."""
    rows = MATCHES.rows("\n".join(_expression(term) for term in terms))
    return [TermMatch(*row) for row in rows]


def mark_matches(sections: Sequence[int], term: Term) -> dict[int, MarkedSection]:
    """Return sections with OPENED and CLOSED around each match of a term in the text."""
    ids = "{" + ",".join(map(str, sections)) + "}"
    rows = MARKED.rows(_expression(term), WHOLE_TEXT, ids)
    return {
        section: MarkedSection(page, page_title, heading, anchor, with_marks(text, plain))
        for section, page, page_title, heading, anchor, text, plain in rows
    }


def refresh() -> None:
    """Does nothing: the vector is a generated column."""


def _expression(term: Term) -> str:
    # Words have letters and digits only (query.py), so they contain no operators.
    return " | ".join(f"({' <-> '.join(phrase)})" for phrase in term)
