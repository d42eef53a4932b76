"""What an erasure leaves in rows of others is listed before it."""

from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from customers import companies
from foundation.admin_urls import row_url
from tests.drivers.grants import Grant, make_grant
from tests.workspace.customer_pages import words
from tests.workspace.privacy import export_customer
from workspace.models import Company, Customer, DataImport, Event, Ticket, User

NAME, EXTERNAL_ID, EMAIL = "Zoe Quill-Bauer", "app-user-7391", "zoe@quill.example"
EXPECTED = {
    "companies": 1,
    "customers": 1,
    "events": 1,
    "imports": 1,
    "own_company": 1,
    "tickets": 2,
}


@pytest.fixture
def customer(grant: Grant) -> Customer:
    """A customer whom rows of others name by name and external id only."""
    return write_rows(grant)


def write_rows(grant: Grant) -> Customer:
    own: dict[str, Any] = {"organization": grant.organization}
    company = companies.keep(Company(name=f"Company of {NAME}", **own))
    other = grant.customer(external_id="other", custom_fields={"manager": NAME})
    Event.objects.create(customer=other, event_type="view", page_url=f"/users/{EXTERNAL_ID}", **own)
    Ticket.objects.create(customer=other, subject="Hi", source=EXTERNAL_ID, **own)
    Ticket.objects.create(customer=other, subject="Hi", category=f"of {NAME}", **own)
    DataImport.objects.create(kind="customers", file_name=f"{NAME}.csv", **own)
    facts = {"external_id": EXTERNAL_ID, "name": NAME, "email": EMAIL, "company": company}
    return grant.customer(**facts)


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def test_the_page_counts_rows_of_others_by_name(admin: Client, customer: Customer) -> None:
    write_rows(make_grant())
    page = words(admin.get(row_url(customer, "erase")))
    assert "These rows of others have the full name or the external id" in page
    for name, count in EXPECTED.items():
        assert f"{name}: {count}" in page


def test_the_command_counts_them_too(grant: Grant, customer: Customer, monkeypatch: Any) -> None:
    monkeypatch.setattr("builtins.input", lambda _question: "no")
    said = StringIO()
    named = ("erase", "--organization", grant.organization.slug, customer.pk)
    with pytest.raises(CommandError, match="Nothing was erased"):
        call_command("customer", *named, stdout=said)
    for name, count in EXPECTED.items():
        assert f"{name}: {count} with the full name or external id" in said.getvalue()


def test_the_export_lists_them(grant: Grant, customer: Customer) -> None:
    kinds = [each["kind"] for each in export_customer(grant, EMAIL)["not_looked_for"]]
    assert {kind: kinds.count(kind) for kind in kinds} == EXPECTED
    assert customer.pk not in kinds


def test_a_company_with_others_and_a_short_name_are_not_listed(admin: Client, grant: Grant) -> None:
    company = companies.keep(Company(organization=grant.organization, name="Li Ltd"))
    for external_id in ("1", "2"):
        grant.customer(external_id=external_id, name="Li", company=company)
    page = words(admin.get(row_url(Customer.objects.get(external_id="1"), "erase")))
    assert "These rows of others have the full name" not in page
