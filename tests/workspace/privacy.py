"""A customer with rows in every table, and what the whole database says about a person."""

import json
from dataclasses import dataclass, field
from io import StringIO
from typing import Any

from django.apps import apps
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from approvals.models import ApprovalRequest, ApprovalStatus
from audit import record
from customers.identification import leads
from tests.drivers import data_tools
from tests.drivers.full_tenants import FullTenant
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.records import Records
from workspace.models import (
    AuthorKind,
    ConversationMessage,
    Customer,
    Event,
    Role,
    Ticket,
    TicketMessage,
)

EMAIL, NAME, EXTERNAL_ID = "Zoe.Quill@quill.example", "Özge Gürsöy", "app-user-7391"
# A word that only the customer writes.
SECRET = "pomegranate"


@dataclass
class Life:
    """Everything that an organization records about one customer, next to another customer."""

    grant: Grant
    customer: Customer = field(init=False)
    neighbour: Customer = field(init=False)

    def __post_init__(self) -> None:
        records = Records(self.grant, word=SECRET).add()
        self.customer = records.customers[0]
        rows = Customer.objects.filter(pk=self.customer.pk)
        rows.update(
            external_id=EXTERNAL_ID,
            email=EMAIL,
            email_key="zoe.quill@quill.example",
            name=NAME,
            name_key=NAME.casefold(),
            context={"cart": {"label": "Cart", "type": "list", "value": [SECRET]}},
            vendor_ids={"stripe": "cus_Quill"},
        )
        self.customer.refresh_from_db()
        self.neighbour = Records(self.grant, word="neighbour").add().customers[0]
        self._add_messages(records)
        self._add_traces()

    @property
    def mcp(self) -> McpClient:
        return McpClient(self.grant.token("actions:* data:read"))

    def _add_messages(self, records: Records) -> None:
        said = {"organization": self.grant.organization, "position": 3, "author_name": "Sam"}
        text = f"Dear {NAME.upper()}, we wrote to {EMAIL}. Regards"
        TicketMessage.objects.create(
            **said, ticket=records.tickets[0], author_kind=AuthorKind.TEAMMATE, text=text
        )
        ConversationMessage.objects.create(
            **said, conversation=records.conversations[0], author_kind=AuthorKind.AGENT, text=text
        )

    def _add_traces(self) -> None:
        organization = self.grant.organization
        leads.capture(organization.pk, email=EMAIL, name=NAME, fields={}, source="widget")
        Ticket.objects.create(
            organization=organization, subject=f"From {EMAIL}", metadata={"email": EMAIL}
        )
        # Before they were identified, in the session of their first event.
        Event.objects.create(
            organization=organization,
            session_id=f"{SECRET} 1",
            event_type="page_view",
            page_url=f"https://app.example/?q={SECRET}",
        )
        data_tools.call(self.mcp, "data_find_user", {"bound_end_user_id": self.customer.pk})
        for named in (EMAIL.upper(), EXTERNAL_ID, NAME, f"mail of {EMAIL}"):
            data_tools.call(self.mcp, "data_find_user", user=named)
        data_tools.call(self.mcp, "data_find_user", user=self.neighbour.pk)
        self.request("Refund for " + NAME)
        self._add_events()

    def _add_events(self) -> None:
        """An admin's export of the audit log, and an event that belongs to no organization."""
        self.grant.membership.role = Role.ADMIN
        self.grant.membership.save()
        http = Client()
        http.force_login(self.grant.user)
        found = http.get("/admin/audit/actionexecution/export.csv", {"q": f"{NAME}, {EMAIL}"})
        assert found.status_code == 200
        record.security_event("self_approval", address="unknown", detail=f"Refund for {NAME}")

    def request(
        self, summary: str, status: ApprovalStatus = ApprovalStatus.PENDING
    ) -> ApprovalRequest:
        return ApprovalRequest.objects.create(
            organization=self.grant.organization,
            tool="stripe.refund",
            requested_with="stripe.refund",
            arguments={"customer": "cus_Quill", "amount": 5},
            summary=summary,
            customer_id=self.customer.pk,
            status=status,
            digest=str(status),
            claimed_at=timezone.now(),
            user_id="u",
            credential_id="c",
            authorization_id=str(self.grant.authorization.pk),
        )


def manage(*words: str) -> str:
    out = StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def erase(grant: Grant | FullTenant, named: str) -> str:
    return manage("customer", "erase", "--organization", grant.organization.slug, "--yes", named)


def export_customer(grant: Grant, named: str) -> Any:
    slug = grant.organization.slug
    return json.loads(manage("customer", "export", "--organization", slug, named))


def rows_with(*words: str) -> set[str]:
    """The tables that have one of these words in any column, whatever its case."""
    return {
        model._meta.label
        for model in apps.get_models()
        if not model._meta.proxy and model._meta.managed
        for row in model._base_manager.values()
        if any(word.lower() in _row_text(row) for word in words)
    }


def _row_text(row: dict[str, Any]) -> str:
    return json.dumps(row, default=str, ensure_ascii=False).lower()
