"""Traits as apps send them to other products, and what each answer says of a request."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest

from tests.ingestion.app import App
from workspace.models import Company, Customer, Lead, Ticket

SIGNED_UP = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


def identify(app: App, **traits: Any) -> Any:
    written = app.server().post("identify", {"user_id": "1", "traits": traits})
    assert written.status == 200, written.json
    return written.json


@pytest.mark.parametrize(
    "sent",
    [
        {"firstName": "Ada", "lastName": "Lovelace"},
        {"first_name": " Ada ", "last_name": "Lovelace"},
        {"$first_name": "Ada Lovelace", "$last_name": None},
        {"firstName": "Ada Lovelace"},
        {"fullName": "Ada Lovelace"},
        {"displayName": "Ada Lovelace"},
        {"$name": "Ada Lovelace"},
        {"name": "Ada Lovelace", "firstName": "A.", "lastName": "L."},
    ],
)
def test_a_name_under_other_names_is_the_name(app: App, sent: dict[str, Any]) -> None:
    assert identify(app, **sent)["stored"] == ["name"]
    customer = Customer.objects.get()
    assert (customer.name, customer.custom_fields) == ("Ada Lovelace", {})


@pytest.mark.parametrize(
    "value",
    [1_700_000_000, 1_700_000_000_000, 1_700_000_000.0, "2023-11-14T22:13:20Z"],
)
@pytest.mark.parametrize("name", ["createdAt", "created_at", "signedUpAt", "$created"])
def test_the_sign_up_of_other_products_is_understood(app: App, name: str, value: Any) -> None:
    assert identify(app, **{name: value})["stored"] == ["signed_up_at"]
    assert Customer.objects.get().signed_up_at == SIGNED_UP


def test_the_traits_of_other_products_about_companies_are_understood(app: App) -> None:
    sent = {
        "website": "https://www.acme.example/",
        "employees": 12,
        "monthly_spend": 99.5,
        "remote_created_at": 1_700_000_000,
        "phone": "1",
    }
    written = app.server().post("companies", {"company_id": "acme", "traits": sent})
    company = Company.objects.get()
    assert (company.domain, company.employee_count) == ("acme.example", 12)
    assert (company.mrr, company.signed_up_at) == (Decimal("99.50"), SIGNED_UP)
    assert company.custom_fields == {"phone": "1"}
    assert sorted(written.json["stored"]) == [
        *("custom_fields.phone", "domain", "employee_count", "mrr", "signed_up_at"),
    ]


def test_the_company_of_segment_and_intercom_is_read_by_its_id(app: App) -> None:
    for company in ({"id": "acme", "name": "Acme"}, {"company_id": 7, "plan": "pro"}):
        written = identify(app, company=company)
        assert written["stored"] == ["company_id"]
        assert [one["field"] for one in written["ignored"]] == ["traits.company"]
        customer = Customer.objects.get()
        assert customer.company is not None
        assert customer.company.external_id == str(company.get("id", company.get("company_id")))
        assert (customer.company.name, customer.custom_fields) == ("", {})
    assert identify(app, company="Acme")["stored"] == ["custom_fields.company"]


def test_a_trait_under_its_own_name_counts(app: App) -> None:
    written = identify(app, signed_up_at="2024-01-01T00:00:00Z", createdAt=1_700_000_000)
    assert written["ignored"] == [
        {"field": "traits.createdAt", "reason": "signed_up_at is sent too."}
    ]
    assert Customer.objects.get().signed_up_at == datetime(2024, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("sent", "field"),
    [
        ({"lastName": "Lovelace"}, "traits.lastName"),
        ({"firstName": {"a": 1}}, "traits.firstName"),
        ({"firstName": {"a": 1}, "lastName": "Lovelace"}, "traits.lastName"),
        ({"firstName": {"a": 1}, "first_name": "Ada"}, "traits.first_name"),
        ({"createdAt": "yesterday"}, "traits.createdAt"),
        ({"created_at": 0}, "traits.created_at"),
        ({"created_at": 10**14}, "traits.created_at"),
        ({"created_at": -(10**17)}, "traits.created_at"),
        ({"created_at": True}, "traits.created_at"),
        ({"avatar_url": {"image": 1}}, "traits.avatar_url"),
        ({"userId": "2"}, "traits.userId"),
        ({"companies": [{"id": "acme"}]}, "traits.companies"),
        ({"custom_attributes": {"a": 1}}, "traits.custom_attributes"),
        ({"anonymousId": "a"}, "traits.anonymousId"),
        ({"company": {"id": "null"}}, "traits.company.id"),
        ({"company": {"id": ["acme"]}}, "traits.company.id"),
        ({"company": {"name": "Acme"}}, "traits.company.id"),
    ],
)
def test_what_cannot_be_read_is_named_and_fails_no_request(
    app: App, sent: dict[str, Any], field: str
) -> None:
    written = identify(app, **sent, role="admin")
    assert field in [one["field"] for one in written["ignored"]]
    assert written["stored"] == ["role"]
    customer = Customer.objects.get()
    assert (customer.name, customer.custom_fields, customer.company) == ("", {}, None)


def test_the_size_of_a_company_in_words_is_named(app: App) -> None:
    body = {"company_id": "acme", "traits": {"employees": "11-50", "industry": "Toys"}}
    written = app.server().post("companies", body)
    assert written.json["stored"] == ["industry"]
    assert [one["field"] for one in written.json["ignored"]] == ["traits.employees"]


def test_an_answer_says_under_which_names_it_stored(app: App) -> None:
    context = {"error": {"label": "Error", "value": 1}}
    body = {"user_id": "1", "company_id": "acme", "traits": {"plan": "pro", "phone": "1"}}
    written = app.server().post("identify", body | {"context": context})
    assert written.json["stored"] == [
        *("plan", "company_id", "custom_fields.phone", "context.error"),
    ]


def test_a_thousand_customers_are_answered_with_100_reasons(app: App) -> None:
    users = [{"user_id": f"u{one}", "traits": {"userId": "x"}} for one in range(300)]
    written = app.server().post("users/update", {"users": users})
    assert (written.json["created"], written.json["ignored_count"]) == (300, 300)
    assert [one["field"] for one in written.json["ignored"]][::99] == [
        *("users[0].traits.userId", "users[99].traits.userId"),
    ]


def test_a_ticket_says_whose_it_is_and_keeps_the_address(app: App) -> None:
    ada = app.grant.customer(email="ada@x.example", external_id="1", name="Ada")
    for name in ("bo", "bo"):
        app.grant.customer(email=f"{name}@x.example")
    cases = [
        (app.server(), {"email": "ADA@x.example"}, ada.pk, None),
        (app.server(), {"email": "ada@x.example", "user_id": "1"}, ada.pk, None),
        (app.server(), {"email": "home@x.example", "user_id": "1"}, ada.pk, "home@x.example"),
        (app.server(), {"email": "bo@x.example"}, None, "bo@x.example"),
        (app.server(), {"email": "new@x.example"}, None, "new@x.example"),
        (app.page(), {"email": "ada@x.example"}, None, "ada@x.example"),
    ]
    for caller, named, customer_id, kept in cases:
        written = caller.post("tickets/create", {"subject": "S", **named}).json
        assert written["customer_id"] == customer_id, named
        fields = [one["field"] for one in written["ignored"]]
        assert fields == ([] if customer_id else ["email"])
        metadata = Ticket.objects.get(pk=written["ticket_id"]).metadata
        assert metadata.get("email") == kept


def test_a_lead_has_no_fields_that_were_sent_empty_under_other_names(app: App) -> None:
    traits = {"email": "ada@example.com", "createdAt": None, "avatarUrl": None, "phone": "1"}
    assert app.server().post("identify", {"traits": traits}).status == 200
    assert Lead.objects.get().fields == {"phone": "1"}
