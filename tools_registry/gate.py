"""May this token use this tool, resource or prompt now? One function, one frozen answer.

The list, the call, the consent page, the console and the audit row all read the same `Decision`,
so the list never advertises what a call would refuse. Nothing is cached: the switches are read
with every request.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias
from uuid import UUID

from foundation.carrier import carrier
from foundation.prepared import Row
from foundation.statements import Statement
from oauth.scopes import ScopeSet, scope_allows_destructive
from tools_registry.billing.models import BillingRequest, Status
from tools_registry.models import ConnectionState
from tools_registry.types import Guarded

# The agent's kind is written out (AgentKind.ASK_AI): a prepared statement can then find it by the
# index that holds one such agent an organization.
ASK: Final = """
SELECT i.integration, i.actions_on, i.connection, t.action, t.calls_per_minute
  FROM tools_registry_integrationmode i
  LEFT JOIN workspace_agent g ON g.organization_id = i.organization_id AND g.kind = 'ask_ai'
  LEFT JOIN tools_registry_actiontoggle t
    ON t.agent_id = g.id AND t.integration = i.integration AND t.enabled
 WHERE i.organization_id = %s
"""
SWITCHES: Final = Statement(ASK)
ONE_INTEGRATION: Final = Statement(ASK + " AND i.integration = %s")


@carrier
class Decision:
    """The gate's answer, or one layer's. `reason` is empty when allowed; `scope` is what is needed.

    `layer` is the one that refuses, or the one that was asked alone. `calls_per_minute` is
    the cap of what is allowed, if it has one.
    """

    allowed: bool
    reason: str = ""
    layer: str = ""
    message: str = ""
    scope: str = ""
    calls_per_minute: int | None = None


@carrier
class Integration:
    """The switches of one integration at this moment; a failing connection is one."""

    actions_on: bool
    connected: bool
    enabled_actions: frozenset[str] = frozenset()
    caps: Mapping[str, int] = field(default_factory=dict)


@carrier
class Switches:
    """All switches of an organization that a decision needs, at this moment."""

    mcp_server_on: bool = True
    integrations: Mapping[str, Integration] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Approval:
    """A billing request that an admin has approved and that is being carried out at this moment.

    `claim` is what carrying it out was begun with. `filed_as` is the tool that filed the request:
    its switches and its scope are asked again. `scope` is what the asker's consent grants by now,
    None once that consent, its person or its client no longer stands.
    """

    request_id: UUID
    claim: UUID
    filed_as: Guarded
    scope: ScopeSet | None


UNCONNECTED: Final = Integration(actions_on=True, connected=False)
ALLOWED: Final = Decision(allowed=True)


def decide(tool: Guarded, scope: ScopeSet, switches: Switches) -> Decision:
    """Ask every layer in order; the first that refuses is the one reported and recorded."""
    for ask in LAYERS.values():
        if (refusal := ask(tool, scope, switches)) is not None:
            return refusal
    return ALLOWED


def explain(tool: Guarded, scope: ScopeSet, switches: Switches) -> list[Decision]:
    """What each layer says by itself, in order; `decide` gives the first refusal among them."""
    return [
        ask(tool, scope, switches) or Decision(allowed=True, layer=layer)
        for layer, ask in LAYERS.items()
    ]


def decide_approved(tool: Guarded, approval: Approval, switches: Switches) -> Decision:
    """Every layer again, for a tool that an admin runs to carry out an approved request.

    The one way past the destructive layer: no token leads here, for no edge can make an approval.
    """
    asked, scope = approval.filed_as, approval.scope or ScopeSet()
    return (
        flag(mcp_server_on=switches.mcp_server_on)
        or _unapproved(tool, approval)
        or _connection(asked, scope, switches)
        or _mode(asked, scope, switches)
        or _agent(asked, scope, switches)
        or _ended(approval)
        or _scope(asked, scope, switches)
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


def cap(tool: Guarded, switches: Switches) -> int | None:
    """How many calls a minute an admin allows of the tool's action; None for no cap."""
    return _state(tool, switches).caps.get(tool.action)


def flag(*, mcp_server_on: bool) -> Decision | None:
    """The outermost layer, which the endpoint asks before it looks at a method; None lets pass."""
    if mcp_server_on:
        return None
    message = "The MCP server is switched off for this organization."
    return _refusal("feature_disabled", "flag", message)


def _flag(_tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision | None:
    return flag(mcp_server_on=switches.mcp_server_on)


def _destructive(tool: Guarded, scope: ScopeSet, _switches: Switches) -> Decision | None:
    if not tool.destructive or scope_allows_destructive(scope):
        return None
    message = "Destructive actions are never available over MCP."
    return _refusal("destructive_blocked", "destructive", message)


def _unapproved(tool: Guarded, approval: Approval) -> Decision | None:
    """Ask the row itself: it has to be under way, under this claim, and for this very action."""
    rows = BillingRequest.objects.filter(pk=approval.request_id, claim=approval.claim)
    under_way = rows.filter(status=Status.RUNNING, integration=tool.integration)
    if tool.integration and under_way.filter(perform=tool.action).exists():
        return None
    return _refusal("destructive_blocked", "destructive", "No approved request stands behind this.")


def _ended(approval: Approval) -> Decision | None:
    if approval.scope is not None:
        return None
    message = "Whoever asked for this has left, or their connection was ended."
    return _refusal("grant_ended", "grant", message)


def _connection(tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision | None:
    if not tool.integration or _state(tool, switches).connected:
        return None
    return _refusal("not_connected", "connection", f"{tool.integration} is not connected.")


def _mode(tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision | None:
    if not tool.integration or _state(tool, switches).actions_on:
        return None
    message = f"Actions of {tool.integration} are switched off."
    return _refusal("integration_disabled", "integration", message)


def _agent(tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision | None:
    if not tool.integration or tool.action in _state(tool, switches).enabled_actions:
        return None
    message = f"The action {tool.action} is not enabled on the Ask AI agent."
    return _refusal("agent_disabled", "agent", message)


def _scope(tool: Guarded, scope: ScopeSet, _switches: Switches) -> Decision | None:
    if scope.covers(tool.scope):
        return None
    message = (
        f"This token does not carry the scope {tool.scope}. Reconnect this server in your "
        "client and approve it there."
    )
    return replace(_refusal("scope_denied", "scope", message), scope=tool.scope)


def _refusal(reason: str, layer: str, message: str) -> Decision:
    return Decision(allowed=False, reason=reason, layer=layer, message=message)


def _state(tool: Guarded, switches: Switches) -> Integration:
    return switches.integrations.get(tool.integration, UNCONNECTED)


def _read(statement: Statement, organization_id: UUID, *more: str) -> dict[str, Integration]:
    return _gather(statement.rows(organization_id, *more))


def _gather(rows: list[Row]) -> dict[str, Integration]:
    actions: dict[str, dict[str, int | None]] = {}
    states: dict[str, tuple[bool, bool]] = {}
    for integration, actions_on, state, action, most in rows:
        states[integration] = (bool(actions_on), state != ConnectionState.NOT_CONNECTED)
        actions.setdefault(integration, {}).update({action: most} if action else {})
    return {
        integration: _state_of(actions_on, connected, actions[integration])
        for integration, (actions_on, connected) in states.items()
    }


def _state_of(
    actions_on: bool,  # noqa: FBT001  a column
    connected: bool,  # noqa: FBT001  the same
    actions: Mapping[str, int | None],
) -> Integration:
    caps = {action: most for action, most in actions.items() if most is not None}
    return Integration(actions_on, connected, frozenset(actions), caps)


Layer: TypeAlias = Callable[[Guarded, ScopeSet, Switches], Decision | None]

# Every layer by its name, in the order in which they are asked.
LAYERS: Final[Mapping[str, Layer]] = {
    "flag": _flag,
    "destructive": _destructive,
    "connection": _connection,
    "integration": _mode,
    "agent": _agent,
    "scope": _scope,
}
