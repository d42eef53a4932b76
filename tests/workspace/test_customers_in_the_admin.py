"""Customers as an admin finds them, writes them down and takes them away."""

from typing import Any
from urllib.parse import urljoin

import pytest
from django.test import Client

from customers import customers
from foundation.admin_urls import row_url
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.shown_forms import save
from tests.workspace.customer_pages import CUSTOMERS, words
from workspace.models import Customer, User

FORM = {"external_id": "", "email": "", "name": "", "hubspot": "", "stripe": ""}


@pytest.fixture
def admin(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


def add(admin: Client, grant: Grant, **facts: str) -> Any:
    sent = {**FORM, "organization": str(grant.organization.pk), **facts}
    return admin.post(f"{CUSTOMERS}add/", sent)


def change(admin: Client, customer: Customer, **facts: str) -> Any:
    kept = {name: getattr(customer, name) for name in ("external_id", "email", "name")}
    return save(admin, row_url(customer), {**FORM, **kept, **facts})


def test_a_customer_who_is_added_can_be_bound_to_at_once(admin: Client, grant: Grant) -> None:
    facts = {"email": "Ada@Example.com", "name": "Ada", "hubspot": "151", "stripe": "cus_Ada"}
    assert add(admin, grant, **facts).status_code == 302
    customer = Customer.objects.get()
    assert customer.pk.startswith("u_")
    assert (customer.email, customer.vendor_ids) == (
        "Ada@Example.com",
        {"hubspot": "151", "stripe": "cus_Ada"},
    )
    mcp = McpClient(grant.token())
    reply = mcp.call("setup_get_jwt_sample", meta={"bound_email": "ada@example.com"})
    assert "result" in reply.json


def test_a_new_customer_s_page_shows_the_id_to_bind_by(admin: Client, grant: Grant) -> None:
    assert "customer id" not in words(admin.get(f"{CUSTOMERS}add/")).lower()
    customer = grant.customer(name="Ada")
    page = admin.get(row_url(customer))
    assert customer.pk in words(page)


def test_a_changed_address_is_looked_up_by_from_then_on(admin: Client, grant: Grant) -> None:
    customer = grant.customer(email="old@example.com", vendor_ids={"stripe": "cus_1", "x": "y"})
    assert change(admin, customer, email="New@example.com", hubspot="7").status_code == 302
    assert customers.find_bound(grant.organization.pk, email="old@example.com") is None
    found = customers.find_bound(grant.organization.pk, email="new@example.com")
    assert found is not None
    # Ids that the page does not show stay; an emptied field is taken away.
    assert found.vendor_ids == {"hubspot": "7", "x": "y"}


def test_a_customer_does_not_move_to_another_organization(admin: Client, grant: Grant) -> None:
    customer, others = grant.customer(name="Ada"), make_grant()
    change(admin, customer, organization=str(others.organization.pk), name="Moved")
    customer.refresh_from_db()
    assert (customer.organization_id, customer.name) == (grant.organization.pk, "Moved")


BAD = {
    "email": ("nobody", "Enter a valid email address."),
    "hubspot": ("12a", "digits only"),
    "stripe": ("cus_", "begins with cus_"),
    "external_id": ("x" * 201, "at most 200 characters"),
}


@pytest.mark.parametrize("field", BAD)
def test_what_cannot_be_is_refused_next_to_its_field(
    admin: Client, grant: Grant, field: str
) -> None:
    text, message = BAD[field]
    page = add(admin, grant, **{field: text})
    assert (page.status_code, Customer.objects.count()) == (200, 0)
    assert message in words(page)


def test_two_customers_of_an_organization_have_no_external_id_in_common(
    admin: Client, grant: Grant
) -> None:
    grant.customer(external_id="1")
    second = grant.customer(external_id="2")
    for page in (add(admin, grant, external_id="1"), change(admin, second, external_id="1")):
        assert page.status_code == 200
        assert "Another customer has this external id." in words(page)
    assert add(admin, make_grant(), external_id="1").status_code == 302
    for _ in range(2):
        assert add(admin, grant, name="None").status_code == 302


def test_customers_are_found_by_each_of_their_names(admin: Client, grant: Grant) -> None:
    ada = grant.customer(external_id="user-77", email="ada@example.com", name="Ada Lovelace")
    grant.customer(name="Somebody else")
    for wanted in (ada.pk, "user-77", "ADA@example", "lovelace"):
        listed = words(admin.get(CUSTOMERS, {"q": wanted}))
        assert "Ada Lovelace" in listed
        assert "Somebody else" not in listed


def test_the_list_is_narrowed_to_an_organization(admin: Client, grant: Grant) -> None:
    grant.customer(name="Ours")
    others = make_grant()
    others.customer(name="Theirs")
    listed = words(admin.get(CUSTOMERS, {"organization__id__exact": str(others.organization.pk)}))
    assert "Theirs" in listed
    assert "Ours" not in listed


def test_a_customer_who_is_deleted_is_bound_to_no_more(admin: Client, grant: Grant) -> None:
    customer = grant.customer(name="Ada")
    assert admin.post(row_url(customer, "delete"), {"post": "yes"}).status_code == 302
    assert customers.find_bound(grant.organization.pk, customer_id=customer.pk) is None


@pytest.mark.parametrize("key", ["u_nobody", "%00", "u_1%00", "x" * 300, "_00"])
def test_the_page_of_nobody_is_an_answer(admin: Client, key: str) -> None:
    answer = admin.get(urljoin(CUSTOMERS, f"{key}/change/"))
    assert answer.status_code in {302, 400}
