"""The tools of one project, from its rows."""

import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Final
from uuid import UUID

from foundation.db.statements import Statement
from gateway import policies, servers
from gateway.calling import SERVER_NOT_CONFIRMED, Unavailability, UpstreamCall
from gateway.models import Effect, ProjectTool
from gateway.openapi.shapes import OpenApiOperation, from_json
from oauth.scopes import ScopeSet
from tools_registry.api import Guarded, Prompt, Resource, ResourceTemplate, Schema, Skill, Tool
from tools_registry.api.apps import APPROVAL_CARD
from tools_registry.pipeline.gate import ALLOWED, Decision, Switches

# Whatever changes a tool or a policy changes the project's time, too (`projects.touch`).
STAMP: Final = Statement("""
SELECT version, CAST(updated_at AS text) FROM gateway_project WHERE id = %s AND organization_id = %s
""")
MAX_LOADED: Final = 1_024  # projects whose tools this process keeps
MAX_WITH_CARD: Final = 8_192  # as the descriptors of tools
LAYER: Final = "tool"
NEEDS_REVIEW: Final = Unavailability(
    "tool_changed",
    "The API's description of this tool has changed. An admin has to review it before it can be "
    "called again.",
)


@dataclass(slots=True)
class _LoadedTools:
    """The tools of a project at one moment; calls of those in `waiting` never run at once."""

    stamp: object
    by_name: Mapping[str, Tool] = field(default_factory=dict)
    listed: Sequence[Tool] = ()
    waiting: frozenset[str] = frozenset()


@dataclass(slots=True)
class _ProjectCache:
    """What this process has loaded of one project; `made` has each tool with its row's time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    loaded: _LoadedTools = field(default_factory=lambda: _LoadedTools(None))
    made: Mapping[UUID, tuple[object, Tool]] = field(default_factory=dict)


@lru_cache(maxsize=MAX_LOADED)
def _get_cache(_project_id: str) -> _ProjectCache:
    return _ProjectCache()


class ProjectSource:
    """What one project offers: its tools, as they are stored at this moment.

    Loaded tools are kept for projects that exist alone: sources are made for any id that a stranger
    asks for, and would push them out.
    """

    def __init__(self, project_id: str) -> None:
        self.project_id = project_id

    def find(self, name: str, organization_id: UUID) -> Tool | None:
        """Returns the enabled tool of this name, even if it waits for a review."""
        loaded = self._current(organization_id)
        return None if loaded is None else loaded.by_name.get(name)

    def tools(self, organization_id: UUID) -> Sequence[Tool]:
        """Returns the tools that can be called, without those that the policy always denies."""
        loaded = self._current(organization_id)
        return () if loaded is None else loaded.listed

    def list_waiting_tools(self, organization_id: UUID) -> frozenset[str]:
        """Returns the names of the listed tools whose calls all wait for an approval."""
        loaded = self._current(organization_id)
        return frozenset() if loaded is None else loaded.waiting

    def find_resource(self, uri: str, organization_id: UUID) -> Resource | None:  # noqa: ARG002  the port's
        return None

    def resources(self, organization_id: UUID) -> Sequence[Resource]:  # noqa: ARG002  the port's
        return ()

    def templates(self, organization_id: UUID) -> Sequence[ResourceTemplate]:  # noqa: ARG002  the port's
        return ()

    def prompts(self, organization_id: UUID) -> Sequence[Prompt]:  # noqa: ARG002  the port's
        return ()

    def skills(self, organization_id: UUID) -> Sequence[Skill]:  # noqa: ARG002  the port's
        return ()

    def _current(self, organization_id: UUID) -> _LoadedTools | None:
        """The tools of now; None if the project is not this organization's."""
        stamp = STAMP.row(self.project_id, organization_id)
        if stamp is None:
            return None
        kept = _get_cache(self.project_id)
        if kept.loaded.stamp != stamp:
            with kept.lock:
                if kept.loaded.stamp != stamp:
                    kept.loaded = self._load(stamp, kept, organization_id)
        return kept.loaded

    def _load(
        self, stamp: Sequence[object], kept: _ProjectCache, organization_id: UUID
    ) -> _LoadedTools:
        rows = ProjectTool.objects.filter(project=self.project_id, is_present=True, is_enabled=True)
        rows = rows.select_related("project")
        owner = str(organization_id)
        kept.made = {row.pk: _tool_entry(row, stamp, owner, kept.made.get(row.pk)) for row in rows}
        tools = {tool.name: tool for _key, tool in kept.made.values()}
        policy = policies.read(self.project_id)
        effects = {
            tool.name: policy.reachable_effects(tool.name, is_read=not tool.mutates)
            for tool in tools.values()
            if not refusal(tool)
        }
        listed = [
            _add_card(tools[name], reachable)
            for name, reachable in effects.items()
            if reachable != {Effect.DENY}
        ]
        waiting = frozenset(tool.name for tool in listed if Effect.ALLOW not in effects[tool.name])
        return _LoadedTools(stamp, tools, tuple(listed), waiting)


def _add_card(tool: Tool, effects: Collection[Effect]) -> Tool:
    """The tool as lists show it: with the card of requests if its calls may need an approval.

    Calls find it without the card, so that one that waits does not notice a change of the policy.
    """
    return _with_card(tool) if Effect.REQUIRE_APPROVAL in effects else tool


@lru_cache(maxsize=MAX_WITH_CARD)
def _with_card(tool: Tool) -> Tool:
    """The same tool with the card; the same object each time."""
    return replace(tool, app=APPROVAL_CARD)


def _tool_entry(
    row: ProjectTool, stamp: Sequence[object], owner: str, before: tuple[object, Tool] | None
) -> tuple[object, Tool]:
    """A row as a tool, which is the one made before if nothing changed."""
    key = row.updated_at, row.is_read, row.needs_review, stamp[0]
    if before is not None and before[0] == key:
        return before
    return key, tool_of(row, version=int(str(stamp[0])), owner=owner)


def tool_of(row: ProjectTool, *, version: int, owner: str = "") -> Tool:
    """Returns a stored operation as a tool."""
    operation = from_json(row.operation)
    call = UpstreamCall(
        project_id=row.project_id,
        tool_id=row.pk,
        name=row.name,
        version=version,
        is_read=row.is_read,
        operation=operation,
        refusal=find_unavailability(row, operation),
    )
    return Tool(
        name=row.name,
        title=operation.title,
        description=operation.description,
        input_schema=operation.listed_schema,
        argument_schema=_argument_schema(operation),
        output_schema=operation.output_schema,
        owner=owner,
        run=call,
        outgoing=call.prepare,
        scope=f"projects:{row.project_id}:{row.name}",
        mutates=not row.is_read,
        read_only=row.is_read,
        open_world=True,
        waits=True,
        reads_text=True,
    )


def find_unavailability(row: ProjectTool, operation: OpenApiOperation) -> Unavailability | None:
    """Returns why a stored operation waits for an admin; None if it does not."""
    if row.needs_review:
        return NEEDS_REVIEW
    project = row.project
    is_usable = servers.is_usable(operation, project.target_url, servers.read(project.servers))
    return None if is_usable else SERVER_NOT_CONFIRMED


def _argument_schema(operation: OpenApiOperation) -> Schema:
    """The schema that validates arguments: an optional parameter is not empty unless it may be.

    Then empty text counts as absent, as null does. Source: OpenAPI 3.1.1, "Parameter Object",
    allowEmptyValue.
    """
    schema = operation.full_schema
    if operation.may_be_empty is None:
        return schema
    properties = schema.get("properties", {})
    not_empty = {
        one.argument: {**properties[one.argument], "minLength": 1}
        for one in operation.parameters
        if one.argument not in {"", *operation.may_be_empty}
        and not (one.required or one.media_type)
        and not _lists_empty_text(properties.get(one.argument))
    }
    return {**schema, "properties": {**properties, **not_empty}} if not_empty else schema


def _lists_empty_text(schema: Any) -> bool:
    """Whether a schema has a shape of its own for empty text, or is no object."""
    if not isinstance(schema, Mapping) or "" in schema.get("enum", ()):
        return True
    return schema.get("const") == "" or schema.get("minLength", 0) > 0


def call_of(tool: object) -> UpstreamCall | None:
    """Returns what a tool of a project calls; None for any other tool."""
    run = getattr(tool, "run", None)
    return run if isinstance(run, UpstreamCall) else None


def refusal(tool: object) -> Unavailability | None:
    """Returns why a tool cannot be called at all; None if it can."""
    call = call_of(tool)
    return None if call is None else call.refusal


def availability(tool: Guarded, _scope: ScopeSet, _switches: Switches) -> Decision:
    """A layer of the gate: refuses a tool that waits for an admin, who reviews or confirms it."""
    found = refusal(tool)
    if found is None:
        return ALLOWED
    return Decision(allowed=False, reason=found.reason, layer=LAYER, message=found.message)
