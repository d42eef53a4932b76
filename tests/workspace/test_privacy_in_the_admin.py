"""“Export data” and “Erase” on the page of a customer."""

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.test import Client

from audit.models import SecurityEvent
from customers import tasks
from foundation import queueing
from foundation.admin_urls import model_url, row_url
from tests.drivers.grants import Grant, make_grant
from tests.drivers.shown_forms import save
from tests.workspace.customer_pages import CUSTOMERS, words
from tests.workspace.privacy import EMAIL, EXTERNAL_ID, NAME, Life, rows_with
from workspace.models import Customer, Erasure, User


@pytest.fixture
def life(grant: Grant) -> Life:
    return Life(grant)


@pytest.fixture
def queued_tasks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, ...]]:
    """The tasks that were queued."""
    queued: list[tuple[str, ...]] = []
    monkeypatch.setattr(queueing, "send", lambda *task: queued.append(task))
    return queued


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def clerk(*rights: str) -> Client:
    """The browser of a staff account with these permissions over customers."""
    user = User.objects.create_user("clerk@example.com", is_staff=True)
    names = [f"{right}_customer" for right in rights]
    user.user_permissions.set(Permission.objects.filter(codename__in=names))
    return sign_in(user)


def test_an_admin_of_the_organization_exports_a_customer(life: Life) -> None:
    admin = sign_in(life.grant.user)
    page = admin.get(row_url(life.customer)).content.decode()
    assert f'href="{row_url(life.customer, "export")}"' in page
    answer: Any = admin.get(row_url(life.customer, "export"))
    document = json.loads(b"".join(answer.streaming_content))
    assert document["customer"]["email"] == EMAIL
    assert answer["Content-Disposition"] == f'attachment; filename="{life.customer.pk}.json"'
    assert "no-store" in answer["Cache-Control"]
    event = SecurityEvent.objects.get(kind="customer_exported")
    assert (event.user_id, event.subject) == (str(life.grant.user.pk), life.customer.pk)


def test_the_confirmation_says_what_is_erased_with_counts(life: Life) -> None:
    admin = sign_in(life.grant.user)
    page = admin.get(row_url(life.customer, "erase"))
    shown = " ".join(words(page).split())
    assert f"This erases {NAME} of {life.grant.organization.name} for good." in shown
    for row in ("Leads 2 Deleted", "Events 1 Deleted", "Tickets 2 Anonymized"):
        assert row in shown
    assert Customer.objects.filter(email=EMAIL).exists()


def test_a_confirmed_erasure_hides_the_customer_and_is_finished_by_the_worker(
    life: Life, queued_tasks: list[tuple[str, ...]], django_capture_on_commit_callbacks: Any
) -> None:
    admin = sign_in(life.grant.user)
    save(admin, row_url(life.customer), _form(life), follow=True)
    assert LogEntry.objects.filter(object_repr=NAME).exists()
    with django_capture_on_commit_callbacks(execute=True):
        answer = admin.post(row_url(life.customer, "erase"), follow=True)
    listed = words(answer)
    assert f"Customer {life.customer.pk} is hidden from now on." in listed
    assert NAME not in listed
    assert admin.get(row_url(life.customer)).status_code == 302
    assert admin.get(row_url(life.customer, "export")).status_code == 404
    assert queued_tasks == [("workspace.finish_erasure", str(Erasure.objects.get().pk))]
    tasks.finish_erasure(queued_tasks[0][1])
    assert rows_with(EMAIL, NAME, EXTERNAL_ID, "cus_Quill") == set()
    event = SecurityEvent.objects.get(kind="customer_erased")
    assert event.detail.startswith(f"by {life.grant.user.email}: leads: 2 deleted")
    assert event.address_prefix == "127.0.0.0/24"


def _form(life: Life) -> dict[str, str]:
    kept = {name: getattr(life.customer, name) for name in ("external_id", "email", "name")}
    return {**kept, "hubspot": "", "stripe": "cus_Quill"}


@pytest.mark.parametrize("kind", ["export", "erase"])
@pytest.mark.parametrize("rights", [(), ("view",), ("view", "add", "change")], ids=str)
def test_only_who_may_delete_customers_erases_and_exports(
    grant: Grant, rights: tuple[str, ...], kind: str
) -> None:
    customer = grant.customer(name=NAME)
    desk = clerk(*rights)
    assert desk.get(row_url(customer, kind)).status_code == 403
    assert desk.post(row_url(customer, "erase")).status_code == 403
    if rights:
        assert row_url(customer, kind) not in desk.get(row_url(customer)).content.decode()
    assert Customer.objects.filter(name=NAME).exists()


@pytest.mark.parametrize("kind", ["export", "erase"])
def test_a_customer_of_another_organization_does_not_exist(grant: Grant, kind: str) -> None:
    theirs = make_grant().customer(name=NAME)
    admin = sign_in(grant.user)
    for key in (theirs.pk, "u_nobody"):
        assert admin.get(model_url(Customer, kind, key)).status_code == 404
    # In an address of the admin "_00" is a NUL.
    assert admin.get(f"{CUSTOMERS}_00/{kind}/").status_code == 404
    assert admin.post(row_url(theirs, "erase")).status_code == 404
    assert Customer.objects.filter(name=NAME).exists()


def test_an_export_is_no_post_and_an_erasure_no_other_method(life: Life) -> None:
    admin = sign_in(life.grant.user)
    assert admin.post(row_url(life.customer, "export")).status_code == 405
    assert admin.delete(row_url(life.customer, "erase")).status_code == 405


def test_confirming_twice_erases_once(life: Life) -> None:
    admin = sign_in(life.grant.user)
    assert admin.post(row_url(life.customer, "erase")).status_code == 302
    assert admin.post(row_url(life.customer, "erase")).status_code == 404
    assert Erasure.objects.count() == 1
