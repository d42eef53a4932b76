"""The filters of a list: conditions by the name of their argument, as results repeat them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Any, Final

from django.db.models import Model, Q, QuerySet, Value
from django.db.models.functions import Upper
from django.db.models.lookups import Exact

from customers.lookup_keys import email_key
from data_tools.query import texts
from data_tools.query.call import invalid_argument
from data_tools.query.known_values import (
    KnownValues,
    has_value,
    list_indexed_values,
    list_newest_values,
)
from data_tools.query.results import reference
from foundation.text.names import list_name_keys
from foundation.text.values import find_same_values
from foundation.text.words import split_name_query
from tools_registry.api import Json

ANY: Final = "any"
MAX_TERMS: Final = 10
# Of the values that one argument is read as.
MAX_SAME: Final = 20


@dataclass(frozen=True)
class Filters:
    """The conditions that the arguments of a call put on rows, by the name of the argument.

    A method that is given None, for an argument that was left out, adds no condition. `known` has
    what was looked for and the values that rows have, by what they are (`Known values of ARGUMENT`;
    `Some` if there are more), for the hints of a result without rows.
    """

    conditions: dict[str, Q] = field(default_factory=dict)
    shown: dict[str, Json] = field(default_factory=dict)
    known: dict[str, tuple[str, Sequence[str]]] = field(default_factory=dict)

    def add(self, argument: str, condition: Q, *, shown: Json = None) -> None:
        """Adds the condition of an argument; results show its value, or what is given instead."""
        self.conditions[argument] = condition
        if shown is not None:
            self.shown[argument] = shown

    def show(self, argument: str, value: Json) -> None:
        """Lets results show what an argument was read as."""
        self.shown[argument] = value

    def add_equal(self, argument: str, value: str | None, *, unless: str | None = None) -> None:
        """Adds the condition that the column of this name has a value, which is not `unless`."""
        if value is not None and value != unless:
            self.add(argument, Q(**{argument: value}))

    def add_choices(self, argument: str, values: Sequence[str] | None) -> None:
        """Adds the condition that the column of this name has one of some values, unless `any`."""
        if values is not None and ANY not in values:
            self.add(argument, Q(**{f"{argument}__in": values}))

    def add_ignoring_case(self, argument: str, value: str | None) -> None:
        """Adds the condition that the column of this name has a text, in upper or lower case."""
        if value:
            self.add(argument, has_text(argument, value))

    def add_row(self, argument: str, row: Model | None, column: str = "") -> None:
        """Adds the condition that a column refers to a row; results show its id and its name."""
        if row is not None:
            self.add(argument, Q(**{column or argument: row.pk}), shown=reference(row))

    def add_words(self, query: str | None, lookups: Sequence[str]) -> None:
        """Adds the condition that one of the lookups holds for each word or phrase of `query`."""
        if query is not None:
            groups = (
                reduce(or_, (_anywhere(term, lookups) for term in group)) for group in terms(query)
            )
            self.add("query", reduce(and_, groups))

    def add_range(
        self, argument: str, column: str, lowest: float | None, highest: float | None
    ) -> None:
        """Adds the bounds of a column, which the arguments `min_...` and `max_...` have."""
        if lowest is not None:
            self.add(f"min_{argument}", Q(**{f"{column}__gte": lowest}))
        if highest is not None:
            self.add(f"max_{argument}", Q(**{f"{column}__lte": highest}))

    def add_known(
        self, argument: str, value: str | None, rows: QuerySet[Any], *, are_few: bool = False
    ) -> None:
        """Adds the condition that the column of this name has a text: this one, or the same ones.

        If no row has the text, those are found that are the same but for case and separators, and
        results show them. An index has `rows` in the order of the column, unless they are few.
        Raises ValidationFailure.
        """
        if not value:
            return
        exact = Q(**{argument: value})
        known = list_newest_values(rows, argument) if are_few else KnownValues([], is_all=False)
        if value in known.values or (not known.is_all and has_value(rows, argument, value)):
            self.add(argument, exact)
            return
        known = known if are_few else list_indexed_values(rows, argument)
        same = find_same_values(value, known.values)
        if len(same) > MAX_SAME:
            first = ", ".join(texts.line(one) for one in same[:MAX_SAME])
            raise invalid_argument(argument, f"more than {MAX_SAME} are the same: {first}.")
        self.known[f"{known.quantity} values of {argument}"] = value, known.values
        self.add(argument, Q(**{f"{argument}__in": same or [value]}), shown=same or None)

    def combine_without(self, argument: str = "") -> Q:
        """All conditions together, but for that of one argument."""
        return reduce(and_, (q for name, q in self.conditions.items() if name != argument), Q())


def has_text(column: str, value: str) -> Q:
    """The condition that a column has a text, in upper or lower case.

    As the indexes have the column: `iexact` is LIKE on SQLite, which uses none of them. UPPER
    leaves letters beyond ASCII as they are on SQLite, so the value is compared in both cases.
    """
    cases = (value,) if value.isascii() else (value, value.upper(), value.lower())
    same = (Q(Exact(Upper(column), Upper(Value(one)))) for one in dict.fromkeys(cases))
    return reduce(or_, same)


def terms(query: str) -> list[tuple[str, ...]]:
    """The words of a query and its phrases in quotes, in groups: of each, one is looked for.

    Raises ValidationFailure.
    """
    found = split_name_query(query)
    if not 0 < len(found) <= MAX_TERMS:
        raise invalid_argument("query", f"send 1 to {MAX_TERMS} words.")
    return found


def _anywhere(term: str, lookups: Sequence[str]) -> Q:
    """The condition that a name has a term in any spelling, or an address as it is."""
    forms = {lookup: _list_forms(term, lookup) for lookup in lookups}
    return reduce(or_, (Q(**{lookup: one}) for lookup, each in forms.items() for one in each))


def _list_forms(term: str, lookup: str) -> Sequence[str]:
    return list_name_keys(term) if lookup.startswith("name") else [email_key(term)]
