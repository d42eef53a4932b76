"""Pages, totals, groups and empty results, as lists of the data tools have them."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from data_tools.query import listing, results
from tests.drivers.bound_calls import bind_id
from tests.drivers.data_tools import answer, ids, refusal
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from workspace.models import Customer, Lead

SORTS = ("last_seen_desc", "last_seen_asc", "mrr_desc")
WRONG_CURSOR = "made with other arguments. Repeat them or leave it out."


@pytest.fixture
def people(grant: Grant) -> list[Customer]:
    """Twelve customers with equal keys among them, and with none."""
    now = timezone.now()
    return [
        grant.customer(
            external_id=f"person-{number}",
            name=f"Person {number:02}",
            email=f"person{number}@example.com",
            mrr=number // 3 if number < 9 else None,
            last_seen=now - timedelta(days=number // 3) if number < 9 else None,
        )
        for number in range(12)
    ]


def pages(mcp: McpClient, **arguments: Any) -> list[Any]:
    """Every page of a list."""
    found = [answer(mcp, "data_search_users", **arguments)]
    while cursor := found[-1].get("next_cursor"):
        found.append(answer(mcp, "data_search_users", **{**arguments, "cursor": cursor}))
    return found


@pytest.mark.parametrize("sort", SORTS)
@pytest.mark.parametrize("size", [1, 4, 5, 12])
def test_pages_have_every_row_once_in_order(
    mcp: McpClient, people: list[Customer], sort: str, size: int
) -> None:
    found = pages(mcp, sort=sort, page_size=size)
    rows = [row for page in found for row in ids(page)]
    assert sorted(rows) == sorted(person.pk for person in people)
    whole = ids(answer(mcp, "data_search_users", sort=sort, page_size=50))
    assert rows == whole
    assert [page["returned"] for page in found[:-1]] == [size] * (len(found) - 1)
    assert len(found) == -(-len(people) // size)
    assert {page["total"] for page in found} == {12}


@pytest.mark.parametrize("sort", SORTS)
def test_rows_without_the_key_of_the_order_come_last(
    mcp: McpClient, people: list[Customer], sort: str
) -> None:
    rows = ids(answer(mcp, "data_search_users", sort=sort, page_size=50))
    assert set(rows[-3:]) == {person.pk for person in people[-3:]}


def test_a_page_that_ends_with_the_last_row_has_no_cursor(
    mcp: McpClient, people: list[Customer]
) -> None:
    assert "next_cursor" not in answer(mcp, "data_search_users", page_size=len(people))
    assert "next_cursor" in answer(mcp, "data_search_users", page_size=len(people) - 1)


def test_a_page_size_may_be_written_with_a_decimal_point(
    mcp: McpClient, people: list[Customer]
) -> None:
    found = answer(mcp, "data_search_users", page_size=5.0)
    assert (found["returned"], found["total"]) == (5, len(people))


def test_a_row_that_is_added_in_front_moves_no_page(
    mcp: McpClient, grant: Grant, people: list[Customer]
) -> None:
    first = answer(mcp, "data_search_users", page_size=6)
    grant.customer(external_id="new", last_seen=timezone.now())
    second = answer(mcp, "data_search_users", page_size=6, cursor=first["next_cursor"])
    rows = {*ids(first), *ids(second)}
    assert rows == {person.pk for person in people}


def test_a_cursor_keeps_the_period_of_the_first_page(
    mcp: McpClient, people: list[Customer]
) -> None:
    first = answer(mcp, "data_search_users", page_size=4, from_="-1d")
    second = answer(mcp, "data_search_users", from_="-1d", cursor=first["next_cursor"])
    assert second["period"] == first["period"]
    assert len({*ids(first), *ids(second)}) == first["total"] == 6
    assert people[8].pk not in ids(second)


def test_a_cursor_permits_another_size_and_another_format(
    mcp: McpClient, people: list[Customer]
) -> None:
    cursor = answer(mcp, "data_search_users", page_size=4)["next_cursor"]
    more: Any = {"page_size": 50, "response_format": "detailed"}
    assert answer(mcp, "data_search_users", cursor=cursor, **more)["returned"] == len(people) - 4


def test_a_cursor_of_another_call_is_refused(
    mcp: McpClient, grant: Grant, people: list[Customer]
) -> None:
    cursor = answer(mcp, "data_search_users", page_size=4)["next_cursor"]
    there = McpClient(make_grant().token())
    bound = bind_id(people[0])
    refused = [
        refusal(mcp, "data_search_users", cursor=cursor, plan="pro"),
        refusal(mcp, "data_search_companies", cursor=cursor),
        refusal(mcp, "data_search_users", cursor=f"A{cursor[1:]}x"),
        refusal(mcp, "data_search_users", bound, cursor=cursor),
        refusal(there, "data_search_users", cursor=cursor),
    ]
    assert {(one["field"], one["reason"]) for one in refused} == {("cursor", WRONG_CURSOR)}
    grant.organization.time_zone = "Asia/Tokyo"
    grant.organization.save()
    assert answer(mcp, "data_search_users", cursor=cursor)["items"]


def test_above_the_limit_a_total_is_a_lower_bound(
    mcp: McpClient, people: list[Customer], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(results, "MAX_TOTAL", len(people))
    assert answer(mcp, "data_search_users")["total"] == 12
    monkeypatch.setattr(results, "MAX_TOTAL", len(people) - 1)
    found = answer(mcp, "data_search_users")
    assert (found["at_least"], "total" in found) == (11, False)


def test_a_long_result_stops_at_a_whole_item_and_continues(mcp: McpClient, grant: Grant) -> None:
    for number in range(30):
        Lead.objects.create(
            organization=grant.organization,
            name=f"Lead {number}",
            fields={f"field {each}": "x" * 500 for each in range(9)},
        )
    arguments: Any = {"response_format": "detailed", "page_size": 30}
    found = [answer(mcp, "data_search_leads", **arguments)]
    assert "Stopped at" in found[0]["hints"][0]
    while cursor := found[-1].get("next_cursor"):
        found.append(answer(mcp, "data_search_leads", cursor=cursor, **arguments))
    assert len({row for page in found for row in ids(page)}) == 30
    assert all(len(json.dumps(page, separators=(",", ":"))) < 32_000 for page in found)
    assert all(page["returned"] == len(page["items"]) for page in found)


def test_one_item_is_sent_whatever_its_length() -> None:
    assert results.fitting([{"text": "x" * 50_000}, {"text": "y"}]) == 1


def test_groups_count_every_row_and_the_rest_together(mcp: McpClient, grant: Grant) -> None:
    for number in range(52):
        for copy in range(2 if number == 7 else 1):
            grant.customer(external_id=f"{number}-{copy}", plan=f"plan {number:02}")
    grant.customer(external_id="none")
    found = answer(mcp, "data_search_users", group_by="plan")
    assert found["groups"][0] == {"value": "plan 07", "count": 2}
    assert (len(found["groups"]), found["other"], found["total"]) == (50, 3, 54)
    assert "items" not in found


def test_rows_without_a_value_are_a_group(mcp: McpClient, grant: Grant) -> None:
    grant.customer(external_id="one")
    assert answer(mcp, "data_search_users", group_by="plan")["groups"] == [
        {"value": "(none)", "count": 1}
    ]


def test_an_empty_result_says_what_there_is_without_each_filter(
    mcp: McpClient, grant: Grant
) -> None:
    grant.customer(external_id="1", plan="pro", last_seen=timezone.now())
    grant.customer(external_id="2", plan="free", last_seen=timezone.now() - timedelta(days=400))
    found = answer(mcp, "data_search_users", plan="free", period="today")
    assert (found["items"], found["returned"], found["total"]) == ([], 0, 0)
    assert found["hints"] == [
        "Without plan: 1.",
        "Without period: 1.",
        "Known values of plan: free, pro.",
    ]


def test_the_values_of_a_part_of_the_rows_are_not_called_all_known_ones(
    mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number, plan in enumerate(("pro", "free", "pro")):
        grant.customer(external_id=f"{number}", plan=plan)

    def hint() -> str:
        return str(answer(mcp, "data_search_users", plan="none")["hints"][-1])

    assert hint() == "Known values of plan: pro, free."
    monkeypatch.setattr(listing, "MAX_READ", 2)
    assert hint().startswith("Some values of plan: ")


def test_of_many_known_values_the_nearest_are_named(mcp: McpClient, grant: Grant) -> None:
    for number in range(25):
        grant.customer(external_id=f"{number}", plan=f"plan-{number}")
    hint = answer(mcp, "data_search_users", plan="Plan 24x")["hints"][-1]
    assert hint.startswith("Known values of plan: plan-24, ")
    assert hint.endswith("; the nearest 20 of 25.")


def test_groups_of_texts_have_as_many_rows_as_the_filter_in_any_case(
    mcp: McpClient, grant: Grant
) -> None:
    for number, plan in enumerate(("pro", "Pro", "Pro", "PRO", "öko", "Öko", "")):
        grant.customer(external_id=f"{number}", plan=plan)
    found = answer(mcp, "data_search_users", group_by="plan")
    counts = {one["value"]: one["count"] for one in found["groups"]}
    assert counts == {"Pro": 4, "Öko": 2, "(none)": 1}
    for plan in ("pro", "öko"):
        assert answer(mcp, "data_search_users", plan=plan)["total"] == counts[plan.title()]


def test_an_empty_workspace_says_that_nothing_was_recorded(mcp: McpClient) -> None:
    assert answer(mcp, "data_search_leads")["hints"] == ["No leads were ever recorded."]


def test_text_of_customers_has_no_invisible_characters(mcp: McpClient, grant: Grant) -> None:
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "obey")
    grant.customer(
        external_id="1",
        name=f"A\u202eda{hidden}\u200b",
        custom_fields={"no\u2066te": f"x{hidden}\x1b[31m"},
    )
    found = answer(mcp, "data_find_user", user="1", response_format="detailed")["user"]
    assert (found["name"], found["custom_fields"]) == ("Ada", {"note": "x[31m"})


def test_nested_members_are_sent_as_deep_as_a_model_reads(mcp: McpClient, grant: Grant) -> None:
    nested: Any = "end"
    for _ in range(300):
        nested = {"in": nested}
    grant.customer(external_id="1", custom_fields={"deep": nested, "flat": 1})
    found = answer(mcp, "data_find_user", user="1", response_format="detailed")["user"]
    assert found["custom_fields"] == {"flat": 1}


def test_arguments_are_shown_with_their_defaults_and_resolved_names(
    mcp: McpClient, people: list[Customer]
) -> None:
    found = answer(mcp, "data_search_users", query="person", page_size="3", plan="")
    assert found["searched"] == {
        "query": "person",
        "query_in": ["name", "email"],
        "lifecycle": "current",
        "time_field": "last_seen",
        "sort": "last_seen_desc",
    }
    assert (found["returned"], len(people)) == (3, 12)
