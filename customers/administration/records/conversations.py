"""The lists of conversations and of feedback, and the page of each."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from customers.administration.records import pages, search, threads
from customers.administration.records.filters import (
    OfCompany,
    OfConversation,
    OfCustomer,
    OneOrganization,
)
from customers.administration.records.lists import FoundRecords, RecordPages
from customers.administration.records.pages import RecordPage
from workspace.administration.facts import Fact, drop_empty_facts, fact_of, link_to
from workspace.models import Conversation, Feedback, Ticket


class ConversationAdmin(RecordPages):
    id_prefix = "conv_"
    list_display = (
        *("__str__", "mood_shown", "outcome_shown", "customer_link", "started_at"),
        *("company_link", "agent", "mode", "message_count"),
    )
    list_filter = (
        *(OneOrganization, "mood", "outcome", "mode", "started_at", OfCustomer, OfCompany),
    )
    uncounted = ("outcome", "mode")
    list_select_related = ("customer", "company", "agent")
    sortable_by = ("started_at",)
    ordering = ("-started_at", "id")
    search_fields = ("question",)
    search_help_text = _(
        "Words of the messages, a conversation id, a session or a customer's email address."
    )

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
        of_session = rows.filter(session_id=term)
        if of_session.exists():
            return FoundRecords(of_session)
        return search.find_conversations(rows, organization, term)

    def page(self, request: HttpRequest, row: Conversation) -> RecordPage:
        ratings = row.feedback.all() if pages.may_view(request, Feedback, row) else None
        thread = threads.read_part(request, row.messages.all(), row.message_count, ratings)
        panels = pages.viewable(
            request,
            row,
            {Ticket: lambda: pages.tickets(row.tickets.all(), conversation=row.pk)},
        )
        return RecordPage(
            drop_empty_facts(_facts(row)), [one for one in panels if one.entries], thread
        )

    @admin.display(description=_("mood"))
    def mood_shown(self, row: Conversation) -> SafeString | str:
        return pages.mood_badge(row)

    @admin.display(description=_("outcome"))
    def outcome_shown(self, row: Conversation) -> SafeString | str:
        return pages.outcome_badge(row)


class FeedbackAdmin(RecordPages):
    id_prefix = "fb_"
    list_display = (
        *("comment_shown", "rating_shown", "customer_link", "conversation_link", "agent"),
        *("given_by", "at"),
    )
    list_display_links = ("comment_shown",)
    list_filter = (OneOrganization, "rating", "given_by", "at", OfCustomer, OfConversation)
    uncounted = ("given_by",)
    list_select_related = ("customer", "conversation", "agent")
    sortable_by = ()
    ordering = ("-at", "id")
    search_fields = ("comment",)
    search_help_text = _("A part of the comment, or a customer's email address.")

    def find(self, rows: QuerySet[Any], organization: UUID | None, term: str) -> FoundRecords:
        if "@" in term and " " not in term:
            return FoundRecords(rows.filter(search.has_customer_email(term, organization)))
        return FoundRecords(rows.filter(Q(conversation=term) | Q(comment__icontains=term)))

    def page(self, request: HttpRequest, row: Feedback) -> RecordPage:
        if not pages.may_view(request, Conversation, row):
            return RecordPage(drop_empty_facts(_rating_facts(row)))
        message = row.conversation.messages.filter(position=row.position)
        thread = threads.read_part(request, message, 1, Feedback.objects.filter(pk=row.pk))
        return RecordPage(drop_empty_facts(_rating_facts(row)), thread=thread)

    @admin.display(description=_("comment"))
    def comment_shown(self, row: Feedback) -> str:
        return row.comment[:200] or str(_("No comment"))

    @admin.display(description=_("rating"))
    def rating_shown(self, row: Feedback) -> SafeString | str:
        return pages.rating_badge(row)

    @admin.display(description=_("conversation"))
    def conversation_link(self, row: Feedback) -> SafeString | str:
        return link_to(row.conversation)


def _facts(row: Conversation) -> Iterator[Fact]:
    yield fact_of(_("Customer"), row.customer)
    yield fact_of(_("Company"), row.company)
    yield Fact(_("Agent"), "" if row.agent is None else str(row.agent))
    yield Fact(_("Mood"), pages.mood_badge(row) if row.mood else "")
    yield Fact(_("Outcome"), pages.outcome_badge(row) if row.outcome else "")
    yield Fact(_("Confidence"), _percent(row.confidence))
    yield Fact(_("AI score"), _percent(row.score))
    yield Fact(_("Mode"), row.get_mode_display())
    yield Fact(_("Started"), row.started_at)
    yield Fact(_("Ended"), row.ended_at)
    yield Fact(_("Session"), row.session_id)
    yield Fact(_("Organization"), str(row.organization))
    yield Fact(_("Conversation id"), row.pk)


def _rating_facts(row: Feedback) -> Iterator[Fact]:
    yield Fact(_("Rating"), pages.rating_badge(row))
    yield Fact(_("Comment"), row.comment)
    yield fact_of(_("Conversation"), row.conversation)
    yield Fact(_("Message"), row.position)
    yield fact_of(_("Customer"), row.customer)
    yield fact_of(_("Company"), row.company)
    yield Fact(_("Agent"), "" if row.agent is None else str(row.agent))
    yield Fact(_("Given by"), row.get_given_by_display())
    yield Fact(_("Time"), row.at)
    yield Fact(_("Organization"), str(row.organization))


def _percent(value: int | None) -> str:
    return "" if value is None else f"{value} %"
