"""Customers, companies and agents by the names that people use for them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, Generic, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from customers.lookup_keys import domain_of, email_key, has_external_id, name_key
from data_tools.query import texts
from data_tools.query.call import DataToolCall, invalid_argument
from data_tools.query.results import reference
from tools_registry.api import Json
from workspace import access
from workspace.access import Access
from workspace.models import User

M = TypeVar("M", bound=Model)

MAX_CANDIDATES: Final = 10
# How many neighbours in the order of each key are compared with a name that no row has.
NEIGHBOURS: Final = 20
MAX_CLOSEST: Final = 3

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

    A row with this very key has precedence over the others that a way finds. `keys` are the indexed
    columns that are compared with a name that nothing has.
    """

    argument: str
    rows: Callable[[Access], QuerySet[M]]
    ways: Sequence[Callable[[str], Q | None]]
    keys: Sequence[str]


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
    listed = ", ".join(f"{row.pk} {texts.line(str(row))}" for row in match.candidates)
    if match.is_ambiguous:
        many = f"{len(match.candidates)}" + "+" * (len(match.candidates) == MAX_CANDIDATES)
        raise invalid_argument(kind.argument, f"{many} match: {listed}. Send an id.")
    raise invalid_argument(
        kind.argument, "none matches" + (f"; closest: {listed}." if listed else ".")
    )


def hint(match: RowMatch[Any], search: str) -> str:
    """What to do about a name that names no row, or several."""
    if match.is_ambiguous:
        return f"{len(match.candidates)} match. Call again with an id."
    closest = "Candidates are the closest. " if match.candidates else ""
    return f"None matches. {closest}Use {search} to search."


def look_up(call: DataToolCall, kind: RowKind[M], name: str) -> RowMatch[M]:
    """Returns what a name names. An id has precedence over a name."""
    rows, name = kind.rows(call.access), name.strip()
    for way in kind.ways:
        condition = way(name)
        if condition is None:
            continue
        found = list(rows.filter(condition).order_by("pk")[:MAX_CANDIDATES])
        exact = [row for row in found if row.pk == name] or found
        if len(exact) == 1:
            return RowMatch(exact[0])
        if found:
            return RowMatch(None, found, is_ambiguous=True)
    return RowMatch(None, _closest(rows, kind.keys, name))


def person(user: User | None) -> dict[str, Json] | None:
    """A teammate as results refer to them."""
    return None if user is None else {"id": str(user.pk), "name": user.get_full_name()}


def _closest(rows: QuerySet[M], keys: Sequence[str], name: str) -> list[M]:
    """The rows with a similar key, among the neighbours of the name in the order of each key."""
    wanted = name_key(name)
    by_key: dict[str, Any] = {}
    for key in keys:
        following = rows.filter(**{f"{key}__gte": wanted}).order_by(key)
        preceding = rows.filter(**{f"{key}__lt": wanted}).order_by(f"-{key}")
        for near in (following, preceding):
            by_key |= dict(near.values_list(key, "pk")[:NEIGHBOURS])
    close = get_close_matches(wanted, [key for key in by_key if key], n=MAX_CLOSEST)
    ids = list(dict.fromkeys(by_key[key] for key in close))
    found = rows.in_bulk(ids)
    return [found[pk] for pk in ids if pk in found]


def _id(name: str) -> Q:
    """By either id, in one statement: there is at most one row for each."""
    return Q(pk=name) | has_external_id([name])


def _email(name: str) -> Q | None:
    return Q(email_key=email_key(name)) if "@" in name else None


def _domain(name: str) -> Q | None:
    return Q(domain=domain_of(name)) if "." in name and domain_of(name) else None


def _uuid(name: str) -> Q | None:
    try:
        return Q(pk=UUID(name))
    except ValueError:
        return None


def _key(name: str) -> Q | None:
    return Q(name_key=name_key(name)) if name_key(name) else None


USERS: Final = RowKind(
    "user",
    lambda reads: access.customers(reads).select_related("company"),
    (_id, _email, _key),
    ("name_key", "email_key"),
)
COMPANIES: Final = RowKind(
    "company",
    access.companies,
    (_id, _domain, _key),
    ("name_key", "domain"),
)
AGENTS: Final = RowKind(
    "agent", access.agents, (_uuid, lambda name: Q(name__iexact=name)), ("name",)
)
TEAMMATES: Final = RowKind(
    "assignee",
    access.teammates,
    (_uuid, lambda name: Q(email__iexact=name), lambda name: Q(name__iexact=name)),
    ("name", "email"),
)
