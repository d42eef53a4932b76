"""The values that a column has, for values that a caller spells otherwise."""

from dataclasses import dataclass
from typing import Any, Final

from django.db import connection
from django.db.models import QuerySet, TextField
from django.db.models.expressions import RawSQL

# Of a column, and of rows of which values are read one by one.
MAX_VALUES: Final = 2_000
MAX_ROWS: Final = 10_000
# Each value is found by a search of its own in the index: rows are many, and values are few.
IN_ORDER: Final = """
WITH RECURSIVE found (value) AS (
    SELECT * FROM ({first}) AS first_value
    UNION ALL
    SELECT ({following}) FROM found WHERE found.value IS NOT NULL
)
SELECT value FROM found WHERE value IS NOT NULL LIMIT {limit}
"""


@dataclass(frozen=True, slots=True)
class KnownValues:
    """Values of a column, and whether they are all that it has."""

    values: list[str]
    is_all: bool

    @property
    def quantity(self) -> str:
        """How hints say whether there are more."""
        return "Known" if self.is_all else "Some"


def has_value(rows: QuerySet[Any], column: str, value: str) -> bool:
    """Returns whether a row has a value; an index has the rows by the column and then by time.

    The order makes PostgreSQL use it. Without it, a plan that is kept for all values is that for a
    common one, which reads the table from its beginning.
    """
    ordered = rows.filter(**{column: value}).order_by("-at").values_list("pk")
    return ordered.first() is not None


def list_indexed_values(rows: QuerySet[Any], column: str) -> KnownValues:
    """Returns the values of a column in order; an index has the rows in that order."""
    ordered = rows.order_by(column).values(column)
    larger = {f"{column}__gt": RawSQL("found.value", (), TextField())}
    first, first_values = ordered[:1].query.sql_with_params()
    following, following_values = ordered.filter(**larger)[:1].query.sql_with_params()
    statement = IN_ORDER.format(first=first, following=following, limit=MAX_VALUES + 1)
    with connection.cursor() as cursor:
        cursor.execute(statement, (*first_values, *following_values))
        values = [value for (value,) in cursor.fetchall()]
    # Databases have orders of their own.
    return KnownValues(sorted(values[:MAX_VALUES]), len(values) <= MAX_VALUES)


def list_newest_values(rows: QuerySet[Any], column: str) -> KnownValues:
    """Returns the values of a column in the newest rows, for rows that are few."""
    read = list(rows.order_by("-at", "-pk").values_list(column, flat=True)[: MAX_ROWS + 1])
    return KnownValues(sorted(set(read[:MAX_ROWS])), len(read) <= MAX_ROWS)
