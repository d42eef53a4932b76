"""What pages and servers tell about customers, companies and leads."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from customers import tasks
from customers.identification import leads, profiles
from customers.identification.traits import MANAGED_OF_COMPANIES, MANAGED_OF_CUSTOMERS
from tests.ingestion import app as own_app
from tests.ingestion.app import App
from workspace.models import Company, Customer, Lead, LeadStatus, Lifecycle

COUNTS = {"success": True, "ignored": [], "ignored_count": 0}
TRAITS = {
    "name": "Maria Lopez",
    "email": "maria@acme.example",
    "plan": "pro",
    "signed_up_at": "2026-04-11T12:25:19.492417+02:00",
    "renewal_status": "at_risk",
    "renewal_date": "2027-01-31",
    "contract_term": "annual",
    "on_contract": True,
    "mrr": 199.999,
    "seats": 12,
    "beta": {"groups": ["a", "b"]},
}


def test_a_server_identifies_a_customer_with_typed_traits(app: App) -> None:
    sent = {"user_id": "42", "company_id": "c-7", "traits": TRAITS}
    answer = app.server().post("identify", sent)
    customer = Customer.objects.get(external_id="42")
    assert (answer.status, answer.json["id"], answer.json["ignored"]) == (200, customer.pk, [])
    assert (customer.organization, customer.email_key) == (app.organization, "maria@acme.example")
    assert customer.signed_up_at == datetime(2026, 4, 11, 10, 25, 19, 492417, UTC)
    assert (customer.renewal_date, customer.mrr) == (date(2027, 1, 31), Decimal("200.00"))
    assert (customer.on_contract, customer.contract_term) == (True, "annual")
    assert customer.custom_fields == {"seats": 12, "beta": {"groups": ["a", "b"]}}
    assert customer.company == Company.objects.get(external_id="c-7")
    assert customer.last_seen is not None
    assert customer.first_seen == customer.last_seen


def test_identify_keeps_what_it_does_not_name_and_null_removes(app: App) -> None:
    server = app.server()
    server.post("identify", {"user_id": "42", "company_id": "c-7", "traits": TRAITS})
    changes = {"plan": None, "mrr": None, "seats": None, "renewal_status": None, "name": None}
    server.post("identify", {"user_id": "42", "company_id": "", "traits": changes})
    customer = Customer.objects.get()
    assert (customer.plan, customer.mrr, customer.renewal_status, customer.name) == (
        "",
        None,
        "",
        "",
    )
    assert customer.custom_fields == {"beta": {"groups": ["a", "b"]}}
    assert (customer.email, customer.company) == ("maria@acme.example", None)


@pytest.mark.parametrize("name", MANAGED_OF_CUSTOMERS)
def test_a_field_that_halo_manages_is_refused_by_name(app: App, name: str) -> None:
    answer = app.server().post("identify", {"user_id": "1", "traits": {name: "x"}})
    assert answer.refusal == (400, f"traits.{name}")
    assert not Customer.objects.exists()


@pytest.mark.parametrize("name", MANAGED_OF_COMPANIES)
def test_a_managed_field_of_a_company_is_refused_by_name(app: App, name: str) -> None:
    answer = app.server().post("companies", {"company_id": "1", "traits": {name: "x"}})
    assert answer.refusal == (400, f"traits.{name}")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("email", "no address"),
        ("email", 5),
        ("name", "n" * 201),
        ("name", "a\0b"),
        ("nickname", "\ud800"),
        ("nickname", {"a": ["\0"]}),
        ("renewal_status", "happy"),
        ("renewal_status", ["lost"]),
        ("renewal_date", "31.01.2027"),
        ("renewal_date", "2027-02-30"),
        ("signed_up_at", "2026-04-11T12:25:19"),
        ("signed_up_at", "0001-01-01T00:00:00+14:00"),
        ("signed_up_at", 1_700_000_000),
        ("on_contract", "yes"),
        ("mrr", "199"),
        ("mrr", -1),
        ("mrr", True),
        ("mrr", 1e300),
        ("quota", 10**40),
        ("quota", 1e300),
    ],
)
def test_a_wrong_trait_is_refused_by_name(app: App, name: str, value: object) -> None:
    answer = app.server().post("identify", {"user_id": "1", "traits": {name: value}})
    inside = ".a[0]" if isinstance(value, dict) else ""
    assert answer.refusal == (400, f"traits.{name}{inside}")
    assert answer.json["reason"]
    assert not Customer.objects.exists()


def test_context_entries_are_stored_by_key(app: App) -> None:
    server = app.server()
    entry = {"label": "Last error", "type": "error", "value": {"code": 500}}
    server.post("identify", {"user_id": "1", "context": {"error": entry, "old": entry}})
    server.post(
        "identify",
        {"user_id": "1", "context": {"old": None, "seats": {"label": "Seats", "value": 3}}},
    )
    seats = {"label": "Seats", "type": "custom", "value": 3}
    assert Customer.objects.get().context == {"error": entry, "seats": seats}
    wrong = server.post(
        "identify", {"user_id": "1", "context": {"a": {"label": "A", "type": "b", "value": 1}}}
    )
    assert wrong.refusal == (400, "context.a")


def test_traits_and_context_have_20000_bytes_together(app: App) -> None:
    server = app.server()
    half = {"user_id": "1", "traits": {"a": "x" * 10_000}}
    assert server.post("identify", half).status == 200
    more = {"user_id": "1", "context": {"b": {"label": "B", "value": "x" * 10_000}}}
    assert server.post("identify", more).refusal == (400, "traits")
    assert Customer.objects.get().context == {}
    assert server.post("identify", {"user_id": "2", "traits": {"a": "é" * 10_000}}).status == 400


def test_a_lost_renewal_is_churn_until_another_status(app: App) -> None:
    server = app.server()

    def status(value: str) -> Customer:
        assert (
            server.post("identify", {"user_id": "1", "traits": {"renewal_status": value}}).status
            == 200
        )
        return Customer.objects.get()

    lost = status("lost")
    assert (lost.lifecycle, lost.churned_at is not None) == (Lifecycle.CHURNED, True)
    assert status("lost").churned_at == lost.churned_at
    back = status("renewed")
    assert (back.lifecycle, back.churned_at) == (Lifecycle.ACTIVE, None)


def test_bulk_updates_never_change_when_a_customer_was_seen(app: App) -> None:
    server = app.server()
    server.post("identify", {"user_id": "1"})
    seen = Customer.objects.get().last_seen
    users = [{"user_id": "1", "company_id": "c", "traits": {"plan": "pro"}}, {"user_id": "2"}]
    answer = server.post("users/update", {"users": users})
    assert answer.json == COUNTS | {"updated": 1, "created": 1}
    known, added = Customer.objects.order_by("external_id")
    assert (known.last_seen, known.plan, added.last_seen) == (seen, "pro", None)
    assert known.company == Company.objects.get(external_id="c")


def test_a_wrong_customer_in_a_batch_is_named_and_nothing_is_stored(app: App) -> None:
    users: list[Any] = [{"user_id": f"u{number}", "traits": {"plan": "pro"}} for number in range(5)]
    users[3]["traits"] = {"mrr": "much"}
    answer = app.server().post("users/update", {"users": users})
    assert answer.refusal == (400, "users[3].traits.mrr")
    users[3] = {"traits": {}}
    assert app.server().post("users/update", {"users": users}).refusal == (400, "users[3].user_id")
    assert not Customer.objects.exists()


def test_every_wrong_field_of_a_batch_is_named(app: App) -> None:
    users: list[Any] = [{"user_id": f"u{number}"} for number in range(4)]
    users[1]["traits"] = {"arr": -1, "renewal_date": "2025-11-31", "plan": "pro"}
    users[3] |= {"traits": {"on_contract": "yes"}, "context": {"tier": 5}}
    answer = app.server().post("users/update", {"users": users})
    assert answer.refusal == (400, "users[1].traits.arr")
    reasons = {one["field"]: one["reason"] for one in answer.json["fields"]}
    assert list(reasons) == [
        "users[1].traits.arr",
        "users[1].traits.renewal_date",
        "users[3].traits.on_contract",
        "users[3].context.tier",
    ]
    assert reasons["users[1].traits.renewal_date"] == "2025-11-31 does not exist."


def test_every_wrong_member_of_a_body_is_named(app: App) -> None:
    users: list[Any] = [{"user_id": 5, "name": "Ada"}, {"traits": []}]
    answer = app.server().post("users/update", {"users": users, "dry_run": True})
    assert [one["field"] for one in answer.json["fields"]] == [
        "dry_run",
        "users[0].name",
        "users[0].user_id",
        "users[1].user_id",
        "users[1].traits",
    ]


def test_wrong_traits_are_named_with_what_else_is_wrong(app: App) -> None:
    users: list[Any] = [{"user_id": 5}, {"user_id": "7", "traits": {"mrr": "much", "plan": 3}}]
    answer = app.server().post("users/update", {"users": users})
    assert [one["field"] for one in answer.json["fields"]] == [
        "users[0].user_id",
        "users[1].traits.mrr",
        "users[1].traits.plan",
    ]
    company = {"company_id": 5, "traits": {"employee_count": "many"}, "name": "Acme"}
    answer = app.server().post("companies", company)
    assert [one["field"] for one in answer.json["fields"]] == [
        "name",
        "company_id",
        "traits.employee_count",
    ]
    identified = {"user": "7", "traits": {"on_contract": "yes"}, "context": {"tier": 5}}
    answer = app.server().post("identify", identified)
    assert [one["field"] for one in answer.json["fields"]] == [
        "user",
        "traits.on_contract",
        "context.tier",
    ]


def test_null_for_an_optional_member_is_the_member_left_out(app: App) -> None:
    users: list[Any] = [{"user_id": "7", "traits": None, "context": None}]
    answer = app.server().post("users/update", {"users": users})
    assert (answer.status, answer.json["created"]) == (200, 1)
    assert app.server().post("users/update", {"users": None}).refusal == (400, "users")


def test_a_bulk_update_has_at_most_1000_customers(app: App) -> None:
    users = [{"user_id": f"u{number}", "traits": {"n": number}} for number in range(1001)]
    server = app.server()
    assert server.post("users/update", {"users": users}).refusal == (400, "users")
    assert server.post("users/update", {"users": users[:1000]}).json["created"] == 1000
    assert Customer.objects.count() == 1000


def test_a_company_is_added_and_changed(app: App) -> None:
    server = app.server()
    traits = {
        "name": "Acme",
        "domain": "https://www.Acme.example/x",
        "employee_count": 12,
        "tier": 1,
    }
    server.post("companies", {"company_id": "7", "traits": traits})
    server.post("companies", {"company_id": "7", "traits": {"industry": "Toys", "arr": 5}})
    company = Company.objects.get()
    assert (company.name_key, company.domain, company.industry) == ("acme", "acme.example", "Toys")
    assert (company.employee_count, company.arr) == (12, Decimal(5))
    assert company.custom_fields == {"tier": 1}
    large = {"company_id": "7", "traits": {"a": "x" * 50_000}}
    assert server.post("companies", large).refusal == (400, "traits")


def test_an_email_without_an_id_is_a_lead_until_a_verified_identify(app: App) -> None:
    page = app.page()
    left = page.post("identify", {"traits": {"email": "Lea@x.example", "phone": "1"}})
    again = page.post("identify", {"traits": {"email": "lea@x.example", "size": 9, "name": "Lea"}})
    lead = Lead.objects.get()
    assert left.json["id"] == again.json["id"] == lead.pk
    assert left.json["stored"] == ["email", "fields.phone"]
    assert (lead.name, lead.fields, lead.source) == ("Lea", {"phone": "1", "size": 9}, "widget")
    assert not Customer.objects.exists()

    app.page("42", email="lea@x.example").post("identify")
    lead.refresh_from_db()
    customer = Customer.objects.get(external_id="42")
    assert (lead.status, lead.customer) == (LeadStatus.CONVERTED, customer)
    assert (customer.name, customer.custom_fields) == ("Lea", {"phone": "1", "size": 9})


def test_a_bulk_update_and_an_unverified_identify_convert_no_lead(app: App) -> None:
    leads.capture(app.organization.pk, email="lea@x.example", name="", fields={}, source="form")
    app.trust_pages()
    traits = {"email": "lea@x.example"}
    app.page().post("identify", {"user_id": "1", "traits": traits})
    app.server().post("users/update", {"users": [{"user_id": "2", "traits": traits}]})
    assert Lead.objects.get().status == LeadStatus.OPEN


def test_a_verified_identify_finds_the_customer_that_was_imported(app: App) -> None:
    imported = app.grant.customer(email="Ada@x.example", name="Ada")
    app.page("42", email="ada@x.example").post("identify")
    assert Customer.objects.get(external_id="42") == imported


def test_a_bulk_update_finds_the_customers_that_were_imported(app: App) -> None:
    ada, bo, *_twins = (
        app.grant.customer(email=f"{name}@x.example") for name in ("Ada", "bo", "cy", "cy")
    )
    named = {"1": "ada", "2": "bo", "3": "bo", "4": "cy", "5": "dee"}
    users = [
        {"user_id": user_id, "traits": {"email": f"{name}@x.example"}}
        for user_id, name in named.items()
    ]
    answer = app.server().post("users/update", {"users": users})
    assert answer.json == COUNTS | {"updated": 1, "created": 4}
    assert Customer.objects.get(external_id="1") == ada
    bo.refresh_from_db()
    assert bo.external_id == ""
    assert Customer.objects.filter(external_id="").count() == 3
    assert app.server().post("users/update", {"users": users}).json["updated"] == 5


def test_the_customers_of_a_company_are_counted(app: App) -> None:
    for user_id, company_id in (("1", "a"), ("2", "a"), ("3", "b")):
        app.server().post("identify", {"user_id": user_id, "company_id": company_id})
    app.server().post("companies", {"company_id": "c"})
    assert tasks.count_teams() == 3
    app.server().post("identify", {"user_id": "2", "company_id": "b"})
    assert tasks.count_teams() == 2
    assert tasks.count_teams() == 0
    sizes = Company.objects.values_list("external_id", "team_size")
    assert dict(sizes) == {"a": 1, "b": 2, "c": 0}


def test_the_customers_of_two_organizations_are_apart(app: App) -> None:
    other = own_app.create_app()
    for each, plan in ((app, "pro"), (other, "free")):
        sent = {"user_id": "42", "company_id": "c", "traits": {"plan": plan}}
        assert each.server().post("identify", sent).status == 200
    assert {one.organization_id: one.plan for one in Customer.objects.all()} == {
        app.organization.pk: "pro",
        other.organization.pk: "free",
    }
    assert Company.objects.count() == 2


def test_seen_means_now(app: App) -> None:
    app.page("1").post("identify")
    seen = Customer.objects.get().last_seen
    assert seen is not None
    assert timezone.now() - seen < timedelta(minutes=1)


def test_many_customers_are_locked_in_the_order_of_their_keys(app: App) -> None:
    named = [f"u{one}" for one in range(profiles.MAX_UPDATES)]
    with transaction.atomic():
        locked = profiles.lock_customers(app.organization.pk, named)
    in_order = Customer.objects.order_by("pk").values_list("pk", flat=True)
    assert [customer.pk for customer in locked.values()] == list(in_order)
