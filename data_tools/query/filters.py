"""The filters of a list: conditions by the name of their argument, as results repeat them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Func, Model, Q, TextField, Value
from django.db.models.functions import Upper
from django.db.models.lookups import Exact, IExact
from django.db.models.sql.compiler import SQLCompiler

from customers.lookup_keys import name_key
from data_tools.query.call import invalid_argument
from data_tools.query.results import reference
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
    """The conditions that the arguments of a call put on rows, by the name of the argument.

    A method that is given None, for an argument that was left out, adds no condition.
    """

    conditions: dict[str, Q] = field(default_factory=dict)
    shown: dict[str, Json] = field(default_factory=dict)

    def add(self, argument: str, condition: Q, *, shown: Json = None) -> None:
        """Adds the condition of an argument; results show its value, or what is given instead."""
        self.conditions[argument] = condition
        if shown is not None:
            self.shown[argument] = shown

    def add_equal(self, argument: str, value: str | None, *, unless: str | None = None) -> None:
        """Adds the condition that the column of this name has a value, which is not `unless`."""
        if value is not None and value != unless:
            self.add(argument, Q(**{argument: value}))

    def add_ignoring_case(self, argument: str, value: str | None) -> None:
        """Adds the condition that the column of this name has a text, in upper or lower case.

        As the indexes have the column: `iexact` is LIKE on SQLite, which uses none of them.
        """
        if value:
            self.add(argument, Q(Exact(Upper(argument), Upper(Value(value)))))

    def add_row(self, argument: str, row: Model | None, column: str = "") -> None:
        """Adds the condition that a column refers to a row; results show its id and its name."""
        if row is not None:
            self.add(argument, Q(**{column or argument: row.pk}), shown=reference(row))

    def add_words(self, query: str | None, lookups: Sequence[str]) -> None:
        """Adds the condition that one of the lookups holds for each word or phrase of `query`."""
        if query is not None:
            self.add("query", reduce(and_, (_anywhere(term, lookups) for term in terms(query))))

    def add_range(
        self, argument: str, column: str, lowest: float | None, highest: float | None
    ) -> None:
        """Adds the bounds of a column, which the arguments `min_...` and `max_...` have."""
        if lowest is not None:
            self.add(f"min_{argument}", Q(**{f"{column}__gte": lowest}))
        if highest is not None:
            self.add(f"max_{argument}", Q(**{f"{column}__lte": highest}))

    def add_trait(self, trait: str | None, column: str) -> None:
        """Adds the condition that a JSON object has a member: `name=value`.

        Raises ValidationFailure.
        """
        if trait is None:
            return
        name, equals, value = trait.partition("=")
        if not equals or not name.strip():
            raise invalid_argument("trait", "send name=value, such as beta=true.")
        member = Member(column, Value(name.strip(), output_field=TextField()))
        self.add("trait", Q(IExact(member, value.strip())))

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
