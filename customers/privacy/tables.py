"""What happens to each table when a customer is erased: one declaration for each.

A test fails if a table refers to customers, or to a table here, without being declared.
Why so: docs/decisions/0054-erasing-customers.md.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from django.contrib.admin.models import LogEntry
from django.db.models import Model, Q, QuerySet

from customers.lookup_keys import email_key
from customers.privacy.redaction import ERASED, ERASED_NAME, Redaction
from customers.privacy.subject import Subject
from workspace.models import (
    AuthorKind,
    Conversation,
    ConversationMessage,
    Customer,
    CustomerAlias,
    Event,
    Feedback,
    Join,
    JoinRule,
    Lead,
    Ticket,
    TicketMessage,
)

DELETED: Final = "deleted"
ANONYMIZED: Final = "anonymized"
# Messages that are read into memory at a time.
MESSAGES: Final = 500

Keys: TypeAlias = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table with rows of customers, and how a batch of its rows is erased.

    `name` is used in counts and in exports. `rows` are those that are left to erase, which `erase`
    changes so that they are not among them any more. `parts` are the tables whose rows are erased
    with the row that they belong to.
    """

    name: str
    model: type[Model]
    effect: str
    rows: Callable[[Subject], QuerySet[Any]]
    erase: Callable[[Subject, Keys], None]
    parts: tuple[type[Model], ...] = field(default=())
    batch: int = 500


def _make_row_query(model: type[Model]) -> Callable[[Subject], QuerySet[Any]]:
    def rows(subject: Subject) -> QuerySet[Any]:
        own: QuerySet[Any] = QuerySet(model).filter(organization=subject.organization_id)
        return own.filter(customer=subject.customer_id)

    return rows


def _leads(subject: Subject) -> QuerySet[Lead]:
    """Leads that became the customer, and those with an email address that is only theirs."""
    theirs = Q(customer=subject.customer_id)
    keys = [email_key(one) for one in subject.emails]
    theirs |= Q(customer=None, email_key__in=keys)
    return Lead.objects.filter(theirs, organization=subject.organization_id)


def _tickets(subject: Subject) -> QuerySet[Ticket]:
    """Tickets of the customer, or without one and with an email address that is only theirs."""
    theirs = Q(customer=subject.customer_id)
    for address in subject.emails:
        theirs |= Q(customer=None, metadata__email__iexact=address)
        theirs |= Q(customer=None, email_key=email_key(address))
    return Ticket.objects.filter(theirs, organization=subject.organization_id)


def _joins(subject: Subject) -> QuerySet[Join]:
    """Records of joins to the customer, and of merges of the customer that were undone."""
    theirs = Q(customer=subject.customer_id) | Q(rule=JoinRule.MERGE, source__in=subject.ids)
    return Join.objects.filter(theirs, organization=subject.organization_id)


def _delete_joins(subject: Subject, keys: Keys) -> None:
    """Deletes records of joins, and what the admin's history calls merged customers."""
    merged = Join.objects.filter(pk__in=keys, rule=JoinRule.MERGE, customer=subject.customer_id)
    empty_history(Customer, list(merged.filter(undone_at=None).values_list("source", flat=True)))
    _delete(Join)(subject, keys)


def _customer(subject: Subject) -> QuerySet[Customer]:
    rows = Customer.objects.filter(organization=subject.organization_id)
    return rows.filter(pk=subject.customer_id)


def _delete(model: type[Model]) -> Callable[[Subject, Keys], None]:
    def erase(subject: Subject, keys: Keys) -> None:  # noqa: ARG001  as the others are called
        empty_history(model, keys)
        QuerySet(model).filter(pk__in=keys).delete()

    return erase


def _delete_events(subject: Subject, keys: Keys) -> None:
    """Deletes events, and those without a customer in the same sessions: the same browser's."""
    rows = Event.objects.filter(organization=subject.organization_id)
    sessions = rows.filter(pk__in=keys).exclude(session_id="").values_list("session_id", flat=True)
    rows.filter(customer=None, session_id__in=set(sessions)).delete()
    rows.filter(pk__in=keys).delete()


def _anonymize_tickets(subject: Subject, keys: Keys) -> None:
    """Keeps status, times and what teammates wrote; removes what the customer wrote."""
    keys = _lock_rows(Ticket, keys)
    messages = TicketMessage.objects.filter(ticket__in=keys)
    messages.exclude(heading="").update(heading=ERASED)
    _anonymize_messages(subject, messages)
    rows = Ticket.objects.filter(pk__in=keys)
    rows.filter(last_author_kind=AuthorKind.CUSTOMER).update(last_author_name=ERASED_NAME)
    rows.update(subject=ERASED, metadata={}, customer=None, email_key="", email_proven_at=None)
    empty_history(Ticket, keys)


def _anonymize_conversations(subject: Subject, keys: Keys) -> None:
    """Keeps mood, outcome, scores and what agents wrote; removes what the customer wrote."""
    keys = _lock_rows(Conversation, keys)
    messages = ConversationMessage.objects.filter(conversation__in=keys)
    messages.filter(author_kind=AuthorKind.CUSTOMER).update(images=[])
    _anonymize_messages(subject, messages)
    rows = Conversation.objects.filter(pk__in=keys)
    rows.exclude(question="").update(question=ERASED)
    rows.update(session_id="", customer=None)
    # Ratings that were given before the conversation had a customer.
    Feedback.objects.filter(conversation__in=keys).update(comment="", customer=None)
    empty_history(Conversation, keys)


def _lock_rows(model: type[Model], keys: Keys) -> Keys:
    """Waits for those who add a message: they hold the lock of the row that it belongs to."""
    rows: QuerySet[Any] = QuerySet(model).select_for_update().filter(pk__in=keys).order_by("pk")
    return [row.pk for row in rows]


def _anonymize_messages(subject: Subject, messages: QuerySet[Any]) -> None:
    """The customer's texts go; in those of others, what names the customer is replaced."""
    messages.filter(author_kind=AuthorKind.CUSTOMER).update(text=ERASED, author_name=ERASED_NAME)
    redaction = Redaction(subject)
    naming = messages.exclude(author_kind=AuthorKind.CUSTOMER)
    naming = naming.filter(redaction.text_condition("text")).order_by("pk")
    after = 0
    while part := list(naming.filter(pk__gt=after)[:MESSAGES]):
        for message in part:
            message.text = redaction.text(message.text)
        messages.model.objects.bulk_update(part, ["text"])
        after = part[-1].pk


def _anonymize_feedback(subject: Subject, keys: Keys) -> None:  # noqa: ARG001  as the others are called
    """Keeps the rating."""
    Feedback.objects.filter(pk__in=keys).update(comment="", customer=None)


def empty_history(model: type[Model], keys: Keys) -> None:
    """The history of the admin repeats the names of rows; the fields that changed stay in it."""
    meta = model._meta
    entries = LogEntry.objects.filter(
        content_type__app_label=meta.app_label, content_type__model=meta.model_name
    )
    entries.filter(object_id__in=[str(key) for key in keys]).update(object_repr=ERASED)


ALIASES: Final = Table(
    "aliases",
    CustomerAlias,
    DELETED,
    _make_row_query(CustomerAlias),
    _delete(CustomerAlias),
)
ROWS: Final = (
    Table("leads", Lead, DELETED, _leads, _delete(Lead)),
    Table("events", Event, DELETED, _make_row_query(Event), _delete_events),
    Table("feedback", Feedback, ANONYMIZED, _make_row_query(Feedback), _anonymize_feedback),
    Table(
        "conversations",
        Conversation,
        ANONYMIZED,
        _make_row_query(Conversation),
        _anonymize_conversations,
        parts=(ConversationMessage,),
        batch=50,
    ),
    Table(
        "tickets",
        Ticket,
        ANONYMIZED,
        _tickets,
        _anonymize_tickets,
        parts=(TicketMessage,),
        batch=50,
    ),
    ALIASES,
    Table("joins", Join, DELETED, _joins, _delete_joins),
)
CUSTOMER: Final = Table("customers", Customer, DELETED, _customer, _delete(Customer))
# The customer is the last one, because the others refer to it.
TABLES: Final = (*ROWS, CUSTOMER)
