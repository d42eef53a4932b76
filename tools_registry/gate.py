"""May this token use this tool, resource or prompt now? One function, one frozen answer.

The list, the call, the consent page, the console and the audit row all read the same `Decision`,
so the list never advertises what a call would refuse. Nothing is cached: the switches are read
with every request.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from django.db import connection

from oauth.scopes import ScopeSet, scope_allows_destructive
from tools_registry.models import ConnectionState
from tools_registry.types import Guarded
from workspace.models import AgentKind, row_key

SWITCHES: Final = """
SELECT i.integration, i.actions_on, i.connection, t.action
  FROM tools_registry_integrationmode i
  LEFT JOIN workspace_agent g ON g.organization_id = i.organization_id AND g.kind = %s
  LEFT JOIN tools_registry_actiontoggle t
    ON t.agent_id = g.id AND t.integration = i.integration AND t.enabled
 WHERE i.organization_id = %s
"""
ONE_INTEGRATION: Final = SWITCHES + " AND i.integration = %s"


@dataclass(frozen=True, slots=True)
class Decision:
    """The gate's answer. `reason` and `layer` are empty when allowed; `scope` is what is needed."""

    allowed: bool
    reason: str = ""
    layer: str = ""
    message: str = ""
    scope: str = ""


@dataclass(frozen=True, slots=True)
class Integration:
    """The switches of one integration at this moment."""

    actions_on: bool
    connected: bool
    enabled_actions: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Switches:
    """All switches of an organization that a decision needs, at this moment."""

    mcp_server_on: bool = True
    integrations: Mapping[str, Integration] = field(default_factory=dict)


UNCONNECTED: Final = Integration(actions_on=True, connected=False)
ALLOWED: Final = Decision(allowed=True)


def decide(tool: Guarded, scope: ScopeSet, switches: Switches) -> Decision:
    """Ask every layer in order; the first that refuses is the one reported and recorded."""
    return (
        flag(mcp_server_on=switches.mcp_server_on)
        or _destructive(tool, scope)
        or _integration(tool, switches)
        or _scope(tool, scope)
        or ALLOWED
    )


def switches_for_tool(organization_id: UUID, tool: Guarded, *, mcp_server_on: bool) -> Switches:
    """The switches that one tool depends on; tools without an integration need no look-up."""
    if not tool.integration:
        return Switches(mcp_server_on)
    return Switches(mcp_server_on, _read(ONE_INTEGRATION, organization_id, tool.integration))


def all_switches(organization_id: UUID, *, mcp_server_on: bool) -> Switches:
    """The switches of all integrations of an organization, in one statement."""
    return Switches(mcp_server_on, _read(SWITCHES, organization_id))


def flag(*, mcp_server_on: bool) -> Decision | None:
    """The outermost layer, which the endpoint asks before it looks at a method; None lets pass."""
    if mcp_server_on:
        return None
    return Decision(
        allowed=False,
        reason="feature_disabled",
        layer="flag",
        message="The MCP server is switched off for this organization.",
    )


def _destructive(tool: Guarded, scope: ScopeSet) -> Decision | None:
    if not tool.destructive or scope_allows_destructive(scope):
        return None
    return Decision(
        allowed=False,
        reason="destructive_blocked",
        layer="destructive",
        message="Destructive actions are never available over MCP.",
    )


def _integration(tool: Guarded, switches: Switches) -> Decision | None:
    if not tool.integration:
        return None
    state = switches.integrations.get(tool.integration, UNCONNECTED)
    if not state.connected:
        return _off("not_connected", "connection", f"{tool.integration} is not connected.")
    if not state.actions_on:
        message = f"Actions of {tool.integration} are switched off."
        return _off("integration_disabled", "integration", message)
    if tool.action not in state.enabled_actions:
        message = f"The action {tool.action} is not enabled on the Ask AI agent."
        return _off("agent_disabled", "agent", message)
    return None


def _off(reason: str, layer: str, message: str) -> Decision:
    return Decision(allowed=False, reason=reason, layer=layer, message=message)


def _scope(tool: Guarded, scope: ScopeSet) -> Decision | None:
    if scope.covers(tool.scope):
        return None
    return Decision(
        allowed=False,
        reason="scope_denied",
        layer="scope",
        message=(
            f"This token does not carry the scope {tool.scope}. Reconnect this server in your "
            "client and approve it there."
        ),
        scope=tool.scope,
    )


def _read(statement: str, organization_id: UUID, *more: str) -> dict[str, Integration]:
    with connection.cursor() as cursor:
        cursor.execute(statement, [AgentKind.ASK_AI.value, row_key(organization_id), *more])
        return _gather(cursor.fetchall())


def _gather(rows: list[tuple[Any, ...]]) -> dict[str, Integration]:
    actions: dict[str, set[str]] = {}
    states: dict[str, tuple[bool, bool]] = {}
    for integration, actions_on, state, action in rows:
        states[integration] = (bool(actions_on), state == ConnectionState.CONNECTED)
        actions.setdefault(integration, set()).update([action] if action else [])
    return {
        integration: Integration(actions_on, connected, frozenset(actions[integration]))
        for integration, (actions_on, connected) in states.items()
    }
