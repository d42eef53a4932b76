"""The switches of the gate as they are turned: a function a verb, whichever page it is done on.

Everything that may turn one happens inside `on_record`, which compares how all switches of an
organization stood before with how they stand after. So no page can forget to say what it did, and
what is as it was already leaves no trace.
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
from oauth import replies
from tools_registry import registry
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from tools_registry.types import Offer, Tool, Toolset
from workspace import changes, flags
from workspace.models import Agent, AgentKind, FeatureFlag, Organization, User

ON: Final = "on"
OFF: Final = "off"

Positions = Mapping[str, str]


class NoSuchSwitch(Exception):
    """There is no switch of this name, or none that anybody may turn."""


@dataclass(frozen=True, slots=True)
class Hand:
    """Who turns a switch, and from where."""

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
    """One switch that stands otherwise than before; `kind` is the security event's."""

    kind: str
    switch: str
    before: str
    after: str

    def __str__(self) -> str:
        return f"{self.switch}: {self.before} -> {self.after}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Stand:
    """How all switches of one organization stand, by name; those at their default may lack."""

    flags: Positions
    modes: Positions
    connections: Positions
    settings: Positions
    actions: Positions


def hand_of(request: HttpRequest) -> Hand:
    """The signed-in person behind a request of the admin."""
    return Hand(cast("User", request.user), replies.address_of(request))


def actions(toolset: Toolset) -> list[Action]:
    """What of an integration is switched singly; an offer may share the action of a tool."""
    found: dict[str, Action] = {}
    offers: list[Offer] = [*toolset.resources, *toolset.templates, *toolset.prompts]
    offered: list[Tool | Offer] = [*toolset.tools, *offers]
    for one in offered:
        found.setdefault(one.action, _action(one))
    return sorted(found.values(), key=lambda action: action.name)


def set_flag(organization: Organization, name: str, to: str, *, hand: Hand) -> list[Change]:
    """Turn a feature of an organization on or off. Raises NoSuchSwitch."""
    if name not in flags.DEFAULTS:
        raise NoSuchSwitch(name)
    with on_record([organization.pk], hand) as turned:
        if _flags(organization.pk)[name] != to:
            chosen = {"enabled": to == ON}
            FeatureFlag.objects.update_or_create(chosen, organization=organization, name=name)
    return turned


def set_mode(organization: Organization, integration: str, to: str, *, hand: Hand) -> list[Change]:
    """Turn Actions mode of an integration on or off. Raises NoSuchSwitch."""
    if integration not in {toolset.integration for toolset in registry.integration_toolsets()}:
        raise NoSuchSwitch(integration)
    with on_record([organization.pk], hand) as turned:
        if _stand(organization.pk).modes.get(integration, ON) != to:
            IntegrationMode.objects.update_or_create(
                {"actions_on": to == ON}, organization=organization, integration=integration
            )
    return turned


def set_actions(
    agent: Agent, chosen: Iterable[tuple[str, str]], to: str, *, hand: Hand
) -> list[Change]:
    """Turn actions of an agent on or off, each given as integration and name.

    Raises NoSuchSwitch for one that is unknown or destructive, and turns none then.
    """
    wanted = [_switchable(integration, name) for integration, name in chosen]
    with on_record([agent.organization_id], hand) as turned:
        stand = _enabled(agent)
        for action in (one for one in wanted if (one.tool in stand) != (to == ON)):
            ActionToggle.objects.update_or_create(
                {"enabled": to == ON, "updated_by": hand.user},
                agent=agent,
                integration=action.integration,
                action=action.name,
            )
    return turned


@contextmanager
def on_record(organizations: Iterable[UUID], hand: Hand) -> Iterator[list[Change]]:
    """Put on record what the block turns in these organizations, and publish it.

    Each change is an entry in the organization's admin history and a security event. The list is
    filled when the block is over.
    """
    turned: list[Change] = []
    with transaction.atomic():
        # One hand at a time: of two at once, each would find the other's change among its own.
        rows = Organization.objects.select_for_update(no_key=True)
        places = list(rows.filter(pk__in=[*organizations]).order_by("pk"))
        before = {place.pk: _stand(place.pk) for place in places}
        yield turned
        for place in places:
            differences = _differences(before[place.pk], _stand(place.pk))
            for change in differences:
                _record(place, change, hand)
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


def _enabled(agent: Agent) -> set[str]:
    return {str(toggle) for toggle in ActionToggle.objects.filter(agent=agent, enabled=True)}


def _stand(organization_id: UUID) -> Stand:
    # Held until the end: what a call finds out about a connection meanwhile is nobody's change.
    rows = IntegrationMode.objects.select_for_update().filter(organization=organization_id)
    modes = list(rows)
    toggles = ActionToggle.objects.filter(agent__organization=organization_id)
    return Stand(
        flags=_flags(organization_id),
        modes={row.integration: _word(on=row.actions_on) for row in modes},
        connections={row.integration: row.connection for row in modes},
        settings={row.integration: json.dumps(row.settings, sort_keys=True) for row in modes},
        actions={
            f"{row} for {_named(row.agent)}": _word(on=row.enabled)
            for row in toggles.select_related("agent")
        },
    )


def _flags(organization_id: UUID) -> Positions:
    chosen = FeatureFlag.objects.filter(organization=organization_id)
    named = {flag.name: _word(on=flag.enabled) for flag in chosen}
    return {name: _word(on=on) for name, on in flags.DEFAULTS.items()} | named


def _named(agent: Agent) -> str:
    # Not by its name, which the same page may change. There is one Ask AI agent, and maybe more
    # of the other kinds.
    return agent.kind if agent.kind == AgentKind.ASK_AI else f"{agent.kind} {agent.pk}"


def _word(*, on: bool) -> str:
    return ON if on else OFF


def _differences(was: Stand, now: Stand) -> list[Change]:
    unconnected = ConnectionState.NOT_CONNECTED.value
    return [
        *_turned("flag_changed", "flag {}", was.flags, now.flags),
        *_turned("integration_mode_changed", "Actions mode of {}", was.modes, now.modes, ON),
        *_turned(
            "integration_connection_changed",
            "connection of {}",
            was.connections,
            now.connections,
            unconnected,
        ),
        *_turned(
            "integration_settings_changed", "settings of {}", was.settings, now.settings, "{}"
        ),
        *_turned("action_toggled", "action {}", was.actions, now.actions),
    ]


def _turned(
    kind: str, words: str, was: Positions, now: Positions, at_first: str = OFF
) -> Iterator[Change]:
    """What stands otherwise; `at_first` is where a switch stands as long as no row says so."""
    for name in sorted({*was, *now}):
        before, after = was.get(name, at_first), now.get(name, at_first)
        if before != after:
            yield Change(kind, words.format(name), before, after)


def _record(organization: Organization, change: Change, hand: Hand) -> None:
    entry = LogEntry.objects.log_actions(
        hand.user.pk, [organization], CHANGE, str(change), single_object=True
    )
    record.security_event(
        change.kind,
        address=hand.address,
        # Of its own, so that no two changes of one minute are counted together.
        subject=f"history:{entry.pk}",
        organization_id=str(organization.pk),
        user_id=str(hand.user.pk),
        detail=f"{change} by {hand.user}",
    )
