"""Scopes as choices with descriptions, for the consent page and for the page of a connection."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from uuid import UUID

from django.utils.translation import gettext as _

from oauth import ports, scopes
from oauth.ports import GrantableProject, GrantableTool, UnlockedTool
from oauth.scopes import Scope, ScopeSet


@dataclass(frozen=True, slots=True)
class ScopeChoice:
    """One scope to select, its description, and the tools that it permits now."""

    value: str
    title: str
    sentence: str
    kind: str
    tools: tuple[UnlockedTool, ...]
    empty_reason: str
    checked: bool
    held_by: str = ""  # the title of a selected scope that includes this one, which is not selected
    is_added: bool = False  # offered, though the client did not request it
    is_destructive: bool = False  # one tool that is marked

    @property
    def is_empty(self) -> bool:
        return bool(self.empty_reason) and not self.tools

    @property
    def changing_tools(self) -> tuple[UnlockedTool, ...]:
        return tuple(tool for tool in self.tools if tool.changes)

    @property
    def changes_nothing_now(self) -> bool:
        return self.kind == "act" and bool(self.tools) and not self.changing_tools

    @property
    def changed_systems(self) -> str:
        """The names of the systems whose data the tools can change now, in alphabetical order."""
        return ", ".join(sorted({tool.changes for tool in self.changing_tools}))


@dataclass(frozen=True, slots=True)
class ScopeGroup:
    kind: str
    title: str
    choices: tuple[ScopeChoice, ...]


def groups(scope: ScopeSet, organization_id: UUID) -> tuple[ScopeGroup, ...]:
    """Returns the scopes with descriptions, read before act, each with the tools it permits now."""
    of_workspace = [one for one in scope if one.project is None]
    unlocked = ports.scope_explainer().tools(of_workspace, organization_id)
    named = names(scope)
    choices = [_choice(one, tools, named) for one, tools in unlocked.items()]
    choices += _list_project_choices(scope, organization_id, named)
    choices.sort(key=lambda choice: choice.kind != "read")
    titles = {"read": _("Read"), "act": _("Act on your behalf")}
    return tuple(
        ScopeGroup(kind, titles[kind], tuple(members))
        for kind, members in groupby(choices, key=lambda choice: choice.kind)
    )


def names(scope: Iterable[Scope]) -> dict[str, str]:
    """Returns the display names that scopes are described with, by id."""
    project_ids = {one.project for one in scope} - {None}
    of_projects = ports.projects().names(map(str, project_ids)) if project_ids else {}
    return ports.scope_explainer().integration_names() | of_projects


def _choice(scope: Scope, tools: Sequence[UnlockedTool], named: Mapping[str, str]) -> ScopeChoice:
    words = scopes.describe(scope, named)
    return ScopeChoice(
        value=str(scope),
        title=words.title,
        sentence=words.sentence,
        kind=words.kind,
        tools=_changing_first(tools),
        empty_reason=_("No tools available yet: no integration is turned on."),
        checked=True,
    )


def _list_project_choices(
    scope: ScopeSet, organization_id: UUID, named: Mapping[str, str]
) -> Iterator[ScopeChoice]:
    found = {
        project_id: ports.projects().find(project_id)
        for project_id in dict.fromkeys(one.project for one in scope)
        if project_id is not None
    }
    for one in scope:
        if one.project is not None:
            project = found[one.project]
            is_own = project is not None and project.organization_id == organization_id
            yield _project_choice(one, project if is_own else None, named)


def _project_choice(
    scope: Scope, project: GrantableProject | None, named: Mapping[str, str]
) -> ScopeChoice:
    tools = {tool.name: tool for tool in project.tools} if project else {}
    name = scope.parts[2]
    if name in tools:
        return _single(scope, tools[name])
    words = scopes.describe(scope, named)
    shown = project.tools if project and name == "*" else ()
    return ScopeChoice(
        value=str(scope),
        title=words.title,
        sentence=words.sentence,
        kind=words.kind,
        tools=_changing_first(_as_unlocked(tool, project) for tool in shown),
        empty_reason=_("No tools available now."),
        checked=True,
    )


def _single(scope: Scope, tool: GrantableTool) -> ScopeChoice:
    return ScopeChoice(
        value=str(scope),
        title=tool.title or tool.name,
        sentence=tool.description,
        kind="read" if tool.is_read else "act",
        tools=(),
        empty_reason="",
        checked=True,
        is_destructive=tool.is_destructive,
    )


def _as_unlocked(tool: GrantableTool, project: GrantableProject | None) -> UnlockedTool:
    changes = "" if tool.is_read or project is None else project.name
    title = tool.title or tool.name
    return UnlockedTool(tool.name, title, tool.description, changes, tool.is_destructive)


def _changing_first(tools: Iterable[UnlockedTool]) -> tuple[UnlockedTool, ...]:
    return tuple(sorted(tools, key=lambda tool: not tool.changes))
