"""Conditions on the members of a JSON column, the same on SQLite and on PostgreSQL."""

from collections.abc import Iterator, Sequence
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Func, Q, TextField, Value
from django.db.models.lookups import IExact
from django.db.models.sql.compiler import SQLCompiler

ON_SQLITE: Final = """(
    SELECT CASE WHEN type IN ('true', 'false') THEN type ELSE CAST(value AS TEXT) END
      FROM json_each({column}) WHERE key = {name}
)"""


class Member(Func):
    """A member of a JSON object as text: `true`, `5` or the text itself.

    Django's key transform takes a name of digits for the index of an array.
    """

    output_field = TextField()
    arg_joiner = " ->> "
    template = "(%(expressions)s)"

    def __init__(self, column: str, name: str) -> None:
        super().__init__(column, Value(name, output_field=TextField()))

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> tuple[str, tuple[Any, ...]]:
        (column, of_column), (name, of_name) = map(compiler.compile, self.get_source_expressions())
        return ON_SQLITE.format(column=column, name=name), (*of_column, *of_name)


class _ComparedMember(Func):
    """Whether a member of a JSON object is larger or smaller than a value, by a sign."""

    output_field = BooleanField()
    on_sqlite: ClassVar[str]
    on_postgresql: ClassVar[str]

    def __init__(self, column: str, name: str, sign: str, value: str) -> None:
        texts = (Value(one, output_field=TextField()) for one in (name, value))
        super().__init__(column, *texts)
        self.sign = sign

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> tuple[str, tuple[Any, ...]]:
        (column, of_column), (name, of_name), (value, of_value) = self._compile(compiler)
        sql = self.on_sqlite.format(column=column, name=name, sign=self.sign, value=value)
        return sql, (*of_column, *of_name, *of_value)

    def as_postgresql(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> tuple[str, tuple[Any, ...]]:
        (column, of_column), (name, of_name), (value, of_value) = self._compile(compiler)
        sql = self.on_postgresql.format(column=column, name=name, sign=self.sign, value=value)
        member = (*of_column, *of_name)
        return sql, (*member * self.on_postgresql.count("{name}"), *of_value)

    def _compile(self, compiler: SQLCompiler) -> Iterator[tuple[str, Sequence[Any]]]:
        return map(compiler.compile, self.get_source_expressions())


class ComparedNumber(_ComparedMember):
    """Whether a member is a number that is larger or smaller than another one."""

    on_sqlite = """EXISTS (
        SELECT 1 FROM json_each({column})
        WHERE key = {name} AND type IN ('integer', 'real') AND value {sign} CAST({value} AS NUMERIC)
    )"""
    on_postgresql = """(
        CASE WHEN jsonb_typeof({column} -> {name}) = 'number'
        THEN ({column} ->> {name})::numeric {sign} {value}::numeric ELSE false END
    )"""


class ComparedDay(_ComparedMember):
    """Whether a member is a text that begins with a day, which is before or after another one."""

    on_sqlite = """EXISTS (
        SELECT 1 FROM json_each({column})
        WHERE key = {name} AND type = 'text'
          AND value GLOB '[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]*'
          AND substr(value, 1, 10) {sign} {value}
    )"""
    on_postgresql = """(
        CASE WHEN jsonb_typeof({column} -> {name}) = 'string'
              AND ({column} ->> {name}) ~ '^[0-9]{{4}}-[0-9]{{2}}-[0-9]{{2}}'
        THEN left({column} ->> {name}, 10) COLLATE "C" {sign} {value} ELSE false END
    )"""


def has_member(column: str, name: str, value: str) -> Q:
    """The condition that a member has a value, in upper or lower case."""
    cases = sorted({value, value.upper(), value.lower()})
    return reduce(or_, (Q(IExact(Member(column, name), case)) for case in cases))
