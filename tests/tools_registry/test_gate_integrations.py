"""The three layers for every action of every integration there is; a new one joins by itself."""

from itertools import combinations

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers import fixture_tools
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import Tool
from tools_registry.models import ActionToggle, IntegrationMode

pytestmark = pytest.mark.usefixtures("lab")

THREE = {
    "mode": ("integration_disabled", "integration"),
    "toggle": ("agent_disabled", "agent"),
    "scope": ("scope_denied", "scope"),
}
COMBINATIONS = [subset for size in range(4) for subset in combinations(THREE, size)]
INTEGRATIONS = [one for one in (*registry.native_toolsets(), fixture_tools.CRM) if one.integration]
TOOLS = [tool for toolset in INTEGRATIONS for tool in toolset.tools]
CALLABLE = [tool for tool in TOOLS if not tool.destructive]
DESTRUCTIVE = [tool for tool in TOOLS if tool.destructive]
EVERY_SCOPE = "docs:read setup:read data:read actions:*"

each_callable = pytest.mark.parametrize("tool", CALLABLE, ids=lambda tool: tool.name)
each_destructive = pytest.mark.parametrize("tool", DESTRUCTIVE, ids=lambda tool: tool.name)


def recorded_outcome() -> tuple[str, str, str]:
    row = ActionExecution.objects.latest("id")
    return row.outcome, row.reason, row.layer


def everything_on(grant: Grant) -> None:
    for toolset in INTEGRATIONS:
        grant.connect(toolset.integration, enabled=tuple(tool.action for tool in toolset.tools))


@pytest.mark.parametrize("opened", COMBINATIONS, ids=lambda opened: "+".join(opened) or "none")
@each_callable
def test_list_and_call_agree_on_every_combination_of_the_three_layers(
    grant: Grant, tool: Tool, opened: tuple[str, ...]
) -> None:
    enabled = (tool.action,) if "toggle" in opened else ()
    grant.connect(tool.integration, actions_on="mode" in opened, enabled=enabled)
    held = tool.scope if "scope" in opened else f"actions:{tool.integration}:another_one"
    mcp = McpClient(grant.token(held))
    reply = mcp.call(tool.name)
    assert (tool.name in mcp.tool_names()) == (len(opened) == len(THREE))
    closed = [message for layer, message in THREE.items() if layer not in opened]
    if closed:
        reason, layer = closed[0]
        assert (reply.code, reply.error["data"]) == (-32002, {"reason": reason, "layer": layer})
        assert recorded_outcome() == ("refused", reason, layer)
    else:
        # What it came to is another matter: no vendor is there, and the arguments may lack.
        assert recorded_outcome()[0] != "refused"


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_what_is_not_connected_is_hidden_and_refused_whatever_is_switched_on(
    grant: Grant, tool: Tool
) -> None:
    everything_on(grant)
    IntegrationMode.objects.filter(integration=tool.integration).update(connection="not_connected")
    mcp = McpClient(grant.token(EVERY_SCOPE))
    layer = "destructive" if tool.destructive else "connection"
    assert tool.name not in mcp.tool_names()
    assert mcp.call(tool.name).error["data"]["layer"] == layer


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
@each_destructive
def test_k05_no_scope_and_no_toggle_opens_a_destructive_action(
    grant: Grant, tool: Tool, revision: Revision
) -> None:
    everything_on(grant)
    scopes = ("actions:*", f"actions:{tool.integration}:*", tool.scope)
    for scope in (*scopes, f"{EVERY_SCOPE} {' '.join(scopes)}"):
        mcp = McpClient(grant.token(scope), revision)
        assert tool.name not in mcp.tool_names()
        message = {"reason": "destructive_blocked", "layer": "destructive"}
        assert mcp.call(tool.name).error["data"] == message
        assert recorded_outcome() == ("refused", "destructive_blocked", "destructive")


@pytest.mark.parametrize("switch", ["mode", "toggle"])
@each_callable
def test_k07_k08_k10_what_is_turned_off_between_list_and_call_is_refused(
    grant: Grant, tool: Tool, switch: str
) -> None:
    everything_on(grant)
    mcp = McpClient(grant.token(EVERY_SCOPE))
    assert tool.name in mcp.tool_names()
    if switch == "mode":
        IntegrationMode.objects.filter(integration=tool.integration).update(actions_on=False)
    else:
        ActionToggle.objects.filter(action=tool.action).update(enabled=False)
    reason, layer = THREE[switch]
    assert mcp.call(tool.name).error["data"] == {"reason": reason, "layer": layer}
    assert tool.name not in mcp.tool_names()


@each_callable
def test_k04_a_name_that_only_begins_like_a_tool_is_unknown(grant: Grant, tool: Tool) -> None:
    everything_on(grant)
    assert McpClient(grant.token(tool.scope)).call(f"{tool.name}s").code == -32601


@each_callable
def test_k14_a_wildcard_of_one_integration_covers_its_actions_and_no_others(
    grant: Grant, tool: Tool
) -> None:
    everything_on(grant)
    listed = McpClient(grant.token(f"actions:{tool.integration}:*")).tool_names()
    own = {one.name for one in CALLABLE if one.integration == tool.integration}
    assert set(listed) == own


def test_l01_switches_of_another_organization_open_and_close_nothing_here(grant: Grant) -> None:
    theirs = make_grant()
    everything_on(theirs)
    ours, other = McpClient(grant.token(EVERY_SCOPE)), McpClient(theirs.token(EVERY_SCOPE))
    for tool in CALLABLE:
        assert ours.call(tool.name).error["data"]["reason"] == "not_connected"
    everything_on(grant)
    theirs.switch_off("mcp_server")
    IntegrationMode.objects.filter(organization=theirs.organization).update(actions_on=False)
    assert {tool.name for tool in CALLABLE} <= set(ours.tool_names())
    assert other.call(CALLABLE[0].name).error["data"]["reason"] == "feature_disabled"


def test_l07_who_moves_to_another_organization_takes_no_token_along(grant: Grant) -> None:
    theirs = make_grant()
    everything_on(theirs)
    mcp = McpClient(grant.token(EVERY_SCOPE))
    grant.membership.delete()
    theirs.organization.memberships.create(user=grant.user)
    assert mcp.call("crm.find_contact").status == 401


def test_there_is_something_to_try() -> None:
    assert {tool.name for tool in CALLABLE} >= {"crm.find_contact", "crm.create_deal"}
    assert {tool.name for tool in DESTRUCTIVE} >= {"crm.delete_contact"}
