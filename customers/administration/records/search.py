"""What a search term finds in the lists of recorded rows.

Names and addresses are looked for in an index that holds them, which is a tenth of the size of the
table, and messages in the full-text index.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import or_
from typing import Any, Final, TypeVar
from uuid import UUID

from django.db.models import Model, Q, QuerySet

from customers import words
from customers.administration.records.lists import FEW, MAX_COUNTED, FoundRecords
from customers.lookup_keys import email_key, has_external_id
from foundation.text.words import WordQuery, parse_query
from workspace.models import Company, ConversationMessage, Customer, Ticket, TicketMessage

M = TypeVar("M", bound=Model)

# Of the names or addresses that contain a term, so many are looked up.
MAX_NAMES: Final = 500


def find_by_names(
    rows: QuerySet[Any],
    model: type[Customer | Company],
    organization: UUID | None,
    external_id: str,
    **terms: Sequence[str],
) -> FoundRecords:
    """Returns the rows with this external id, or whose columns contain one of these texts.

    Each column has an index of (organization, column): the values are found in it alone. Of a text
    that many values contain, rows are tried in their order until the page is full.
    """
    found, max_counted = has_external_id([external_id]), MAX_COUNTED
    for column, texts in terms.items():
        contains = reduce(or_, (Q(**{f"{column}__contains": one}) for one in texts if one), Q())
        owned: QuerySet[Any] = QuerySet(model)
        if organization is not None:
            owned = owned.filter(organization=organization)
        values = owned.filter(contains).order_by().values_list(column, flat=True)
        chosen = list(values.distinct()[: MAX_NAMES + 1]) if contains else []
        if len(chosen) <= MAX_NAMES:
            found |= Q(**{f"{column}__in": chosen})
        else:
            found, max_counted = found | contains, FEW
    return FoundRecords(rows.filter(found), max_counted)


def find_conversations(rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
    """Returns the rows that have a message with every word, or whose customer has this address."""
    said = _filter_organization(ConversationMessage, organization)
    return _find_by_words(
        rows, organization, term, lambda found: words.having(said, found, "conversation")
    )


def find_tickets(rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
    """As `find_conversations`, also by words of the subject and by external id."""
    said = _filter_organization(TicketMessage, organization)
    tickets = _filter_organization(Ticket, organization)
    return _find_by_words(
        rows,
        organization,
        term,
        lambda found: words.build_ticket_condition(tickets, said, found, term),
    )


def _filter_organization(model: type[M], organization: UUID | None) -> QuerySet[M]:
    rows: QuerySet[M] = QuerySet(model)
    return rows if organization is None else rows.filter(organization=organization)


def _find_by_words(
    rows: QuerySet[Any],
    organization: UUID | None,
    term: str,
    having: Callable[[WordQuery], tuple[Q, int | None]],
) -> FoundRecords:
    if "@" in term and " " not in term:
        return FoundRecords(rows.filter(has_customer_email(term, organization)))
    found = parse_query(term)
    if not found:
        return FoundRecords(rows.none())
    condition, max_counted = having(found)
    kept = rows.filter(condition)
    return FoundRecords(kept) if max_counted is None else FoundRecords(kept, max_counted)


def has_customer_email(address: str, organization: UUID | None) -> Q:
    """Returns the condition that a row's customer has this email address."""
    customers = Customer.objects.filter(email_key=email_key(address))
    if organization is not None:
        customers = customers.filter(organization=organization)
    return Q(customer__in=list(customers.values_list("pk", flat=True)[:MAX_NAMES]))
