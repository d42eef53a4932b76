"""The argument `trait`: a member of a JSON column, or a known trait, which has its own column."""

import json
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any, Final

from django.db.models import (
    BooleanField,
    DateField,
    DateTimeField,
    DecimalField,
    Model,
    PositiveIntegerField,
    Q,
    QuerySet,
)

from data_tools.query import periods
from data_tools.query.call import DataToolCall, invalid_argument
from data_tools.query.filters import Filters, has_text
from data_tools.query.json_members import ComparedDay, ComparedNumber, Member, has_member
from data_tools.query.known_values import KnownValues
from foundation.text.values import find_same_values, value_key
from tools_registry.api import Json, ValidationFailure

# Of rows of which the names and values of traits are read.
MAX_SAMPLED: Final = 1_000
# A number that both databases compare exactly; a day or a time, or days from today.
NUMBER: Final = re.compile(r"-?\d{1,15}(?:\.\d{1,6})?", re.ASCII)
COMPARISON: Final = re.compile(
    rf"([^=<>]+)([<>]=?)\s*({NUMBER.pattern}|\d{{4}}-\d\d-\d\d\S*|[+-]\d{{1,4}}d)\s*", re.ASCII
)
HOW_TO_SEND: Final = "send name=value, such as beta=true, or seats>5 of a number or a date."
LOOKUPS: Final = {"=": "exact", ">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}
BOOLEANS: Final = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}


@dataclass(frozen=True, slots=True)
class Trait:
    """What a call filters by: a column of its own, or members of the JSON column by their names."""

    column: str = ""
    members: tuple[str, ...] = ()


NO_TRAIT: Final = Trait()


def add_trait(
    filters: Filters,
    call: DataToolCall,
    trait: str | None,
    *,
    rows: QuerySet[Any],
    json_column: str,
    columns: Collection[str] = (),
) -> Trait:
    """Adds the condition that rows have a trait: `name=value`, or `name>5` of a number or a day.

    `columns` are the known traits. Others are members of the JSON column. If no row has the name,
    it is read in any spelling that some of the rows have, which results show. Raises
    ValidationFailure.
    """
    if trait is None:
        return NO_TRAIT
    name, sign, value = _read_trait(trait)
    known = _sample_members(rows, json_column)
    same = [name] if name in columns else find_same_values(name, columns)
    if same and (same == [name] or name not in known.names.values):
        condition = _column_condition(call, rows.model, same[0], sign, value)
        filters.add("trait", condition, shown=f"{same[0]}{sign}{value}")
        return Trait(column=same[0])
    names = _list_spellings(filters, name, rows, json_column, known)
    shown = [f"{one}{sign}{value}" for one in names] if names != [name] else None
    each = (_member_condition(call, json_column, one, sign, value) for one in names)
    filters.add("trait", reduce(or_, each), shown=shown)
    values = known.list_values(names)
    filters.known[f"{values.quantity} values of trait {names[0]}"] = value, values.values
    return Trait(members=tuple(names))


@dataclass(frozen=True, slots=True)
class _SampledMembers:
    """The JSON objects of some rows, and whether they are those of all rows."""

    objects: Sequence[Mapping[str, Json]]
    is_all: bool

    @property
    def names(self) -> KnownValues:
        return self._most_frequent(name for members in self.objects for name in members)

    def list_values(self, names: Collection[str]) -> KnownValues:
        """Returns the values of members with these names, as `trait` takes them."""
        found = (members[name] for members in self.objects for name in names if name in members)
        plain = (one for one in found if isinstance(one, str | int | float))
        return self._most_frequent(
            one if isinstance(one, str) else json.dumps(one) for one in plain
        )

    def _most_frequent(self, found: Iterable[str]) -> KnownValues:
        counts = Counter(found)
        return KnownValues(sorted(counts, key=lambda one: (-counts[one], one)), self.is_all)


def _sample_members(rows: QuerySet[Any], column: str) -> _SampledMembers:
    objects = rows.order_by().exclude(**{column: {}}).values_list(column, flat=True)
    read = list(objects[: MAX_SAMPLED + 1])
    return _SampledMembers(read[:MAX_SAMPLED], len(read) <= MAX_SAMPLED)


def _list_spellings(
    filters: Filters, name: str, rows: QuerySet[Any], column: str, sampled: _SampledMembers
) -> list[str]:
    """Returns the names that are the same as one that no row has, or this one."""
    known = sampled.names
    if name in known.values:
        return [name]
    filters.known[f"{known.quantity} names of trait"] = name, known.values
    same = find_same_values(name, known.values)
    # That no row has the name is known only after all rows have been read.
    return same if same and (known.is_all or not _has_name(rows, column, name)) else [name]


def _has_name(rows: QuerySet[Any], column: str, name: str) -> bool:
    with_name = rows.alias(member=Member(column, name)).filter(member__isnull=False)
    return bool(with_name.exists())


def _member_condition(call: DataToolCall, column: str, name: str, sign: str, value: str) -> Q:
    if sign == "=":
        return has_member(column, name, value)
    if NUMBER.fullmatch(value):
        return Q(ComparedNumber(column, name, sign, value))
    day = periods.read_bounds(call, "trait", value)[0].astimezone(call.zone).date()
    return Q(ComparedDay(column, name, sign, day.isoformat()))


def _column_condition(
    call: DataToolCall, model: type[Model], name: str, sign: str, value: str
) -> Q:
    """The condition on the column of a known trait. Raises ValidationFailure."""
    column = model._meta.get_field(name)
    if isinstance(column, DateField):
        start, end = periods.read_bounds(call, "trait", value)
        if isinstance(column, DateTimeField):
            return _span_condition(name, sign, start, end)
        first = start.astimezone(call.zone).date()
        return _span_condition(name, sign, first, first + periods.DAY)
    if isinstance(column, DecimalField | PositiveIntegerField):
        if not NUMBER.fullmatch(value):
            raise _unusable(name, "a number", f"{name}=100 or {name}>100")
        return Q(**{f"{name}__{LOOKUPS[sign]}": Decimal(value)})
    if sign != "=":
        raise _unusable(name, "no number or date", f"{name}=VALUE")
    if isinstance(column, BooleanField):
        if value_key(value) not in BOOLEANS:
            raise _unusable(name, "true or false", f"{name}=true")
        return Q(**{name: BOOLEANS[value_key(value)]})
    choices = [str(one) for one, _ in getattr(column, "choices", None) or ()]
    if not choices:
        return has_text(name, value)
    same = find_same_values(value, choices)
    if not same:
        raise invalid_argument("trait", f"{name} is one of {', '.join(choices)}.")
    return Q(**{name: same[0]})


def _span_condition(name: str, sign: str, start: date, end: date) -> Q:
    """Compares a column with a day, or with a moment, which lasts from `start` to before `end`."""
    if sign == "=":
        return Q(**{f"{name}__gte": start, f"{name}__lt": end})
    lookup, bound = {
        ">": ("gte", end),
        ">=": ("gte", start),
        "<": ("lt", start),
        "<=": ("lt", end),
    }[sign]
    return Q(**{f"{name}__{lookup}": bound})


def _unusable(name: str, kind: str, example: str) -> ValidationFailure:
    return invalid_argument("trait", f"{name} is {kind}. Send {example}.")


def _read_trait(trait: str) -> tuple[str, str, str]:
    """Returns the name, the sign and the value. Raises ValidationFailure."""
    compared = COMPARISON.fullmatch(trait)
    parts = compared.groups() if compared else trait.partition("=")
    name, sign, value = (part.strip() for part in parts)
    if not sign or not name:
        raise invalid_argument("trait", HOW_TO_SEND)
    return name, sign, value
