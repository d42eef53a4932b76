"""Group K: three layers, the one that never opens, and a list that agrees with every call."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import REVISIONS, Revision
from oauth import scopes
from oauth.models import Authorization
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient, Reply
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from tools_registry.pipeline.scope_explainer import GateExplainer

pytestmark = pytest.mark.usefixtures("lab")

MODERN = Revision.V2026_07_28
# The three layers in the order they are asked in, and how each is reported.
THREE = {
    "mode": ("integration_disabled", "integration"),
    "toggle": ("agent_disabled", "agent"),
    "scope": ("scope_denied", "scope"),
}
COMBINATIONS = [subset for size in range(4) for subset in combinations(THREE, size)]
DOCS = ["read_doc", "search_docs"]


def recorded_outcome() -> tuple[str, str, str]:
    row = ActionExecution.objects.latest("id")
    return row.outcome, row.reason, row.layer


def refusal(reply: Reply, reason: str, layer: str, code: int = -32002) -> Reply:
    """The reply, once it and the audit row tell the same refusal."""
    assert (reply.code, reply.error["data"]) == (code, {"reason": reason, "layer": layer})
    assert recorded_outcome() == ("refused", reason, layer)
    return reply


@pytest.mark.parametrize("opened", COMBINATIONS, ids=lambda opened: "+".join(opened) or "none")
def test_a_call_needs_all_three_layers_and_the_list_says_the_same(
    grant: Grant, opened: tuple[str, ...]
) -> None:
    enabled = ("find_contact",) if "toggle" in opened else ()
    grant.connect("crm", actions_on="mode" in opened, enabled=enabled)
    held = "actions:crm:find_contact" if "scope" in opened else "actions:crm:other"
    mcp = McpClient(grant.token(held))
    reply = mcp.call("crm.find_contact")
    assert ("crm.find_contact" in mcp.tool_names()) == (len(opened) == len(THREE))
    closed = [message for layer, message in THREE.items() if layer not in opened]
    if closed:
        refusal(reply, *closed[0])
    else:
        assert reply.facts == {"contact": "c1"}
        assert recorded_outcome() == ("success", "", "")
    assert reply.status == (403 if closed[:1] == [THREE["scope"]] else 200)


def test_an_integration_that_is_not_connected_is_hidden_and_refused(
    mcp: McpClient, grant: Grant
) -> None:
    state = ConnectionState.NOT_CONNECTED
    grant.connect("crm", enabled=("find_contact",), connection=state)
    assert "crm.find_contact" not in mcp.tool_names()
    refusal(mcp.call("crm.find_contact"), "not_connected", "connection")


def test_a_failing_connection_is_still_tried(mcp: McpClient, grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact",), connection=ConnectionState.FAILING)
    assert "crm.find_contact" in mcp.tool_names()
    assert mcp.call("crm.find_contact").facts == {"contact": "c1"}


def test_an_integration_that_nobody_set_up_is_not_connected(mcp: McpClient) -> None:
    refusal(mcp.call("crm.find_contact"), "not_connected", "connection")


def test_a_connected_integration_has_its_mode_on_and_every_action_off(
    mcp: McpClient, grant: Grant
) -> None:
    IntegrationMode.objects.create(
        organization=grant.organization,
        integration="crm",
        connection=ConnectionState.CONNECTED,
    )
    refusal(mcp.call("crm.find_contact"), "agent_disabled", "agent")


@pytest.mark.parametrize(
    "scope",
    [
        "actions:*",
        "actions:crm:*",
        "actions:crm:delete_contact",
        "actions:* actions:crm:* actions:crm:delete_contact docs:read setup:read data:read",
    ],
)
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_k05_a_destructive_tool_is_never_listed_and_never_runs(
    grant: Grant, scope: str, revision: Revision
) -> None:
    grant.connect("crm", enabled=("delete_contact", "find_contact"))
    mcp = McpClient(grant.token(scope), revision)
    assert "crm.delete_contact" not in mcp.tool_names()
    code = -31002 if revision == MODERN else -32002
    reply = refusal(mcp.call("crm.delete_contact"), "destructive_blocked", "destructive", code)
    assert reply.status == 200


def remove_scope(grant: Grant) -> None:
    Authorization.objects.filter(pk=grant.authorization.pk).update(scope="docs:read")


def disable_toggle(grant: Grant) -> None:
    ActionToggle.objects.filter(agent__organization=grant.organization).update(enabled=False)


def switch_mode_off(grant: Grant) -> None:
    IntegrationMode.objects.filter(organization=grant.organization).update(actions_on=False)


def disconnect(grant: Grant) -> None:
    IntegrationMode.objects.filter(organization=grant.organization).update(
        connection=ConnectionState.NOT_CONNECTED
    )


def switch_flag_off(grant: Grant) -> None:
    grant.switch_off("mcp_server")


def test_a_destructive_tool_is_refused_as_one_whatever_else_is_closed(
    mcp: McpClient, grant: Grant
) -> None:
    narrow = McpClient(grant.token("docs:read"))
    for client in (mcp, narrow):
        refusal(client.call("crm.delete_contact"), "destructive_blocked", "destructive")


@dataclass(frozen=True)
class Layer:
    name: str
    reason: str
    close: Callable[[Grant], None]


SCOPE = Layer("scope", "scope_denied", remove_scope)
TOGGLE = Layer("agent", "agent_disabled", disable_toggle)
MODE = Layer("integration", "integration_disabled", switch_mode_off)
CONNECTION = Layer("connection", "not_connected", disconnect)
FLAG = Layer("flag", "feature_disabled", switch_flag_off)
# The innermost first.
LAYERS = (SCOPE, TOGGLE, MODE, CONNECTION, FLAG)


def test_the_outermost_closed_layer_is_the_one_that_is_named(mcp: McpClient, grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact",))
    assert mcp.call("crm.find_contact").status == 200
    for layer in LAYERS:
        layer.close(grant)
        refusal(mcp.call("crm.find_contact"), layer.reason, layer.name)


@pytest.mark.parametrize("layer", LAYERS, ids=lambda layer: layer.reason)
@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_every_layer_refuses_in_the_code_of_the_revision(
    mcp: McpClient, grant: Grant, revision: Revision, layer: Layer
) -> None:
    grant.connect("crm", enabled=("find_contact",))
    layer.close(grant)
    reply = mcp.with_revision(revision).call("crm.find_contact")
    code = -31002 if revision == MODERN else -32002
    refusal(reply, layer.reason, layer.name, code)
    assert reply.status == (403 if layer in {SCOPE, FLAG} else 200)
    assert ("www-authenticate" in reply.headers) == (layer == SCOPE)


def test_k01_only_a_missing_scope_is_challenged_and_says_what_to_ask_for(grant: Grant) -> None:
    reply = McpClient(grant.token("docs:read")).call("setup_get_jwt_sample")
    refusal(reply, "scope_denied", "scope")
    assert reply.status == 403
    challenge = reply.headers["www-authenticate"]
    assert challenge.startswith('Bearer realm="halo-mcp", resource_metadata="')
    assert 'error="insufficient_scope"' in challenge
    assert 'scope="docs:read setup:read"' in challenge
    assert "setup:read" in reply.error["message"]


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_p4_a_challenge_names_what_a_client_of_its_revision_has_to_request(
    grant: Grant, revision: Revision
) -> None:
    reply = McpClient(grant.token("docs:read")).with_revision(revision).call("setup_get_jwt_sample")
    scope = "setup:read" if revision == MODERN else "docs:read setup:read"
    assert f'scope="{scope}"' in reply.headers["www-authenticate"]


def test_p4_stepping_up_by_the_challenges_ends_with_both_tools(grant: Grant) -> None:
    scope = "docs:read"
    for _ in range(2):
        for name in ("setup_get_jwt_sample", "search_docs"):
            arguments = {"query": "x"} if name == "search_docs" else {}
            reply = McpClient(grant.token(scope)).call(name, arguments)
            if reply.status == 403:
                scope = reply.headers["www-authenticate"].split('scope="')[1].partition('"')[0]
    assert scope == "docs:read setup:read"
    assert reply.status == 200


@pytest.mark.parametrize("tool", ["search_docs", "setup_get_jwt_sample"])
def test_k02_actions_on_everything_imply_the_reading_scopes(grant: Grant, tool: str) -> None:
    mcp = McpClient(grant.token("actions:*"))
    assert tool in mcp.tool_names()
    assert "result" in mcp.call(tool, {"query": "x"} if tool == "search_docs" else {}).json


def test_actions_of_one_integration_imply_nothing_else(grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact", "create_deal"))
    mcp = McpClient(grant.token("actions:crm:*"))
    assert mcp.tool_names() == ["crm.create_deal", "crm.find_contact"]


@pytest.mark.parametrize(
    "name", ["crm.find_contacts", "crm.find", "crm", "crm.", ".find_contact", "CRM.find_contact"]
)
def test_k04_only_the_exact_name_is_a_tool(grant: Grant, name: str) -> None:
    grant.connect("crm", enabled=("find_contact",))
    reply = McpClient(grant.token("actions:crm:find_contact")).call(name)
    assert (reply.status, reply.code) == (200, -32601)
    assert recorded_outcome() == ("not_found", "tool_not_found", "")


@pytest.mark.parametrize("layer", [TOGGLE, MODE], ids=lambda layer: layer.reason)
def test_k07_k08_k10_a_switch_holds_from_the_next_request_on(
    mcp: McpClient, grant: Grant, layer: Layer
) -> None:
    grant.connect("crm", enabled=("find_contact",))
    assert "crm.find_contact" in mcp.tool_names()
    layer.close(grant)
    refusal(mcp.call("crm.find_contact"), layer.reason, layer.name)
    assert "crm.find_contact" not in mcp.tool_names()


def test_k10_a_call_that_runs_while_its_integration_is_switched_off_finishes(
    mcp: McpClient, grant: Grant
) -> None:
    erp = Toolset(integration="erp", title="ERP")

    @erp.tool(title="Switch off", description="Ends itself.", input_schema={"type": "object"})
    def switch_off(_context: ToolContext, _arguments: Arguments) -> Facts:
        grant.connect("erp", actions_on=False)
        return Facts("done")

    grant.connect("erp", enabled=("switch_off",))
    with registry.including(erp):
        assert mcp.call("erp.switch_off").facts == "done"
        refusal(mcp.call("erp.switch_off"), "integration_disabled", "integration")


def test_k11_a_narrower_token_under_a_wide_consent_keeps_to_its_own_scope(grant: Grant) -> None:
    wide, narrow = McpClient(grant.token()), McpClient(grant.token("docs:read"))
    assert "setup_get_jwt_sample" in wide.tool_names()
    refusal(narrow.call("setup_get_jwt_sample"), "scope_denied", "scope")


def test_k11_what_the_person_narrows_holds_for_living_tokens_at_once(
    mcp: McpClient, grant: Grant
) -> None:
    Authorization.objects.filter(pk=grant.authorization.pk).update(scope="setup:read")
    refusal(mcp.call("search_docs", {"query": "x"}), "scope_denied", "scope")


def test_k13_a_list_for_the_documentation_scope_is_exactly_its_two_tools(grant: Grant) -> None:
    mcp = McpClient(grant.token("docs:read"))
    native = {tool.name for toolset in registry.native_toolsets() for tool in toolset.tools}
    first, again = mcp.tool_names(), mcp.tool_names()
    assert [name for name in first if name in native] == DOCS
    assert first == again == sorted(first)


@pytest.mark.parametrize(
    "scope", ["*", "actions:* *", "bogus", "actions:**", "actions:crm", "ACTIONS:*", ""]
)
def test_k14_a_scope_row_edited_to_something_unknown_opens_nothing_new(
    grant: Grant, scope: str
) -> None:
    token = grant.token("actions:*")
    Authorization.objects.filter(pk=grant.authorization.pk).update(scope=scope)
    listed = McpClient(token).tool_names()
    assert ("search_docs" in listed) == (scope == "actions:* *")


def test_k16_the_sample_holds_no_secret_of_the_organization(mcp: McpClient, grant: Grant) -> None:
    message = str(mcp.call("setup_get_jwt_sample").facts)
    assert grant.organization.widget_key not in message
    assert "ha_secret_" not in message
    assert "HALOAGENTS_SECRET_KEY" in message


@pytest.mark.parametrize("method", ["initialize", "ping", "tools/list", "tools/call"])
def test_a_flag_that_is_off_answers_every_method_with_403(
    mcp: McpClient, grant: Grant, method: str
) -> None:
    grant.switch_off("mcp_server")
    reply = mcp.request(method, {"name": "search_docs"} if method == "tools/call" else None)
    assert reply.status == 403
    refusal(reply, "feature_disabled", "flag")


def test_switches_of_another_organization_open_nothing_here(mcp: McpClient) -> None:
    make_grant().connect("crm", enabled=("find_contact",))
    refusal(mcp.call("crm.find_contact"), "not_connected", "connection")
    assert "crm.find_contact" not in mcp.tool_names()


def test_j02_a_tool_of_another_organization_looks_like_one_that_does_not_exist(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = make_grant()

    class Private:
        """A source that has one tool, for one organization."""

        tool = registry.WORKSPACE_CATALOGUE.find("echo", theirs.organization.pk)

        def find(self, name: str, organization_id: Any) -> Any:
            mine = organization_id == theirs.organization.pk and name == "theirs"
            return self.tool if mine else None

        def tools(self, organization_id: Any) -> list[Any]:
            return [self.tool] if organization_id == theirs.organization.pk else []

    private = Private()
    monkeypatch.setattr(registry.WORKSPACE_CATALOGUE, "_sources", lambda: (private,))
    foreign, unknown = mcp.call("theirs", {"value": 1}), mcp.call("theirz", {"value": 1})
    assert foreign.body.replace(b"theirs", b"theirz") == unknown.body
    assert McpClient(theirs.token()).call("theirs", {"value": 1}).facts == 1


def test_the_consent_page_reads_the_same_gate(grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact", "delete_contact"))
    (scope,) = scopes.parse("actions:crm:*")
    message = GateExplainer(WORKSPACE_SURFACE).tools([scope], grant.organization.pk)[scope]
    assert [tool.name for tool in message] == McpClient(grant.token("actions:crm:*")).tool_names()
