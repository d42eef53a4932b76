"""What the page of a recorded row shows: facts, lists of what belongs to it, and its thread."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, cast

from django.contrib.admin import site
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _

from customers.administration.records.threads import Thread
from customers.identification.currencies import count_digits
from foundation import admin_urls
from workspace.administration.facts import Fact, badge, page_of
from workspace.administration.scoped import ScopedAdmin
from workspace.models import (
    UNRESOLVED,
    Conversation,
    ConversationOutcome,
    Customer,
    Event,
    Feedback,
    Lead,
    LeadStatus,
    Lifecycle,
    Mood,
    Rating,
    Ticket,
    TicketStatus,
)

NEWEST: Final = 5
MAX_JSON: Final = 20_000
BAD_MOODS: Final = (Mood.FRUSTRATED, Mood.ANGRY)


@dataclass(frozen=True, slots=True)
class PanelEntry:
    """A row of a panel: its name, its page, its state and its time."""

    name: str
    url: str
    state: SafeString | str = ""
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """The newest rows that belong to the row of the page; `url` leads to all of them."""

    key: str
    title: Any
    entries: Sequence[PanelEntry]
    url: str = ""
    link: Any = ""


@dataclass(frozen=True, slots=True)
class RecordPage:
    """The content of a page; `values` are JSON columns by their label."""

    facts: Sequence[Fact]
    panels: Sequence[Panel] = ()
    thread: Thread | None = None
    values: Sequence[tuple[Any, str]] = field(default=())


def may_view(request: HttpRequest, model: type[Model], row: Any) -> bool:
    """Returns whether the visitor may view rows of a model in the organization of this row."""
    listed = cast("ScopedAdmin", site.get_model_admin(model))
    return listed.reach(request, "view", "change").includes(row.organization_id)


def viewable(
    request: HttpRequest, row: Any, panels: Mapping[type[Model], Callable[[], Panel]]
) -> list[Panel]:
    """Returns the panels of the models that the visitor may view."""
    return [panel() for model, panel in panels.items() if may_view(request, model, row)]


def values(*columns: tuple[Any, Any]) -> list[tuple[Any, str]]:
    """Returns JSON columns that are not empty, as text of bounded length."""
    texts = (
        (label, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False))
        for label, value in columns
        if value
    )
    return [(label, text[:MAX_JSON]) for label, text in texts]


def amount(value: Any, row: Any) -> str:
    """An amount with the currency of the row's organization."""
    currency = row.organization.currency
    return "" if value is None else f"{value:,.{count_digits(currency)}f} {currency}"


def status_badge(ticket: Ticket) -> SafeString | str:
    kind = "bad" if ticket.status == TicketStatus.PRIORITY else "wait"
    return badge("good" if ticket.status not in UNRESOLVED else kind, ticket.get_status_display())


def mood_badge(row: Conversation) -> SafeString | str:
    kind = "good" if row.mood == Mood.HAPPY else "bad" if row.mood in BAD_MOODS else "wait"
    return badge(kind, row.get_mood_display())


def outcome_badge(row: Conversation) -> SafeString | str:
    kind = "good" if row.outcome == ConversationOutcome.RESOLVED else "wait"
    return badge(kind, row.get_outcome_display())


def rating_badge(row: Feedback) -> SafeString | str:
    return badge("good" if row.rating == Rating.GOOD else "bad", row.get_rating_display())


def lifecycle_badge(row: Customer) -> SafeString | str:
    kind = {Lifecycle.ACTIVE: "good", Lifecycle.CHURNED: "bad"}.get(Lifecycle(row.lifecycle))
    return badge(kind or "wait", row.get_lifecycle_display())


def lead_badge(row: Lead) -> SafeString | str:
    kind = "good" if row.status == LeadStatus.CONVERTED else "wait"
    return badge(kind, row.get_status_display())


def tickets(rows: QuerySet[Ticket], **of: str) -> Panel:
    """The newest of a customer's or company's tickets."""
    newest = rows.order_by("-created_at", "pk").only("subject", "status", "created_at")[:NEWEST]
    entries = [
        PanelEntry(one.subject, page_of(one), status_badge(one), one.created_at) for one in newest
    ]
    return Panel(
        "tickets", _("Tickets"), entries, admin_urls.model_url(Ticket, **of), _("All tickets")
    )


def conversations(rows: QuerySet[Conversation], **of: str) -> Panel:
    """The newest of a customer's or company's conversations."""
    newest = rows.order_by("-started_at", "pk").only("question", "mood", "started_at")[:NEWEST]
    entries = [
        PanelEntry(str(one), page_of(one), mood_badge(one), one.started_at) for one in newest
    ]
    url = admin_urls.model_url(Conversation, **of)
    return Panel("conversations", _("Conversations"), entries, url, _("All conversations"))


def feedback(rows: QuerySet[Feedback], **of: str) -> Panel:
    """The newest of a customer's ratings."""
    entries = [
        PanelEntry(
            one.comment[:100] or str(_("No comment")), page_of(one), rating_badge(one), one.at
        )
        for one in rows.order_by("-at", "pk")[:NEWEST]
    ]
    return Panel(
        "feedback", _("Feedback"), entries, admin_urls.model_url(Feedback, **of), _("All feedback")
    )


def events(customer: Customer) -> Panel:
    """The newest events of a customer."""
    rows = Event.objects.filter(customer=customer).order_by("-at", "-id")[:NEWEST]
    entries = [PanelEntry(one.event_type, page_of(one), one.page_url, one.at) for one in rows]
    url = admin_urls.model_url(Event, customer=customer.pk)
    return Panel("events", _("Events"), entries, url, _("All events"))


def customers(rows: Iterable[Customer], **of: str) -> Panel:
    """Customers of a company, those who were seen last."""
    entries = [
        PanelEntry(str(one), page_of(one), lifecycle_badge(one), one.last_seen) for one in rows
    ]
    return Panel(
        "customers",
        _("Customers"),
        entries,
        admin_urls.model_url(Customer, **of),
        _("All customers"),
    )
