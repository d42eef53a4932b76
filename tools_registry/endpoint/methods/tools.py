"""tools/list and tools/call."""

from collections.abc import Collection
from typing import cast

from mcp_protocol import task_shapes, tool_shapes
from mcp_protocol.headers import check_param_headers
from mcp_protocol.revisions import MODERN
from mcp_protocol.strict_json import JsonObject
from tools_registry.api import Tool
from tools_registry.endpoint import descriptors, mcp_apps, request_state
from tools_registry.endpoint.methods import tasks
from tools_registry.endpoint.methods.request import MethodRequest, object_in, text_in
from tools_registry.endpoint.paging import Key
from tools_registry.endpoint.replies import Reply
from tools_registry.pipeline import call_kinds, visibility
from tools_registry.pipeline.call_kinds import CallSubject
from tools_registry.pipeline.invocation import PreparedCall


def list_tools(request: MethodRequest) -> JsonObject:
    """Exactly the tools that a call would not refuse: the same gate, asked now."""

    def size(tool: Tool) -> int:
        return len(descriptors.serialize_tool(tool, request.revision).json)

    visible = visibility.tools(request.principal, request.surface)
    if request.terms.shows_apps:
        visible = [mcp_apps.with_app(tool) for tool in visible]
    page = request.page(visible, _key, size)
    source, revision = request.surface.tasks, request.revision
    as_tasks: Collection[str] = ()
    if source is not None and revision in task_shapes.REQUESTED:
        as_tasks = source.list_tools(request.principal.organization_id)
    tools = [
        descriptors.serialize_tool(tool, revision, as_task=True)
        if tool.name in as_tasks
        else descriptors.serialize_tool(tool, revision)
        for tool in page.things
    ]
    return tool_shapes.tools_list_result(tools, revision, page.next_cursor)


def call_tool(request: MethodRequest) -> Reply | PreparedCall:
    """The first half of a call: refused and recorded, or ready to run."""
    name, arguments = text_in(request.params, "name"), object_in(request.params, "arguments")

    def check_headers(tool: CallSubject) -> None:
        # As soon as the caller may know which arguments have headers, and whatever else is wrong
        # with them (MCP 2026-07-28, basic/transports/streamable-http, Server Behavior for Custom
        # Headers).
        params = descriptors.mirrored_params(cast("Tool", tool))
        check_param_headers(request.headers, arguments, params)

    has_headers = request.revision in MODERN and not request.http.is_frame
    check = check_headers if has_headers else None
    takes_task = request.http.surface.tasks is not None and tasks.takes_task(request)
    prepared = request.prepare(call_kinds.CALL, name, arguments, check, takes_task=takes_task)
    if takes_task and isinstance(prepared, PreparedCall) and prepared.invocation.needs_task:
        raise task_shapes.no_task_error()
    if isinstance(prepared, PreparedCall) and prepared.subject.mutates:
        request_state.spend(prepared.invocation.answers)
    return prepared


def _key(tool: Tool) -> Key:
    return (tool.integration, tool.name)
