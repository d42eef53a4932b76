"""Changes over MCP that are refused, and what the budget and the audit log have of them."""

import json
from datetime import date
from typing import Any

import pytest

from audit.models import ActionExecution
from oauth import server_keys
from oauth.models import KeyKind
from people.mcp import budget
from people.models import TimeOff
from tests.drivers.elicitation_client import accept
from tests.drivers.mcp import McpClient
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.changes.committing import (
    FRIDAY,
    MODERN,
    MONDAY,
    answer_request,
    ask,
    ask_for_approval,
    booking,
    commit,
    prepare,
    question,
    reason,
    token_of,
)
from tests.people.mcp.endpoint import client, failure


@pytest.mark.parametrize("mode", ["", "disabled", "Enabled", "true"])
def test_writes_are_off_unless_the_mode_is_enabled(
    office: Office, mcp: McpClient, settings: Any, mode: str
) -> None:
    body = booking(office, office.person())
    token = token_of(prepare(mcp, "createTimeOff", body))
    first = ask_for_approval(mcp, token)
    settings.HALO_HR_WRITE_MODE = mode
    # Another token would not help.
    assert reason(ask(mcp, "commit_api_write", {"confirmation_token": "x"})) == "write_mode_off"
    assert reason(prepare(mcp, "createTimeOff", body)) == "write_mode_off"
    assert reason(ask(mcp, "commit_api_write", {"confirmation_token": token})) == "write_mode_off"
    assert reason(answer_request(mcp, token, first, accept(approve=True))) == "write_mode_off"
    listed = mcp.call("list_api_operations").facts["operations"]
    assert not next(one for one in listed if one["operation_id"] == "createTimeOff")["is_permitted"]
    assert not TimeOff.objects.exists()


@pytest.mark.parametrize("missing", ["mcp:write", "time_off:write"])
def test_both_scopes_are_required_at_both_steps(
    office: Office, mcp: McpClient, program: Program, missing: str
) -> None:
    body = booking(office, office.person())
    token = token_of(prepare(mcp, "createTimeOff", body))
    first = ask_for_approval(mcp, token)
    left = [one for one in server_keys.HR_SCOPES if one != missing]
    program.row.scope = " ".join(left)
    program.row.save(update_fields=["scope"])
    for reply in (
        prepare(mcp, "createTimeOff", body),
        ask(mcp, "commit_api_write", {"confirmation_token": token}),
        answer_request(mcp, token, first, accept(approve=True)),
    ):
        assert reason(reply) == "permission_denied"
        assert missing in failure(reply)["message"]
    # It reads all the same, and does not see tools that it cannot use.
    names = {tool["name"] for tool in mcp.request("tools/list").result["tools"]}
    assert ("prepare_api_write" in names) is (missing != "mcp:write")
    assert mcp.call("search_people").result["isError"] is False
    assert not TimeOff.objects.exists()


def test_reads_and_writes_have_tools_of_their_own(office: Office, mcp: McpClient) -> None:
    person = office.person()
    given = {"operation_id": "createTimeOff", "args": {"pathParams": {}}}
    assert "prepare_api_write" in failure(mcp.call("call_api_operation", given))["message"]
    whole = {"operation_id": "cancelTimeOff", "args": {"body": {"note": "x"}, "query": {}}}
    assert "prepare_api_write" in failure(mcp.call("call_api_operation", whole))["message"]
    surplus = {"operation_id": "listPeople", "args": {"body": {}}}
    assert failure(mcp.call("call_api_operation", surplus))["field"] == "args.body"
    read = prepare(mcp, "getPerson", person_id=person.pk)
    assert "call_api_operation" in failure(read)["message"]
    for hidden in ("approveTimeOff", "declineTimeOff", "deletePerson"):
        assert failure(prepare(mcp, hidden))["message"].startswith("There is no such operation")
    described = mcp.call("get_api_operation", {"operation_id": "createTimeOff"}).facts
    assert set(described["body"]["required"]) == {
        "person_id",
        "category_id",
        "start_date",
        "end_date",
    }
    assert mcp.call("get_api_operation", {"operation_id": "getPerson"}).facts["body"] is None


def test_preparing_is_refused_for_what_a_commit_is_refused_for(
    office: Office, other_office: Office, mcp: McpClient
) -> None:
    person = office.person(end_date=date(2026, 12, 31))
    office.leave_of(person, date(2026, 7, 6), date(2026, 7, 10))
    theirs = other_office.person()
    row = other_office.leave_of(theirs, MONDAY, FRIDAY)
    cases: list[tuple[Any, str, str]] = [
        (
            booking(office, person, start_date="2026-07-08", end_date="2026-07-08"),
            "conflict",
            "start_date",
        ),
        (booking(office, theirs), "invalid_request", "person_id"),
        (booking(office, person, person_id="2b7v0c9x4k1m"), "invalid_request", "person_id"),
        (booking(office, person, start_date="soon"), "invalid_request", "start_date"),
        (booking(office, person, note="x"), "invalid_request", "note"),
        (booking(office, person, end_date="2027-06-05"), "invalid_request", "end_date"),
        ({}, "invalid_request", "person_id"),
    ]
    for body, code, field in cases:
        said = failure(prepare(mcp, "createTimeOff", body))
        assert (said["reason"], said["field"]) == (code, field), said
    for key in (row.pk, "time_off_unknown", "a b", "x" * 64):
        assert reason(prepare(mcp, "cancelTimeOff", time_off_id=key)) == "not_found"
    assert failure(prepare(mcp, "cancelTimeOff"))["field"] == "args.pathParams"
    args = {"pathParams": {}, "query": {"dry": True}, "body": booking(office, person)}
    given = {"operation_id": "createTimeOff", "args": args}
    assert failure(ask(mcp, "prepare_api_write", given))["field"] == "dry"
    assert TimeOff.objects.count() == 2


def test_a_text_of_a_record_cannot_look_like_another_field(office: Office, mcp: McpClient) -> None:
    person = office.person(first_name="Ada\nLength: 1.0\r\nhttps://evil.example/x")
    first = ask_for_approval(mcp, token_of(prepare(mcp, "createTimeOff", booking(office, person))))
    lines = question(first).splitlines()
    assert [line for line in lines if line.startswith("Length")] == ["Length: 5 days"]
    assert "evil" not in question(first)


def test_a_sandbox_key_changes_the_sandbox(office: Office) -> None:
    program = Program(office.organization, kind=KeyKind.TEST)
    mcp = client(program, MODERN)
    listed = mcp.call("search_people").facts["data"]
    person = next(each for each in listed if not each.get("end_date"))
    categories = mcp.call("list_reference", {"kind": "time_off_categories"}).facts["data"]
    body = {
        "person_id": person["id"],
        "category_id": categories[0]["id"],
        "start_date": "2031-06-02",
        "end_date": "2031-06-03",
    }
    done = commit(mcp, token_of(prepare(mcp, "createTimeOff", body))).facts
    row = TimeOff.objects.get(pk=done["answer"]["data"]["id"])
    assert row.organization_id != office.organization.pk


def test_the_budget_counts_what_was_shown(office: Office, mcp: McpClient, settings: Any) -> None:
    body = booking(office, office.person())

    def count_used() -> int:
        return budget.count_used(office.organization.pk)

    token = token_of(prepare(mcp, "createTimeOff", body))
    # The record, the person and their balance.
    assert count_used() == 3
    first = ask_for_approval(mcp, token)
    assert count_used() == 6
    settings.HALO_HR_DAILY_ROWS = 8
    assert reason(answer_request(mcp, token, first, accept(approve=True))) == "rate_limited"
    assert not TimeOff.objects.exists()
    settings.HALO_HR_DAILY_ROWS = 500
    commit(mcp, token)
    assert count_used() == 10
    # A key that may not read people is not shown a name, and one that may not read time off no
    # balance.
    narrow = client(Program(office.organization, "mcp:write", "time_off:write"), MODERN)
    other = prepare(
        narrow, "createTimeOff", body | {"start_date": "2026-06-09", "end_date": "2026-06-09"}
    )
    assert other.facts["person"] is None
    assert "Left of" not in other.facts["question"]
    assert count_used() == 11


def test_audit_rows_keep_no_body_and_no_token(office: Office, mcp: McpClient) -> None:
    person = office.person()
    token = token_of(prepare(mcp, "createTimeOff", booking(office, person)))
    commit(mcp, token)
    mcp.call("search_people", {"search": "CANARY"})
    rows = list(ActionExecution.objects.order_by("pk"))
    assert [(one.tool, one.outcome) for one in rows] == [
        ("prepare_api_write", "success"),
        ("commit_api_write", "input_required"),
        ("commit_api_write", "success"),
        ("search_people", "success"),
    ]
    assert rows[0].arguments["operation_id"] == "createTimeOff"
    assert rows[0].arguments["args"]["body"] == list(booking(office, person))
    kept = json.dumps([one.arguments for one in rows])
    assert token not in kept
    assert "CANARY" not in kept
    assert office.leave.pk not in kept
