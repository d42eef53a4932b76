"""Which requests leave a row, and that every column of it is right."""

from datetime import UTC, datetime
from typing import Any

import pytest
import time_machine

from audit.models import ActionExecution, Outcome
from foundation.limits import Limit
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient

pytestmark = pytest.mark.usefixtures("lab")


def rows() -> list[ActionExecution]:
    return list(ActionExecution.objects.order_by("id"))


def test_a_row_says_who_did_what_where_when_and_how_it_ended(grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact",))
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False):
        mcp = McpClient(grant.token(), Revision.V2025_11_25)
        reply = mcp.call("crm.find_contact")
    (row,) = rows()
    token = grant.authorization.access_tokens.get()
    assert row.started_at == datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert row.organization_id == str(grant.organization.pk)
    assert (row.actor_kind, row.bound_customer_id) == ("mcp_client", "")
    assert (row.client_id, row.client_name) == (grant.client.client_id, grant.client.name)
    assert (row.user_id, row.user_email) == (str(grant.user.pk), grant.user.email)
    assert row.authorization_id == str(grant.authorization.pk)
    assert row.token_id == str(token.pk)
    assert (row.method, row.tool) == ("tools/call", "crm.find_contact")
    assert (row.integration, row.action) == ("crm", "find_contact")
    assert (row.outcome, row.reason, row.layer, row.detail) == ("success", "", "", "")
    assert (row.row_count, row.upstream_status) == (1, None)
    assert row.request_id == reply.headers["x-request-id"]
    assert (row.surface, row.revision, row.address) == ("workspace", "2025-11-25", "127.0.0.1")
    assert row.duration_us is not None
    assert row.duration_us > 0


def test_a_row_outlives_everything_it_speaks_of(grant: Grant) -> None:
    McpClient(grant.token()).call("echo", {"value": 1})
    who = str(grant.user.pk)
    grant.organization.delete()
    grant.client.delete()
    grant.user.delete()
    (row,) = rows()
    assert (row.user_id, row.outcome) == (who, "success")


def test_arguments_are_recorded_as_they_came(mcp: McpClient) -> None:
    value = {"deep": [1, 2.5, None, True, {"é": "\N{SNOWMAN}" * 500}], "large": 10**40}
    mcp.call("echo", {"value": value})
    assert rows()[0].arguments == {"value": value}


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@pytest.mark.parametrize("method", ["initialize", "ping", "server/discover", "tools/list"])
def test_what_only_looks_and_succeeds_leaves_no_row(
    mcp: McpClient, revision: Revision, method: str
) -> None:
    reply = mcp.with_revision(revision).request(method)
    mcp.with_revision(revision).notify("notifications/initialized")
    assert len(rows()) == (1 if "error" in reply.json else 0)


def call_over_the_limit(mcp: McpClient, _grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_TOOLS_CALL = Limit(1, 60)
    mcp.call("nope")
    ActionExecution.objects.all().delete()
    mcp.call("echo", {"value": 1})


def call_without_the_flag(mcp: McpClient, grant: Grant, _settings: Any) -> None:
    grant.switch_off("mcp_server")
    mcp.call("echo", {"value": 1})


def calling(name: str, **arguments: Any) -> Any:
    def call(mcp: McpClient, _grant: Grant, _settings: Any) -> None:
        mcp.call(name, arguments)

    return call


def call_with_binding(mcp: McpClient, _grant: Grant, _settings: Any) -> None:
    mcp.call("echo", {"value": 1}, meta={"bound_email": "a@example.com"})


def call_out_of_scope(_mcp: McpClient, grant: Grant, _settings: Any) -> None:
    McpClient(grant.token("setup:read")).call("echo", {"value": 1})


ENDS = {
    Outcome.SUCCESS: calling("echo", value=1),
    Outcome.VALIDATION_FAILED: calling("echo"),
    Outcome.NOT_FOUND: calling("nope"),
    Outcome.TOOL_ERROR: calling("fail", how="raises"),
    Outcome.INTEGRATION_ERROR: calling("fail", how="integration"),
    Outcome.INPUT_REQUIRED: calling("ask"),
    Outcome.REFUSED: calling("crm.delete_contact"),
    Outcome.RATE_LIMITED: call_over_the_limit,
}
OTHER_ENDS = {
    "result_too_large": (calling("fail", how="huge"), Outcome.TOOL_ERROR),
    "feature_disabled": (call_without_the_flag, Outcome.REFUSED),
    "binding_rejected": (call_with_binding, Outcome.VALIDATION_FAILED),
    "scope_denied": (call_out_of_scope, Outcome.REFUSED),
    "not_connected": (calling("crm.find_contact"), Outcome.REFUSED),
    "tool_not_found": (calling("x" * 300), Outcome.NOT_FOUND),
}


@pytest.mark.parametrize("outcome", ENDS, ids=str)
def test_every_call_leaves_exactly_one_row_however_it_ends(
    mcp: McpClient, grant: Grant, settings: Any, outcome: Outcome
) -> None:
    ENDS[outcome](mcp, grant, settings)
    assert [row.outcome for row in rows()] == [outcome]
    (row,) = rows()
    assert (row.method, row.organization_id) == ("tools/call", str(grant.organization.pk))
    assert row.duration_us is not None


@pytest.mark.parametrize("reason", OTHER_ENDS)
def test_the_reason_of_a_refusal_stands_in_the_row(
    mcp: McpClient, grant: Grant, settings: Any, reason: str
) -> None:
    end, outcome = OTHER_ENDS[reason]
    end(mcp, grant, settings)
    assert [(row.outcome, row.reason) for row in rows()] == [(outcome, reason)]


def test_a_malformed_request_of_a_known_token_is_recorded_under_it(
    mcp: McpClient, grant: Grant
) -> None:
    reply = mcp.send(b"{")
    (row,) = rows()
    assert (row.outcome, row.reason, row.layer) == ("protocol_error", "rpc_32700", "protocol")
    assert (row.method, row.tool, row.arguments) == ("", "", {})
    assert row.user_id == str(grant.user.pk)
    assert row.request_id == reply.headers["x-request-id"]
    assert row.detail.startswith("Parse error: ")
    assert row.duration_us is not None


@pytest.mark.parametrize(
    "headers", [{"Content-Type": "text/plain"}, {"Content-Length": "99999999"}], ids=["415", "413"]
)
def test_a_body_that_is_not_even_read_is_recorded_too(
    mcp: McpClient, headers: dict[str, str]
) -> None:
    mcp.send(b"{}", headers=headers)
    assert [row.outcome for row in rows()] == ["protocol_error"]


def test_names_longer_than_their_columns_are_cut_and_the_row_is_kept(mcp: McpClient) -> None:
    mcp.request("m" * 500)
    mcp.call("t" * 500)
    method, tool = rows()
    assert (method.method, tool.tool) == ("m" * 100, "t" * 200)


def test_no_row_and_no_event_holds_a_credential(grant: Grant) -> None:
    token = grant.token()
    mcp = McpClient(token)
    mcp.call("echo", {"value": 1})
    mcp.send(b"{")
    mcp.call("nope")
    assert token not in str(list(ActionExecution.objects.values()))


def test_the_organizations_see_only_their_own_rows(mcp: McpClient, grant: Grant) -> None:
    mcp.call("echo", {"value": 1})
    McpClient(make_grant().token()).call("echo", {"value": 2})
    mine = ActionExecution.objects.filter(organization_id=str(grant.organization.pk))
    assert [row.arguments for row in mine] == [{"value": 1}]
