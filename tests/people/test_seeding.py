"""Made-up records: always the same, believable, and with something in every private column."""

from datetime import date, timedelta
from io import StringIO
from itertools import pairwise
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from people import access, balances, calendars, lengths, seeding, working_time
from people.models import (
    AbsenceStatus,
    Person,
    PersonProfile,
    PublicHoliday,
    ReferenceItem,
    TimeOff,
)
from people.models.time_off import BLOCKING
from workspace.models import Organization

DAY = date(2026, 6, 15)


@pytest.fixture
def organization(db: None) -> Organization:  # noqa: ARG001  opens the database
    return Organization.objects.create(name="Seeded", slug="seeded", widget_key="seeded")


def names() -> list[tuple[Any, ...]]:
    people = Person.objects.order_by("pk").values_list("pk", "work_email", "job_title", "manager")
    times = TimeOff.objects.order_by("pk").values_list("pk", "start_date", "amount_days", "status")
    return [*people, *times]


def test_the_same_organization_and_day_have_the_same_records(organization: Organization) -> None:
    assert seeding.seed(organization, DAY) == 120
    first = names()
    for model in seeding.LISTED:
        access.rows(model, organization.pk).delete()
    assert names() == []
    seeding.seed(organization, DAY)
    assert names() == first


def test_the_records_are_believable(organization: Organization) -> None:
    seeding.seed(organization, DAY)
    people = Person.objects.select_related("manager", "working_pattern")
    assert people.filter(manager=None).count() == 1
    assert people.exclude(manager=None).exclude(pk=F("manager")).count() == 119
    next_week = (DAY + timedelta(days=7), DAY + timedelta(days=13))
    out = TimeOff.objects.filter(
        status=AbsenceStatus.APPROVED, start_date__lte=next_week[1], end_date__gte=next_week[0]
    )
    assert out.count() >= 3
    assert TimeOff.objects.filter(status=AbsenceStatus.PENDING).count() >= 5
    assert TimeOff.objects.dates("start_date", "year").count() >= 3
    for person in people:
        rows = list(person.time_off.filter(status__in=BLOCKING).order_by("start_date"))
        assert all(one.end_date < two.start_date for one, two in pairwise(rows))
        assert balances.balance(person, DAY).categories[0].remaining > -20
    row = TimeOff.objects.select_related("person__working_pattern").latest("amount_days")
    week = working_time.week_of(row.person.working_pattern)
    assert row.amount_days <= sum(minutes > 0 for minutes in week) * 3


def test_berlin_and_lisbon_have_their_own_holidays(organization: Organization) -> None:
    seeding.seed(organization, DAY)
    found = PublicHoliday.objects.filter(date__year=2026).values_list("calendar__name", "date")
    days: dict[str, list[str]] = {"Berlin": [], "Lisbon": []}
    for name, day in found:
        days[name].append(f"{day:%m-%d}")
    # Easter is 5 April in 2026: Good Friday two days before, Easter Monday one day after it,
    # Ascension 39, Whit Monday 50 and Corpus Christi 60 days after it.
    assert days == {
        "Berlin": [
            *("01-01", "03-08", "04-03", "04-06", "05-01", "05-14", "05-25"),
            *("10-03", "12-25", "12-26"),
        ],
        "Lisbon": [
            *("01-01", "04-03", "04-05", "04-25", "05-01", "06-04", "06-10", "06-13"),
            *("08-15", "10-05", "11-01", "12-01", "12-08", "12-25"),
        ],
    }
    zones = dict(ReferenceItem.objects.filter(kind="wp").values_list("label", "time_zone"))
    assert zones == {"Berlin": "Europe/Berlin", "Lisbon": "Europe/Lisbon", "Remote": ""}
    # 8 to 12 June is Monday to Friday; 10 June is a holiday in Portugal.
    week = date(2026, 6, 8), date(2026, 6, 12)
    for label, free in (("Berlin", []), ("Lisbon", [date(2026, 6, 10)]), ("Remote", [])):
        person = Person.objects.filter(work_place__label=label)[0]
        assert list(calendars.find_holidays(person, *week)) == free


def test_every_length_is_that_of_the_calendar_of_the_person(organization: Organization) -> None:
    seeding.seed(organization, DAY)
    rows = TimeOff.objects.select_related("category", "person__working_pattern")
    for row in rows.order_by("pk")[:100]:
        found = lengths.amount(row, row.start_date, row.end_date)
        assert (found.days, found.minutes) == (row.amount_days, row.amount_minutes)


def test_every_private_column_has_something_to_look_for(organization: Organization) -> None:
    seeding.seed(organization, DAY)
    unused = {"middle_names", "work_phone_number", "region_state"}
    unused |= {"address_line_2", "address_line_3"}
    for profile in PersonProfile.objects.values():
        assert {name for name, value in profile.items() if not value} == unused


def test_the_command_fills_an_organization_once(organization: Organization) -> None:
    slug = organization.slug
    said = StringIO()
    call_command("seed_people", organization=slug, stdout=said)
    assert said.getvalue() == f"Stored 120 people of {organization} and their records.\n"
    with pytest.raises(CommandError, match="has HR records already"):
        call_command("seed_people", organization=slug)
    with pytest.raises(CommandError, match="no organization with the short name 'nowhere'"):
        call_command("seed_people", organization="nowhere")
