"""What a scope unlocks, answered with the gate itself (`oauth.ports.ScopeExplainer`)."""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from oauth.ports import UnlockedTool
from oauth.scopes import Scope, ScopeSet
from tools_registry import gate, registry
from tools_registry.gate import Switches
from tools_registry.types import Tool
from workspace import flags, organizations


class GateExplainer:
    """Binds the consent page to the same decision that lists and calls read."""

    def tools(
        self, scopes: Iterable[Scope], organization_id: UUID
    ) -> Mapping[Scope, Sequence[UnlockedTool]]:
        is_on = organizations.flag(organization_id, flags.MCP_SERVER)
        switches = gate.all_switches(organization_id, mcp_server_on=is_on)
        tools = registry.tools(organization_id)
        return {scope: _unlocked(scope, tools, switches) for scope in scopes}

    def integration_names(self) -> dict[str, str]:
        return registry.integration_names()


def _unlocked(scope: Scope, tools: Sequence[Tool], switches: Switches) -> list[UnlockedTool]:
    held = ScopeSet((scope,))
    allowed = (tool for tool in tools if gate.decide(tool, held, switches).allowed)
    return [_as_read_by_a_person(tool) for tool in allowed]


def _as_read_by_a_person(tool: Tool) -> UnlockedTool:
    return UnlockedTool(tool.name, tool.title, tool.description)
