"""Stores many rows at once: COPY on PostgreSQL, one prepared statement on SQLite."""

from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, TypeAlias

from django.db import connection
from django.db.models import (
    NOT_PROVIDED,
    AutoField,
    CharField,
    Field,
    FloatField,
    IntegerField,
    JSONField,
    Model,
    TextField,
)

from foundation.text.columns import SearchTextField

Row = Mapping[str, Any]
AS_THEY_ARE: Final = (CharField, TextField, IntegerField, FloatField)
AnyField: TypeAlias = "Field[Any, Any]"


class RowBatch:
    """Rows that are stored together, by table. Columns that a row leaves out have their default."""

    def __init__(self) -> None:
        self.rows: dict[type[Model], list[Row]] = defaultdict(list)

    def add(self, model: type[Model], **columns: Any) -> None:
        words = {
            field.attname: field.make_words(columns)
            for field in _fields(model)
            if isinstance(field, SearchTextField)
        }
        self.rows[model].append({**columns, **words})

    def store(self) -> None:
        """Stores the rows in the transaction that the caller has open."""
        for model, rows in self.rows.items():
            _store(model, rows)
        self.rows.clear()


def _store(model: type[Model], rows: list[Row]) -> None:
    table = connection.ops.quote_name(model._meta.db_table)
    fields = _fields(model)
    names = ", ".join(connection.ops.quote_name(str(field.column)) for field in fields)
    columns = [(field.attname, _default(field), _get_converter(field)) for field in fields]
    values = (
        [prepare(row.get(name, default)) for name, default, prepare in columns] for row in rows
    )
    with connection.cursor() as cursor:
        if connection.vendor == "postgresql":
            with cursor.copy(f"COPY {table} ({names}) FROM STDIN") as copy:
                for each in values:
                    copy.write_row(each)
        else:
            marks = ", ".join(["%s"] * len(fields))
            statement = f"INSERT INTO {table} ({names}) VALUES ({marks})"  # noqa: S608  our names
            cursor.executemany(statement, list(values))


@cache
def _fields(model: type[Model]) -> list[AnyField]:
    return [field for field in model._meta.concrete_fields if not isinstance(field, AutoField)]


def _default(field: AnyField) -> Any:
    # The same for all rows: a default that is computed is for JSON only, which is not changed.
    if field.default is NOT_PROVIDED or isinstance(field, JSONField):
        return field.get_default()
    return None if callable(field.default) else field.default


def _get_converter(field: AnyField) -> Callable[[Any], Any]:
    # Drivers know text and numbers, and psycopg dates and UUIDs too: Django's conversion of each
    # would take most of the time.
    if isinstance(field, AS_THEY_ARE) or (
        connection.vendor == "postgresql" and not isinstance(field, JSONField)
    ):
        return _same
    return lambda value: field.get_db_prep_save(value, connection)


def _same(value: Any) -> Any:
    return value
