"""The budget of personal data: exact, rolling, and spent before anything is read."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client

from audit.models import ActionExecution
from oauth.models import KeyKind
from people.mcp import budget
from people.models import DataUse
from people.tasks import prune_data_use
from tests.people.api.program import Program
from tests.people.conftest import Office, create_office
from tests.people.mcp.endpoint import client, failure
from workspace.models import Membership, Role, User

NOON = datetime(2026, 6, 1, 12, tzinfo=UTC)


def test_each_record_counts_and_what_is_free_does_not(office: Office, program: Program) -> None:
    people = [office.person() for _number in range(3)]
    mcp = client(program)
    for tool, arguments, rows in (
        ("search_people", {}, 3),
        ("get_person", {"person_id": people[0].pk}, 1),
        ("get_person_context", {"person_id": people[0].pk}, 4),
        ("list_time_off", {}, 0),
        ("list_reference", {"kind": "statuses"}, 0),
        ("whoami", {}, 0),
        ("get_person", {"person_id": "2b7v0c9x4k1m"}, 0),
    ):
        before = budget.count_used(office.organization.pk)
        mcp.call(tool, arguments)
        assert budget.count_used(office.organization.pk) - before == rows, tool
        assert (ActionExecution.objects.latest("pk").row_count or 0) == rows, tool
    assert not DataUse.objects.filter(rows=0).exists()


def test_a_call_that_may_need_more_than_is_left_answers_nothing(
    office: Office, program: Program, settings: Any
) -> None:
    settings.HALO_HR_DAILY_ROWS = 10
    office.person(first_name="Ada")
    mcp = client(program)
    assert mcp.call("search_people", {"limit": 10}).status == 200
    refused = mcp.call("search_people", {"limit": 10})
    said = failure(refused)
    assert (said["reason"], said["field"]) == ("rate_limited", "limit")
    assert "9 are left" in said["message"]
    assert b"Ada" not in refused.body
    row = ActionExecution.objects.latest("pk")
    assert (row.outcome, row.reason) == ("rate_limited", "rate_limited")
    # Less can still be asked for.
    assert len(mcp.call("search_people", {"limit": 9}).facts["data"]) == 1
    assert budget.count_used(office.organization.pk) == 2


def test_the_budget_grows_when_a_day_is_over(
    office: Office, program: Program, settings: Any
) -> None:
    settings.HALO_HR_DAILY_ROWS = 1
    person = office.person()
    mcp = client(program)
    for moment, is_answered in (
        (NOON, True),
        (NOON + timedelta(hours=23, minutes=59), False),
        (NOON + timedelta(hours=24, seconds=1), True),
    ):
        with time_machine.travel(moment, tick=False):
            reply = mcp.call("get_person", {"person_id": person.pk})
        assert reply.result["isError"] is not is_answered
    with time_machine.travel(NOON + timedelta(hours=25), tick=False):
        assert (
            "2026-06-03 12:00 UTC"
            in failure(mcp.call("get_person", {"person_id": person.pk}))["message"]
        )


def test_an_organization_has_one_budget_and_its_sandbox_another(
    office: Office, other_office: Office, settings: Any
) -> None:
    settings.HALO_HR_DAILY_ROWS = 1
    person, theirs = office.person().pk, other_office.person().pk
    first, second = (client(Program(office.organization)) for _number in range(2))
    assert first.call("get_person", {"person_id": person}).result["isError"] is False
    assert second.call("get_person", {"person_id": person}).result["isError"] is True
    other = client(Program(other_office.organization))
    assert other.call("get_person", {"person_id": theirs}).result["isError"] is False
    sandbox = client(Program(office.organization, kind=KeyKind.TEST))
    assert len(sandbox.call("search_people", {"limit": 1}).facts["data"]) == 1


@pytest.mark.django_db(transaction=True)
def test_the_budget_is_exact_under_24_callers_at_once(settings: Any) -> None:
    settings.HALO_HR_DAILY_ROWS = 50
    office = create_office()
    key = Program(office.organization).row.pk

    def reserve(_number: int) -> bool:
        try:
            budget.reserve(office.organization.pk, key, 7)
        except budget.Spent:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(24) as pool:
        granted = list(pool.map(reserve, range(24)))
    assert granted.count(True) == 7
    assert budget.count_used(office.organization.pk) == 49


def test_old_rows_are_deleted(office: Office, program: Program) -> None:
    with time_machine.travel(NOON, tick=False):
        budget.reserve(office.organization.pk, program.row.pk, 1)
    with time_machine.travel(NOON + timedelta(days=9), tick=False):
        assert prune_data_use() == 1


def test_the_page_of_keys_shows_use_by_key_and_hour(office: Office, program: Program) -> None:
    user = User.objects.create_user("admin@office.example", name="Admin")
    Membership.objects.create(user=user, organization=office.organization, role=Role.ADMIN)
    browser = Client()
    browser.force_login(user)
    budget.reserve(office.organization.pk, program.row.pk, 3)
    budget.reserve(office.organization.pk, program.row.pk, 4)
    page = " ".join(browser.get("/api-keys").content.decode().split())
    assert "7 of 500 records of people in the last 24 hours." in page
    assert "Program, " in page
    assert "Personal data" not in browser.get("/server-keys").content.decode()
