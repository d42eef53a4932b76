"""Customers, companies and agents by the names that people use for them."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import reduce
from operator import and_
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from django.db import connection
from django.db.models import Case, Model, Q, QuerySet, Value, When

from customers.identification import aliases
from customers.lookup_keys import domain_of, email_key, has_external_id, is_unclaimed_ticket
from data_tools.query import texts
from data_tools.query.call import DataToolCall, invalid_argument
from data_tools.query.results import reference
from foundation.text.folding import remove_invisible
from foundation.text.names import (
    find_nearest_names,
    halve_word,
    is_same_name,
    list_own_keys,
    list_variant_keys,
    name_key,
    remove_middle,
)
from tools_registry.api import Json
from workspace import access
from workspace.access import Access
from workspace.models import Customer, User

M = TypeVar("M", bound=Model)

MAX_CANDIDATES: Final = 10
# How many neighbours in the order of each key are compared with a name that no row has.
NEIGHBOURS: Final = 20
MAX_CLOSEST: Final = 3
# Of the names that have the words or the pieces of a name, so many are compared with it.
MAX_COMPARED: Final = 1_000
MAX_WORDS: Final = 4
# Of a table without keys of names, so many rows are compared: agents and teammates.
MAX_SMALL: Final = 2_000
# So many names are read to find parts of them without an index.
MAX_WITHOUT_INDEX: Final = 10_000
UNCLAIMED: Final = "{many} tickets of this address belong"
WHY_UNCLAIMED: Final = "in them it is not verified, or it is not only this customer's."
# `Ada <ada@acme.example>` and `mailto:ada@acme.example`, as mail programs copy an address.
COPIED_ADDRESS: Final = re.compile(
    r"(?:.*<|mailto:)\s*(?:mailto:)?([^\s<>?]+@[^\s<>?]+)[>?]?.*", re.IGNORECASE | re.DOTALL
)

__all__ = [
    "AGENTS",
    "COMPANIES",
    "TEAMMATES",
    "USERS",
    "RowKind",
    "RowMatch",
    "find_row",
    "get_row",
    "look_up",
    "person",
    "reference",
]


@dataclass(frozen=True, slots=True)
class RowKind(Generic[M]):
    """What an argument names. `ways` are tried in turn: each returns a condition, or None.

    A row with this very key has precedence over the others that a way finds. `name` is the column
    of names or of their keys: of a small table, names are compared in this process. `addresses` are
    indexed columns that are compared with a name that nothing has. `has_parts` says that PostgreSQL
    has an index of the parts of names.
    """

    argument: str
    rows: Callable[[Access], QuerySet[M]]
    ways: Sequence[Callable[[str], Q | None]]
    name: str
    addresses: Sequence[str] = ()
    is_small: bool = False
    has_parts: bool = False
    label: Callable[[M], str] = str


@dataclass(frozen=True, slots=True)
class RowMatch(Generic[M]):
    """What a name names: one row, or the rows that it may have meant."""

    row: M | None
    candidates: Sequence[M] = ()
    is_ambiguous: bool = False

    @property
    def kind(self) -> str:
        if self.row is not None:
            return "exact"
        return "ambiguous" if self.is_ambiguous else "none"


def find_row(call: DataToolCall, kind: RowKind[M], name: str | None) -> M | None:
    """Returns the row that an argument names, or None without a name. Raises ValidationFailure."""
    return None if name is None else get_row(call, kind, name)


def get_row(call: DataToolCall, kind: RowKind[M], name: str) -> M:
    """Returns the row that an argument names. Raises ValidationFailure."""
    match = look_up(call, kind, name)
    if match.row is not None:
        return match.row
    listed = ", ".join(f"{row.pk} {texts.line(kind.label(row))}" for row in match.candidates)
    if match.is_ambiguous:
        many = f"{len(match.candidates)}" + "+" * (len(match.candidates) == MAX_CANDIDATES)
        raise invalid_argument(kind.argument, f"{many} match: {listed}. Send an id.")
    raise invalid_argument(
        kind.argument, "none matches" + (f"; closest: {listed}." if listed else ".")
    )


def unclaimed_tickets_hints(call: DataToolCall, user: Customer | None) -> list[str]:
    """Says how many tickets of a customer's addresses belong to no customer."""
    if user is None or call.access.customer_id:
        return []
    names = aliases.list_other_names(user)
    keys = {email_key(one) for one in (user.email, *names["other_emails"]) if one}
    many = access.tickets(call.access).filter(is_unclaimed_ticket(keys)).count() if keys else 0
    if not many:
        return []
    tickets = "1 ticket of this address belongs" if many == 1 else UNCLAIMED.format(many=many)
    return [f"{tickets} to no customer: {WHY_UNCLAIMED}"]


def hint(match: RowMatch[Any], search: str) -> str:
    """What to do about a name that names no row, or several."""
    if match.is_ambiguous:
        return f"{len(match.candidates)} match. Call again with an id."
    closest = "Candidates are the closest. " if match.candidates else ""
    return f"None matches. {closest}Use {search} to search."


def look_up(call: DataToolCall, kind: RowKind[M], name: str) -> RowMatch[M]:
    """Returns what a name names. An id has precedence over a name."""
    rows, name = kind.rows(call.access), remove_invisible(name).strip()
    for way in kind.ways:
        condition = way(name)
        if condition is None:
            continue
        match = _match(rows, condition, name)
        if match is not None:
            return match
    named = _list_spellings(rows, kind, name)
    same = [pk for each, pk in named if name_key(each) == name_key(name)]
    same = same or [pk for each, pk in named if is_same_name(each, name)]
    if same:
        return _match(rows, Q(pk__in=same), name) or RowMatch(None)
    variants = list_variant_keys(name)
    similar = [pk for each, pk in named if name_key(each) in variants]
    return RowMatch(None, _closest(rows, kind, name, similar))


def _match(rows: QuerySet[M], condition: Q, name: str) -> RowMatch[M] | None:
    found = list(rows.filter(condition).order_by("pk")[:MAX_CANDIDATES])
    exact = [row for row in found if row.pk == name] or found
    if len(exact) == 1:
        return RowMatch(exact[0])
    return RowMatch(None, found, is_ambiguous=True) if found else None


def _list_spellings(rows: QuerySet[M], kind: RowKind[M], name: str) -> list[tuple[str, Any]]:
    """Returns names, with the keys of their rows, that may be another spelling of this one.

    Of a small table, they are all names.
    """
    names = rows.order_by("pk").values_list("name", "pk")
    if kind.is_small and name_key(name):
        return list(names[:MAX_SMALL])
    keys = list_variant_keys(name)
    return list(names.filter(name_key__in=keys)[:MAX_COMPARED]) if keys else []


def person(user: User | None) -> dict[str, Json] | None:
    """A teammate as results refer to them."""
    return None if user is None else {"id": str(user.pk), "name": user.get_full_name()}


def _closest(rows: QuerySet[M], kind: RowKind[M], name: str, similar: Sequence[Any]) -> list[M]:
    """Returns the rows that are similar already, and those with a near name or address."""
    near: list[Any] = []
    can_compare = _can_compare_parts(rows, kind)
    for names in _list_similar_names(rows, kind, name) if can_compare else ():
        by_name: dict[str, list[Any]] = {}
        for each, pk in names:
            by_name.setdefault(name_key(each), []).append(pk)
        keys = find_nearest_names(name, by_name, MAX_CANDIDATES)
        if near := [pk for key in keys for pk in by_name[key]]:
            break
    ids = [*similar, *near]
    limit = MAX_CANDIDATES if ids else MAX_CLOSEST
    if not can_compare:
        ids += _find_similar_keys(rows, kind.name, name_key(name))
    for column in kind.addresses:
        ids += _find_similar_keys(rows, column, email_key(name))
    ids = list(dict.fromkeys(ids))[:limit]
    found = rows.in_bulk(ids)
    return [found[pk] for pk in ids if pk in found]


def _list_similar_names(
    rows: QuerySet[M], kind: RowKind[M], name: str
) -> Iterator[Iterable[tuple[str, Any]]]:
    """Yields groups of names to compare with this one; the first that has a near one is enough.

    First those that have all its words, or words with this beginning or a typing error. Then those
    that have one of its words, the rarest first; if too many do, those whose words begin alike.
    """
    names = rows.order_by().values_list(kind.name, "pk")
    if kind.is_small:
        yield names[:MAX_SMALL]
        return
    words = list(dict.fromkeys(name_key(name).split()))[:MAX_WORDS]
    if not words or (_email in kind.ways and _email(name)):
        return
    has_words, has_halves, has_all_nearly = (
        reduce(and_, (has(kind.name, word) for word in words))
        for has in (_has_word, _has_half, _has_word_nearly)
    )
    yield names.filter(has_words)[:MAX_COMPARED]
    rank = Case(When(has_halves, Value(0)), default=Value(1))
    yield names.filter(has_all_nearly).order_by(rank)[:MAX_COMPARED]
    if len(words) == 1:
        return
    by_word = {
        word: list(names.filter(_has_word(kind.name, word))[:MAX_COMPARED]) for word in words
    }
    for word in sorted(words, key=lambda word: len(by_word[word])):
        if len(by_word[word]) < MAX_COMPARED:
            yield by_word[word]
        else:
            others = (_has_word(kind.name, other[0]) for other in words if other != word)
            yield names.filter(_has_word(kind.name, word), *others)[:MAX_COMPARED]


def _has_word(column: str, beginning: str) -> Q:
    """The condition that a word of a name has this beginning."""
    return Q(**{f"{column}__startswith": beginning}) | Q(**{f"{column}__contains": f" {beginning}"})


def _has_half(column: str, word: str) -> Q:
    beginning, end = halve_word(word)
    has_beginning = _has_word(column, beginning)
    return has_beginning | Q(**{f"{column}__contains": end}) if end else has_beginning


def _has_word_nearly(column: str, word: str) -> Q:
    beginning, end = remove_middle(word)
    has_both = _has_word(column, beginning) & Q(**{f"{column}__contains": end})
    return _has_half(column, word) | has_both


def _can_compare_parts(rows: QuerySet[M], kind: RowKind[M]) -> bool:
    """Returns whether an index has the parts of names, or names are few enough to be read."""
    if kind.has_parts and connection.vendor == "postgresql":
        return True
    return kind.is_small or not rows.order_by()[MAX_WITHOUT_INDEX:].exists()


def _find_similar_keys(rows: QuerySet[M], column: str, wanted: str) -> list[Any]:
    """Returns similar names or addresses among the neighbours in their order."""
    following = rows.filter(**{f"{column}__gte": wanted}).order_by(column)
    preceding = rows.filter(**{f"{column}__lt": wanted}).order_by(f"-{column}")
    by_key: dict[str, Any] = {}
    for near in (following, preceding):
        by_key |= dict(near.values_list(column, "pk")[:NEIGHBOURS])
    close = get_close_matches(wanted, [key for key in by_key if key], n=MAX_CLOSEST)
    return [by_key[key] for key in close]


def _id(name: str) -> Q:
    """By either id, in one statement: there is at most one row for each."""
    return Q(pk=name) | has_external_id([name])


def _email(name: str) -> Q | None:
    address = _address(name)
    return Q(email_key=email_key(address)) if "@" in address else None


def _address(name: str) -> str:
    copied = COPIED_ADDRESS.fullmatch(name)
    return copied.group(1) if copied else name


def _earlier_email(name: str) -> Q | None:
    return aliases.has_earlier_address(_address(name)) if "@" in name else None


def _domain(name: str) -> Q | None:
    return Q(domain=domain_of(name)) if "." in name and domain_of(name) else None


def _uuid(name: str) -> Q | None:
    try:
        return Q(pk=UUID(name))
    except ValueError:
        return None


def _key(name: str) -> Q | None:
    keys = list_own_keys(name)
    return Q(name_key__in=keys) if keys else None


USERS: Final = RowKind(
    "user",
    lambda reads: access.customers(reads).select_related("company"),
    (_id, aliases.has_alias_id, _email, _earlier_email, _key),
    "name_key",
    ("email_key",),
    has_parts=True,
)
COMPANIES: Final = RowKind(
    "company",
    access.companies,
    (_id, _domain, _key),
    "name_key",
    ("domain",),
)
AGENTS: Final = RowKind("agent", access.agents, (_uuid,), "name", is_small=True)
TEAMMATES: Final = RowKind(
    "assignee",
    access.teammates,
    (_uuid, lambda name: Q(email__iexact=_address(name))),
    "name",
    is_small=True,
    label=lambda user: user.get_full_name(),
)
