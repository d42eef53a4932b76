"""What a scope unlocks, answered with the gate itself (`oauth.ports.ScopeExplainer`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.utils.translation import gettext as _

from oauth.ports import UnlockedTool
from oauth.scopes import Scope, ScopeSet
from tools_registry import registry
from tools_registry.api import Tool
from tools_registry.pipeline import gate
from tools_registry.pipeline.gate import Switches
from tools_registry.pipeline.invocation import Surface
from workspace import flags, organizations


@dataclass(frozen=True, slots=True)
class GateExplainer:
    """Binds the consent page to the same decision that lists and calls of one surface read."""

    surface: Surface

    def tools(
        self, scopes: Iterable[Scope], organization_id: UUID
    ) -> Mapping[Scope, Sequence[UnlockedTool]]:
        is_on = organizations.flag(organization_id, flags.MCP_SERVER)
        switches = gate.all_switches(organization_id, mcp_server_on=is_on)
        tools = self.surface.catalogue.tools(organization_id)
        names = self.integration_names()
        return {scope: self._unlocked_tools(scope, tools, switches, names) for scope in scopes}

    def integration_names(self) -> dict[str, str]:
        return registry.integration_names()

    def grantable_actions(self, integration: str) -> frozenset[str] | None:
        offers = registry.offers_of(integration)
        if offers is None:
            return None
        destructive = {offer.action for offer in offers if offer.destructive}
        return frozenset(offer.action for offer in offers) - destructive

    def _unlocked_tools(
        self, scope: Scope, tools: Sequence[Tool], switches: Switches, names: Mapping[str, str]
    ) -> list[UnlockedTool]:
        held = ScopeSet((scope,))
        return [
            UnlockedTool(tool.name, tool.title, tool.description, _changed_system(tool, names))
            for tool in tools
            if gate.decide(tool, held, switches, self.surface).allowed
        ]


def _changed_system(tool: Tool, names: Mapping[str, str]) -> str:
    """Returns the system that a tool can change: its integration's, or the workspace."""
    return names.get(tool.integration, _("this organization")) if tool.mutates else ""
