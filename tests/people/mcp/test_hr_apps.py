"""The MCP Apps of the HR endpoint: the calendar, the card of a change, and what they cost."""

from datetime import date
from typing import Any

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import Revision
from people.mcp import budget
from tests.drivers.app_client import REVISIONS, AppClient
from tests.drivers.elicitation_client import EVERYTHING
from tests.drivers.mcp import McpClient
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.changes.committing import booking
from tests.people.mcp.endpoint import client

CALENDAR, CARD = "ui://halo/time-off", "ui://halo/approval"


@pytest.fixture
def mcp(program: Program) -> McpClient:
    return client(program)


def apps(client: AppClient) -> dict[str, str]:
    return {
        name: tool["_meta"]["ui"]["resourceUri"]
        for name, tool in client.tools().items()
        if tool.get("_meta")
    }


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_time_off_has_a_calendar_and_a_prepared_change_the_card(
    mcp: McpClient, revision: Revision
) -> None:
    shown, plain = AppClient(mcp, revision), AppClient(mcp, revision, EVERYTHING)
    assert apps(shown) == {"list_time_off": CALENDAR, "prepare_api_write": CARD}
    assert apps(plain) == {}
    assert shown.uris() == [CARD, CALENDAR]
    assert plain.uris() == []
    read = shown.request("resources/read", uri=CALENDAR).result["contents"][0]
    assert read["mimeType"] == "text/html;profile=mcp-app"
    assert "error" in plain.request("resources/read", uri=CALENDAR).json


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_calendar_gets_exactly_what_the_result_has_without_it(
    office: Office, mcp: McpClient, revision: Revision
) -> None:
    person = office.person(last_name="Lovelace", manager=office.person())
    office.leave_of(person, date(2026, 6, 1), date(2026, 6, 5))
    shown, plain = AppClient(mcp, revision), AppClient(mcp, revision, EVERYTHING)
    before = plain.call("list_time_off", **{"from": "2026-06-01"}).result
    assert shown.call("list_time_off", **{"from": "2026-06-01"}).result == before
    (row,) = before["structuredContent"]["data"]
    assert row["type"] == "Absence"
    assert {"person_id", "start_date", "end_date", "status_code"} <= set(row)
    assert row["person_name"] == "Ada Lovelace"
    # For a key that may not read people, the calendar has ids alone.
    narrow = AppClient(client(Program(office.organization, "time_off:read")), revision)
    assert "Lovelace" not in str(narrow.call("list_time_off", **{"from": "2026-06-01"}).result)


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_prepared_change_is_marked_for_clients_that_show_its_card_alone(
    office: Office, mcp: McpClient, revision: Revision, settings: Any
) -> None:
    settings.HALO_HR_WRITE_MODE = "enabled"
    body = booking(office, office.person(manager=office.person()))
    given = {"operation_id": "createTimeOff", "args": {"body": body}}
    shown = AppClient(mcp, revision).call("prepare_api_write", **given).result
    plain = AppClient(mcp, revision, EVERYTHING).call("prepare_api_write", **given).result
    assert shown["_meta"].pop("preparedChange") is True
    for result in (shown, plain):
        result.pop("content")
        for name in ("confirmation_token", "expires_at"):
            assert result["structuredContent"].pop(name)
    assert shown == {"_meta": {}, **plain}


def test_a_document_costs_no_budget_and_has_no_record_of_anybody(
    office: Office, mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def reserve(*_: Any) -> Any:
        raise AssertionError("a document was charged")

    person = office.person(last_name="Lovelace")
    office.leave_of(person, date(2026, 6, 1), date(2026, 6, 5))
    monkeypatch.setattr(budget, "reserve", reserve)
    for uri in (CALENDAR, CARD):
        reply = AppClient(mcp, Revision.V2025_11_25).request("resources/read", uri=uri)
        text = reply.result["contents"][0]["text"]
        assert person.pk not in text
        assert office.organization.slug not in text
    assert not ActionExecution.objects.filter(method="resources/read").exists()


def test_a_key_that_may_not_read_time_off_has_no_calendar(office: Office) -> None:
    limited = Program(office.organization, "people:read")
    shown = AppClient(client(limited), Revision.V2025_11_25)
    assert shown.uris() == []
    assert shown.request("resources/read", uri=CALENDAR).code == -32002
