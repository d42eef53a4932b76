"""Ten questions that people ask about their colleagues, asked by a careful model.

Each is answered in at most three calls and 8,000 characters. Every figure is counted by hand from
these rules. Today is Wednesday, 3 June 2026. Seven people lead: Chief Zero, and a head of each of
six departments, all in Berlin. There are 114 others, Staff 1 to Staff 114. Number n is in the
department (n - 1) modulo 6, so Engineering has 1, 7, 13 and so on, 19 people: those up to 57 are in
Berlin, the others in Lisbon. 7, 8 and 9 are Xenia, Yara and Zoe by first name.

- 49 and 54 left on 31 May. 55 starts on 1 July. 21, 41 and 61 started on 15 April.
- Everybody has taken ten days from 2 to 13 February, and 10, 20 and so on to 110 only five; but for
  those who joined this year.
- 9, 18 and so on to 108 are off from Monday, 8 June to Wednesday, 10 June.
- 7 and 13 have each asked for five days of August.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

import pytest

from people.models import AbsenceStatus, OrgUnit, Person, ReferenceItem, TimeOff, UnitType
from tests.drivers.mcp import McpClient
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client

TODAY = date(2026, 6, 3)
DEPARTMENTS = ("Engineering", "Product", "Sales", "Support", "Finance", "Operations")
STAFF = range(1, 115)
LEFT, STARTS_LATER, JOINED = {49, 54}, {55}, {21, 41, 61}
FIRST_NAMES = {7: "Xenia", 8: "Yara", 9: "Zoe"}
MAX_CALLS, MAX_CHARACTERS = 3, 8_000


@dataclass
class CarefulModel:
    """Calls tools, and counts its calls and what it has to read."""

    mcp: McpClient
    calls: int = 0
    characters: int = 0

    def call(self, tool: str, arguments: dict[str, Any]) -> Any:
        reply = self.mcp.call(tool, arguments)
        assert reply.result["isError"] is False, reply.body
        (block,) = reply.result["content"]
        self.calls += 1
        self.characters += len(block["text"])
        return json.loads(block["text"])

    def find(self, name: str) -> str:
        """The id of the only person with this name."""
        (found,) = self.call("search_people", {"search": name})["data"]
        return str(found["id"])


def names_of(*numbers: int) -> set[str]:
    return {f"{FIRST_NAMES.get(number, 'Staff')} {number}" for number in numbers}


def names_in(rows: Any, field: str = "person_name") -> set[str]:
    return {row[field] for row in rows}


@pytest.fixture
def places(office: Office) -> dict[str, ReferenceItem]:
    """Berlin, where everybody works on 24 December, and Lisbon, where half of that day is free."""
    berlin, lisbon = (office.calendar(name) for name in ("Berlin", "Lisbon"))
    office.holiday(date(2026, 12, 25), berlin)
    office.holiday(date(2026, 12, 25), lisbon)
    office.holiday(date(2026, 12, 24), lisbon, is_half_day=True)
    return {
        "Berlin": office.place("Berlin", holiday_calendar=berlin),
        "Lisbon": office.place("Lisbon", holiday_calendar=lisbon),
    }


@pytest.fixture
def model(
    office: Office, places: dict[str, ReferenceItem], monkeypatch: pytest.MonkeyPatch
) -> Iterator[CarefulModel]:
    monkeypatch.setattr("people.days.today", lambda *_: TODAY)
    units = [
        OrgUnit(organization=office.organization, type=UnitType.DEPARTMENT, name=name)
        for name in DEPARTMENTS
    ]
    OrgUnit.objects.bulk_create(units)
    people = make_people(office, units, places)
    TimeOff.objects.bulk_create(list(make_absences(office, people)))
    found = CarefulModel(client(Program(office.organization)))
    yield found
    assert found.calls <= MAX_CALLS
    assert found.characters <= MAX_CHARACTERS


def make_people(
    office: Office, units: list[OrgUnit], places: dict[str, ReferenceItem]
) -> dict[int, Person]:
    """Stores everybody; returns the staff by their numbers."""
    in_berlin: dict[str, Any] = {"work_place": places["Berlin"], "start_date": date(2019, 1, 1)}
    chief = office.person(first_name="Chief", last_name="Zero", **in_berlin)
    heads = [
        office.person(
            first_name="Head", last_name=unit.name, department=unit, manager=chief, **in_berlin
        )
        for unit in units
    ]
    people = {}
    for number in STAFF:
        is_new = number in JOINED
        started = date(2026, 4, 15) if is_new else date(2020, 1, 1)
        people[number] = Person(
            organization=office.organization,
            first_name=FIRST_NAMES.get(number, "Staff"),
            last_name=str(number),
            job_title="Specialist",
            work_email=f"staff.{number}@office.example",
            department=units[(number - 1) % 6],
            manager=heads[(number - 1) % 6],
            work_place=places["Berlin" if number <= 57 else "Lisbon"],
            start_date=date(2026, 7, 1) if number in STARTS_LATER else started,
            end_date=date(2026, 5, 31) if number in LEFT else None,
        )
    Person.objects.bulk_create(people.values())
    for leader in (chief, *heads):
        TimeOff.objects.create(**absence(office, leader, date(2026, 2, 2), date(2026, 2, 13), 10))
    return people


def absence(office: Office, person: Person, start: date, end: date, days: int) -> dict[str, Any]:
    return {
        "organization": office.organization,
        "person": person,
        "category": office.leave,
        "start_date": start,
        "end_date": end,
        "amount_days": days,
        "amount_minutes": days * 480,
        "status": AbsenceStatus.APPROVED,
    }


def make_absences(office: Office, people: dict[int, Person]) -> Iterator[TimeOff]:
    for number, person in people.items():
        if number not in JOINED | STARTS_LATER:
            days, last = (5, 6) if number % 10 == 0 else (10, 13)
            start, end = date(2026, 2, 2), date(2026, 2, last)
            yield TimeOff(**absence(office, person, start, end, days))
        if number % 9 == 0:
            start, end = date(2026, 6, 8), date(2026, 6, 10)
            yield TimeOff(**absence(office, person, start, end, 3))
        if number in {7, 13}:
            wanted = absence(office, person, date(2026, 8, 3), date(2026, 8, 7), 5)
            yield TimeOff(**{**wanted, "status": AbsenceStatus.PENDING})


def test_who_is_off_next_week_in_berlin(model: CarefulModel) -> None:
    asked = {"from": "2026-06-08", "to": "2026-06-12", "work_place": "Berlin"}
    found = model.call("who_is_out", asked)
    # Up to 57, the multiples of 9 are 9, 18, 27, 36, 45 and 54, who has left.
    assert names_in(found["data"]) == names_of(9, 18, 27, 36, 45)
    assert found["totals"]["people"] == 5


def test_how_many_days_are_left_after_a_request(model: CarefulModel) -> None:
    (found,) = model.call("list_time_off_balances", {"person_id": model.find("Xenia")})["data"]
    # 28 days, of which 10 are taken and 5 are requested.
    assert (found["taken"], found["pending"], found["remaining"]) == (10, 5, 13)


def test_three_days_from_thursday_are_prepared_for_the_person_who_asks(
    model: CarefulModel, settings: Any
) -> None:
    settings.HALO_HR_WRITE_MODE = "enabled"
    # The key is no person, so the model has asked for the name.
    person_id = model.find("Yara")
    categories = model.call("list_reference", {"kind": "time_off_categories"})["data"]
    (leave,) = [one for one in categories if one["allowance_days"]]
    # Thursday is 4 June; Friday is the second day, and Monday the third.
    days = {"start_date": "2026-06-04", "end_date": "2026-06-08"}
    body = {"person_id": person_id, "category_id": leave["id"], **days}
    asked = {"operation_id": "createTimeOff", "args": {"body": body}}
    prepared = model.call("prepare_api_write", asked)
    difference = {one["field"]: one["to"] for one in prepared["difference"]}
    assert (difference["length"], difference["end_date"]) == (3, "2026-06-08")


def test_who_has_not_taken_ten_days_this_year(model: CarefulModel) -> None:
    found = model.call("list_time_off_balances", {"taken_below": 10})
    # Eleven have taken five days, and the three who joined none; 55 is not employed yet.
    assert names_in(found["data"]) == names_of(*range(10, 111, 10), *JOINED)
    assert (len(found["data"]), found["pagination"]["has_more"]) == (14, False)


def test_the_chart_below_a_head(model: CarefulModel) -> None:
    found = model.call("list_reports", {"person_id": model.find("Head Engineering")})
    # Engineering has 1, 7, 13, ..., 109: 19 people, of whom 49 has left and 55 has not started.
    expected = names_of(*(number for number in range(1, 110, 6) if number not in {49, 55}))
    assert names_in(found["data"], "display_name") == expected
    assert found["totals"] == {"direct_reports": 17, "all_levels": 17}
    assert found["pagination"]["has_more"] is False


def test_when_somebody_is_back(model: CarefulModel) -> None:
    asked = {"person_id": model.find("Zoe"), "from": "2026-06-03", "status": "approved"}
    (found,) = model.call("list_time_off", asked)["data"]
    assert (found["start_date"], found["end_date"]) == ("2026-06-08", "2026-06-10")


def test_which_requests_wait_for_a_manager(model: CarefulModel) -> None:
    asked = {"manager_id": model.find("Head Engineering"), "status": "pending"}
    found = model.call("list_time_off", asked)["data"]
    assert names_in(found) == names_of(7, 13)


def test_whether_24_december_is_a_holiday_in_lisbon(model: CarefulModel) -> None:
    places = model.call("list_reference", {"kind": "work_places"})["data"]
    (place_id,) = [one["id"] for one in places if one["label"] == "Lisbon"]
    args = {"query": {"work_place_id": place_id, "year": 2026}}
    asked = {"operation_id": "listPublicHolidays", "args": args}
    holidays = model.call("call_api_operation", asked)["answer"]["data"]
    found = {one["date"]: one["is_half_day"] for one in holidays}
    assert found == {"2026-12-24": True, "2026-12-25": False}


def test_the_headcount_of_a_department_at_a_place(model: CarefulModel) -> None:
    found = model.call("count_people", {"department": "Engineering", "work_place": "Berlin"})
    # The head, and 1, 7, ..., 55: ten people, of whom 49 has left and 55 has not started.
    assert found["data"]["employed"] == 9
    assert (found["data"]["left"], found["data"]["not_started"]) == (1, 1)


def test_who_joined_this_quarter(model: CarefulModel) -> None:
    asked = {"joined_from": "2026-04-01", "joined_to": "2026-06-30"}
    found = model.call("search_people", asked)
    assert names_in(found["data"], "display_name") == names_of(21, 41, 61)
    assert found["counts"]["employed"] == 3
