"""Finding people and absences over MCP, counts without rows, and what they cost."""

from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import ActionExecution
from people.mcp import budget
from people.models import (
    EntryType,
    LedgerEntry,
    OrgUnit,
    OrgUnitMembership,
    Person,
    TimeOff,
    UnitType,
)
from tests.drivers.mcp import McpClient
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client, failure

TODAY = date(2026, 6, 3)
MONDAY, FRIDAY = date(2026, 6, 8), date(2026, 6, 12)
WEEK = {"from": "2026-06-08", "to": "2026-06-12"}


@pytest.fixture(autouse=True)
def _today(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("people.days.today", lambda *_: TODAY)


@pytest.fixture
def mcp(program: Program) -> McpClient:
    return client(program)


@pytest.fixture
def desk(office: Office) -> dict[str, Person]:
    """Four people of two departments and places; one leaves on Tuesday of the week."""
    own = {"organization": office.organization}
    sales = OrgUnit.objects.create(**own, type=UnitType.DEPARTMENT, name="Sales")
    team = OrgUnit.objects.create(**own, type=UnitType.TEAM, name="North")
    berlin, lisbon = office.place("Berlin"), office.place("Lisbon")
    boss = office.person(first_name="Bea", last_name="Boss", work_place=berlin)
    found = {"Bea": boss}
    for name, place in (("Ann", berlin), ("Bob", lisbon), ("Cat", berlin)):
        found[name] = office.person(
            first_name=name,
            last_name="Doe",
            manager=boss,
            department=sales,
            work_place=place,
            start_date=date(2020, 1, 1),
        )
    OrgUnitMembership.objects.create(
        **own, person=found["Ann"], unit=team, effective_from=date(2026, 1, 1)
    )
    return found


def approve(office: Office, person: Person, start: date, end: date, **more: Any) -> TimeOff:
    row = office.leave_of(person, start, end, **more)
    TimeOff.objects.filter(pk=row.pk).update(status="approved")
    return row


def test_who_is_out_has_names_places_teams_and_numbers(
    office: Office, desk: dict[str, Person], mcp: McpClient
) -> None:
    first = approve(office, desk["Ann"], MONDAY, FRIDAY, is_to_half_day=True)
    approve(office, desk["Bob"], FRIDAY, FRIDAY)
    approve(office, desk["Ann"], date(2026, 6, 15), date(2026, 6, 15))
    office.leave_of(desk["Cat"], MONDAY, FRIDAY)  # pending
    found = mcp.call("who_is_out", WEEK).facts
    assert [one["person_name"] for one in found["data"]] == ["Ann Doe", "Bob Doe"]
    assert found["data"][0] == {
        "id": first.pk,
        "person_id": desk["Ann"].pk,
        "person_name": "Ann Doe",
        "department": "Sales",
        "work_place": "Berlin",
        "teams": ["North"],
        "start_date": "2026-06-08",
        "end_date": "2026-06-12",
        "is_from_half_day": False,
        "is_to_half_day": True,
    }
    assert found["totals"] == {"people": 2, "absences": 2}
    assert (found["from"], found["to"]) == ("2026-06-08", "2026-06-12")
    for conditions, names in (
        ({"work_place": "lisbon"}, ["Bob Doe"]),
        ({"team": "North"}, ["Ann Doe"]),
        ({"department": "Sales", "work_place": "Berlin"}, ["Ann Doe"]),
        ({"manager_id": desk["Bea"].pk}, ["Ann Doe", "Bob Doe"]),
        ({"person_id": desk["Bob"].pk}, ["Bob Doe"]),
        ({"from": "2026-06-11"}, ["Ann Doe"]),
    ):
        period = {} if "from" in conditions else WEEK
        reply = mcp.call("who_is_out", {**period, **conditions})
        assert [one["person_name"] for one in reply.facts["data"]] == names, conditions


def test_who_is_out_is_about_today_if_no_day_is_sent(
    office: Office, desk: dict[str, Person], mcp: McpClient
) -> None:
    approve(office, desk["Ann"], TODAY, TODAY)
    approve(office, desk["Bob"], TODAY + timedelta(days=1), TODAY + timedelta(days=1))
    found = mcp.call("who_is_out").facts
    assert [one["person_name"] for one in found["data"]] == ["Ann Doe"]
    assert found["from"] == found["to"] == "2026-06-03"


def test_people_who_have_left_are_not_out(
    office: Office, desk: dict[str, Person], mcp: McpClient
) -> None:
    approve(office, desk["Ann"], MONDAY, FRIDAY)
    approve(office, desk["Bob"], MONDAY, FRIDAY)
    # Ann leaves on Tuesday of that week, Bob has left on the Sunday before.
    Person.objects.filter(pk=desk["Ann"].pk).update(end_date=date(2026, 6, 9))
    Person.objects.filter(pk=desk["Bob"].pk).update(end_date=date(2026, 6, 7))
    found = mcp.call("who_is_out", WEEK).facts
    assert [one["person_name"] for one in found["data"]] == ["Ann Doe"]
    assert found["totals"] == {"people": 1, "absences": 1}
    assert mcp.call("who_is_out", WEEK | {"from": "2026-06-10"}).facts["data"] == []


def test_an_absence_of_the_longest_length_is_found_on_each_of_its_days(
    office: Office, desk: dict[str, Person], mcp: McpClient
) -> None:
    first, last = date(2025, 6, 9), date(2026, 6, 9)
    row = approve(office, desk["Ann"], first, last)
    assert (last - first).days == 365
    for day in ("2025-06-09", "2026-01-01", "2026-06-09"):
        for tool in ("who_is_out", "list_time_off"):
            found = mcp.call(tool, {"from": day, "to": day}).facts["data"]
            assert [one["id"] for one in found] == [row.pk], (tool, day)
    assert mcp.call("who_is_out", {"from": "2026-06-10"}).facts["data"] == []


def test_what_waits_for_a_manager_is_one_list(
    office: Office, desk: dict[str, Person], mcp: McpClient
) -> None:
    waiting = office.leave_of(desk["Cat"], MONDAY, FRIDAY)
    approve(office, desk["Ann"], MONDAY, FRIDAY)
    query = {"manager_id": desk["Bea"].pk, "status": "pending"}
    (found,) = mcp.call("list_time_off", query).facts["data"]
    assert (found["id"], found["person_name"]) == (waiting.pk, "Cat Doe")
    assert (found["department"], found["work_place"]) == ("Sales", "Berlin")


def test_names_and_places_need_the_scope_of_people(office: Office, desk: dict[str, Person]) -> None:
    approve(office, desk["Ann"], MONDAY, FRIDAY)
    narrow = client(Program(office.organization, "time_off:read"))
    for tool, period in (
        ("who_is_out", WEEK),
        ("list_time_off", WEEK),
        ("list_time_off_balances", {}),
    ):
        reply = narrow.call(tool, {**period, "person_id": desk["Ann"].pk})
        (found,) = reply.facts["data"]
        assert found["person_id"] == desk["Ann"].pk
        assert found["person_name"] is None
        for hidden in ("Doe", "Sales", "Berlin", "North"):
            assert hidden not in reply.body.decode()
        for condition in (
            {"department": "Sales"},
            {"team": "North"},
            {"work_place": "Berlin"},
            {"manager_id": desk["Bea"].pk},
        ):
            refused = failure(narrow.call(tool, {**period, **condition}))
            assert (refused["reason"], "people:read" in refused["message"]) == (
                "permission_denied",
                True,
            )


def test_records_that_are_shown_count_and_joined_names_do_not(
    office: Office, desk: dict[str, Person], mcp: McpClient
) -> None:
    approve(office, desk["Ann"], MONDAY, FRIDAY)
    approve(office, desk["Bob"], MONDAY, FRIDAY)
    for tool, arguments, rows in (
        ("who_is_out", WEEK, 2),
        ("list_time_off", WEEK, 2),
        ("list_time_off_balances", {}, 4),
        ("list_reports", {"person_id": desk["Bea"].pk}, 3),
        ("search_people", {"department": "Sales"}, 3),
        ("count_people", {"department": "Sales", "group_by": "work_place"}, 0),
    ):
        before = budget.count_used(office.organization.pk)
        mcp.call(tool, arguments)
        assert budget.count_used(office.organization.pk) - before == rows, tool
        assert (ActionExecution.objects.latest("pk").row_count or 0) == rows, tool


def test_a_search_says_who_is_not_listed(desk: dict[str, Person], mcp: McpClient) -> None:
    Person.objects.filter(pk=desk["Ann"].pk).update(end_date=TODAY - timedelta(days=1))
    Person.objects.filter(pk=desk["Bob"].pk).update(start_date=TODAY + timedelta(days=1))
    found = mcp.call("search_people", {"search": "doe"}).facts
    assert [one["display_name"] for one in found["data"]] == ["Cat Doe"]
    assert found["data"][0]["employment_status"] == "employed"
    assert found["counts"] == {
        "day": "2026-06-03",
        "employed": 1,
        "left": 1,
        "not_started": 1,
    }
    assert found["hint"] == (
        "Not in this list, by 2026-06-03: 1 left, 1 not started. Send employment all for everybody."
    )
    every = mcp.call("search_people", {"search": "doe", "employment": "all"}).facts
    assert {one["display_name"]: one["employment_status"] for one in every["data"]} == {
        "Ann Doe": "left",
        "Bob Doe": "not_started",
        "Cat Doe": "employed",
    }
    assert every["hint"] is None
    left = mcp.call("search_people", {"left_from": "2026-06-01"}).facts
    assert [one["display_name"] for one in left["data"]] == ["Ann Doe"]
    missing = mcp.call("search_people", {"search": "Doe, Xaver"}).facts
    assert missing["data"] == []
    assert missing["hint"].startswith("No person matches")


def test_the_next_page_of_a_search_has_no_counts_again(
    desk: dict[str, Person], mcp: McpClient
) -> None:
    first = mcp.call("search_people", {"department": "Sales", "limit": 2}).facts
    assert first["counts"]["employed"] == 3
    cursor = first["pagination"]["next_cursor"]
    second = mcp.call("search_people", {"department": "Sales", "limit": 2, "cursor": cursor}).facts
    found = {one["id"] for one in (*first["data"], *second["data"])}
    assert found == {desk[name].pk for name in ("Ann", "Bob", "Cat")}
    assert (second["counts"], second["hint"]) == (None, None)


@pytest.fixture
def takers(office: Office, desk: dict[str, Person]) -> dict[str, Person]:
    """Ann, Bob and Cat with leave of 2026; Bea has none.

    Today is Wednesday, 3 June. Ann: 5 days in May, and 1 to 5 June, of which Monday to Wednesday
    are taken: 8 taken, 2 booked. Bob: 28 December 2025 to 2 January 2026, of which Thursday and
    Friday are days of 2026: 2 taken; 4 days of July pending. Cat: 10 days in April taken, and two
    carried over.
    """
    approve(office, desk["Ann"], date(2026, 5, 4), date(2026, 5, 8))
    approve(office, desk["Ann"], date(2026, 6, 1), date(2026, 6, 5))
    approve(office, desk["Bob"], date(2025, 12, 28), date(2026, 1, 2))
    office.leave_of(desk["Bob"], date(2026, 7, 6), date(2026, 7, 9))
    approve(office, desk["Cat"], date(2026, 4, 6), date(2026, 4, 17))
    sick = office.category("Sick", is_sickness=True)
    approve(office, desk["Cat"], date(2026, 3, 2), date(2026, 3, 6), category=sick)
    LedgerEntry.objects.create(
        organization=office.organization,
        person=desk["Cat"],
        category=office.leave,
        entry_type=EntryType.CARRY_OVER,
        amount_days=2,
        effective_date=date(2026, 1, 1),
    )
    return desk


FIGURES = ("allowance", "adjustment", "taken", "booked", "pending", "remaining")


def test_balances_of_many_people_say_what_is_taken_until_today(
    takers: dict[str, Person], mcp: McpClient
) -> None:
    found = mcp.call("list_time_off_balances").facts
    assert {one["person_name"]: [one[name] for name in FIGURES] for one in found["data"]} == {
        "Bea Boss": [28, 0, 0, 0, 0, 28],
        "Ann Doe": [28, 0, 8, 2, 0, 18],
        "Bob Doe": [28, 0, 2, 0, 4, 22],
        "Cat Doe": [28, 2, 10, 0, 0, 20],
    }
    assert found["basis"] == {
        "day": "2026-06-03",
        "leave_year": {"starts_on": "2026-01-01", "ends_on": "2026-12-31"},
        "base_allowance": 28,
    }
    # By Sunday, all of Ann's leave is taken.
    (ann,) = mcp.call(
        "list_time_off_balances", {"person_id": takers["Ann"].pk, "on": "2026-06-07"}
    ).facts["data"]
    assert [ann[name] for name in FIGURES] == [28, 0, 10, 0, 0, 18]
    # Of 2025, Bob has Monday to Wednesday, 29 to 31 December; Bea is employed by no dates.
    (bob,) = mcp.call(
        "list_time_off_balances", {"person_id": takers["Bob"].pk, "on": "2025-12-30"}
    ).facts["data"]
    assert [bob[name] for name in FIGURES] == [28, 0, 2, 1, 0, 25]


def test_a_list_of_balances_agrees_with_the_balance_of_each_person(
    takers: dict[str, Person], program: Program, mcp: McpClient
) -> None:
    for day in ("2026-06-03", "2025-12-31", "2027-01-01"):
        found = mcp.call("list_time_off_balances", {"on": day}).facts["data"]
        assert len(found) == len(takers)
        for row in found:
            one = program.get(f"people/{row['person_id']}/time-off-balance", on=day).data
            (figures,) = [each for each in one["categories"] if each["name"] == "Leave"]
            assert row["remaining"] == figures["remaining"]
            assert row["taken"] + row["booked"] == figures["approved"]


def test_who_has_not_taken_ten_days_is_one_call(takers: dict[str, Person], mcp: McpClient) -> None:
    few = mcp.call("list_time_off_balances", {"taken_below": 10}).facts["data"]
    assert sorted(one["person_name"] for one in few) == ["Ann Doe", "Bea Boss", "Bob Doe"]
    # 5 of Ann's days were taken before this week, and 3 in it: eight are not fewer than eight.
    few = mcp.call("list_time_off_balances", {"taken_below": 8}).facts["data"]
    assert [one["person_name"] for one in few] == ["Bea Boss", "Bob Doe"]
    half = {"operation_id": "listTimeOffBalances", "args": {"query": {"taken_below": 7.5}}}
    assert mcp.call("call_api_operation", half).facts["answer"]["data"] == [
        one for one in few if one["taken"] < 7.5
    ]
    some = mcp.call("list_time_off_balances", {"taken_below": 10, "work_place": "Lisbon"})
    assert [one["person_id"] for one in some.facts["data"]] == [takers["Bob"].pk]


def test_people_who_have_left_have_no_row_unless_they_are_named(
    takers: dict[str, Person], mcp: McpClient
) -> None:
    Person.objects.filter(pk=takers["Cat"].pk).update(end_date=date(2026, 5, 31))
    found = mcp.call("list_time_off_balances", {"department": "Sales"}).facts["data"]
    assert {one["person_name"] for one in found} == {"Ann Doe", "Bob Doe"}
    (cat,) = mcp.call("list_time_off_balances", {"person_id": takers["Cat"].pk}).facts["data"]
    # 151 of 365 days of 28 days are 11.6, in halves 11.5.
    assert (cat["allowance"], cat["remaining"]) == (11.5, 3.5)


def test_lists_read_as_many_statements_for_many_people_as_for_one(
    office: Office, takers: dict[str, Person], mcp: McpClient
) -> None:
    for number in range(20):
        person = office.person(first_name=f"P{number}", manager=takers["Bea"])
        approve(office, person, date(2026, 6, 1), date(2026, 6, 5))
    mcp.call("whoami")  # notes that the key is used
    for tool, arguments in (
        ("list_time_off_balances", {}),
        ("list_time_off_balances", {"taken_below": 20}),
        ("who_is_out", {}),
        ("list_time_off", {}),
        ("search_people", {}),
        ("list_reports", {"person_id": takers["Bea"].pk}),
    ):
        counts = set()
        for limit in (2, 20):
            with CaptureQueriesContext(connection) as statements:
                rows = mcp.call(tool, {**arguments, "limit": limit}).facts["data"]
            assert len(rows) == limit, tool
            counts.add(len(statements))
        assert len(counts) == 1, tool


@pytest.mark.parametrize("tool", ["search_people", "count_people", "who_is_out", "list_reports"])
def test_what_nothing_has_is_a_failure_that_names_the_argument(
    office: Office, other_office: Office, mcp: McpClient, tool: str
) -> None:
    theirs = other_office.person(first_name="Theirs").pk
    path = {"person_id": office.person().pk} if tool == "list_reports" else {}
    wrong = {"person_id": theirs} if tool == "list_reports" else {"manager_id": theirs}
    said = failure(mcp.call(tool, {**path, **wrong}))
    assert said.get("field", "person_id") == next(iter(wrong))
    assert mcp.call(tool, {**path, "tenant": "x"}).result["isError"] is True
