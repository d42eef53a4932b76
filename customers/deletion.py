"""Deletes rows that a server names by its own ids, or by ours. Customers are erased instead.

Nothing is deleted twice: a name that no row has deletes nothing.
"""

from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from customers.lookup_keys import has_external_id
from customers.privacy import tables
from foundation.db import storable
from workspace import access
from workspace.access import Access


def delete_company(organization_id: UUID, named: str) -> str:
    """Deletes a company and returns its id, or an empty text; its customers have none then."""
    rows = access.companies(Access(organization_id))
    return _delete(rows, named, has_external_id([named]), Q(pk=named))


def delete_ticket(organization_id: UUID, named: str) -> str:
    """Deletes a ticket with its messages and returns its id, or an empty text."""
    rows = access.tickets(Access(organization_id))
    return _delete(rows, named, Q(pk=named), has_external_id([named]))


def delete_conversation(organization_id: UUID, named: str) -> str:
    """Deletes a conversation with messages and ratings; returns its id, or an empty text."""
    rows = access.conversations(Access(organization_id))
    return _delete(rows, named, Q(session_id=named), Q(pk=named))


def delete_event(organization_id: UUID, named: str) -> str:
    """Deletes the event that a server sent with this id; returns its own id, or an empty text."""
    rows = access.events(Access(organization_id))
    return _delete(rows, named, Q(dedupe_key=named) & ~Q(dedupe_key=""))


@transaction.atomic
def _delete(rows: QuerySet[Any], named: str, *conditions: Q) -> str:
    """Deletes the row with the first of the conditions that any row has."""
    if not named or storable.has_unstorable_text(named):
        return ""
    for condition in conditions:
        row = rows.filter(condition).select_for_update(of=("self",)).first()
        if row is not None:
            key = row.pk
            tables.empty_history(rows.model, [key])
            row.delete()
            return str(key)
    return ""
