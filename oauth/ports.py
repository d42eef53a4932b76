"""Ports to upper layers, bound once at start-up (`halo_mcp/bindings.py`)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol
from uuid import UUID

from oauth.scopes import Scope


@dataclass(frozen=True, slots=True)
class UnlockedTool:
    """A tool as users see it. `changes` names the system whose data it can change, if it can.

    One that is destructive is marked: what it does cannot be undone.
    """

    name: str
    title: str
    description: str
    changes: str = ""
    is_destructive: bool = False


class ScopeExplainer(Protocol):
    """Describes what scopes permit in an organization now."""

    def tools(
        self, scopes: Iterable[Scope], organization_id: UUID
    ) -> Mapping[Scope, Sequence[UnlockedTool]]:
        """Returns, by scope, the tools that a token with it alone could call now; maybe none."""
        ...

    def integration_names(self) -> dict[str, str]:
        """Returns the display names of the integrations, by id."""
        ...

    def grantable_actions(self, integration: str) -> frozenset[str] | None:
        """Returns the actions of an integration that may be granted, connected or not.

        Destructive actions are not among them. Returns None if there is no such integration.
        """
        ...


@dataclass(frozen=True, slots=True)
class GrantableTool:
    """A tool of a project as users see it."""

    name: str
    title: str
    description: str
    is_read: bool
    is_destructive: bool = False


@dataclass(frozen=True, slots=True)
class GrantableProject:
    """A project of the gateway, and its tools that a token could call now."""

    id: str
    name: str
    organization_id: UUID
    tools: Sequence[GrantableTool]


class Projects(Protocol):
    """Describes the projects of the gateway, each of which is a resource of its own."""

    def find(self, project_id: str) -> GrantableProject | None:
        """Returns a project of any organization."""
        ...

    def names(self, project_ids: Iterable[str]) -> dict[str, str]:
        """Returns the names of those of these projects that exist, by id."""
        ...


class KeyHint(Protocol):
    """Explains resources of this server that take keys, for which no token is issued."""

    def __call__(self, identifier: str) -> str | None:
        """Returns the sentence for such a resource, None for any other."""
        ...


_bound: list[ScopeExplainer] = []
_projects: list[Projects] = []
_key_hints: list[KeyHint] = []


def bind_scope_explainer(explainer: ScopeExplainer) -> None:
    _bound[:] = [explainer]


def scope_explainer() -> ScopeExplainer:
    return _bound[0]


def bind_projects(projects_of_gateway: Projects) -> None:
    _projects[:] = [projects_of_gateway]


def projects() -> Projects:
    return _projects[0]


def bind_key_hint(hint: KeyHint) -> None:
    _key_hints[:] = [hint]


def key_hint(identifier: str) -> str | None:
    return _key_hints[0](identifier)
