"""Serializes tools for each revision.

Source: transport document, tools/list; MCP schema of each revision, Tool.
"""

from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Protocol

from foundation.json_text import SerializedJson
from mcp_protocol.description import RevisionSerializer
from mcp_protocol.revisions import MODERN, REVISIONS, Revision, revisions_since
from mcp_protocol.shapes import DECORATION, page_result
from mcp_protocol.strict_json import JsonObject


class ToolFacts(Protocol):
    """The attributes of a tool that a list contains.

    `mutates` means that a call changes state somewhere, `open_world` that it uses external systems.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> Mapping[str, Any]: ...
    @property
    def output_schema(self) -> Mapping[str, Any] | None: ...
    @property
    def mutates(self) -> bool: ...
    @property
    def open_world(self) -> bool: ...
    @property
    def icons(self) -> Sequence[Mapping[str, Any]]: ...
    @property
    def meta(self) -> Mapping[str, Any]: ...


def _annotations(tool: ToolFacts) -> JsonObject:
    hint = "destructiveHint" if tool.mutates else "readOnlyHint"
    return {hint: True, "openWorldHint": tool.open_world}


def _object_output(tool: ToolFacts) -> Mapping[str, Any] | None:
    # Before 2026-07-28 an output schema that does not describe an object is left out.
    schema = tool.output_schema
    return schema if schema and schema.get("type") == "object" else None


_TOOL: Final = RevisionSerializer(
    ("name", REVISIONS, attrgetter("name")),
    ("title", revisions_since(Revision.V2025_06_18), attrgetter("title")),
    ("description", REVISIONS, attrgetter("description")),
    ("inputSchema", REVISIONS, attrgetter("input_schema")),
    ("outputSchema", (Revision.V2025_06_18, Revision.V2025_11_25), _object_output),
    ("outputSchema", MODERN, attrgetter("output_schema")),
    ("annotations", revisions_since(Revision.V2025_03_26), _annotations),
    *DECORATION,
)


def tool_descriptor(tool: ToolFacts, revision: Revision, *, as_task: bool = False) -> JsonObject:
    """Returns a tool as tools/list describes it; attributes that are None are left out.

    `destructiveHint` marks tools that change state (transport document, tools/list), which is not
    the registry's `destructive`: those tools are never listed. `as_task` says that a call may ask
    for a task (MCP 2025-11-25, basic/utilities/tasks, Tool-Level Negotiation).
    """
    execution = {"execution": {"taskSupport": "optional"}} if as_task else {}
    return {**_TOOL.serialize(tool, revision), **execution}


def tools_list_result(
    descriptors: Sequence[JsonObject | SerializedJson],
    revision: Revision,
    next_cursor: str | None = None,
) -> JsonObject:
    """Returns one page of tools in the given order; a cursor means that more follow."""
    return page_result("tools", descriptors, revision, next_cursor)
