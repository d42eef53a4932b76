"""Which column each header of a file is: by its name, the product that wrote it, or its cells."""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from customers.identification.field_values import InvalidValue
from customers.imports.choices import COLUMN, Choices, Guess
from customers.imports.columns import CUSTOM, FileKind, column_for
from customers.imports.reading import REFUSED_COLUMNS
from workspace.models import ImportKind

MAX_HEADER: Final = 100

# Headers by column, in the form of `header_key`. The second table needs a confirmation.
SYNONYMS: Final[Mapping[ImportKind, Mapping[str, tuple[str, ...]]]] = {
    ImportKind.CUSTOMERS: {
        "external_id": ("userid", "customerexternalid"),
        "email": ("emailaddress", "useremail", "customeremail"),
        "name": ("fullname",),
        "first_name": ("firstname", "givenname"),
        "last_name": ("lastname", "surname", "familyname"),
        "company_id": ("companyexternalid",),
        "signed_up_at": ("signedup", "signupdate"),
        "stripe": ("stripeid", "stripecustomerid"),
        "hubspot": ("hubspotid", "hubspotcontactid"),
    },
    ImportKind.COMPANIES: {
        "external_id": ("companyid", "companyexternalid"),
        "name": ("companyname",),
        "domain": ("domainname", "companydomain", "companydomainname"),
        "employee_count": ("employees", "numberofemployees"),
        "signed_up_at": ("signedup", "signupdate"),
    },
    ImportKind.TICKETS: {
        "external_id": ("ticketid",),
        "assignee": ("assigneeemail",),
        "status": ("ticketstatus",),
        "priority": ("ticketpriority",),
        "customer_id": ("customerexternalid", "requesterexternalid"),
    },
}
LIKELY: Final[Mapping[ImportKind, Mapping[str, tuple[str, ...]]]] = {
    ImportKind.CUSTOMERS: {
        "external_id": ("id", "customerid", "recordid", "key"),
        "email": ("mail",),
        "role": ("jobtitle",),
        "signed_up_at": ("created", "createdat", "createdate"),
    },
    ImportKind.COMPANIES: {
        "external_id": ("id", "recordid", "key"),
        "name": ("company", "organization"),
        "domain": ("website", "url"),
        "signed_up_at": ("created", "createdat", "createdate"),
    },
    ImportKind.TICKETS: {
        "external_id": ("id", "recordid", "key", "number"),
        "subject": ("title", "ticketname", "summary"),
        "created_at": ("created", "createdate"),
        "resolved_at": ("solvedat", "closedat", "closedate"),
        "customer_id": ("userid",),
        "message": ("description", "body"),
    },
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A file that another product writes. It has all the headers of `signature`.

    Other headers than those of `columns` are left out. `values` are the words of the product for
    ours, by column. `zone` is that of times without an offset.
    """

    product: str
    kind: ImportKind
    signature: frozenset[str]
    columns: Mapping[str, str]
    values: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    zone: str = ""


EXPORTS: Final = (
    Export(
        product="Stripe",
        kind=ImportKind.CUSTOMERS,
        signature=frozenset({"id", "email", "created", "delinquent"}),
        columns={
            "id": "stripe",
            "email": "email",
            "name": "name",
            "created": "signed_up_at",
        },
        zone="UTC",
    ),
    Export(
        product="HubSpot",
        kind=ImportKind.CUSTOMERS,
        signature=frozenset({"recordid", "firstname", "lastname", "email"}),
        columns={
            "recordid": "hubspot",
            "email": "email",
            "firstname": "first_name",
            "lastname": "last_name",
            "jobtitle": "role",
        },
    ),
    Export(
        product="HubSpot",
        kind=ImportKind.COMPANIES,
        signature=frozenset({"recordid", "companyname"}),
        columns={
            "recordid": "external_id",
            "companyname": "name",
            "companydomainname": "domain",
            "industry": "industry",
            "numberofemployees": "employee_count",
        },
    ),
    Export(
        product="HubSpot",
        kind=ImportKind.TICKETS,
        signature=frozenset({"ticketid", "ticketname", "ticketstatus"}),
        columns={
            "ticketid": "external_id",
            "ticketname": "subject",
            "ticketstatus": "status",
            "priority": "priority",
            "createdate": "created_at",
            "category": "category",
        },
        values={
            "status": {
                "new": "open",
                "waiting on contact": "in_progress",
                "waiting on us": "in_progress",
                "closed": "resolved",
            },
            "priority": {
                "low": "normal",
                "medium": "normal",
                "high": "priority",
                "urgent": "priority",
            },
        },
    ),
    Export(
        product="Intercom",
        kind=ImportKind.CUSTOMERS,
        signature=frozenset({"userid", "email", "signedup", "lastseen"}),
        columns={
            "userid": "external_id",
            "email": "email",
            "name": "name",
            "signedup": "signed_up_at",
        },
    ),
    Export(
        product="Zendesk",
        kind=ImportKind.TICKETS,
        signature=frozenset({"id", "requester", "subject", "status", "createdat", "solvedat"}),
        columns={
            "id": "external_id",
            "requesterexternalid": "customer_id",
            "subject": "subject",
            "status": "status",
            "priority": "priority",
            "group": "inbox",
            "tickettype": "category",
            "createdat": "created_at",
            "solvedat": "resolved_at",
        },
        values={
            "status": {
                "new": "open",
                "pending": "in_progress",
                "hold": "in_progress",
                "on-hold": "in_progress",
                "solved": "resolved",
                "closed": "resolved",
            },
            "priority": {
                "-": "",
                "low": "normal",
                "high": "priority",
                "urgent": "priority",
            },
            "category": {"-": ""},
            "customer_id": {"-": ""},
            "inbox": {"-": ""},
            "created_at": {"-": ""},
            "resolved_at": {"-": ""},
        },
    ),
    Export(
        product="Zendesk",
        kind=ImportKind.CUSTOMERS,
        signature=frozenset({"name", "email", "externalid", "restriction", "organization"}),
        columns={"name": "name", "email": "email", "externalid": "external_id"},
    ),
)


@dataclass(frozen=True, slots=True)
class Header:
    """A cell of the first row. `key` is its name in a form, and unique in the file."""

    key: str
    name: str
    is_named: bool
    samples: tuple[str, ...]

    @property
    def has_values(self) -> bool:
        return bool(self.samples)


def make_headers(head: Sequence[str], samples: Sequence[Sequence[str]]) -> tuple[Header, ...]:
    """Returns the headers of a file. `samples` has some cells of each that are not empty."""
    headers: list[Header] = []
    taken: set[str] = set()
    for place, (cell, cells) in enumerate(zip(head, samples, strict=True), 1):
        name = _printable(cell) or f"column {place}"
        key, number = name, 1
        while key in taken:
            number += 1
            key = f"{name} ({number})"
        taken.add(key)
        headers.append(Header(key, name, bool(cell), tuple(map(_printable, cells))))
    return tuple(headers)


def _printable(cell: str) -> str:
    """Returns a cell without control characters, which a database may not store."""
    return "".join(each for each in cell if unicodedata.category(each) != "Cc")


def header_key(name: str) -> str:
    """Returns a header without case, spaces and punctuation: `created` for `Created (UTC)`."""
    plain = re.sub(r"\([^()]*\)\s*$", "", name) or name
    return re.sub(r"[\W_]", "", plain.casefold())


def is_known(kind: FileKind) -> Callable[[str], bool]:
    """Returns a function that says whether a cell is a name that a header of this kind may have."""
    synonyms = (*SYNONYMS[kind.kind].values(), *LIKELY[kind.kind].values())
    known = {name for names in synonyms for name in names}
    known |= {header_key(name) for name in kind.targets}
    known |= {name for each in EXPORTS if each.kind == kind.kind for name in each.signature}

    def check(cell: str) -> bool:
        return header_key(cell) in known or cell.lower().startswith(CUSTOM)

    return check


def find_export(kind: FileKind, headers: Sequence[Header]) -> Export | None:
    """Returns the product that wrote a file with these headers."""
    keys = {header_key(header.name) for header in headers}
    fitting = [each for each in EXPORTS if each.kind == kind.kind and each.signature <= keys]
    return fitting[0] if fitting else None


def guess_columns(
    kind: FileKind, headers: Sequence[Header], choices: Choices, remembered: Mapping[str, str]
) -> list[Guess]:
    """Returns the column of each header, in their order; an empty value leaves it out."""
    export = find_export(kind, headers)
    guessed: dict[str, tuple[str, bool, str]] = {}
    taken: dict[str, str] = {}
    found = [
        (header, next(_guess(kind, header, choices, remembered, export))) for header in headers
    ]
    # The most certain first, so that a likely one does not take its column.
    for header, (target, rank, reason) in sorted(found, key=lambda each: each[1][1]):
        first = taken.get(target)
        if target and first and rank > _CHOSEN:
            text = f"“{first[:MAX_HEADER]}” is {target} already."
            guessed[header.key] = ("", False, text)
            continue
        if target:
            taken.setdefault(target, header.name)
        guessed[header.key] = (target, rank < _UNSURE, reason)
    return [_as_guess(kind, header, *guessed[header.key]) for header in headers]


def list_targets(kind: FileKind, header: Header) -> Iterator[tuple[str, str]]:
    """Yields what a header can be: its value, and how a page names it."""
    yield "", "Leave out"
    for name in kind.targets:
        yield name, name
    if custom := custom_name(kind, header):
        yield custom, f"Custom field “{custom[len(CUSTOM) :]}”"


def custom_name(kind: FileKind, header: Header) -> str:
    """Returns the custom field that a header can be kept as, or an empty text."""
    name = header.key if header.key.lower().startswith(CUSTOM) else CUSTOM + header.key
    column = column_for(kind, name)
    return column.name if column else ""


_CHOSEN, _REMEMBERED, _NAMED, _WRITTEN, _SYNONYM, _UNSURE, _LIKELY, _CONTENT, _UNKNOWN = range(9)


def _guess(
    kind: FileKind,
    header: Header,
    choices: Choices,
    remembered: Mapping[str, str],
    export: Export | None,
) -> Iterator[tuple[str, int, str]]:
    """Yields what a header may be, how certain that is, and why: the best reading first."""
    key = header_key(header.name)
    if header.key in choices.columns:
        yield choices.columns[header.key], _CHOSEN, ""
    if not header.is_named:
        if not header.has_values:
            yield "", _SYNONYM, ""
        yield "", _UNKNOWN, "The column has no name."
    if header.name in REFUSED_COLUMNS:
        yield "", _NAMED, ""
    if key in remembered and remembered[key] in dict(list_targets(kind, header)):
        yield remembered[key], _REMEMBERED, "As in the last import."
    if export and not header.name.lower().startswith(CUSTOM):
        yield export.columns.get(key, ""), _WRITTEN, ""
    if column := column_for(kind, header.name):
        yield column.name, _NAMED, ""
    yield from ((target, _NAMED, "") for target in kind.targets if key == header_key(target))
    yield from _find_synonyms(SYNONYMS, kind, key, (_SYNONYM, ""))
    yield from _find_synonyms(LIKELY, kind, key, (_LIKELY, "Guessed by its name."))
    if choices.leaves_out_others:
        yield "", _SYNONYM, ""
    if target := _guess_by_content(kind, header):
        yield target, _CONTENT, "Guessed by its values."
    yield "", _UNKNOWN, "No column has this name."


def _find_synonyms(
    table: Mapping[ImportKind, Mapping[str, tuple[str, ...]]],
    kind: FileKind,
    key: str,
    rank: tuple[int, str],
) -> Iterator[tuple[str, int, str]]:
    for target, names in table[kind.kind].items():
        if key in names:
            yield target, *rank


def _guess_by_content(kind: FileKind, header: Header) -> str:
    for target in ("email", "stripe"):
        column = kind.columns_by_name.get(target)
        if (
            column
            and header.samples
            and all(_is_read(column.read, cell) for cell in header.samples)
        ):
            return target
    return ""


def _is_read(read: Callable[[str], object], cell: str) -> bool:
    try:
        read(cell)
    except InvalidValue:
        return False
    return True


def _as_guess(kind: FileKind, header: Header, target: str, is_certain: bool, reason: str) -> Guess:  # noqa: FBT001  a field of the result
    return Guess(
        name=COLUMN + header.key,
        label=header.name[:MAX_HEADER],
        value=target,
        is_certain=is_certain,
        options=[*list_targets(kind, header)],
        examples=[cell[:40] for cell in header.samples[:3]],
        reason=reason,
    )
