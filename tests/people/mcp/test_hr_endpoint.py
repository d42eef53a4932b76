"""The HR endpoint: who gets in, what it says of itself, and its first two tools."""

from dataclasses import replace
from datetime import date
from typing import Any

import jsonschema
import pytest
from django.test import Client
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from mcp_protocol.revisions import REVISIONS, Revision
from oauth.models import KeyKind, ServerKey
from people.api import operations
from people.api.operation import Operation
from people.mcp import contract, surface, tools
from people.models import PersonProfile
from tests.drivers.mcp import McpClient
from tests.people.api.program import Program
from tests.people.conftest import Office
from tests.people.mcp.endpoint import client, failure, path_of
from workspace import flags
from workspace.models import FeatureFlag, Organization

HOST = "127.0.0.1:8000"


@pytest.fixture
def mcp(program: Program) -> McpClient:
    return client(program)


def test_without_a_key_the_challenge_is_the_documented_one(program: Program) -> None:
    mcp = client(program)
    metadata = f"http://{HOST}/.well-known/oauth-protected-resource{path_of(program)}"
    expected = (
        f'Bearer resource_metadata="{metadata}", '
        'scope="organisation:read people:read reference:read time_off:read"'
    )
    for token in (None, "x", "hhr_live_" + "x" * 43, "halo_at_" + "x" * 43):
        reply = mcp.holding(token).request("tools/list")
        assert reply.status == 401
        assert reply.headers["www-authenticate"] == expected
    assert mcp.holding(None).http("GET").status == 401


def test_a_get_with_a_key_is_no_stream(mcp: McpClient) -> None:
    for accept in ("text/event-stream", "application/json"):
        reply = replace(mcp, headers={"Accept": accept}).http("GET")
        assert (reply.status, reply.headers["allow"]) == (405, "POST, OPTIONS")


def test_a_key_opens_its_own_workspace_only(
    office: Office, other_office: Office, mcp: McpClient
) -> None:
    assert mcp.call("whoami").status == 200
    foreign = client(Program(other_office.organization))
    assert mcp.holding(foreign.token).call("whoami").status == 401
    nowhere = Program(office.organization)
    nowhere.organization = Organization(slug="nowhere")
    assert client(nowhere).call("whoami").status == 401
    # The workspace server and the SDK's keys are another product.
    assert McpClient(mcp.token).call("search_docs", {"query": "x"}).status == 401
    sdk = Program(office.organization, "sdk:write", kind=KeyKind.SDK)
    assert client(sdk).call("whoami").status == 401


def test_a_revoked_key_ends_with_the_next_request(program: Program, mcp: McpClient) -> None:
    assert mcp.call("whoami").status == 200
    ServerKey.objects.filter(pk=program.row.pk).update(revoked_at=timezone.now())
    assert mcp.call("whoami").status == 401
    assert SecurityEvent.objects.filter(kind="bearer_rejected").exists()


def test_the_switch_of_the_organization_closes_the_endpoint(office: Office, mcp: McpClient) -> None:
    FeatureFlag.objects.create(
        organization=office.organization, name=flags.MCP_SERVER, enabled=False
    )
    assert mcp.call("whoami").error["data"]["reason"] == "feature_disabled"


@pytest.mark.parametrize("revision", REVISIONS)
def test_every_revision_lists_and_calls(program: Program, revision: Revision) -> None:
    mcp = client(program, revision)
    assert mcp.tool_names() == sorted(one.name for one in tools.all_tools())
    called = mcp.call("whoami")
    assert called.facts["environment"]["type"] == "live"
    meta = called.result.get("_meta", {})
    if "io.modelcontextprotocol/serverInfo" in meta:
        assert meta["io.modelcontextprotocol/serverInfo"]["name"] == "hollyhr"


def test_the_handshake_names_the_server_and_offers_tools_only(mcp: McpClient) -> None:
    params = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "x", "version": "1"},
    }
    found = mcp.request("initialize", params).result
    assert found["serverInfo"]["name"] == "hollyhr"
    icons = [icon["mimeType"] for icon in found["serverInfo"]["icons"]]
    assert icons == ["image/png", "image/svg+xml"]
    assert list(found["capabilities"]) == ["tools"]
    assert "whoami" in found["instructions"]


def test_whoami_is_the_key_and_the_version_of_the_catalogue(
    office: Office, program: Program, mcp: McpClient
) -> None:
    reply = mcp.call("whoami")
    found = reply.result["structuredContent"]
    assert found == reply.facts
    assert found["organisation"] == {"id": str(office.organization.pk)}
    assert found["api_key"] == {
        "key_id": str(program.row.pk),
        "scopes": program.row.scope.split(),
        "limited_to": None,
    }
    assert found["catalogue_version"] == contract.fingerprint(tools.all_tools())
    row = ActionExecution.objects.get()
    assert (row.surface, row.tool, row.outcome) == ("people", "whoami", "success")
    assert (row.actor_kind, row.client_name, row.user_id) == ("api_key", "Program", "")
    assert row.client_id == row.token_id == str(program.row.pk)


def test_people_are_found_with_the_reviewed_fields_only(office: Office, mcp: McpClient) -> None:
    boss = office.person(first_name="Grace")
    person = office.person(
        last_name="Lovelace", staff_id="CANARY-1", work_email="ada@x.example", manager=boss
    )
    PersonProfile.objects.create(
        organization=office.organization, person=person, city="CANARY-2", tax_id="CANARY-3"
    )
    reply = mcp.call("search_people", {"search": "ada love"})
    (found,) = reply.facts["data"]
    assert found["display_name"] == "Ada Lovelace"
    assert found["manager"] == {"id": boss.pk, "display_name": "Grace"}
    assert b"CANARY" not in reply.body
    assert ActionExecution.objects.get().row_count == 1


def test_pages_and_errors_are_those_of_the_api(office: Office, mcp: McpClient) -> None:
    people = {office.person(last_name=f"N{number}").pk for number in range(3)}
    first = mcp.call("search_people", {"limit": 2}).facts
    cursor = first["pagination"]["next_cursor"]
    second = mcp.call("search_people", {"limit": 2, "cursor": cursor}).facts
    assert {one["id"] for one in (*first["data"], *second["data"])} == people
    wrong = failure(mcp.call("search_people", {"cursor": "cursor_x"}))
    assert (wrong["reason"], wrong["field"]) == ("invalid_request", "cursor")
    for arguments in ({"limit": 0}, {"search": "x"}, {"tenant_id": "other"}):
        assert mcp.call("search_people", arguments).result["isError"] is True


def test_a_missing_scope_is_a_result_that_names_it(office: Office) -> None:
    mcp = client(Program(office.organization, "time_off:read"))
    of_operations = {"call_api_operation", "get_api_operation", "list_api_operations"}
    of_time_off = {"get_time_off", "list_time_off", "list_time_off_balances", "who_is_out"}
    assert set(mcp.tool_names()) == {*of_operations, *of_time_off, "whoami"}
    assert mcp.call("whoami").status == 200
    refused = mcp.call("search_people")
    assert refused.status == 200
    assert failure(refused)["reason"] == "permission_denied"
    assert "needs the scope people:read" in failure(refused)["message"]
    row = ActionExecution.objects.latest("pk")
    assert (row.outcome, row.reason, row.layer) == ("refused", "permission_denied", "scope")


def test_a_test_key_sees_the_sandbox(office: Office) -> None:
    live = office.person(first_name="Live")
    mcp = client(Program(office.organization, kind=KeyKind.TEST))
    assert mcp.call("whoami").facts["environment"] == {"type": "sandbox", "sandbox": True}
    found = mcp.call("search_people", {"limit": 100}).facts["data"]
    assert len(found) == 100
    assert live.pk not in {one["id"] for one in found}


def test_every_schema_is_whole_and_fits_what_is_answered(office: Office, mcp: McpClient) -> None:
    person = office.person(manager=office.person())
    row = office.leave_of(person, date(2026, 6, 1), date(2026, 6, 5))
    for tool in mcp.request("tools/list").result["tools"]:
        assert "$ref" not in str(tool)
        is_read = tool["name"] != "commit_api_write"
        assert tool["annotations"].get("readOnlyHint", False) is is_read
        jsonschema.Draft202012Validator.check_schema(tool["outputSchema"])
        given = {
            "person_id": person.pk,
            "time_off_id": row.pk,
            "kind": "time_off_categories",
            "operation_id": "listPeople",
        }
        if "api_write" in tool["name"]:
            continue
        taken = {name: given[name] for name in tool["inputSchema"].get("required", ())}
        answered = mcp.call(tool["name"], taken).result["structuredContent"]
        jsonschema.validate(answered, tool["outputSchema"])


@pytest.mark.parametrize(
    ("tool", "operation"), [("search_people", "listPeople"), ("list_time_off", "listTimeOff")]
)
def test_arguments_of_a_list_have_the_schemas_of_its_operation(
    mcp: McpClient, tool: str, operation: str
) -> None:
    described = mcp.call("get_api_operation", {"operation_id": operation}).facts["query"]
    listed = {one["name"]: one for one in mcp.request("tools/list").result["tools"]}
    properties = listed[tool]["inputSchema"]["properties"]
    assert properties == {name: described[name] for name in properties}
    assert {"limit", "cursor"} < set(properties)


def test_the_version_of_the_catalogue_changes_with_the_contract(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    offered = tools.all_tools()
    before = contract.fingerprint(offered)
    assert contract.fingerprint(tuple(reversed(offered))) == before
    first, *others = offered
    for changed in (
        replace(first, description="Other."),
        replace(first, input_schema={"type": "object"}),
        replace(first, output_schema=None),
    ):
        assert contract.fingerprint((changed, *others)) != before
    people = contract.EXPOSED["listPeople"]
    less = replace(people, projection=people.projection[:-1])
    for exposed in (
        {**contract.EXPOSED, "listPeople": less},
        {**contract.EXPOSED, "listPeople": replace(people, scope="people:write")},
        {"listPeople": people},
    ):
        monkeypatch.setattr(contract, "EXPOSED", exposed)
        assert contract.fingerprint(offered) != before


def test_the_metadata_is_the_same_at_both_addresses(program: Program, settings: Any) -> None:
    path = path_of(program)
    addresses = (
        f"/.well-known/oauth-protected-resource{path}",
        f"{path}/.well-known/oauth-protected-resource",
    )
    first, second = (Client().get(address, headers={"Host": HOST}) for address in addresses)
    document: Any = first.json()
    assert document == second.json()
    assert document["resource"] == f"http://{HOST}{path}"
    assert document["authorization_servers"] == []
    exposed = [one for one in operations.ALL if one.projection and one.scope and one.is_read]
    assert document["scopes_supported"] == sorted({one.scope for one in exposed})
    settings.HALO_HR_WRITE_MODE = "enabled"
    more = Client().get(addresses[0]).json()["scopes_supported"]
    assert set(more) - set(document["scopes_supported"]) == {"mcp:write", "time_off:write"}
    settings.HALO_HR_WRITE_MODE = "disabled"
    for scope in ("people:personal:read", "payroll_exports:read", "webhooks:manage"):
        assert scope not in document["scopes_supported"]
    # Nothing says whether a workspace exists.
    unknown = Client().get("/.well-known/oauth-protected-resource/w/nowhere/api/mcp")
    assert unknown.json()["scopes_supported"] == document["scopes_supported"]
    issuer = f"/.well-known/oauth-authorization-server/w/{program.organization.slug}"
    assert Client().get(issuer).status_code == 404


def test_how_to_get_access_is_a_page_of_the_same_facts(program: Program) -> None:
    page = Client().get(f"/w/{program.organization.slug}/auth.md", headers={"Host": HOST})
    assert page["Content-Type"] == "text/markdown; charset=utf-8"
    text = page.content.decode()
    assert f"http://{HOST}{path_of(program)}" in text
    assert "Access mode: API keys" in text
    assert "- `people:read`" in text


def test_a_field_that_no_projection_lists_stays_out(
    office: Office, mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A field that the API begins to answer is not answered over MCP."""
    office.person(last_name="Lovelace")
    people = contract.EXPOSED["listPeople"]

    def with_more(call: Any) -> Any:
        found = people.run(call)
        data = [{**one, "salary": "CANARY"} for one in found.body["data"]]
        return replace(found, body={**found.body, "data": data})

    more: Operation = replace(people, run=with_more)
    monkeypatch.setitem(contract.EXPOSED, "listPeople", more)
    reply = mcp.call("search_people")
    assert reply.facts["data"]
    assert b"CANARY" not in reply.body


def test_a_workspace_is_found_by_its_path_alone() -> None:
    assert (
        surface.find_by_path("/w/acme/api/mcp")
        is surface.get_for_workspace("acme")
        is surface.find_by_path("/w/acme/api/mcp/")
    )
    for path in ("/w//api/mcp", "/w/a/b/api/mcp", "/w/ä/api/mcp", "/w/acme/api", "/api/mcp"):
        assert surface.find_by_path(path) is None


def test_without_a_key_a_client_reads_that_this_address_takes_keys(program: Program) -> None:
    for token in (None, "halo_at_" + "x" * 43):
        message = client(program).holding(token).request("tools/list").error["message"]
        assert "takes API keys" in message
        assert f"http://{HOST}/api-keys" in message
        assert f"http://{HOST}/w/{program.organization.slug}/auth.md" in message


def test_the_endpoint_has_an_icon_that_every_client_shows_and_a_vector(mcp: McpClient) -> None:
    hello = {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "client", "version": "1"},
    }
    icons = mcp.request("initialize", hello).result["serverInfo"]["icons"]
    assert [icon["mimeType"] for icon in icons] == ["image/png", "image/svg+xml"]
