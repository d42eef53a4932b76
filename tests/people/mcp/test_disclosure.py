"""Sickness cannot be computed from what AI clients are answered: lists and balances agree."""

from collections import defaultdict
from datetime import date
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from foundation.limits import Limit
from people import seeding
from people.api.time_off_shapes import STATUSES
from people.mcp import contract, tools
from people.models import AbsenceStatus, LedgerEntry, Person, TimeOff
from tests.drivers.mcp import McpClient
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.changes.committing import MODERN, booking, prepare
from tests.people.mcp.endpoint import client, failure
from workspace.models import Organization

SICK_DAY = date(2031, 3, 4)


@pytest.fixture
def mcp(program: Program) -> McpClient:
    return client(program, MODERN)


def read(mcp: McpClient, operation: str, path: Any = None, **query: Any) -> Any:
    args = {"pathParams": path or {}, "query": query}
    given = {"operation_id": operation, "args": args}
    return mcp.call("call_api_operation", given).facts["answer"]


def test_the_sum_of_listed_absences_is_the_sum_of_the_balances_of_every_person(
    db: None,  # noqa: ARG001  opens the database
    settings: Any,
) -> None:
    settings.HALO_HR_DAILY_ROWS = 100_000
    settings.HALO_RATE_TOOLS_CALL = settings.HALO_RATE_IP = Limit(100_000, 60)
    organization = Organization.objects.create(name="Demo", slug="demo-1", widget_key="demo-1")
    # No absence of these records crosses the end of 2026.
    seeding.seed(organization, date(2026, 6, 15))
    mcp = client(Program(organization))
    listed: dict[str, float] = defaultdict(float)
    crossing = set()
    query = {"from": "2026-01-01", "to": "2026-12-31", "status": "approved", "limit": 100}
    cursor = None
    while True:
        page = read(mcp, "listTimeOff", **query, **({"cursor": cursor} if cursor else {}))
        for one in page["data"]:
            listed[one["person_id"]] += one["length"]
            if one["start_date"] < "2026-01-01":
                crossing.add(one["person_id"])
        cursor = page["pagination"]["next_cursor"]
        if cursor is None:
            break
    people = [person for person in Person.objects.all() if person.pk not in crossing]
    assert len(people) > 80
    in_balances = {}
    for person in people:
        balance = read(mcp, "getPersonTimeOffBalance", {"person_id": person.pk}, on="2026-06-15")
        in_balances[person.pk] = sum(one["approved"] for one in balance["data"]["categories"])
    assert {person.pk: listed[person.pk] for person in people} == in_balances
    # There was something to find.
    sick = TimeOff.objects.filter(category__is_sickness=True, start_date__year=2026)
    assert sick.filter(person__in=people).count() > 10


def test_no_answer_has_an_absence_of_which_no_balance_tells(
    office: Office, program: Program, settings: Any
) -> None:
    settings.HALO_HR_DAILY_ROWS = 100_000
    mcp = client(program)
    person = office.person()
    # In some countries sickness has an allowance.
    paid = {"consumes_balance": True, "allowance_days": Decimal(10)}
    categories = [
        office.category("Sick", is_sickness=True),
        office.category("Paid sick", is_sickness=True, **paid),
        office.category("Cure"),
    ]
    rows = [
        office.leave_of(person, day, day, category=category)
        for category, day in zip(
            categories, (SICK_DAY, date(2031, 3, 5), date(2031, 3, 6)), strict=True
        )
    ]
    known = {"person_id": person.pk, "time_off_id": rows[0].pk, "category_id": office.leave.pk}
    days = {"from": "2031-03-01", "to": "2031-03-31"}
    replies = []
    for operation in contract.EXPOSED.values():
        path = {name: known.get(name, "x") for name in contract.path_parameters(operation)}
        taken = contract.query_parameters(operation)
        query = {name: value for name, value in days.items() if name in taken}
        given = {"operation_id": operation.id, "args": {"pathParams": path, "query": query}}
        replies.append(mcp.call("call_api_operation", given))
    for tool in tools.all_tools():
        properties = tool.input_schema["properties"]
        given = {name: value for name, value in (known | days).items() if name in properties}
        replies.append(mcp.call(tool.name, given))
    shown = " ".join(reply.body.decode() for reply in replies)
    assert person.pk in shown
    for day in ("2031-03-04", "2031-03-05", "2031-03-06"):
        assert day not in shown
    for row in rows:
        # The id that was asked for is named in what is refused.
        assert f'"id":"{row.pk}"' not in shown.replace("\\", "").replace(": ", ":")
    path = {"person_id": person.pk}
    balance = read(mcp, "getPersonTimeOffBalance", path, on="2031-06-01")
    assert [one["base_allowance"] for one in balance["data"]["categories"]] == [28.0]


def test_an_absence_without_an_allowance_is_listed_once_its_category_may_be_named(
    office: Office, mcp: McpClient
) -> None:
    person, moving = office.person(), office.category("Moving", is_named_to_ai=True)
    row = office.leave_of(person, SICK_DAY, SICK_DAY, category=moving)
    listed = mcp.call("list_time_off", {"person_id": person.pk}).facts["data"]
    assert [(one["id"], one["type"]) for one in listed] == [(row.pk, "Absence")]
    moving.is_sickness = True
    moving.save()
    assert mcp.call("list_time_off", {"person_id": person.pk}).facts["data"] == []


def test_balances_of_many_people_have_no_sickness_even_if_its_category_is_named(
    office: Office, mcp: McpClient, program: Program
) -> None:
    person = office.person()
    paid = {"consumes_balance": True, "allowance_days": Decimal(10)}
    office.leave.position = 1
    office.leave.save()
    sick = office.category("Sick", is_sickness=True, is_named_to_ai=True, **paid)
    office.leave_of(person, SICK_DAY, SICK_DAY, category=sick)
    query = {"on": "2031-06-01", "category_id": sick.pk}
    unknown = {**query, "category_id": "toc_unknown"}
    for call in (
        lambda given: mcp.call("list_time_off_balances", given),
        lambda given: mcp.call(
            "call_api_operation",
            {"operation_id": "listTimeOffBalances", "args": {"query": given}},
        ),
    ):
        refused, missing = failure(call(query)), failure(call(unknown))
        assert refused["message"].replace(sick.pk, "toc_unknown") == missing["message"]
        assert (refused["reason"], refused["field"]) == (missing["reason"], "category_id")
        # It is not the first one with an allowance either.
        basis = call({"on": "2031-06-01"}).facts
        basis = basis.get("answer", basis)["basis"]
        assert basis["base_allowance"] == 28.0
    in_rest = program.get("time-off/balances", **query)
    assert [one["taken"] for one in in_rest.data] == [1.0]


def test_counts_pages_and_filters_of_absences_leave_sickness_out(
    office: Office, mcp: McpClient
) -> None:
    person = office.person()
    sick, cure = office.category("Sick", is_sickness=True), office.category("Cure")
    shown = office.leave_of(person, date(2031, 3, 3), date(2031, 3, 3))
    for day, category in ((SICK_DAY, sick), (date(2031, 3, 5), cure)):
        office.leave_of(person, day, day, category=category)
    days = {"from": "2031-03-01", "to": "2031-03-31"}
    found = mcp.call("who_is_out", days).facts
    assert found["totals"] == {"people": 1, "absences": 1}
    assert mcp.call("who_is_out", {"from": "2031-03-04"}).facts["totals"] == {
        "people": 0,
        "absences": 0,
    }
    for query in (
        *({"status": status} for status in STATUSES),
        *({"sort": order} for order in ("start_date", "updated_at_desc")),
        {"person_id": person.pk},
        {"updated_since": "2000-01-01T00:00:00Z"},
    ):
        # No page has a cursor that another absence would follow.
        page = mcp.call("list_time_off", {**days, **query, "limit": 1}).facts
        is_other = query.get("status", "approved") not in {"approved", "pending_or_approved"}
        assert [one["id"] for one in page["data"]] == ([] if is_other else [shown.pk]), query
        assert not page["pagination"]["has_more"]


def test_an_absence_that_is_not_answered_is_refused_as_an_unknown_one(
    office: Office, mcp: McpClient, settings: Any
) -> None:
    settings.HALO_HR_WRITE_MODE = "enabled"
    person = office.person(manager=office.person())
    sick = office.category("Sick", is_sickness=True)
    row = office.leave_of(person, SICK_DAY, SICK_DAY, category=sick)
    assert row.status == AbsenceStatus.PENDING
    for call in (
        lambda key: mcp.call("get_time_off", {"time_off_id": key}),
        lambda key: prepare(mcp, "cancelTimeOff", time_off_id=key),
        lambda key: prepare(
            mcp, "updateTimeOff", {"category_id": office.leave.pk}, time_off_id=key
        ),
    ):
        hidden, unknown = failure(call(row.pk)), failure(call("time_off_unknown"))
        hidden["message"] = hidden["message"].replace(row.pk, "time_off_unknown")
        assert hidden.keys() == unknown.keys()
        for name in ("reason", "field", "message"):
            assert hidden.get(name) == unknown.get(name)
        assert unknown["reason"] == "not_found"


def test_the_ledger_has_no_entries_of_sickness(office: Office, mcp: McpClient) -> None:
    person = office.person()
    sick = office.category("Sick", is_sickness=True, consumes_balance=True)
    own = {"organization": office.organization, "person": person, "amount_days": Decimal(1)}
    kept, _hidden = (
        LedgerEntry.objects.create(category=category, effective_date=SICK_DAY, **own)
        for category in (office.leave, sick)
    )
    found = read(mcp, "listPersonLeaveBalanceLedger", {"person_id": person.pk})
    assert [one["id"] for one in found["data"]] == [kept.pk]


def test_a_conflict_names_the_other_request_unless_it_is_not_answered(
    office: Office, mcp: McpClient, settings: Any
) -> None:
    settings.HALO_HR_WRITE_MODE = "enabled"
    person = office.person(manager=office.person())
    other = office.leave_of(person, date(2026, 6, 3), date(2026, 6, 4))
    refused = failure(prepare(mcp, "createTimeOff", booking(office, person)))
    assert (refused["reason"], refused["field"]) == ("conflict", "start_date")
    assert refused["message"] == (
        "Another request has some of these days: 2026-06-03 to 2026-06-04, pending, "
        f"{other.pk}. Choose other days, or change that request first."
    )
    other.category = office.category("Sick", is_sickness=True)
    other.status = AbsenceStatus.APPROVED
    other.save()
    refused = failure(prepare(mcp, "createTimeOff", booking(office, person)))
    assert refused["message"] == "Another request has some of these days. Choose other days."


def test_the_categories_have_a_kind_and_the_names_that_the_organization_allows(
    office: Office, mcp: McpClient, program: Program
) -> None:
    office.leave.is_named_to_ai = True
    office.leave.save()
    study = {"consumes_balance": True, "allowance_days": Decimal(3)}
    office.category("CANARY study", position=1, **study)
    office.category("CANARY sick", position=2, is_sickness=True, is_named_to_ai=True)
    office.category("CANARY cure", position=3)
    reply = mcp.call("list_reference", {"kind": "time_off_categories"})
    found = [(one["name"], one["kind"]) for one in reply.facts["data"]]
    assert found == [
        ("Leave", "allowance"),
        ("Absence", "allowance"),
        ("Absence", "sickness"),
        ("Absence", "other"),
    ]
    assert b"CANARY" not in reply.body
    in_rest = program.get("reference/time-off-categories").data
    assert [(one["name"], one["name_for_ai"], one["kind"]) for one in in_rest][:2] == [
        ("Leave", "Leave", "allowance"),
        ("CANARY study", "Absence", "allowance"),
    ]


def test_allowances_are_not_added_up_and_remaining_says_what_is_pending(
    office: Office, mcp: McpClient
) -> None:
    office.leave.is_named_to_ai = True
    office.leave.save()
    office.category("Study", consumes_balance=True, allowance_days=Decimal(3), position=1)
    person = office.person(manager=office.person())
    # Monday to Friday.
    office.leave_of(person, date(2026, 6, 1), date(2026, 6, 5))
    path = {"person_id": person.pk}
    balance = read(mcp, "getPersonTimeOffBalance", path, on="2026-06-15")["data"]
    assert "totals" not in balance
    names = ("name", "kind", "allowance", "pending", "remaining", "remaining_before_pending")
    assert [tuple(one[name] for name in names) for one in balance["categories"]] == [
        ("Leave", "allowance", 28.0, 5.0, 23.0, 28.0),
        ("Absence", "allowance", 3.0, 0.0, 3.0, 3.0),
    ]


def test_who_am_i_says_the_day_and_the_leave_year(office: Office, program: Program) -> None:
    own = client(program).call("whoami").facts
    year = timezone.localdate().year
    assert own["today"].startswith(str(year))
    assert own["leave_year"] == {"starts_on": f"{year}-01-01", "ends_on": f"{year}-12-31"}
    assert office.organization.time_zone == own["time_zone"]
    assert program.get("me").data["leave_year"]["resets_on"] == f"{year + 1}-01-01"
