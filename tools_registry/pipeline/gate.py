"""Decides whether a token may use a tool, resource or prompt now.

The list, the call, the consent page, the console and the audit row all read the same `Decision`,
so the list never advertises what a call would refuse. Nothing is cached: the switches are read
with every request. What depends on the arguments of a call is checked after the gate
(`tools_registry/pipeline/calls.py`).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Protocol, TypeAlias
from uuid import UUID

from foundation.db.rows import Row
from foundation.db.statements import Statement
from oauth.scopes import ScopeSet, scope_allows_destructive
from tools_registry import registry
from tools_registry.api import Guarded
from tools_registry.models import ConnectionState
from tools_registry.pipeline import approval_port
from tools_registry.pipeline.approval_port import Approval

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


@dataclass(frozen=True, slots=True)
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


@dataclass(frozen=True, slots=True)
class Integration:
    """The switches of one integration now; `connected` is true while its connection fails, too."""

    actions_on: bool
    connected: bool
    enabled_actions: frozenset[str] = frozenset()
    caps: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Switches:
    """All switches of an organization that a decision needs, at this moment."""

    mcp_server_on: bool = True
    integrations: Mapping[str, Integration] = field(default_factory=dict)


Layer: TypeAlias = Callable[[Guarded, ScopeSet, Switches], Decision]
Layers: TypeAlias = Mapping[str, Layer]


class GatedSurface(Protocol):
    """What the gate reads of a surface."""

    @property
    def layers(self) -> Layers: ...
    @property
    def approvable(self) -> frozenset[str]: ...


# No switch and no scope allows a destructive action: those of the tool that requested it count.
NEVER_DESTRUCTIVE: Final = frozenset({"agent", "scope"})
GRANT_ENDED: Final = "The person who requested this has left, or their connection has ended."
UNCONNECTED: Final = Integration(actions_on=True, connected=False)
ALLOWED: Final = Decision(allowed=True)
# The switches of a tool that belongs to no integration, by whether the MCP server is on.
WITHOUT_INTEGRATIONS: Final = {on: Switches(mcp_server_on=on) for on in (True, False)}


def decide(tool: Guarded, scope: ScopeSet, switches: Switches, surface: GatedSurface) -> Decision:
    """Ask every layer of a surface in order; the first that refuses is reported and recorded."""
    for ask in surface.layers.values():
        decision = ask(tool, scope, switches)
        if not decision.allowed:
            return decision
    return ALLOWED


def explain(
    tool: Guarded, scope: ScopeSet, switches: Switches, surface: GatedSurface
) -> list[Decision]:
    """What each layer says by itself, in order; `decide` gives the first refusal among them."""
    decisions = {layer: ask(tool, scope, switches) for layer, ask in surface.layers.items()}
    return [
        Decision(allowed=True, layer=layer) if decision.allowed else decision
        for layer, decision in decisions.items()
    ]


def may_be_approved(
    tool: Guarded, scope: ScopeSet, switches: Switches, surface: GatedSurface
) -> bool:
    """Whether a layer refuses the tool that an approved request passes (`Surface.approvable`)."""
    asked = (ask for layer, ask in surface.layers.items() if layer in surface.approvable)
    return not all(ask(tool, scope, switches).allowed for ask in asked)


def decide_approved(
    tool: Guarded, approval: Approval, switches: Switches, surface: GatedSurface
) -> Decision:
    """Ask every layer again, for a tool that is run to execute an approved request.

    Only this function allows what a layer in `surface.approvable` refuses. The approval is made by
    `approvals.execution.prepare` alone, of a request that `approvals.decisions` has claimed. The
    other layers are asked about the tool that made the request as well as about the one that runs.
    """
    decision = _check_approval(tool, approval)
    if not decision.allowed:
        return decision
    if approval.scope is None:
        return _refusal("grant_ended", "grant", GRANT_ENDED)
    for layer, ask in surface.layers.items():
        if layer in surface.approvable:
            continue
        is_own = tool.destructive and layer in NEVER_DESTRUCTIVE
        for asked in (approval.requested_with,) if is_own else (approval.requested_with, tool):
            decision = ask(asked, approval.scope, switches)
            if not decision.allowed:
                return decision
    return ALLOWED


def switches_for_tool(organization_id: UUID, tool: Guarded, *, mcp_server_on: bool) -> Switches:
    """The switches that one tool depends on; tools without an integration need no look-up."""
    if not tool.integration:
        return WITHOUT_INTEGRATIONS[mcp_server_on]
    return Switches(mcp_server_on, _read(ONE_INTEGRATION, organization_id, tool.integration))


def all_switches(organization_id: UUID, *, mcp_server_on: bool) -> Switches:
    """The switches of all integrations of an organization, in one statement."""
    return Switches(mcp_server_on, _read(SWITCHES, organization_id))


def cap(tool: Guarded, switches: Switches) -> int | None:
    """How many calls a minute an admin allows of the tool's action; None for no cap."""
    return _state(tool, switches).caps.get(tool.action)


def flag(*, mcp_server_on: bool) -> Decision:
    """The outermost layer, which the endpoint asks before it looks at a method."""
    if mcp_server_on:
        return ALLOWED
    message = "The MCP server is turned off for this organization."
    return _refusal("feature_disabled", "flag", message)


def _flag(_tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision:
    return ALLOWED if switches.mcp_server_on else flag(mcp_server_on=False)


def _destructive(tool: Guarded, scope: ScopeSet, _switches: Switches) -> Decision:
    if not tool.destructive or scope_allows_destructive(scope):
        return ALLOWED
    message = "Destructive actions are never available over MCP."
    return _refusal("destructive_blocked", "destructive", message)


def _changes(tool: Guarded, _scope: ScopeSet, _switches: Switches) -> Decision:
    if not tool.mutates:
        return ALLOWED
    message = "This tool changes something. Only tools that read can be called here."
    return _refusal("read_only", "read_only", message)


def _check_approval(tool: Guarded, approval: Approval) -> Decision:
    if approval_port.store().is_executing(approval, tool):
        return ALLOWED
    return _refusal(
        "destructive_blocked", "destructive", "There is no approved request for this action."
    )


def _connection(tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision:
    if not tool.integration or _state(tool, switches).connected:
        return ALLOWED
    message = f"{registry.title(tool.integration)} is not connected."
    return _refusal("not_connected", "connection", message)


def _mode(tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision:
    if not tool.integration or _state(tool, switches).actions_on:
        return ALLOWED
    message = f"{registry.title(tool.integration)} actions are turned off for this organization."
    return _refusal("integration_disabled", "integration", message)


def _agent(tool: Guarded, _scope: ScopeSet, switches: Switches) -> Decision:
    if not tool.integration or tool.action in _state(tool, switches).enabled_actions:
        return ALLOWED
    title = registry.title(tool.integration)
    message = f"The {title} action {tool.action} is not enabled on the Ask AI agent."
    return _refusal("agent_disabled", "agent", message)


def _scope(tool: Guarded, scope: ScopeSet, _switches: Switches) -> Decision:
    if scope.covers(tool.scope):
        return ALLOWED
    message = (
        f"This token does not have the scope {tool.scope}. Reconnect this server in your client "
        "and approve the scope."
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


# The layers of a surface that names no others (`Surface.layers`), in the order in which they are
# asked. Projects have a layer of their own (`gateway/source.py`), and so has the HR endpoint
# (`people/mcp/surface.py`).
DEFAULT_LAYERS: Final[Layers] = {
    "flag": _flag,
    "destructive": _destructive,
    "connection": _connection,
    "integration": _mode,
    "agent": _agent,
    "scope": _scope,
}
# For a surface on which nothing can be changed.
READ_ONLY_LAYERS: Final[Layers] = {"flag": _flag, "read_only": _changes, **DEFAULT_LAYERS}
