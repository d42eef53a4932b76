"""The contents of the page with all switches of an organization."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import QuerySet

from foundation.text.folding import fold
from tools_registry import registry
from tools_registry.admin import switches
from tools_registry.admin.switches import Action
from tools_registry.api import Toolset
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from tools_registry.pipeline import gate
from tools_registry.vendors import connection_status, credentials
from workspace import flags, organizations
from workspace.models import Agent, AgentKind, Organization

MAX_SEARCH_LENGTH: Final = 200
RECENT: Final = 10


@dataclass(frozen=True, slots=True)
class ActionSwitch:
    """An action, and whether it is on for the agent that the page shows."""

    action: Action
    on: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class IntegrationPanel:
    """An integration: its mode, its connection, and the actions that match the search."""

    integration: str
    title: str
    actions_on: bool
    connected: bool  # as the gate takes it
    failing: bool
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
    """The contents of an organization's page."""

    organization: Organization
    mcp_server_on: bool
    agents: tuple[Agent, ...]
    agent: Agent
    search: str
    panels: tuple[IntegrationPanel, ...]

    @property
    def decides(self) -> bool:
        """Whether the shown agent is the one that gates MCP calls."""
        return self.agent.kind == AgentKind.ASK_AI

    @property
    def switchable_actions(self) -> list[tuple[str, str]]:
        """The actions on the page that have a switch, as integration and name."""
        return [
            (one.action.integration, one.action.name)
            for panel in self.panels
            for one in panel.actions
            if not one.action.destructive
        ]


def agents(organization: Organization) -> list[Agent]:
    """The organization's agents, first the one that gates MCP calls."""
    found = organization.agents.order_by("pk")
    return sorted(found, key=lambda agent: agent.kind != AgentKind.ASK_AI)


def read(organization: Organization, agent: Agent, search: str) -> Switchboard:
    """Every switch of an organization, also of integrations without a row."""
    words = fold(search[:MAX_SEARCH_LENGTH]).split()
    enabled = {str(row) for row in ActionToggle.objects.filter(agent=agent, enabled=True)}
    state = gate.all_switches(organization.pk, mcp_server_on=True).integrations
    modes = IntegrationMode.objects.filter(organization=organization)
    rows = {row.integration: row for row in modes}
    unreadable = credentials.find_unreadable(organization.pk)
    panels = []
    for toolset in registry.integration_toolsets():
        # The defaults, where there is no row.
        row = rows.get(toolset.integration, IntegrationMode(integration=toolset.integration))
        connected = state.get(toolset.integration, gate.UNCONNECTED).connected
        found = [one for one in switches.actions(toolset) if _fits(one, toolset, words)]
        shown = tuple(ActionSwitch(action, action.tool in enabled) for action in found)
        panels.append(
            _panel(
                toolset,
                row,
                shown,
                connected=connected,
                is_readable=toolset.integration not in unreadable,
            )
        )
    return Switchboard(
        organization=organization,
        mcp_server_on=organizations.flag(organization.pk, flags.MCP_SERVER),
        agents=tuple(agents(organization)),
        agent=agent,
        search=search[:MAX_SEARCH_LENGTH],
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
    toolset: Toolset,
    row: IntegrationMode,
    shown: tuple[ActionSwitch, ...],
    *,
    connected: bool,
    is_readable: bool,
) -> IntegrationPanel:
    return IntegrationPanel(
        integration=toolset.integration,
        title=toolset.title,
        actions_on=row.actions_on,
        connected=connected,
        failing=row.connection == ConnectionState.FAILING or not is_readable,
        connection=str(
            row.get_connection_display() if is_readable else connection_status.UNREADABLE
        ),
        last_error=row.last_error,
        last_error_at=row.last_error_at,
        actions=shown,
    )


def _fits(action: Action, toolset: Toolset, words: Iterable[str]) -> bool:
    texts = (action.tool, action.title, action.description, toolset.title)
    text = fold(" ".join(texts))
    return all(word in text for word in words)
