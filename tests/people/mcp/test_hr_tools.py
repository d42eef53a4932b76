"""The tools of the HR endpoint: what they answer, and what they never do."""

import json
from datetime import date, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from rest_framework.serializers import Serializer

from audit.models import ActionExecution, SecurityEvent
from mcp_protocol.revisions import Revision
from people import time_off
from people.mcp import contract, tools
from people.models import Document, Person, TimeOff, TimeOffCategory
from tests.drivers.mcp import McpClient, Reply
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.conftest import CANARY
from tests.people.mcp.endpoint import client, failure

MONDAY = date(2026, 6, 1)
FRIDAY = MONDAY + timedelta(days=4)


@pytest.fixture
def mcp(program: Program) -> McpClient:
    return client(program)


def operation(mcp: McpClient, name: str, path: Any = None, query: Any = None) -> Reply:
    args = {"pathParams": path or {}, "query": query or {}}
    return mcp.call("call_api_operation", {"operation_id": name, "args": args})


def test_absences_have_no_category(office: Office, mcp: McpClient) -> None:
    person = office.person()
    sick = office.category("CANARY sickness", is_sickness=True)
    row = office.leave_of(person, MONDAY, FRIDAY, category=sick, note="CANARY note")
    leave = office.leave_of(person, date(2026, 7, 6), date(2026, 7, 6))
    listed = mcp.call("list_time_off", {"person_id": person.pk})
    one = mcp.call("get_time_off", {"time_off_id": row.pk})
    balance = operation(mcp, "getPersonTimeOffBalance", {"person_id": person.pk})
    context = mcp.call("get_person_context", {"person_id": person.pk})
    assert [each["id"] for each in listed.facts["data"]] == [leave.pk]
    assert listed.facts["data"][0]["type"] == "Absence"
    assert failure(one)["reason"] == "not_found"
    for reply in (listed, one, balance, context):
        text = reply.body.decode()
        for hidden in ("CANARY", sick.pk, office.leave.pk, "Leave", "sick_days"):
            assert hidden not in text
    # Neither can a category be asked for by its name.
    for reply in (
        mcp.call("list_time_off", {"type": "CANARY sickness"}),
        operation(mcp, "listTimeOff", query={"type": "CANARY sickness"}),
    ):
        assert reply.result["isError"] is True
        assert row.pk not in reply.body.decode()


def test_who_is_out_is_found_by_days(office: Office, mcp: McpClient) -> None:
    person = office.person()
    row = office.leave_of(person, MONDAY, FRIDAY)
    days = {"from": "2026-06-05", "to": "2026-06-11", "status": "approved"}
    assert [one["id"] for one in mcp.call("list_time_off", days).facts["data"]] == [row.pk]
    assert mcp.call("list_time_off", days | {"from": "2026-06-06"}).facts["data"] == []


def test_a_category_is_known_by_its_id_only(office: Office, mcp: McpClient) -> None:
    (found,) = mcp.call("list_reference", {"kind": "time_off_categories"}).facts["data"]
    assert (found["id"], found["name"]) == (office.leave.pk, "Absence")
    assert found["allowance_days"] == 28.0
    assert mcp.call("list_reference", {"kind": "salaries"}).result["isError"] is True


def test_a_document_has_neither_name_nor_link(office: Office, mcp: McpClient) -> None:
    Document.objects.create(
        organization=office.organization,
        person=office.person(),
        name="CANARY.pdf",
        url="https://files.example/CANARY",
    )
    reply = operation(mcp, "listDocuments")
    (found,) = reply.facts["answer"]["data"]
    assert (found["name"], found["category"]) == ("[redacted]", "Document")
    assert b"CANARY" not in reply.body


def test_links_and_secrets_in_texts_are_redacted(office: Office, mcp: McpClient) -> None:
    secrets = [
        "https://home.example/CANARY",
        "hhr_live_CANARY1234567890",
        "Bearer CANARY1234567890",
        "eyJhbGciOiJIUzI1NiJ9.CANARYx.CANARYy",
        "CANARY" + "aB3" * 12,
    ]
    people = [office.person(job_title=f"Engineer {text}") for text in secrets]
    for person in people:
        reply = mcp.call("get_person", {"person_id": person.pk})
        assert reply.facts["data"]["job_title"].startswith("Engineer [redacted]")
        assert b"CANARY" not in reply.body


def test_a_person_has_context_as_far_as_the_key_reads(office: Office, mcp: McpClient) -> None:
    person = office.person(last_name="Lovelace")
    today = timezone.localdate()
    row = TimeOff.objects.create(
        organization=office.organization,
        person=person,
        category=office.leave,
        start_date=today,
        end_date=today,
        amount_days=1,
        amount_minutes=480,
    )
    found = mcp.call("get_person_context", {"person_id": person.pk}).facts
    assert found["person"]["id"] == found["employment"]["person_id"] == person.pk
    assert [one["id"] for one in found["upcoming_time_off"]] == [row.pk]
    (allowance,) = found["time_off_balance"]["categories"]
    assert allowance["allowance"] == 28.0
    narrow = client(Program(office.organization, "people:read"))
    found = narrow.call("get_person_context", {"person_id": person.pk}).facts
    assert found["time_off_balance"] is found["upcoming_time_off"] is None


def test_operations_are_listed_described_and_called(office: Office) -> None:
    mcp = client(Program(office.organization, "people:read"))
    listed = mcp.call("list_api_operations").facts["operations"]
    assert {one["operation_id"] for one in listed} == set(contract.EXPOSED)
    permitted = {one["operation_id"] for one in listed if one["is_permitted"]}
    assert {"getApiPrincipal", "listPeople", "getPerson"} <= permitted
    assert "listTimeOff" not in permitted
    for hidden in ("getPersonPersonalProfile", "listPersonCustomFields", "approveTimeOff"):
        assert hidden not in contract.EXPOSED
        assert failure(operation(mcp, hidden))["field"] == "operation_id"
        described = mcp.call("get_api_operation", {"operation_id": hidden})
        assert failure(described)["field"] == "operation_id"
    described = mcp.call("get_api_operation", {"operation_id": "getPerson"}).facts
    assert list(described["path_params"]) == ["person_id"]
    person = office.person()
    found = operation(mcp, "getPerson", {"person_id": person.pk}).facts
    assert found["answer"]["data"]["id"] == person.pk
    refused = failure(operation(mcp, "listTimeOff"))
    assert (refused["reason"], "time_off:read" in refused["message"]) == ("permission_denied", True)


@pytest.mark.parametrize(
    ("path", "query", "field"),
    [
        ({}, {}, "args.pathParams"),
        ({"person_id": "x", "tenant": "y"}, {}, "args.pathParams"),
        ({"person_id": "2b7v0c9x4k1m"}, {"limit": 1}, "limit"),
    ],
)
def test_wrong_parameters_of_an_operation_are_named(
    mcp: McpClient, path: dict[str, str], query: dict[str, Any], field: str
) -> None:
    assert failure(operation(mcp, "getPerson", path, query))["field"] == field


def test_days_out_of_bounds_and_days_turned_round_are_named(office: Office, mcp: McpClient) -> None:
    path = {"person_id": office.person().pk}
    late = failure(operation(mcp, "getPersonTimeOffBalance", path, {"on": "9999-12-31"}))
    assert (late["field"], late["message"]) == (
        "on",
        "The day must be from 1970-01-01 to 2999-12-31.",
    )
    turned = failure(mcp.call("list_time_off", {"from": "2026-06-02", "to": "2026-06-01"}))
    assert (turned["field"], turned["reason"]) == ("to", "invalid_request")
    early = failure(mcp.call("list_time_off", {"from": "0001-01-01"}))
    assert (early["field"], early["reason"]) == ("from", "invalid_request")


def test_null_for_a_parameter_of_an_operation_is_the_parameter_left_out(
    office: Office, mcp: McpClient
) -> None:
    person = office.person()
    null = mcp.call("search_people", {"cursor": None, "search": None}).facts
    assert [one["id"] for one in null["data"]] == [person.pk]
    args = {"query": {"limit": None, "cursor": None}, "pathParams": None}
    found = mcp.call("call_api_operation", {"operation_id": "listPeople", "args": args}).facts
    assert [one["id"] for one in found["answer"]["data"]] == [person.pk]


def test_unknown_foreign_and_malformed_ids_look_alike(other_office: Office, mcp: McpClient) -> None:
    theirs = other_office.person().pk
    said = [
        failure(mcp.call(tool, {"person_id": person_id}))
        for tool in ("get_person", "get_person_context")
        for person_id in (theirs, "2b7v0c9x4k1m", "' OR 1=1 --", "../me")
    ]
    assert [one.get("reason") for one in said] == ["not_found"] * 8
    assert said[0]["message"] == (
        f'There is no person with the id "{theirs}". Send an id that search_people answered, not a '
        "name."
    )
    assert len({one["message"].partition('"')[0] for one in said}) == 1
    for person_id in (theirs, "2b7v0c9x4k1m", "Ada Adler"):
        refused = failure(mcp.call("list_time_off", {"person_id": person_id}))
        assert (refused["reason"], refused["field"]) == ("invalid_request", "person_id")
        assert f'"{person_id}". Send an id that search_people' in refused["message"]


FAR = date(2031, 6, 2)
# Bodies of changes; ids are those of the test.
SENT = {
    "createTimeOff": {
        "person_id": "",
        "category_id": "",
        "start_date": "2031-07-07",
        "end_date": "2031-07-08",
    },
    "updateTimeOff": {"end_date": "2031-06-03"},
}


def committing(given: Any) -> Any:
    """The parameters of a commit by a client that can ask."""
    capabilities = {"io.modelcontextprotocol/clientCapabilities": {"elicitation": {}}}
    return {"name": "commit_api_write", "arguments": given, "_meta": capabilities}


@pytest.fixture
def _added_field(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each resource of the HR API has one field more, those within others too."""
    represented = Serializer.to_representation

    def with_more(shape: Serializer, row: Any) -> Any:
        return {**represented(shape, row), "added": CANARY}

    monkeypatch.setattr(Serializer, "to_representation", with_more)


@pytest.mark.usefixtures("_added_field")
def test_no_tool_or_operation_answers_what_is_private(secretive: Program, settings: Any) -> None:
    api = Program(secretive.organization).get("people", limit=1)
    assert api.data[0]["added"] == CANARY
    settings.HALO_HR_DAILY_ROWS, settings.HALO_HR_WRITE_MODE = 100_000, "enabled"
    mcp = client(secretive)
    person = Person.objects.exclude(manager=None).order_by("pk")[0]
    category = TimeOffCategory.objects.filter(organization=person.organization_id)[0]
    row = time_off.request(person, category, FAR, FAR)
    known = {"person_id": person.pk, "time_off_id": row.pk, "category_id": row.category_id}
    known |= {"history_id": person.employment_history.all()[0].pk}
    known |= {"org_unit_id": person.department_id, "document_id": person.documents.all()[0].pk}
    known |= {"working_pattern_id": person.working_pattern_id}
    replies = []
    for one in contract.EXPOSED.values():
        path = {name: known[name] for name in contract.path_parameters(one)}
        days = {"from": "2026-01-01", "to": "2026-03-01"} if one.id == "listWhoIsOut" else {}
        query = days | ({"limit": 100} if one.pages else {})
        if one.is_read:
            replies.append(operation(mcp, one.id, path, query))
            assert replies[-1].result["isError"] is False, one.id
            continue
        body = dict(SENT.get(one.id, {}))
        body |= {name: known[name] for name in body if name in known}
        args = {"pathParams": path, "body": body}
        given = {"operation_id": one.id, "args": args}
        replies.append(mcp.call("prepare_api_write", given))
        assert replies[-1].result["isError"] is False, replies[-1].body
        token = {"confirmation_token": replies[-1].facts["confirmation_token"]}
        replies.append(
            mcp.with_revision(Revision.V2026_07_28).request("tools/call", committing(token))
        )
        assert replies[-1].result["resultType"] == "input_required"
    for tool in tools.all_tools():
        given = known | {"kind": "time_off_categories", "operation_id": "listPeople"}
        given |= {"confirmation_token": "x"}
        required = {name: given[name] for name in tool.input_schema["required"]}
        replies += [mcp.call(tool.name, required), mcp.call(tool.name, {"kind": "x"})]
    for kind in tools.REFERENCE:
        replies.append(mcp.call("list_reference", {"kind": kind}))
    assert len(replies) > 50
    for reply in replies:
        assert CANARY not in reply.body.decode().lower()
    for recorded in (*ActionExecution.objects.values_list(), *SecurityEvent.objects.values_list()):
        assert CANARY not in str(recorded).lower()


def test_no_tool_reads_anything_for_each_row(secretive: Program, settings: Any) -> None:
    settings.HALO_HR_DAILY_ROWS = 100_000
    mcp = client(secretive)
    for tool in ("search_people", "list_time_off"):
        counts = set()
        mcp.call("whoami")  # notes that the key is used
        for limit in (5, 100):
            with CaptureQueriesContext(connection) as statements:
                assert len(mcp.call(tool, {"limit": limit}).facts["data"]) == limit
            counts.add(len(statements))
        assert len(counts) == 1


def test_what_is_ahead_of_a_person_is_pending_or_approved_and_next_first(
    office: Office, mcp: McpClient
) -> None:
    """Eight that were cancelled and one that was rejected do not hide the approved one."""
    person = office.person(manager=office.person())
    # A Monday after today.
    today = timezone.localdate()
    monday = today + timedelta(days=7 - today.weekday())
    place = office.organization.pk

    def book(number: int) -> TimeOff:
        day = monday + timedelta(days=number % 5, weeks=number // 5)
        return office.leave_of(person, day, day)

    approved = book(0)
    time_off.approve(place, approved.pk)
    for number in range(1, 9):
        time_off.cancel(place, book(number).pk)
    time_off.decline(place, book(9).pk)
    pending = [book(number) for number in (11, 10)]
    found = mcp.call("get_person_context", {"person_id": person.pk}).facts
    shown = [(one["id"], one["status_code"]) for one in found["upcoming_time_off"]]
    assert shown == [
        (approved.pk, "approved"),
        (pending[1].pk, "pending"),
        (pending[0].pk, "pending"),
    ]
    assert found["upcoming_time_off_has_more"] is False
    for number in range(12, 20):
        book(number)
    found = mcp.call("get_person_context", {"person_id": person.pk}).facts
    assert len(found["upcoming_time_off"]) == 10
    assert found["upcoming_time_off"][0]["id"] == approved.pk
    assert found["upcoming_time_off_has_more"] is True
    narrow = client(Program(office.organization, "people:read"))
    found = narrow.call("get_person_context", {"person_id": person.pk}).facts
    assert found["upcoming_time_off_has_more"] is None


def test_errors_name_the_choices_and_the_place_of_a_value(office: Office, mcp: McpClient) -> None:
    kind = failure(mcp.call("list_reference", {"kind": "categories"}))
    for name in tools.REFERENCE:
        assert name in kind["message"]
    status = failure(mcp.call("list_time_off", {"status": "denied"}))
    for name in ("declined", "rejected", "cancelled", "pending_or_approved"):
        assert name in status["message"]
    path = {"person_id": office.person().pk}
    given = {"operation_id": "getPerson", "args": path}
    misplaced = failure(mcp.call("call_api_operation", given))
    assert misplaced["field"] == "args.person_id"
    assert 'Unknown argument "person_id".' in misplaced["message"]
    assert "pathParams, query" in misplaced["message"]
    for tool, arguments, hint in (
        ("get_person", {"person_id": "Ada Adler"}, "search_people"),
        ("get_time_off", {"time_off_id": "vacation"}, "list_time_off"),
    ):
        message = failure(mcp.call(tool, arguments))["message"]
        assert f'"{next(iter(arguments.values()))}"' in message
        assert hint in message


def test_the_text_of_a_result_has_no_white_space_between_values(
    office: Office, mcp: McpClient
) -> None:
    office.person(first_name="Ada", last_name="Lovelace")
    result = mcp.call("search_people").result
    (block,) = result["content"]
    assert json.loads(block["text"]) == result["structuredContent"]
    assert block["text"] == json.dumps(result["structuredContent"], separators=(",", ":"))
