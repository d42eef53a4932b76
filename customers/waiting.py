"""Which tickets wait for an answer, and since when: what the customer wrote after the last reply.

Internal notes and messages of the system are no replies. A ticket without messages was opened by
the customer.
"""

from typing import Any

from django.db.models import F, OuterRef, QuerySet, Subquery, Value
from django.db.models.functions import Coalesce

from customers.tickets import RESPONDERS
from workspace import access
from workspace.access import Access
from workspace.models import UNRESOLVED, AuthorKind, TicketMessage


def with_last_writer(rows: QuerySet[Any], whose: Access) -> QuerySet[Any]:
    """Adds `last_writer`, the kind of the author of the last message that the customer can see."""
    written = _messages(whose).exclude(author_kind=AuthorKind.SYSTEM)
    kinds = written.order_by("-position").values("author_kind")[:1]
    last_writer = Coalesce(Subquery(kinds), Value(AuthorKind.CUSTOMER.value))
    found: QuerySet[Any] = rows.alias(last_writer=last_writer)
    return found


def with_waiting_since(rows: QuerySet[Any], whose: Access) -> QuerySet[Any]:
    """Unresolved tickets that wait for a reply, with `waiting_since`."""
    replies = _messages(whose).filter(author_kind__in=RESPONDERS).order_by("-position")
    last_reply = Coalesce(Subquery(replies.values("position")[:1]), 0)
    of_customer = _messages(whose).filter(author_kind=AuthorKind.CUSTOMER).order_by("position")
    unanswered = of_customer.filter(position__gt=OuterRef("last_reply")).values("at")[:1]
    waiting = with_last_writer(rows, whose).filter(
        status__in=UNRESOLVED, last_writer=AuthorKind.CUSTOMER
    )
    found: QuerySet[Any] = waiting.alias(last_reply=last_reply).annotate(
        waiting_since=Coalesce(Subquery(unanswered), F("created_at"))
    )
    return found


def _messages(whose: Access) -> QuerySet[TicketMessage]:
    """The messages of a ticket that its customer can see."""
    return access.ticket_messages(whose).filter(ticket=OuterRef("pk"), is_internal=False)
