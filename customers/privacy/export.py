"""Exports what is stored about a customer as one JSON document, in parts.

The members are described in docs/operate/privacy.md. Lists are read in parts, so that memory is
bounded by a few tickets with their messages.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import chain
from typing import Any, Final, TypeAlias

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import Model, QuerySet
from django.utils import timezone

from customers.privacy import erasure, ports, subject, workspace_texts
from customers.privacy.erasure import PrivacyActor
from customers.privacy.subject import Subject
from customers.privacy.tables import ROWS
from workspace.models import Conversation, Customer, Event, Feedback, Organization, Ticket

FORMAT: Final = "halo-customer-export"
VERSION: Final = 1
# Keys of lookups, and what every row has in common.
LEFT_OUT: Final = frozenset(
    {"organization", "customer", "email_key", "name_key", "dedupe_key", "heading", "search_text"}
    | {"erased_at", "trait_times"}
)
AT_ONCE: Final = 200
THREADS: Final = 20

Json: TypeAlias = Mapping[str, Any]


def document(customer: Customer, actor: PrivacyActor) -> Iterator[str]:
    """Records the export and returns the document in parts of text."""
    whom = subject.from_customer(customer)
    counts = ", ".join(f"{name}: {many}" for name, many in erasure.preview(whom).items())
    ports.recorder().record_export(
        whom,
        user_id=actor.user_id,
        address=actor.address,
        detail=f"by {actor.name}: {counts}",
    )
    return _document(customer, whom)


def _document(customer: Customer, whom: Subject) -> Iterator[str]:
    organization = Organization.objects.get(pk=whom.organization_id)
    company = customer.company
    head: Json = {
        "format": FORMAT,
        "version": VERSION,
        "exported_at": timezone.now(),
        "organization": {"id": organization.pk, "name": organization.name},
        "customer": _values(customer),
        "company": _values(company) if company else None,
    }
    yield "{" + ",\n".join(f"{_text(name)}: {_text(value)}" for name, value in head.items())
    for name, rows in _lists(whom):
        yield f",\n{_text(name)}: ["
        yield from _items(rows)
        yield "]"
    yield "}\n"


def _lists(whom: Subject) -> Iterator[tuple[str, Iterable[Json]]]:
    for table in ROWS:
        yield table.name, READERS.get(table.model, _plain)(table.rows(whom))
    for holder in ports.holders():
        yield holder.name, holder.export_rows(whom)
    yield erasure.MENTIONS, _mentions(whom)
    yield "left_as_they_are", _list_unchanged(whom)
    yield "not_looked_for", _list_not_found(whom)


def _mentions(whom: Subject) -> Iterator[Json]:
    for columns in ports.mentions():
        for row in columns.export_rows(whom):
            yield {"kind": columns.name, **row}


def _list_unchanged(whom: Subject) -> Iterator[Json]:
    """What admins entered is named only: it is not the customer's."""
    for columns in ports.left_as_they_are():
        for row in columns.export_rows(whom):
            yield {"kind": columns.name, "id": row["pk"]}


def _list_not_found(whom: Subject) -> Iterator[Json]:
    """Rows of others with the full name are named only: they may mean another person."""
    for columns in workspace_texts.NAMED_ONLY:
        for row in columns.export_rows(whom):
            yield {"kind": columns.name, "id": row["pk"]}
    for key in workspace_texts.list_own_companies(whom).values_list("pk", flat=True):
        yield {"kind": "own_company", "id": key}


def _items(rows: Iterable[Json]) -> Iterator[str]:
    separators = chain(("\n",), iter(lambda: ",\n", ""))
    for separator, row in zip(separators, rows, strict=False):
        yield separator + _text(row)


def _plain(rows: QuerySet[Any]) -> Iterator[Json]:
    yield from map(_values, rows.order_by("pk").iterator(chunk_size=AT_ONCE))


def _make_ordered_reader(column: str) -> Callable[[QuerySet[Any]], Iterator[Json]]:
    def read(rows: QuerySet[Any]) -> Iterator[Json]:
        yield from map(_values, rows.order_by(column, "pk").iterator(chunk_size=AT_ONCE))

    return read


def _threads(column: str) -> Callable[[QuerySet[Any]], Iterator[Json]]:
    def read(rows: QuerySet[Any]) -> Iterator[Json]:
        for row in rows.order_by(column, "pk").iterator(chunk_size=THREADS):
            messages = row.messages.order_by("position").iterator(chunk_size=AT_ONCE)
            yield {**_values(row), "messages": [_message(message) for message in messages]}

    return read


READERS: Final[Mapping[type[Model], Callable[[QuerySet[Any]], Iterator[Json]]]] = {
    Conversation: _threads("started_at"),
    Ticket: _threads("created_at"),
    Event: _make_ordered_reader("at"),
    Feedback: _make_ordered_reader("at"),
}


def _message(message: Model) -> Json:
    values = _values(message)
    return {name: values[name] for name in values if name not in {"id", "ticket", "conversation"}}


def _values(row: Model) -> dict[str, Any]:
    columns = (column for column in row._meta.concrete_fields if column.name not in LEFT_OUT)
    return {column.attname: column.value_from_object(row) for column in columns}


def _text(value: Any) -> str:
    return json.dumps(value, cls=DjangoJSONEncoder, ensure_ascii=False)
