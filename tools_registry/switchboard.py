"""All switches of an organization as an admin sees them on one page."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet

from tools_registry import gate, registry, switches
from tools_registry.models import ActionToggle, IntegrationMode
from tools_registry.switches import Action
from tools_registry.types import Toolset
from workspace import flags, organizations
from workspace.models import Agent, AgentKind, Organization

MOST_SEARCHED: Final = 200
RECENT: Final = 10


@dataclass(frozen=True, slots=True)
class ActionSwitch:
    """One action and whether it is on for the agent that is looked at."""

    action: Action
    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrationPanel:
    """One integration: its mode, its connection, and the actions that the search left."""

    integration: str
    title: str
    actions_on: bool
    connected: bool  # as the gate takes it
    connection: str
    last_error: str
    last_error_at: datetime | None
    actions: tuple[ActionSwitch, ...]

    @property
    def switchable(self) -> int:
        """How many of the actions shown have a switch."""
        return sum(not one.action.destructive for one in self.actions)


@dataclass(frozen=True, slots=True, kw_only=True)
class Switchboard:
    """What the page of an organization shows."""

    organization: Organization
    mcp_server_on: bool
    agents: tuple[Agent, ...]
    agent: Agent
    search: str
    panels: tuple[IntegrationPanel, ...]

    @property
    def decides(self) -> bool:
        """Whether MCP goes by the agent that is looked at."""
        return self.agent.kind == AgentKind.ASK_AI

    @property
    def shown(self) -> list[tuple[str, str]]:
        """The actions on the page that have a switch, as integration and name."""
        return [
            (one.action.integration, one.action.name)
            for panel in self.panels
            for one in panel.actions
            if not one.action.destructive
        ]


def agents(organization: Organization) -> list[Agent]:
    """The organization's agents, the one that MCP goes by first."""
    found = organization.agents.order_by("pk")
    return sorted(found, key=lambda agent: agent.kind != AgentKind.ASK_AI)


def read(organization: Organization, agent: Agent, search: str) -> Switchboard:
    """All that there is to switch; integrations without any row too."""
    words = search[:MOST_SEARCHED].casefold().split()
    enabled = {str(row) for row in ActionToggle.objects.filter(agent=agent, enabled=True)}
    state = gate.all_switches(organization.pk, mcp_server_on=True).integrations
    modes = IntegrationMode.objects.filter(organization=organization)
    rows = {row.integration: row for row in modes}
    panels = []
    for toolset in registry.integration_toolsets():
        # As it is where no row says otherwise.
        row = rows.get(toolset.integration, IntegrationMode(integration=toolset.integration))
        connected = state.get(toolset.integration, gate.UNCONNECTED).connected
        found = [one for one in switches.actions(toolset) if _fits(one, toolset, words)]
        shown = tuple(ActionSwitch(action, action.tool in enabled) for action in found)
        panels.append(_panel(toolset, row, shown, connected=connected))
    return Switchboard(
        organization=organization,
        mcp_server_on=organizations.flag(organization.pk, flags.MCP_SERVER),
        agents=tuple(agents(organization)),
        agent=agent,
        search=search[:MOST_SEARCHED],
        panels=tuple(panel for panel in panels if panel.actions or not words),
    )


def recent(organization: Organization) -> QuerySet[LogEntry]:
    """The newest entries of the organization's admin history, all switches among them."""
    of_organizations = ContentType.objects.get_for_model(Organization)
    entries = LogEntry.objects.select_related("user").filter(
        content_type=of_organizations, object_id=str(organization.pk)
    )
    return entries.order_by("-action_time", "-pk")[:RECENT]


def _panel(
    toolset: Toolset, row: IntegrationMode, shown: tuple[ActionSwitch, ...], *, connected: bool
) -> IntegrationPanel:
    return IntegrationPanel(
        integration=toolset.integration,
        title=toolset.title,
        actions_on=row.actions_on,
        connected=connected,
        connection=row.get_connection_display(),
        last_error=row.last_error,
        last_error_at=row.last_error_at,
        actions=shown,
    )


def _fits(action: Action, toolset: Toolset, words: Iterable[str]) -> bool:
    told = (action.tool, action.title, action.description, toolset.title)
    text = " ".join(told).casefold()
    return all(word in text for word in words)
