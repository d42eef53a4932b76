"""The filters of a list: conditions by the name of their argument, as results repeat them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, Q, TextField, Value
from django.db.models.functions import Upper
from django.db.models.lookups import Exact, IExact
from django.db.models.sql.compiler import SQLCompiler

from customers.lookup_keys import name_key
from data_tools.query.call import DataToolCall, invalid_argument
from tools_registry.api import Json

TERM: Final = re.compile(r'"([^"]*)"|(\S+)')
MAX_TERMS: Final = 10
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

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> tuple[str, tuple[Any, ...]]:
        (column, of_column), (name, of_name) = map(compiler.compile, self.get_source_expressions())
        return ON_SQLITE.format(column=column, name=name), (*of_column, *of_name)


@dataclass(frozen=True)
class Filters:
    """The conditions that the arguments of a call put on rows."""

    call: DataToolCall
    conditions: dict[str, Q] = field(default_factory=dict)
    shown: dict[str, Json] = field(default_factory=dict)

    def add(self, argument: str, condition: Q, *, shown: Json = None) -> None:
        """Adds the condition of an argument; results show its value, or what is given instead."""
        self.conditions[argument] = condition
        if shown is not None:
            self.shown[argument] = shown

    def add_equal(self, argument: str, column: str, *, unless: str = "") -> None:
        """Adds the condition that a column has the value of an argument.

        Without the argument, and if its value is `unless`, there is no condition.
        """
        value = self.call.arguments.get(argument, unless)
        if value != unless:
            self.add(argument, Q(**{column: value}))

    def add_ignoring_case(self, argument: str, column: str) -> None:
        """Adds the condition that a column has the text of an argument, in upper or lower case.

        As the indexes have the column: `iexact` is LIKE on SQLite, which uses none of them.
        """
        if value := self.call.arguments.get(argument):
            self.add(argument, Q(Exact(Upper(column), Upper(Value(value)))))

    def words(self, argument: str, lookups: Sequence[str]) -> None:
        """Adds the condition that one of the lookups holds for each word or phrase."""
        if argument in self.call.arguments:
            found = terms(self.call.arguments[argument])
            self.add(argument, reduce(and_, (_anywhere(term, lookups) for term in found)))

    def add_range(self, argument: str, column: str) -> None:
        """Adds the bounds `min_...` and `max_...` of a column."""
        for bound, lookup in (("min", "gte"), ("max", "lte")):
            name = f"{bound}_{argument}"
            if name in self.call.arguments:
                self.add(name, Q(**{f"{column}__{lookup}": self.call.arguments[name]}))

    def trait(self, argument: str, column: str) -> None:
        """Adds the condition that a JSON object has a member: `name=value`.

        Raises ValidationFailure.
        """
        if argument not in self.call.arguments:
            return
        name, equals, value = self.call.arguments[argument].partition("=")
        if not equals or not name.strip():
            raise invalid_argument(argument, "send name=value, such as beta=true.")
        member = Member(column, Value(name.strip(), output_field=TextField()))
        self.add(argument, Q(IExact(member, value.strip())))

    def combine_without(self, argument: str = "") -> Q:
        """All conditions together, but for that of one argument."""
        return reduce(and_, (q for name, q in self.conditions.items() if name != argument), Q())


def terms(query: str) -> list[str]:
    """The words of a query, and its phrases in quotes, in lower case. Raises ValidationFailure."""
    found = split(query)
    if not 0 < len(found) <= MAX_TERMS:
        raise invalid_argument("query", f"send 1 to {MAX_TERMS} words.")
    return found


def split(query: str) -> list[str]:
    """The words of a query, and its phrases in quotes, in lower case; any number of them."""
    found = [name_key(phrase or word) for phrase, word in TERM.findall(query)]
    return [term for term in found if term.strip('"')]


def _anywhere(term: str, lookups: Sequence[str]) -> Q:
    return reduce(or_, (Q(**{lookup: term}) for lookup in lookups))
