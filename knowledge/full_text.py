"""Ranks passages by their words, with the full-text index of the database."""

from collections.abc import Sequence
from typing import Final

from django.db import connection

from foundation.db.statements import Statement
from retrieval.words import STOP_WORDS, words
from workspace.access import Access

MAX_WORDS: Final = 8
MAX_RANKED: Final = 800
TABLE: Final = "workspace_knowledgechunk"
# bm25() is smaller for a better match; its weights are those of title, heading and text.
SQLITE: Final = Statement(f"""
    SELECT chunk.id FROM {TABLE}_words
    JOIN {TABLE} AS chunk ON chunk.id = {TABLE}_words.rowid
    WHERE {TABLE}_words MATCH %s AND chunk.organization_id = %s
        AND (%s = '' OR chunk.source_id = %s)
    ORDER BY bm25({TABLE}_words, 2.0, 3.0, 1.0), chunk.id LIMIT %s
""")  # noqa: S608  all constants
# ts_rank knows nothing of how rare a word is, so each word is ranked by itself and weighted. The
# weights are those of D (text), C (title), unused, and A (heading); normalization 1 divides by the
# logarithm of the length. Of a word that very many passages have, some are ranked: it says little.
POSTGRESQL: Final = Statement(f"""
    WITH asked AS MATERIALIZED (
        SELECT plainto_tsquery('english', word) AS query
        FROM unnest(string_to_array(%s, ' ')) AS word
    ), found AS (
        SELECT matched.id, ts_rank('{{0.3, 0.6, 0.6, 1.0}}', words, query, 1) AS strength,
            count(*) OVER (PARTITION BY query) AS holding
        FROM asked CROSS JOIN LATERAL (
            SELECT id, words FROM {TABLE}
            WHERE words @@ query AND organization_id = %s AND (%s = '' OR source_id = %s)
            LIMIT {MAX_RANKED}
        ) AS matched
    )
    SELECT id FROM found GROUP BY id
    ORDER BY sum(strength * ln(1 + 50000.0 / holding)) DESC, id LIMIT %s
""")  # noqa: S608  all constants


def rank_passages(access: Access, query: str, source_id: str, limit: int) -> list[int]:
    """Returns the ids of passages that have any of the query's words, best first.

    `source_id` limits them to a source, unless it is empty.
    """
    asked = _significant(query)
    if not asked:
        return []
    if connection.vendor == "sqlite":
        # In quotes, AND, OR, NOT and NEAR are words too (FTS5, section 3.1).
        text, statement = " OR ".join(f'"{word}"' for word in asked), SQLITE
    else:
        text, statement = " ".join(asked), POSTGRESQL
    rows = statement.rows(text, access.organization_id, source_id, source_id, limit)
    return [number for (number,) in rows]


def _significant(query: str) -> Sequence[str]:
    found = [word for word in words(query) if word not in STOP_WORDS]
    return list(dict.fromkeys(found))[:MAX_WORDS]
