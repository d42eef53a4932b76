"""Files of tickets: a row names a ticket with its id in the system that it comes from.

`created_at` and `message`, the first message, are stored with a new ticket only.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from django.utils import timezone

from customers import tickets
from customers.identification import field_values
from customers.imports import columns, lookups
from customers.imports.columns import FileKind, ImportColumn, ImportPlan, Row, Seen
from customers.imports.formats import CellShape
from customers.lookup_keys import email_key, has_external_id
from workspace import access
from workspace.access import Access
from workspace.models import Customer, ImportKind, Ticket, TicketPriority, TicketStatus
from workspace.models.support import MAX_SUBJECT

SOURCE: Final = "import"
COLUMNS: Final = (
    ImportColumn("external_id", columns.text(200), "T-1001", is_required=True),
    ImportColumn("subject", columns.text(MAX_SUBJECT), "Export does not start", is_required=True),
    ImportColumn("status", columns.choice(field_values.choice(TicketStatus.values)), "resolved"),
    ImportColumn("priority", columns.choice(field_values.choice(TicketPriority.values)), "normal"),
    ImportColumn("category", columns.text(100), "Exports"),
    ImportColumn("inbox", columns.text(100), "Support"),
    ImportColumn("customer_id", columns.external_id),
    ImportColumn("assignee", columns.email),
    ImportColumn("created_at", columns.time, "2026-03-02T09:30:00Z", CellShape.TIME),
    ImportColumn("resolved_at", columns.time, "2026-03-03T16:00:00Z", CellShape.TIME),
    ImportColumn(
        "message",
        columns.text(tickets.MAX_MESSAGE),
        "I press Export and nothing happens.",
        may_have_line_breaks=True,
    ),
)
KEPT: Final = ("subject", "status", "priority", "category", "inbox")


@dataclass(frozen=True, slots=True)
class _KnownReferences:
    """What some rows refer to, by the ids and addresses in the file."""

    tickets: Mapping[str, Ticket]
    customers: Mapping[str, Customer]
    teammates: Mapping[str, UUID]


def plan(organization_id: UUID, rows: Sequence[Row], seen: Seen) -> ImportPlan:
    """Decides which tickets the rows add and change."""
    planned = ImportPlan()
    found = lookups.rows_for_update(access.tickets(Access(organization_id)))
    ids = [row.text("external_id") for row in rows]
    known = _KnownReferences(
        {ticket.external_id: ticket for ticket in found.filter(has_external_id(ids))},
        lookups.customers(organization_id, [row.text("customer_id") for row in rows]),
        lookups.teammates(organization_id, [row.text("assignee") for row in rows]),
    )
    for row in rows:
        if first := seen.first("external_id", row.text("external_id"), row.line):
            planned.refuse(row.line, "external_id", f"It is already used on line {first}.")
        elif not _is_refused(row, known, planned):
            _plan_row(organization_id, row, known, planned)
    return planned


def store(planned: ImportPlan) -> None:
    tickets.keep_all(planned.new, planned.changed, planned.messages)


def _is_refused(row: Row, known: _KnownReferences, planned: ImportPlan) -> bool:
    before = len(planned.problems)
    if row.text("customer_id") and row.text("customer_id") not in known.customers:
        planned.refuse(row.line, "customer_id", lookups.NO_CUSTOMER)
    if row.text("assignee") and email_key(row.text("assignee")) not in known.teammates:
        reason = "No member of the organization has this address."
        planned.refuse(row.line, "assignee", reason)
    if "resolved_at" in row.values and row.values.get("status") != TicketStatus.RESOLVED:
        planned.refuse(row.line, "resolved_at", "Enter it with the status resolved only.")
    found = known.tickets.get(row.text("external_id"))
    created = found.created_at if found else row.values.get("created_at", timezone.now())
    if row.values.get("resolved_at", created) < created:
        planned.refuse(row.line, "resolved_at", "It is before the ticket was created.")
    if created < field_values.FIRST_ACTIVITY:
        planned.refuse(row.line, "created_at", "It is before 2000-01-01.")
    if created > timezone.now():
        planned.refuse(row.line, "created_at", "It is in the future.")
    return len(planned.problems) > before


def _plan_row(
    organization_id: UUID, row: Row, known: _KnownReferences, planned: ImportPlan
) -> None:
    found = known.tickets.get(row.text("external_id"))
    ticket = found or _new(organization_id, row)
    before = columns.state(ticket)
    _apply(ticket, row, known)
    if field_values.json_bytes(ticket.metadata) > tickets.MAX_METADATA_BYTES:
        reason = f"The custom fields have more than {tickets.MAX_METADATA_BYTES} bytes."
        planned.refuse(row.line, "", reason)
        return
    if found is None and row.text("message"):
        customer = ticket.customer
        author = (customer.name or customer.email) if customer else ""
        new = tickets.NewTicketMessage(row.text("message"), author_name=author)
        planned.messages.append(tickets.first_message(ticket, new))
    has_changed = columns.state(ticket) != before
    planned.add(row.line, ticket, is_new=found is None, has_changed=has_changed)


def _new(organization_id: UUID, row: Row) -> Ticket:
    at = row.values.get("created_at") or timezone.now()
    return Ticket(
        organization_id=organization_id,
        external_id=row.text("external_id"),
        source=SOURCE,
        email_key="",
        created_at=at,
        updated_at=at,
    )


def _apply(ticket: Ticket, row: Row, known: _KnownReferences) -> None:
    for name, value in row.some(KEPT).items():
        setattr(ticket, name, value)
    if row.custom:
        ticket.metadata = {**ticket.metadata, **row.custom}
    if row.text("customer_id"):
        _set_customer(ticket, known.customers[row.text("customer_id")])
    if row.text("assignee"):
        ticket.assignee_id = known.teammates[email_key(row.text("assignee"))]
    if ticket.status != TicketStatus.RESOLVED:
        ticket.resolved_at = None
    else:
        ticket.resolved_at = row.values.get("resolved_at", ticket.resolved_at) or timezone.now()


def _set_customer(ticket: Ticket, customer: Customer) -> None:
    # The company is the customer's when the ticket was made, or came to this customer.
    if ticket.customer_id != customer.pk:
        ticket.customer, ticket.company_id = customer, customer.company_id


KIND: Final = FileKind(
    kind=ImportKind.TICKETS,
    columns=COLUMNS,
    named_by=("external_id",),
    plan=plan,
    store=store,
)
