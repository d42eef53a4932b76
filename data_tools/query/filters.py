"""The filters of a list: conditions by the name of their argument, as results repeat them."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from typing import Any, Final

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import BooleanField, Func, Model, Q, QuerySet, TextField, Value
from django.db.models.functions import Upper
from django.db.models.lookups import Exact, IExact
from django.db.models.sql.compiler import SQLCompiler

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

MAX_TERMS: Final = 10
# Of the values that one argument is read as.
MAX_SAME: Final = 20
# Of rows of which the names of traits are read.
MAX_SAMPLED: Final = 1_000
ON_SQLITE: Final = """(
    SELECT CASE WHEN type IN ('true', 'false') THEN type ELSE CAST(value AS TEXT) END
      FROM json_each({column}) WHERE key = {name}
)"""

# A number that both databases compare exactly.
COMPARISON: Final = re.compile(r"([^=<>]+)([<>]=?)\s*(-?\d{1,15}(?:\.\d{1,6})?)\s*", re.ASCII)
COMPARED_ON_SQLITE: Final = """EXISTS (
    SELECT 1 FROM json_each({column})
    WHERE key = {name} AND type IN ('integer', 'real') AND value {sign} CAST({number} AS NUMERIC)
)"""
COMPARED_ON_POSTGRESQL: Final = """(
    CASE WHEN jsonb_typeof({column} -> {name}) = 'number'
    THEN ({column} ->> {name})::numeric {sign} {number}::numeric ELSE false END
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


class ComparedMember(Func):
    """Whether a member of a JSON object is a number that is larger or smaller than another one."""

    output_field = BooleanField()

    def __init__(self, member: Member, sign: str, number: str) -> None:
        super().__init__(*member.get_source_expressions(), Value(number, output_field=TextField()))
        self.sign = sign

    def as_sqlite(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> tuple[str, tuple[Any, ...]]:
        (column, of_column), (name, of_name), (number, of_number) = self._compile(compiler)
        sql = COMPARED_ON_SQLITE.format(column=column, name=name, sign=self.sign, number=number)
        return sql, (*of_column, *of_name, *of_number)

    def as_postgresql(
        self,
        compiler: SQLCompiler,
        connection: BaseDatabaseWrapper,  # noqa: ARG002  Django passes it by name
        **_context: Any,
    ) -> tuple[str, tuple[Any, ...]]:
        (column, of_column), (name, of_name), (number, of_number) = self._compile(compiler)
        sql = COMPARED_ON_POSTGRESQL.format(column=column, name=name, sign=self.sign, number=number)
        return sql, (*of_column, *of_name, *of_column, *of_name, *of_number)

    def _compile(self, compiler: SQLCompiler) -> Iterator[tuple[str, Sequence[Any]]]:
        return map(compiler.compile, self.get_source_expressions())


@dataclass(frozen=True)
class Filters:
    """The conditions that the arguments of a call put on rows, by the name of the argument.

    A method that is given None, for an argument that was left out, adds no condition. `known` has
    values that rows have, by what they are (`Known values of ARGUMENT`; `Some` if there are more),
    for the hints of a result without rows.
    """

    conditions: dict[str, Q] = field(default_factory=dict)
    shown: dict[str, Json] = field(default_factory=dict)
    known: dict[str, Sequence[str]] = field(default_factory=dict)

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

        As the indexes have the column: `iexact` is LIKE on SQLite, which uses none of them. UPPER
        leaves letters beyond ASCII as they are on SQLite, so the value is compared in both cases.
        """
        if value:
            cases = (value,) if value.isascii() else (value, value.upper(), value.lower())
            same = (Q(Exact(Upper(argument), Upper(Value(one)))) for one in dict.fromkeys(cases))
            self.add(argument, reduce(or_, same))

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
        self.known[f"{known.quantity} values of {argument}"] = known.values
        self.add(argument, Q(**{f"{argument}__in": same or [value]}), shown=same or None)

    def add_trait(self, trait: str | None, column: str, rows: QuerySet[Any]) -> None:
        """Adds the condition that a JSON object of the rows has a member: `name=value`.

        A number can be compared too: `name>5`. If no row has the name, it is read in any
        spelling that some of the rows have, which results show. Raises ValidationFailure.
        """
        if trait is None:
            return
        name, sign, value = _read_trait(trait)
        names, shown = [name], None
        known = _list_member_names(rows, column)
        if name not in known.values:
            self.known[f"{known.quantity} names of trait"] = known.values
            same = find_same_values(name, known.values)
            # That no row has the name is known only after all rows have been read.
            if same and (known.is_all or not _is_member_of_any(rows, column, name)):
                names, shown = same, [f"{one}{sign}{value}" for one in same]
        each = (_has_member(_member(column, one), sign, value) for one in names)
        self.add("trait", reduce(or_, each), shown=shown)

    def combine_without(self, argument: str = "") -> Q:
        """All conditions together, but for that of one argument."""
        return reduce(and_, (q for name, q in self.conditions.items() if name != argument), Q())


def _read_trait(trait: str) -> tuple[str, str, str]:
    """Returns the name, the sign and the value. Raises ValidationFailure."""
    compared = COMPARISON.fullmatch(trait)
    parts = compared.groups() if compared else trait.partition("=")
    name, sign, value = (part.strip() for part in parts)
    if not sign or not name:
        reason = "send name=value, such as beta=true, or seats>5 of a number."
        raise invalid_argument("trait", reason)
    return name, sign, value


def _has_member(member: Member, sign: str, value: str) -> Q:
    if sign != "=":
        return Q(ComparedMember(member, sign, value))
    cases = sorted({value, value.upper(), value.lower()})
    return reduce(or_, (Q(IExact(member, case)) for case in cases))


def _member(column: str, name: str) -> Member:
    return Member(column, Value(name, output_field=TextField()))


def _is_member_of_any(rows: QuerySet[Any], column: str, name: str) -> bool:
    with_name = rows.alias(member=_member(column, name)).filter(member__isnull=False)
    return bool(with_name.exists())


def _list_member_names(rows: QuerySet[Any], column: str) -> KnownValues:
    """Returns the names of the members of JSON objects in some rows, the most frequent first."""
    objects = rows.order_by().exclude(**{column: {}}).values_list(column, flat=True)
    read = list(objects[: MAX_SAMPLED + 1])
    found = Counter(name for members in read[:MAX_SAMPLED] for name in members)
    names = sorted(found, key=lambda name: (-found[name], name))
    return KnownValues(names, len(read) <= MAX_SAMPLED)


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
