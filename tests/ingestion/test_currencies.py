"""Amounts keep the minor units of their currency, and none is taken for another currency."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from tests.ingestion.app import App, IngestionAnswer
from tests.workspace.customer_pages import send, words
from workspace.models import Company, Customer, User


def use_currency(app: App, currency: str) -> App:
    """A server of the organization, whose currency this is from now on."""
    app.organization.currency = currency
    app.organization.save()
    return app.server()


def identify(server: App, **traits: Any) -> IngestionAnswer:
    return server.post("identify", {"user_id": "ada_1", "traits": traits})


def update(server: App, **traits: Any) -> IngestionAnswer:
    return server.post("users/update", {"users": [{"user_id": "ada_1", "traits": traits}]})


def upsert_company(server: App, **traits: Any) -> IngestionAnswer:
    return server.post("companies", {"company_id": "acme", "traits": traits})


DOORS = {
    "traits.currency": identify,
    "users[0].traits.currency": update,
    "traits.currency ": upsert_company,
}


@pytest.mark.parametrize("field", DOORS)
@pytest.mark.parametrize("name", ["currency", "Currency"])
def test_amounts_in_another_currency_are_refused(app: App, field: str, name: str) -> None:
    server = use_currency(app, "EUR")
    refused = DOORS[field](server, mrr=99, **{name: "usd"})
    assert refused.refusal == (400, field.strip())
    assert "The amounts are in usd. Send them in EUR" in refused.json["reason"]
    assert not Customer.objects.filter(mrr__isnull=False).exists()
    assert not Company.objects.filter(mrr__isnull=False).exists()


def test_amounts_next_to_the_own_currency_are_stored(app: App) -> None:
    server = use_currency(app, "EUR")
    assert identify(server, mrr=99, currency="eur").status == 200
    assert identify(server, arr=1188).status == 200
    customer = Customer.objects.get()
    assert (customer.mrr, customer.arr, customer.custom_fields) == (99, 1188, {"currency": "eur"})


@pytest.mark.parametrize("post", [identify, upsert_company])
def test_amounts_of_an_account_that_has_another_currency_are_refused(app: App, post: Any) -> None:
    server = use_currency(app, "EUR")
    assert post(server, currency="USD", seats=3).status == 200
    assert post(server, mrr=99).refusal == (400, "traits.currency")
    assert post(server, mrr=99, currency=None).status == 200
    assert post(server, mrr=100).status == 200


@pytest.mark.parametrize(
    ("currency", "sent", "stored"),
    [
        ("JPY", 1234.567, "1235"),
        ("USD", 1234.567, "1234.57"),
        ("KWD", 1234.56, "1234.56"),
    ],
)
def test_amounts_are_rounded_to_minor_units(
    app: App, currency: str, sent: float, stored: str
) -> None:
    server = use_currency(app, currency)
    assert (identify(server, mrr=sent).status, update(server, arr=sent).status) == (200, 200)
    customer = Customer.objects.get()
    assert (customer.mrr, customer.arr) == (Decimal(stored), Decimal(stored))


def test_a_third_digit_is_refused_where_it_would_be_lost(app: App) -> None:
    refused = identify(use_currency(app, "KWD"), mrr=1234.567)
    assert refused.refusal == (400, "traits.mrr")
    assert "at most two digits" in refused.json["reason"]


def test_a_page_that_sends_a_currency_is_not_refused(app: App) -> None:
    use_currency(app, "EUR")
    answer = app.page("ada_1").post("identify", {"traits": {"mrr": 99, "currency": "USD"}})
    assert (answer.status, Customer.objects.get().mrr) == (200, None)


def test_imported_amounts_follow_the_same_rules(client: Client, app: App) -> None:
    use_currency(app, "JPY")
    client.force_login(User.objects.create_superuser("root@example.com"))
    rows = "external_id,mrr,custom.currency\nada_1,1234.567,JPY\nbea_1,99,USD\ncarl_1,,USD\n"
    page = words(send(client, app.organization, rows))
    assert "The amounts are in USD. Enter them in JPY" in page
    assert not Customer.objects.exists()
    send(client, app.organization, rows.replace("99,USD", "99,jpy"))
    assert dict(Customer.objects.values_list("external_id", "mrr")) == {
        "ada_1": Decimal(1235),
        "bea_1": Decimal(99),
        "carl_1": None,
    }
    again = words(send(client, app.organization, "external_id,mrr\ncarl_1,5\n"))
    assert "The custom field currency says USD." in again
