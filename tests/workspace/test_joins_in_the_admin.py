"""Merging customers and undoing joins in the admin."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from customers.privacy import erasure
from customers.privacy.erasure import PrivacyActor
from foundation.admin_urls import model_url, row_url
from tests.drivers.grants import Grant, make_grant
from tests.drivers.shown_forms import save
from tests.ingestion.app import App
from workspace.models import Customer, Event, Join, User


@pytest.fixture
def app(grant: Grant) -> App:
    """An organization that knows one person by two ids, each with an event."""
    server = App(grant).server()
    for user_id in ("eve_1", "eve_2"):
        server.post("events", {"events": [{"event_type": user_id, "user_id": user_id}]})
    return server


def sign_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def owners() -> list[str]:
    return list(
        Event.objects.order_by("event_type").values_list("customer__external_id", flat=True)
    )


def test_an_admin_merges_after_a_page_with_counts_and_undoes_it(app: App) -> None:
    admin = sign_in(app.grant.user)
    eve, other = Customer.objects.order_by("-external_id")
    assert row_url(eve, "merge") in admin.get(row_url(eve)).content.decode()
    asked = admin.get(row_url(eve, "merge"))
    assert 'name="other"' in asked.content.decode()
    shown = admin.get(row_url(eve, "merge"), {"other": "eve_1"}).content.decode()
    assert "Events: 1" in shown
    assert owners() == ["eve_1", "eve_2"]
    done = admin.post(row_url(eve, "merge"), {"other": other.pk})
    assert (done.status_code, done["Location"]) == (302, row_url(eve))
    assert owners() == ["eve_2", "eve_2"]
    join = Join.objects.get()
    assert (join.origin, join.actor) == ("admin", str(app.grant.user))

    assert other.pk in admin.get(model_url(Join)).content.decode()
    assert row_url(join, "undo") in admin.get(row_url(join)).content.decode()
    assert "Events: 1" in admin.get(row_url(join, "undo")).content.decode()
    assert admin.post(row_url(join, "undo")).status_code == 302
    assert owners() == ["eve_1", "eve_2"]
    assert row_url(join, "undo") not in admin.get(row_url(join)).content.decode()


@pytest.mark.parametrize(
    ("named", "why"), [("nowhere", "No customer"), ("eve_2", "This is the same customer")]
)
def test_a_customer_that_cannot_be_merged_is_said(app: App, named: str, why: str) -> None:
    eve = Customer.objects.get(external_id="eve_2")
    page = sign_in(app.grant.user).post(row_url(eve, "merge"), {"other": named})
    assert why in page.content.decode()
    assert owners() == ["eve_1", "eve_2"]


def test_no_customer_gets_an_id_that_was_merged(app: App) -> None:
    app.post("users/merge", {"from_id": "eve_1", "into_id": "eve_2"})
    page = save(sign_in(app.grant.user), row_url(Customer.objects.get()), {"external_id": "eve_1"})
    assert "This id was merged into another customer." in page.content.decode()
    assert Customer.objects.get().external_id == "eve_2"


def test_admins_of_others_and_viewers_can_do_neither(app: App) -> None:
    app.post("users/merge", {"from_id": "eve_1", "into_id": "eve_2"})
    eve, join = Customer.objects.get(), Join.objects.get()
    stranger = sign_in(make_grant().user)
    viewer = User.objects.create_user("viewer@example.com", is_staff=True)
    may_view = Permission.objects.filter(codename__in=["view_customer", "view_join"])
    viewer.user_permissions.set(may_view)
    for client, status in ((stranger, 404), (sign_in(viewer), 403)):
        for url in (row_url(eve, "merge"), row_url(join, "undo")):
            assert client.post(url, {"other": "eve_1"}).status_code in {status, 403, 404}
    assert owners() == ["eve_2", "eve_2"]


def test_joins_of_a_customer_who_is_being_erased_are_not_shown(app: App) -> None:
    app.post("users/merge", {"from_id": "eve_1", "into_id": "eve_2"})
    join, admin = Join.objects.get(), sign_in(app.grant.user)
    erasure.begin(app.organization.pk, join.customer_id, PrivacyActor("test"))
    assert join.source not in admin.get(model_url(Join)).content.decode()
    assert admin.get(row_url(join)).status_code == 302
    assert admin.post(row_url(join, "undo")).status_code == 404
