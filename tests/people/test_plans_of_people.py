"""Search, lists of people and who is out are read by index, however many people there are."""

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection

from people.models import (
    AbsenceStatus,
    Person,
    PersonWord,
    TimeOff,
    TimeOffCategory,
)
from tests.drivers import query_plans
from tests.drivers.statements import Statement, record_statements
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client
from workspace.models import Organization

TODAY = date(2026, 6, 3)
TABLES = ("people_person", "people_personword", "people_timeoff")
# These tables, and their indexes.
WATCHED = re.compile(r"\b(?:people_person|people_personword|people_timeoff)\b|people_\w+_by_\w+")
PEOPLE, YEARS = 1_000, 3


@pytest.fixture
def large_office(office: Office, monkeypatch: pytest.MonkeyPatch) -> Organization:
    """A thousand people with nine absences each, in three years up to today."""
    monkeypatch.setattr("people.days.today", lambda *_: TODAY)
    for model in (TimeOff, PersonWord, Person):
        query_plans.start_empty(model)
    rows = [
        Person(
            organization=office.organization,
            first_name=f"First{number}",
            last_name=f"Last{number}",
            job_title="Engineer",
        )
        for number in range(PEOPLE)
    ]
    Person.objects.bulk_create(rows, batch_size=500)
    leave = TimeOffCategory.objects.get(organization=office.organization)
    TimeOff.objects.bulk_create(list(make_absences(office, rows, leave)), batch_size=1_000)
    query_plans.gather_statistics()
    return office.organization


def make_absences(
    office: Office, people: list[Person], leave: TimeOffCategory
) -> Iterator[TimeOff]:
    for number, person in enumerate(people):
        for place in range(3 * YEARS):
            start = TODAY - timedelta(days=120 * place + number % 100 - 20)
            yield TimeOff(
                organization=office.organization,
                person=person,
                category=leave,
                start_date=start,
                end_date=start + timedelta(days=2),
                amount_days=3,
                amount_minutes=1440,
                status=AbsenceStatus.APPROVED,
            )


def record_call(organization: Organization, tool: str, arguments: Any) -> list[Statement]:
    """The statements of a tool that read one of TABLES."""
    mcp = client(Program(organization))
    mcp.call("whoami")  # notes that the key is used
    with record_statements() as received:
        reply = mcp.call(tool, arguments)
    assert reply.result["isError"] is False, reply.body
    assert reply.facts["data"]
    read = [one for one in received if any(f'"{table}"' in one.sql for table in TABLES)]
    return [one for one in read if one.sql.lstrip("(").startswith(("SELECT", "WITH"))]


# PostgreSQL may take the index of the foreign key.
OF_PERSON = r"people_time_off_of_person|people_timeoff_person_id"
CALLS = (
    ("search_people", {"search": "last999"}, "people_word_of_person"),
    ("search_people", {"search": "first17 last17"}, "people_word_of_person"),
    ("search_people", {"limit": 5}, "people_person_by_name"),
    ("list_time_off_balances", {"limit": 5}, OF_PERSON),
    ("who_is_out", {}, "people_time_off_by_status"),
    ("who_is_out", {"from": "2026-06-08", "to": "2026-06-14"}, "people_time_off_by_status"),
    ("who_is_out", {"from": "2025-01-06", "to": "2025-01-12"}, "people_time_off_by_status"),
)


def test_people_and_absences_are_read_by_index(large_office: Organization) -> None:
    for tool, arguments, index in CALLS:
        received = record_call(large_office, tool, arguments)
        used = [
            step
            for statement in received
            for step in (
                query_plans.sqlite_steps(statement)
                if connection.vendor == "sqlite"
                else query_plans.index_names(statement)
            )
        ]
        assert any(re.search(index, step) for step in used), (tool, arguments, used)
        pages = [one for one in received if "COUNT(" not in one.sql]
        whole = [step for statement in pages for step in query_plans.whole_tables(statement)]
        assert [step for step in whole if WATCHED.search(step)] == [], (tool, arguments)


def test_no_absence_is_read_that_was_over_a_year_before(large_office: Organization) -> None:
    arguments = {"from": "2026-06-08", "to": "2026-06-14"}
    received = record_call(large_office, "who_is_out", arguments)
    read = [one for one in received if '"people_timeoff"' in one.sql]
    conditions = [text for one in read for text in query_plans.index_conditions(one)]
    bounded = [text for text in conditions if "start_date" in text]
    assert len(bounded) == len(read)
    for text in bounded:
        assert "start_date>?" in text or "start_date >= " in text, text
