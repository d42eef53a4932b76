"""Tickets and the messages in them."""

from typing import Final

from django.conf import settings
from django.db import models
from django.db.models import F
from django.db.models.functions import Upper
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from foundation import ids
from foundation.text.columns import SearchTextField
from workspace.models.conversations import Conversation
from workspace.models.customers import Company, Customer
from workspace.models.messages import Message
from workspace.models.people import Organization

MAX_SUBJECT: Final = 1000


def new_ticket_id() -> str:
    return ids.reference("tkt_")


class TicketStatus(models.TextChoices):
    OPEN = "open", _("Open")
    PRIORITY = "priority", _("Priority")
    IN_PROGRESS = "in_progress", _("In progress")
    SNOOZED = "snoozed", _("Snoozed")
    RESOLVED = "resolved", _("Resolved")
    SPAM = "spam", _("Spam")


# What "open tickets" means wherever people or models say it.
UNRESOLVED: Final = (
    TicketStatus.OPEN,
    TicketStatus.PRIORITY,
    TicketStatus.IN_PROGRESS,
    TicketStatus.SNOOZED,
)


class TicketPriority(models.TextChoices):
    NORMAL = "normal", _("Normal")
    PRIORITY = "priority", _("Priority")


class Ticket(models.Model):
    """A request of a customer, worked on until it is resolved. `customers.tickets` writes it.

    `external_id` is the ticket's id in the system that it was imported from, or empty.
    `search_text` has the words of the subject, by which a ticket without messages is found.
    `company` is the customer's when the ticket was made. `email_key` is the address that the author
    gave, in lower case; None has yet to be filled. `email_proven_at` is set if a server said it.
    The `last_...` columns and `messages` (the number of them) repeat what the newest message says,
    so that lists need no join.
    """

    id = models.CharField(
        _("ticket id"), primary_key=True, max_length=64, default=new_ticket_id, editable=False
    )
    organization = models.ForeignKey(Organization, models.CASCADE, related_name="tickets")
    external_id = models.CharField(
        _("external id"), max_length=200, default="", db_default="", blank=True
    )
    subject = models.CharField(_("subject"), max_length=MAX_SUBJECT)
    search_text = SearchTextField(sources=("subject",))
    status = models.CharField(
        _("status"), max_length=20, choices=TicketStatus.choices, default=TicketStatus.OPEN
    )
    priority = models.CharField(
        _("priority"), max_length=10, choices=TicketPriority.choices, default=TicketPriority.NORMAL
    )
    assignee = models.ForeignKey(
        settings.AUTH_USER_MODEL, models.SET_NULL, related_name="+", null=True, blank=True
    )
    inbox = models.CharField(_("inbox"), max_length=100, blank=True)
    category = models.CharField(_("category"), max_length=100, blank=True)
    source = models.CharField(_("source"), max_length=50, default="api")
    customer = models.ForeignKey(
        Customer, models.SET_NULL, related_name="tickets", null=True, blank=True
    )
    company = models.ForeignKey(
        Company, models.SET_NULL, related_name="tickets", null=True, blank=True
    )
    conversation = models.ForeignKey(
        Conversation, models.SET_NULL, related_name="tickets", null=True, blank=True
    )
    email_key = models.CharField(max_length=254, null=True, editable=False)  # noqa: DJ001  None is unknown
    email_proven_at = models.DateTimeField(null=True, editable=False)
    metadata = models.JSONField(_("metadata"), default=dict, blank=True)
    created_at = models.DateTimeField(_("created"), default=timezone.now, editable=False)
    updated_at = models.DateTimeField(_("changed"), default=timezone.now, editable=False)
    first_response_at = models.DateTimeField(_("first response"), null=True, editable=False)
    resolved_at = models.DateTimeField(_("resolved"), null=True, editable=False)
    message_count = models.PositiveIntegerField(_("messages"), default=0, editable=False)
    last_message_at = models.DateTimeField(_("last message"), null=True, editable=False)
    last_author_kind = models.CharField(max_length=10, blank=True, editable=False)
    last_author_name = models.CharField(max_length=200, blank=True, editable=False)

    class Meta:
        verbose_name = _("ticket")
        verbose_name_plural = _("tickets")
        indexes = [
            # What is included is counted by, without reading the rows.
            models.Index(
                fields=("organization", "-created_at", "id"),
                include=("status", "priority", "category", "assignee", "company"),
                name="workspace_tkt_new",
            ),
            # For counting by one of the columns. An index of few different values is small.
            models.Index(
                fields=("organization", "status", "priority", "category", "assignee"),
                name="workspace_tkt_by_kind",
            ),
            models.Index(
                fields=("organization", "status", "company"), name="workspace_tkt_by_company"
            ),
            models.Index(
                fields=("organization", "-updated_at", "id"), name="workspace_tkt_changed"
            ),
            models.Index(
                fields=("organization", "-resolved_at", "id"), name="workspace_tkt_resolved"
            ),
            models.Index(
                fields=("organization", "status", "-created_at", "id"), name="workspace_tkt_status"
            ),
            models.Index(fields=("customer", "-created_at", "id"), name="workspace_tkt_customer"),
            models.Index(fields=("company", "-created_at", "id"), name="workspace_tkt_company"),
            # Tickets that may become those of the customer with the address.
            models.Index(
                fields=("organization", "email_key"),
                name="workspace_tkt_email",
                condition=models.Q(customer=None) & ~models.Q(email_key=""),
            ),
            # The rows that have yet to be filled.
            models.Index(
                fields=("id",), name="workspace_tkt_unkeyed", condition=models.Q(email_key=None)
            ),
            # As the data tools compare a text in upper or lower case.
            models.Index(
                F("organization"),
                Upper("category"),
                F("created_at").desc(),
                F("id"),
                name="workspace_tkt_category",
            ),
            # The tickets whose subject is in no message.
            models.Index(
                fields=("organization",),
                name="workspace_tkt_no_message",
                condition=models.Q(message_count=0),
            ),
            # The rows that have yet to be filled.
            models.Index(
                fields=("id",),
                name="workspace_tkt_subject_unfilled",
                condition=models.Q(search_text=None),
            ),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=("organization", "external_id"),
                condition=~models.Q(external_id=""),
                name="workspace_one_ticket_external_id",
                violation_error_message=_("Another ticket has this external id."),
            ),
        ]

    def __str__(self) -> str:
        return self.subject


class TicketMessage(Message):
    """A message of a ticket, numbered from 1 in it.

    `heading` is the ticket's subject on the first message and empty on the others: the search finds
    words of both in one row. An internal note is never shown to the customer.
    """

    ticket = models.ForeignKey(Ticket, models.CASCADE, related_name="messages")
    heading = models.CharField(max_length=MAX_SUBJECT, blank=True, editable=False)
    search_text = SearchTextField(sources=("heading", "text"))
    is_internal = models.BooleanField(_("internal note"), default=False)

    class Meta:
        verbose_name = _("ticket message")
        verbose_name_plural = _("ticket messages")
        constraints = [
            models.UniqueConstraint(fields=("ticket", "position"), name="workspace_tkt_position"),
        ]
        indexes = [
            # The rows that have yet to be filled.
            models.Index(
                fields=("id",), name="workspace_tkt_unfilled", condition=models.Q(search_text=None)
            ),
        ]
