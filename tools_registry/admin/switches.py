"""Changes to the switches of the gate, with one function for each kind, for every page.

Every change happens inside `on_record`, which compares the states of all switches of an
organization before and after. So no page can forget to record a change, and a switch that keeps its
state leaves no trace.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final, cast
from uuid import UUID

from django.contrib.admin.models import CHANGE, LogEntry
from django.db import transaction
from django.http import HttpRequest

from audit import record
from oauth.endpoints import replies
from tools_registry import registry
from tools_registry.api import Offer, Tool, Toolset
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from workspace import changes, flags
from workspace.models import Agent, AgentKind, FeatureFlag, Organization, User

ON: Final = "on"
OFF: Final = "off"

Positions = Mapping[str, str]


class NoSuchSwitch(Exception):
    """There is no switch of this name, or none that anybody may change."""


@dataclass(frozen=True, slots=True)
class Operator:
    """The person who changes a switch, and their address."""

    user: User
    address: str


@dataclass(frozen=True, slots=True)
class Action:
    """An action of an integration as the registry has it; off until somebody turns it on."""

    integration: str
    name: str
    title: str
    description: str
    mutates: bool
    destructive: bool

    @property
    def tool(self) -> str:
        return f"{self.integration}.{self.name}"


@dataclass(frozen=True, slots=True)
class Change:
    """One switch whose state has changed; `kind` is the kind of the security event."""

    kind: str
    switch: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.switch}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SwitchStates:
    """The states of all switches of one organization, by name; defaults may be missing."""

    flags: Positions
    modes: Positions
    connections: Positions
    settings: Positions
    actions: Positions


def operator_of(request: HttpRequest) -> Operator:
    """The signed-in person behind a request of the admin."""
    return Operator(cast("User", request.user), replies.address_of(request))


def actions(toolset: Toolset) -> list[Action]:
    """The actions of an integration; an offer may share the action of a tool."""
    found: dict[str, Action] = {}
    offers: list[Offer] = [
        *toolset.resources,
        *toolset.templates,
        *toolset.prompts,
        *toolset.skills,
    ]
    offered: list[Tool | Offer] = [*toolset.tools, *offers]
    for one in offered:
        found.setdefault(one.action, _action(one))
    return sorted(found.values(), key=lambda action: action.name)


def set_flag(organization: Organization, name: str, to: str, *, operator: Operator) -> list[Change]:
    """Turn a feature of an organization on or off. Raises NoSuchSwitch."""
    if name not in flags.DEFAULTS:
        raise NoSuchSwitch(name)
    with on_record([organization.pk], operator) as turned:
        if _flags(organization.pk)[name] != to:
            chosen = {"enabled": to == ON}
            FeatureFlag.objects.update_or_create(chosen, organization=organization, name=name)
    return turned


def set_mode(
    organization: Organization, integration: str, to: str, *, operator: Operator
) -> list[Change]:
    """Turn Actions mode of an integration on or off. Raises NoSuchSwitch."""
    if integration not in {toolset.integration for toolset in registry.integration_toolsets()}:
        raise NoSuchSwitch(integration)
    with on_record([organization.pk], operator) as turned:
        if _states(organization.pk).modes.get(integration, ON) != to:
            IntegrationMode.objects.update_or_create(
                {"actions_on": to == ON}, organization=organization, integration=integration
            )
    return turned


def set_actions(
    agent: Agent, chosen: Iterable[tuple[str, str]], to: str, *, operator: Operator
) -> list[Change]:
    """Turn actions of an agent on or off, each given as integration and name.

    Raises NoSuchSwitch for one that is unknown or destructive, and turns none then.
    """
    wanted = [_switchable(integration, name) for integration, name in chosen]
    with on_record([agent.organization_id], operator) as turned:
        enabled = _enabled_actions(agent)
        for action in (one for one in wanted if (one.tool in enabled) != (to == ON)):
            ActionToggle.objects.update_or_create(
                {"enabled": to == ON, "updated_by": operator.user},
                agent=agent,
                integration=action.integration,
                action=action.name,
            )
    return turned


@contextmanager
def on_record(organizations: Iterable[UUID], operator: Operator) -> Iterator[list[Change]]:
    """Record what the block changes in these organizations, and publish it.

    Each change is an entry in the organization's admin history and a security event. The list is
    filled when the block is over.
    """
    turned: list[Change] = []
    with transaction.atomic():
        # One operator at a time: of two at once, each would record the other's change as its own.
        rows = Organization.objects.select_for_update(no_key=True)
        places = list(rows.filter(pk__in=[*organizations]).order_by("pk"))
        before = {place.pk: _states(place.pk) for place in places}
        yield turned
        for place in places:
            differences = _differences(before[place.pk], _states(place.pk))
            for change in differences:
                _record(place, change, operator)
            if differences:
                changes.publish([place.pk])
            turned.extend(differences)


def _action(offered: Tool | Offer) -> Action:
    return Action(
        integration=offered.integration,
        name=offered.action,
        title=offered.title,
        description=offered.description,
        mutates=offered.mutates,
        destructive=offered.destructive,
    )


def _switchable(integration: str, name: str) -> Action:
    for toolset in registry.integration_toolsets():
        for action in actions(toolset) if toolset.integration == integration else ():
            if action.name == name and not action.destructive:
                return action
    raise NoSuchSwitch(f"{integration}.{name}")


def _enabled_actions(agent: Agent) -> set[str]:
    return {str(toggle) for toggle in ActionToggle.objects.filter(agent=agent, enabled=True)}


def _states(organization_id: UUID) -> SwitchStates:
    # Held until the end: what a call finds out about a connection meanwhile is nobody's change.
    rows = IntegrationMode.objects.select_for_update().filter(organization=organization_id)
    modes = list(rows)
    toggles = ActionToggle.objects.filter(agent__organization=organization_id)
    return SwitchStates(
        flags=_flags(organization_id),
        modes={row.integration: _word(on=row.actions_on) for row in modes},
        connections={row.integration: row.connection for row in modes},
        settings={row.integration: json.dumps(row.settings, sort_keys=True) for row in modes},
        actions={
            f"{row} for {_agent_label(row.agent)}": _word(on=row.enabled)
            for row in toggles.select_related("agent")
        },
    )


def _flags(organization_id: UUID) -> Positions:
    chosen = FeatureFlag.objects.filter(organization=organization_id)
    named = {flag.name: _word(on=flag.enabled) for flag in chosen}
    return {name: _word(on=on) for name, on in flags.DEFAULTS.items()} | named


def _agent_label(agent: Agent) -> str:
    # Not by its name, which the same page may change. There is one Ask AI agent, and maybe more
    # of the other kinds.
    return agent.kind if agent.kind == AgentKind.ASK_AI else f"{agent.kind} {agent.pk}"


def _word(*, on: bool) -> str:
    return ON if on else OFF


def _differences(was: SwitchStates, now: SwitchStates) -> list[Change]:
    unconnected = ConnectionState.NOT_CONNECTED.value
    return [
        *_compare_positions("flag_changed", "flag {}", was.flags, now.flags),
        *_compare_positions(
            "integration_mode_changed", "Actions mode of {}", was.modes, now.modes, ON
        ),
        *_compare_positions(
            "integration_connection_changed",
            "connection of {}",
            was.connections,
            now.connections,
            unconnected,
        ),
        *_compare_positions(
            "integration_settings_changed", "settings of {}", was.settings, now.settings, "{}"
        ),
        *_compare_positions("action_toggled", "action {}", was.actions, now.actions),
    ]


def _compare_positions(
    kind: str, words: str, was: Positions, now: Positions, at_first: str = OFF
) -> Iterator[Change]:
    """What has changed; `at_first` is the state of a switch without a row."""
    for name in sorted({*was, *now}):
        before, after = was.get(name, at_first), now.get(name, at_first)
        if before != after:
            yield Change(kind, words.format(name), before, after)


def _record(organization: Organization, change: Change, operator: Operator) -> None:
    entry = LogEntry.objects.log_actions(
        operator.user.pk, [organization], CHANGE, str(change), single_object=True
    )
    record.security_event(
        change.kind,
        address=operator.address,
        # Of its own, so that no two changes of one minute are counted together.
        subject=f"history:{entry.pk}",
        organization_id=str(organization.pk),
        user_id=str(operator.user.pk),
        detail=f"{change} by {operator.user}",
    )
