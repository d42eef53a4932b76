"""Groups rows by the interval that a time lies in, with the same limits on every database."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, IntegerField, QuerySet
from django.db.models.expressions import Combinable
from django.db.models.lookups import GreaterThanOrEqual, LessThan
from django.db.models.sql.compiler import SQLCompiler

Edges: TypeAlias = Sequence[datetime]


class IntervalNumber(Func):
    """The number of `edges` that are at or before a time: 0 for one before the first edge.

    The edges are in ascending order. They are computed in Python, because SQLite has no time zones.
    """

    output_field = IntegerField()

    def __init__(self, moment: Combinable | str, edges: Edges) -> None:
        super().__init__(moment)
        self.edges = tuple(edges)

    def as_sql(  # type: ignore[override]  # the template of Func is not used
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, list[Any]]:
        """Returns a binary search, as nested CASE expressions."""
        column, column_params = compiler.compile(self.get_source_expressions()[0])
        values = [connection.ops.adapt_datetimefield_value(edge) for edge in self.edges]

        def search(low: int, high: int) -> tuple[str, list[Any]]:
            if low == high:
                return str(low), []
            middle = (low + high) // 2
            left, left_params = search(low, middle)
            right, right_params = search(middle + 1, high)
            sql = f"CASE WHEN {column} < %s THEN {left} ELSE {right} END"
            return sql, [*column_params, values[middle], *left_params, *right_params]

        return search(0, len(values))

    def as_postgresql(
        self, compiler: SQLCompiler, _connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, list[Any]]:
        column, params = compiler.compile(self.get_source_expressions()[0])
        return f"width_bucket({column}, %s::timestamptz[])", [*params, list(self.edges)]


class Bytewise(Func):
    """A text that is compared byte by byte: on PostgreSQL this halves the time to count ids."""

    template = "%(expressions)s"

    def as_postgresql(
        self, compiler: SQLCompiler, connection: BaseDatabaseWrapper, **_: Any
    ) -> tuple[str, Any]:
        return self.as_sql(compiler, connection, template='%(expressions)s COLLATE "C"')


def sum_by_interval(
    rows: QuerySet[Any], moment: Combinable, edges: Edges, **sums: Any
) -> Mapping[int, Mapping[str, Any]]:
    """Returns sums over the rows of each interval between two edges, by its number from 0."""
    inside = rows.filter(GreaterThanOrEqual(moment, edges[0]), LessThan(moment, edges[-1]))
    found = inside.annotate(interval=IntervalNumber(moment, edges) - 1).values("interval")
    return {row["interval"]: row for row in found.annotate(**sums).order_by()}
