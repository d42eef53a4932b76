"""Which day it is: that of the person's work place, else that of the organization."""

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest
import time_machine
from django.core.exceptions import ValidationError

from people import balances, employment
from people.models import (
    OrgUnit,
    OrgUnitMembership,
    Person,
    ReferenceItem,
    ReferenceKind,
    TimeOff,
)
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client

# 05:25 of 28 November in Auckland (UTC+13), 17:25 of 27 November in Berlin (UTC+1).
AFTERNOON = datetime(2026, 11, 27, 16, 25, tzinfo=UTC)
# 01:00 of 1 January 2027 in Auckland, 13:00 of 31 December 2026 in Berlin.
LAST_NOON = datetime(2026, 12, 31, 12, 0, tzinfo=UTC)


def person_at(office: Office, label: str, zone: str, **values: Any) -> Person:
    place = ReferenceItem.objects.create(
        organization=office.organization,
        kind=ReferenceKind.WORK_PLACE,
        label=label,
        time_zone=zone,
    )
    return office.person(work_place=place, **values)


@pytest.fixture
def there(office: Office) -> Person:
    return person_at(office, "Auckland", "Pacific/Auckland")


@time_machine.travel(AFTERNOON, tick=False)
def test_a_change_from_today_is_accepted_where_that_day_has_begun(
    office: Office, there: Person
) -> None:
    tomorrow_here = date(2026, 11, 28)
    employment.change(there, tomorrow_here, job_title="Lead")
    assert there.job_title == "Lead"
    here = office.person(job_title="Engineer")
    employment.change(here, tomorrow_here, job_title="Lead")
    assert here.job_title == "Engineer"
    # Who moves there begins on a day of that place.
    mover = office.person()
    employment.change(mover, tomorrow_here, work_place=there.work_place)
    assert mover.work_place == there.work_place


@time_machine.travel(AFTERNOON, tick=False)
def test_a_link_is_current_from_the_beginning_of_its_day_at_the_work_place(
    office: Office, there: Person, program: Program
) -> None:
    unit = OrgUnit.objects.create(organization=office.organization, type="team", name="Engines")
    here = office.person()
    for person in (here, there):
        OrgUnitMembership.objects.create(
            organization=office.organization,
            person=person,
            unit=unit,
            effective_from=date(2026, 11, 28),
        )
    found = {
        person: program.get(f"people/{person.pk}/org-links").data["memberships"][0]["is_current"]
        for person in (here, there)
    }
    assert found == {here: False, there: True}


@time_machine.travel(LAST_NOON, tick=False)
def test_balances_and_holidays_are_of_the_year_that_has_begun_in_the_organization(
    office: Office, there: Person
) -> None:
    program = Program(office.organization)

    def year_of(person: Person) -> str:
        found = program.get(f"people/{person.pk}/time-off-balance").data
        return str(found["leave_year"]["starts_on"])

    assert year_of(there) == year_of(office.person()) == "2026-01-01"
    office.holiday(date(2027, 1, 1))
    assert program.get("time-off/public-holidays").data == []
    office.organization.time_zone = "Pacific/Auckland"
    office.organization.save()
    assert len(program.get("time-off/public-holidays").data) == 1
    assert year_of(there) == year_of(office.person()) == "2027-01-01"


def test_a_balance_turns_with_the_day_of_the_organization_and_has_what_is_carried_over(
    office: Office,
) -> None:
    """People in Auckland and Honolulu, in an organization of Berlin, on record since March."""
    office.organization.time_zone = "Europe/Berlin"
    office.organization.save()
    office.leave.carry_over_days = Decimal(5)
    office.leave.save()
    long_ago = {"start_date": date(2020, 1, 1), "created_at": datetime(2026, 3, 1, tzinfo=UTC)}
    people = [
        person_at(office, "Auckland", "Pacific/Auckland", **long_ago),
        person_at(office, "Honolulu", "Pacific/Honolulu", **long_ago),
    ]
    with time_machine.travel(LAST_NOON, tick=False):
        program = Program(office.organization)

    def read(now: datetime) -> set[tuple[str, str, float]]:
        with time_machine.travel(now, tick=False):
            today = program.get("me").data["today"]
            balances_now = [
                program.get(f"people/{person.pk}/time-off-balance").data for person in people
            ]
        return {
            (today, one["leave_year"]["starts_on"], one["totals"]["remaining"])
            for one in balances_now
        }

    # 28 days a year, and none is taken: 5 of them are carried over at 23:00 UTC, Berlin's midnight.
    assert read(LAST_NOON) == {("2026-12-31", "2026-01-01", 28)}
    assert read(datetime(2026, 12, 31, 22, 59, tzinfo=UTC)) == {("2026-12-31", "2026-01-01", 28)}
    assert read(datetime(2026, 12, 31, 23, 0, tzinfo=UTC)) == {("2027-01-01", "2027-01-01", 33)}
    assert read(datetime(2027, 1, 1, 8, 0, tzinfo=UTC)) == {("2027-01-01", "2027-01-01", 33)}


@time_machine.travel(AFTERNOON, tick=False)
def test_the_absences_ahead_of_a_person_begin_with_their_today(
    office: Office, there: Person, program: Program
) -> None:
    here = office.person()
    for person in (here, there):
        office.leave_of(person, date(2026, 11, 27), date(2026, 11, 27))
    mcp = client(program)
    ahead = {
        person: mcp.call("get_person_context", {"person_id": person.pk}).facts["upcoming_time_off"]
        for person in (here, there)
    }
    assert [one["id"] for one in ahead[here]] == [TimeOff.objects.get(person=here).pk]
    assert ahead[there] == []


@time_machine.travel(AFTERNOON, tick=False)
def test_a_key_reads_the_day_and_the_zone_of_its_organization(
    office: Office, there: Person, program: Program
) -> None:
    def shown_day_and_zone() -> tuple[str, str]:
        found = client(program).call("whoami").facts
        assert program.get("me").data["today"] == found["today"]
        return found["today"], found["time_zone"]

    assert shown_day_and_zone() == ("2026-11-27", "UTC")
    office.organization.time_zone = "Pacific/Auckland"
    office.organization.save()
    assert shown_day_and_zone() == ("2026-11-28", "Pacific/Auckland")
    assert program.get("organisation").data["time_zone"] == "Pacific/Auckland"
    (place,) = program.get("organisation/locations").data
    assert (place["id"], place["time_zone"]) == (there.work_place_id, "Pacific/Auckland")


def test_leave_is_carried_over_once_the_year_has_begun_in_the_organization(office: Office) -> None:
    office.leave.carry_over_days = Decimal(5)
    office.leave.save()
    made = datetime(2025, 3, 1, tzinfo=UTC)
    # Made at 23:30 UTC of 31 December: in Auckland the year had begun, in Honolulu not.
    late = datetime(2026, 12, 31, 23, 30, tzinfo=UTC)
    old = office.person(start_date=date(2020, 1, 1), created_at=made)
    new = office.person(start_date=date(2020, 1, 1), created_at=late)

    def carry_over(zone: str, now: datetime) -> set[str]:
        """The people who have days carried over into 2027, at a moment."""
        office.organization.time_zone = zone
        office.organization.save()
        with time_machine.travel(now, tick=False):
            found = [
                balances.balance(person, date(2027, 6, 1))
                for person in Person.objects.filter(organization=office.organization)
            ]
        return {one.person.pk for one in found if one.total("adjustment")}

    assert carry_over("Europe/Berlin", LAST_NOON) == set()
    assert carry_over("Pacific/Auckland", LAST_NOON) == {old.pk}
    # 00:30 of 1 January in UTC is 14:30 of 31 December in Honolulu (UTC-10).
    assert carry_over("Pacific/Honolulu", datetime(2027, 1, 1, 0, 30, tzinfo=UTC)) == set()
    # Its midnight.
    midnight = datetime(2027, 1, 1, 10, 0, tzinfo=UTC)
    assert carry_over("Pacific/Honolulu", midnight) == {old.pk, new.pk}
    day_after = datetime(2027, 1, 2, 3, 45, tzinfo=UTC)
    assert carry_over("Pacific/Auckland", day_after) == {old.pk}
    assert carry_over("Pacific/Honolulu", day_after) == {old.pk, new.pk}


def test_only_a_work_place_has_a_time_zone_and_it_must_exist(office: Office) -> None:
    own = {"organization": office.organization, "label": "Mars"}
    for kind, zone in (("wt", "Europe/Berlin"), ("wp", "Mars/Olympus")):
        with pytest.raises(ValidationError, match="time zone"):
            ReferenceItem(**own, kind=kind, time_zone=zone).full_clean()
