"""The parts of the demo data in order. Each is stored completely or not at all."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any, Final

from django.db import connection
from django.db.models import Max, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce

from customers.demo import accounts, activity, conversations, planted, tickets
from customers.demo.dates import DAYS
from customers.demo.texts import documents
from customers.demo.world import World
from customers.demo.writing import RowBatch
from workspace.models import (
    Company,
    Conversation,
    ConversationMessage,
    Customer,
    Event,
    Feedback,
    Lead,
    LeadStatus,
    SourceKind,
    Ticket,
    TicketMessage,
)

Write = Callable[[World, RowBatch], None]
WriteNumbers = Callable[[World, RowBatch, range], None]

# Rows that one transaction stores, about 20,000 with their messages.
ACCOUNTS, CONVERSATIONS, TICKETS, EVENTS = 10_000, 3_000, 4_000, 20_000
KPI_DAYS: Final = 183
STATISTICS: Final = (
    *(Company, Conversation, ConversationMessage, Customer, Event),
    *(Feedback, Lead, Ticket, TicketMessage),
)


@dataclass(frozen=True, slots=True)
class DemoPart:
    """Some of the rows: what they are, and the function that writes them."""

    name: str
    write: Write


def parts(world: World) -> list[DemoPart]:
    """Returns all parts; the same for every run of one seed."""
    size = world.size
    first, second = tickets.incident_numbers(size.tickets)
    asked = size.tickets - first - second - size.conversations // conversations.ESCALATED_EVERY
    events = size.events - size.conversations * conversations.PAGES_BEFORE
    slow_boards = partial(_write_incident, 0)
    no_sign_in = partial(_write_incident, 1)
    return [
        DemoPart("team", planted.write_team),
        *_parts("companies", accounts.write_companies, range(size.companies), ACCOUNTS),
        *_parts("customers", accounts.write_customers, range(size.customers), ACCOUNTS),
        *_parts("leads", accounts.write_leads, range(size.leads), ACCOUNTS),
        DemoPart("stories", planted.write),
        *_parts("conversations", conversations.write, range(size.conversations), CONVERSATIONS),
        *_parts("tickets", tickets.write, range(asked), TICKETS),
        *_parts("incidents", slow_boards, range(asked, asked + first), TICKETS),
        *_parts("incidents", no_sign_in, range(asked + first, asked + first + second), TICKETS),
        *_parts("events", activity.write, range(events), EVENTS),
        DemoPart("statistics", _update_statistics),
        DemoPart("last activity", _write_last_activity),
        *(DemoPart("knowledge", partial(_write_document, file)) for file in documents()),
        *(
            DemoPart("key figures", partial(_write_key_figures, day))
            for day in range(0, DAYS + 1, KPI_DAYS)
        ),
    ]


def _parts(name: str, write: WriteNumbers, numbers: range, at_once: int) -> Iterator[DemoPart]:
    for first in range(numbers.start, numbers.stop, at_once):
        some = range(first, min(first + at_once, numbers.stop))
        yield DemoPart(name, partial(_write_numbers, write, some))


def _write_numbers(write: WriteNumbers, numbers: range, world: World, batch: RowBatch) -> None:
    write(world, batch, numbers)


def _write_incident(which: int, world: World, batch: RowBatch, numbers: range) -> None:
    tickets.write_incident(world, batch, which, numbers)


def _write_last_activity(world: World, _batch: RowBatch) -> None:
    """Sets what follows from rows of other tables: when somebody was last seen and contacted."""
    # By customer only, though the organization is known: its index would be read from the newest
    # event on for each customer.
    of_customer = OuterRef("pk")
    seen = Event.objects.filter(customer=of_customer).order_by("-at").values("at")[:1]
    answered = _newest_answer(Ticket.objects.filter(customer=of_customer))
    customers = Customer.objects.filter(organization=world.organization)
    customers.update(
        last_seen=Coalesce(Subquery(seen), "last_seen"), last_contacted_at=Subquery(answered)
    )
    of_company = Ticket.objects.filter(company=OuterRef("pk"))
    companies = Company.objects.filter(organization=world.organization)
    companies.update(last_contacted_at=Subquery(_newest_answer(of_company)))
    converted = Lead.objects.filter(organization=world.organization, status=LeadStatus.CONVERTED)
    joined = Customer.objects.filter(pk=OuterRef("customer")).values("signed_up_at")
    converted.update(converted_at=Subquery(joined))


def _update_statistics(_world: World, _batch: RowBatch) -> None:
    # Until the database does so itself, queries over what was just loaded scan whole tables.
    if connection.vendor == "postgresql":
        names = ", ".join(model._meta.db_table for model in STATISTICS)
        with connection.cursor() as cursor:
            cursor.execute(f"ANALYZE {names}")


def _newest_answer(of_somebody: QuerySet[Ticket]) -> QuerySet[Any, Any]:
    by_owner = of_somebody.order_by().values("organization_id")
    return by_owner.annotate(newest=Max("first_response_at")).values("newest")


def _write_document(file: Path, world: World, _batch: RowBatch) -> None:
    import knowledge  # noqa: PLC0415  a start that seeds nothing does not load it

    text = file.read_text(encoding="utf-8")
    knowledge.add(
        world.organization,
        kind=SourceKind.MARKDOWN,
        title=text.partition("\n")[0].removeprefix("# "),
        url=f"https://help.wrenboard.example/{file.stem}",
        original=text.encode(),
    )


def _write_key_figures(first: int, world: World, _batch: RowBatch) -> None:
    from customers import kpis  # noqa: PLC0415  a start that seeds nothing does not load it

    day = world.dates.day(first)
    last = min(day + timedelta(days=KPI_DAYS - 1), world.dates.today)
    kpis.refresh(world.organization, day, last)
    if last == world.dates.today:
        kpis.record_accounts(world.organization)
