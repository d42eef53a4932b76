"""What a page may claim of a customer or a company, and what only a server may say."""

from decimal import Decimal
from typing import Any

import pytest

from customers.identification import traits
from tests.ingestion.app import App
from workspace.models import Company, Customer, FeatureFlag, Lead

VALUES: dict[str, Any] = {
    "name": "Evil",
    "email": "page@x.example",
    "avatar": "https://x.example/a.png",
    "role": "admin",
    "lifecycle": "churned",
    "domain": "evil.example",
    "industry": "Mining",
    "employee_count": 5,
    "health_score": 100,
    "plan": "enterprise",
    "signed_up_at": "2001-01-01T00:00:00Z",
    "renewal_status": "lost",
    "renewal_date": "2027-01-31",
    "contract_term": "annual",
    "payment_terms": "annual",
    "on_contract": True,
    "mrr": 999_999_999,
    "arr": 999_999_999,
}
CLAIMS = {"name", "email", "avatar", "role"}


def ignored_fields(json: Any) -> set[str]:
    return {one["field"] for one in json["ignored"]}


def test_a_page_writes_a_customers_name_and_no_money_plan_or_contract(app: App) -> None:
    app.server().post("identify", {"user_id": "1", "traits": {"plan": "pro", "mrr": 10}})
    sent = {name: VALUES[name] for name in traits.CUSTOMER} | {"seats": 3}
    answer = app.page("1", email=VALUES["email"]).post("identify", {"traits": sent})
    customer = Customer.objects.get()
    assert (customer.plan, customer.mrr, customer.lifecycle) == ("pro", Decimal(10), "active")
    assert (customer.signed_up_at, customer.renewal_status) == (None, "")
    assert (customer.name, customer.role) == ("Evil", "admin")
    assert customer.custom_fields == {"seats": 3}
    assert set(answer.json["stored"]) == CLAIMS | {"custom_fields.seats"}
    assert ignored_fields(answer.json) == {f"traits.{one}" for one in {*traits.CUSTOMER} - CLAIMS}
    assert {one["reason"] for one in answer.json["ignored"]} == {traits.SERVERS_ONLY}


def test_a_page_writes_custom_fields_of_its_company_and_nothing_else(app: App) -> None:
    server = app.server()
    server.post("companies", {"company_id": "acme", "traits": {"name": "Acme", "mrr": 10}})
    sent = {name: VALUES[name] for name in traits.COMPANY} | {"office": "Rome"}
    page = app.page("1", company_id="acme")
    answer = page.post("companies", {"company_id": "acme", "traits": sent})
    company = Company.objects.get()
    assert (company.name, company.domain, company.mrr) == ("Acme", "", Decimal(10))
    assert company.custom_fields == {"office": "Rome"}
    assert answer.json["stored"] == ["custom_fields.office"]
    assert ignored_fields(answer.json) == {f"traits.{one}" for one in traits.COMPANY}


@pytest.mark.parametrize("kind", ["identify", "companies"])
def test_other_names_do_not_get_past_the_list(app: App, kind: str) -> None:
    sent = {"createdAt": 1_700_000_000, "monthly_spend": 5, "employees": 3, "website": "e.example"}
    page = app.page("1", company_id="acme")
    page.post(kind, {"company_id": "acme", "traits": sent})
    for row in (*Customer.objects.all(), *Company.objects.all()):
        assert (row.signed_up_at, row.mrr) == (None, None)
    assert not Company.objects.exclude(domain="", employee_count=None).exists()


def test_other_names_of_the_address_and_the_company_are_proven_too(app: App) -> None:
    page = app.page("1", email="ada@x.example", company_id="acme")
    for name in ("email", "$email", "emailAddress"):
        wrong = page.post("identify", {"traits": {name: "victim@x.example"}})
        assert wrong.refusal == (403, "traits.email"), name
    stranger = app.page("2").post("identify", {"traits": {"company": {"id": "acme"}}})
    assert ignored_fields(stranger.json) == {"traits.company.id"}
    assert Customer.objects.get().company is None


def test_a_page_without_the_address_in_its_token_does_not_remove_it(app: App) -> None:
    app.server().post("identify", {"user_id": "1", "traits": {"email": "ada@x.example"}})
    answer = app.page("1").post("identify", {"traits": {"email": None, "role": "owner"}})
    assert ignored_fields(answer.json) == {"traits.email"}
    customer = Customer.objects.get()
    assert (customer.email, customer.role) == ("ada@x.example", "owner")


def test_the_claims_of_a_token_are_said_by_a_server(app: App) -> None:
    answer = app.page("1", plan="pro").post("identify", {"traits": {"plan": "free"}})
    assert Customer.objects.get().plan == "pro"
    assert answer.json["stored"] == ["plan"]


def test_pages_without_identity_verification_claim_no_more(app: App) -> None:
    app.trust_pages()
    app.page().post("identify", {"user_id": "1", "traits": {"mrr": 5, "name": "Ada"}})
    customer = Customer.objects.get()
    assert (customer.mrr, customer.name) == (None, "Ada")


def test_an_organization_may_let_its_pages_write_all_traits(app: App) -> None:
    FeatureFlag.objects.create(
        organization=app.organization, name="page_account_traits", enabled=True
    )
    page = app.page("1", company_id="acme")
    answer = page.post("identify", {"traits": {"plan": "pro", "mrr": 5}})
    page.post("companies", {"company_id": "acme", "traits": {"name": "Acme"}})
    assert (answer.json["ignored"], Customer.objects.get().mrr) == ([], Decimal(5))
    assert Company.objects.get().name == "Acme"


def test_a_lead_of_a_page_has_no_money_either(app: App) -> None:
    sent = {"email": "lea@x.example", "mrr": 5, "plan": "pro", "phone": "1", "firstName": "Lea"}
    answer = app.page().post("identify", {"traits": sent})
    lead = Lead.objects.get()
    assert (lead.name, lead.fields) == ("Lea", {"phone": "1"})
    assert answer.json["stored"] == ["email", "name", "fields.phone"]
    assert ignored_fields(answer.json) == {"traits.mrr", "traits.plan"}
