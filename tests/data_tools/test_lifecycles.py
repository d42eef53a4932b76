"""Current customers by default, the others on request, and figures that agree between tools."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from customers import companies
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, ids, refusal
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from workspace.models import Company, Customer, Lifecycle, RenewalStatus

NOW = timezone.now().replace(microsecond=0)
DAY = timedelta(days=1)


@pytest.fixture
def people(grant: Grant) -> dict[str, Customer]:
    """Two current customers of Acme and one who left, and a company that all have left."""
    acme, gone = (
        companies.keep(Company(organization=grant.organization, name=name, plan="pro", **facts))
        for name, facts in (
            ("Acme", {"renewal_status": RenewalStatus.AT_RISK}),
            ("Gone", {"renewal_status": RenewalStatus.LOST}),
        )
    )
    companies.keep(Company(organization=grant.organization, name="Empty"))
    rows: dict[str, dict[str, Any]] = {
        "active": {"company": acme, "mrr": 20, "custom_fields": {"boards": 3}},
        "trial": {"company": acme, "lifecycle": Lifecycle.TRIAL, "on_contract": False},
        "left": {"company": acme, "lifecycle": Lifecycle.CHURNED, "churned_at": NOW - 3 * DAY},
        "lost": {
            "company": gone,
            "lifecycle": Lifecycle.CHURNED,
            "churned_at": NOW - 2 * DAY,
            "renewal_status": RenewalStatus.LOST,
            "mrr": 50,
        },
    }
    return {
        name: grant.customer(
            external_id=name,
            name=f"{name} person",
            plan="pro",
            signed_up_at=NOW - (10 + number) * DAY,
            last_seen=NOW - number * DAY,
            **facts,
        )
        for number, (name, facts) in enumerate(rows.items())
    }


def search(mcp: McpClient, **arguments: Any) -> tuple[list[str], str]:
    """The first words of the names of the customers that are found, and whose a result is."""
    found = answer(mcp, "data_search_users", **arguments)
    return [item["name"].split()[0] for item in found["items"]], found["searched"]["lifecycle"]


@pytest.mark.parametrize(
    ("arguments", "names", "searched"),
    [
        ({}, ["active", "trial"], "current"),
        ({"plan": "pro"}, ["active", "trial"], "current"),
        ({"lifecycle": "any"}, ["active", "trial", "left", "lost"], "any"),
        ({"lifecycle": "Churned"}, ["left", "lost"], "churned"),
        ({"lifecycle": "trial"}, ["trial"], "trial"),
        ({"trait": "lifecycle=trial"}, ["trial"], "any"),
        ({"trait": "Lifecycle = Churned"}, ["left", "lost"], "any"),
        ({"renewal_status": "lost"}, ["lost"], "any"),
        ({"renewal_status": "lost", "lifecycle": "current"}, [], "current"),
        ({"time_field": "churned_at"}, ["lost", "left"], "churned"),
        ({"sort": "churned_at_asc"}, ["left", "lost"], "churned"),
        ({"time_field": "signed_up_at"}, ["active", "trial", "left", "lost"], "any"),
    ],
)
@pytest.mark.usefixtures("people")
def test_customers_are_current_unless_a_call_is_about_others(
    mcp: McpClient, arguments: dict[str, Any], names: list[str], searched: str
) -> None:
    assert search(mcp, **arguments) == (names, searched)


@pytest.mark.usefixtures("people")
def test_customers_are_counted_by_lifecycle(mcp: McpClient) -> None:
    assert answer(mcp, "data_search_users", group_by="lifecycle")["groups"] == [
        {"value": "churned", "count": 2},
        {"value": "active", "count": 1},
        {"value": "trial", "count": 1},
    ]


def test_items_have_the_lifecycle_and_what_is_filtered_and_sorted_by(
    mcp: McpClient, people: dict[str, Customer]
) -> None:
    (item,) = answer(mcp, "data_search_users", renewal_status="lost")["items"]
    assert (item["lifecycle"], item["renewal_status"]) == ("churned", "lost")
    (item,) = answer(mcp, "data_search_users", trait="boards>2")["items"]
    assert item["traits"] == {"boards": 3}
    item, _ = answer(mcp, "data_search_users", time_field="churned_at")["items"]
    assert (item["id"], item["churned_at"]) == (
        people["lost"].pk,
        (NOW - 2 * DAY).isoformat(timespec="seconds"),
    )


@pytest.mark.parametrize(
    ("arguments", "names", "searched"),
    [
        ({}, {"Acme", "Empty"}, "current"),
        ({"lifecycle": "any"}, {"Acme", "Empty", "Gone"}, "any"),
        ({"lifecycle": "churned"}, {"Gone"}, "churned"),
        ({"renewal_status": "lost"}, {"Gone"}, "any"),
    ],
)
@pytest.mark.usefixtures("people")
def test_companies_are_current_until_all_of_their_customers_have_churned(
    mcp: McpClient, arguments: dict[str, Any], names: set[str], searched: str
) -> None:
    found = answer(mcp, "data_search_companies", **arguments)
    assert {item["name"] for item in found["items"]} == names
    assert found["searched"]["lifecycle"] == searched


@pytest.mark.usefixtures("people")
def test_every_tool_counts_the_same_customers(mcp: McpClient) -> None:
    total = answer(mcp, "data_search_users")["total"]
    assert total == 2
    for group_by in ("plan", "company", "renewal_status"):
        groups = answer(mcp, "data_search_users", group_by=group_by)["groups"]
        assert sum(one["count"] for one in groups) == total
    (figure,) = answer(mcp, "data_query_metrics", metric="customers")["items"]
    assert figure["value"] == total
    acme = answer(mcp, "data_find_company", company="Acme")
    assert (acme["activity"]["users"], acme["activity"]["churned_users"]) == (2, 1)
    assert len(acme["users"]) == answer(mcp, "data_search_users", company="Acme")["total"] == 2
    churned = answer(mcp, "data_search_users", time_field="churned_at", period="last_7_days")
    (figure,) = answer(mcp, "data_query_metrics", metric="churned_customers", period="last_7_days")[
        "items"
    ]
    assert figure["value"] == churned["total"] == 2


@pytest.mark.usefixtures("people")
def test_new_customers_are_counted_with_those_who_have_left_since(mcp: McpClient) -> None:
    period = {"period": "last_30_days"}
    total = answer(mcp, "data_search_users", time_field="signed_up_at", **period)["total"]
    (figure,) = answer(mcp, "data_query_metrics", metric="new_customers", **period)["items"]
    assert figure["value"] == total == 4


@pytest.mark.usefixtures("people")
def test_a_status_that_only_companies_have_points_to_them(mcp: McpClient) -> None:
    hints = answer(mcp, "data_search_users", renewal_status="at_risk")["hints"]
    assert "data_search_companies with this renewal_status: 1." in hints
    hints = answer(mcp, "data_search_users", renewal_status="at_risk", lifecycle="trial")["hints"]
    assert "data_search_companies with this renewal_status: 1." in hints
    found = answer(mcp, "data_search_companies", renewal_status="at_risk")
    assert (found["total"], found["items"][0]["renewal_status"]) == (1, "at_risk")


def test_a_bound_call_reads_its_customer_who_has_churned(
    mcp: McpClient, people: dict[str, Customer]
) -> None:
    left = people["left"]
    assert ids(answer(mcp, "data_search_users", bind_id(left))) == [left.pk]
    found = answer(mcp, "data_find_company", bind_id(left), company="Acme")
    assert [one["id"] for one in found["users"]] == [left.pk]


@pytest.mark.parametrize(
    ("trait", "names"),
    [
        ("mrr>10", ["active"]),
        ("MRR <= 20", ["active"]),
        ("mrr=20", ["active"]),
        ("on_contract=no", ["trial"]),
        ("plan=PRO", ["active", "trial"]),
        ("signed_up_at>-11d", ["active"]),
        ("signed up at<=-11d", ["trial", "left", "lost"]),
        ("name=ACTIVE person", ["active"]),
    ],
)
@pytest.mark.usefixtures("people")
def test_a_known_trait_is_looked_for_in_its_column(
    mcp: McpClient, trait: str, names: list[str]
) -> None:
    assert search(mcp, trait=trait)[0] == names


@pytest.mark.parametrize(
    ("trait", "reason"),
    [
        ("lifecycle=gone", "lifecycle is one of trial, active, churned."),
        ("mrr=much", "mrr is a number. Send mrr=100 or mrr>100."),
        ("plan>5", "plan is no number or date. Send plan=VALUE."),
        ("on_contract=perhaps", "on_contract is true or false. Send on_contract=true."),
    ],
)
def test_a_known_trait_with_another_kind_of_value_is_refused(
    mcp: McpClient, trait: str, reason: str
) -> None:
    refused = refusal(mcp, "data_search_users", trait=trait)
    assert (refused["field"], refused["reason"]) == ("trait", reason)


def test_a_custom_field_is_taken_as_typed_before_a_known_trait(
    mcp: McpClient, grant: Grant
) -> None:
    customer = grant.customer(external_id="1", plan="free", custom_fields={"Plan": "old"})
    assert ids(answer(mcp, "data_search_users", trait="Plan=old")) == [customer.pk]
    assert ids(answer(mcp, "data_search_users", trait="plan=free")) == [customer.pk]


@pytest.mark.parametrize(
    ("trait", "names"),
    [
        ("since>2026-01-31", ["late"]),
        ("since>=2026-01-31", ["early", "late"]),
        ("since<2026-02-01", ["early"]),
    ],
)
def test_a_custom_field_is_compared_as_a_day(
    mcp: McpClient, grant: Grant, trait: str, names: list[str]
) -> None:
    values: dict[str, Any] = {
        "early": "2026-01-31",
        "late": "2026-02-01T10:00:00Z",
        "word": "soon",
        "number": 2026,
    }
    for name, value in values.items():
        grant.customer(external_id=name, name=name, custom_fields={"since": value})
    assert sorted(search(mcp, trait=trait)[0]) == names


def test_a_value_that_no_trait_has_is_answered_with_the_known_ones(
    mcp: McpClient, grant: Grant
) -> None:
    for number, language in enumerate(("fr", "de", "fr")):
        grant.customer(external_id=f"{number}", custom_fields={"language": language})
    hints = answer(mcp, "data_search_users", trait="language=french")["hints"]
    assert hints[-1] == "Known values of trait language: fr, de."


@pytest.mark.parametrize(
    ("time_field", "first"),
    [("signed_up_at", "active"), ("renewal_date", "trial"), ("last_seen", "active")],
)
def test_customers_are_sorted_by_the_time_that_is_asked_for(
    mcp: McpClient, people: dict[str, Customer], time_field: str, first: str
) -> None:
    Customer.objects.filter(pk=people["active"].pk).update(renewal_date="2027-02-01")
    Customer.objects.filter(pk=people["trial"].pk).update(renewal_date="2027-01-01")
    found = answer(mcp, "data_search_users", time_field=time_field)
    sort = found["searched"]["sort"]
    assert (ids(found)[0], time_field in found["items"][0]) == (people[first].pk, True)
    assert sort.startswith(time_field)
    other = sort.replace("_desc", "_xx").replace("_asc", "_desc").replace("_xx", "_asc")
    assert ids(answer(mcp, "data_search_users", sort=other)) == ids(found)[::-1]


def test_companies_are_sorted_by_the_time_that_is_asked_for(
    mcp: McpClient, people: dict[str, Customer]
) -> None:
    Company.objects.filter(name="Acme").update(created_at=NOW - 9 * DAY)
    assert people
    found = answer(mcp, "data_search_companies", time_field="created_at")
    assert [item["name"] for item in found["items"]] == ["Empty", "Acme"]
    assert "created_at" in found["items"][0]
    assert found["searched"]["sort"] == "created_at_desc"
