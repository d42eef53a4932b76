"""tools/list and tools/call."""

from typing import cast

from mcp_protocol import tool_shapes
from mcp_protocol.headers import check_param_headers
from mcp_protocol.revisions import MODERN
from mcp_protocol.strict_json import JsonObject
from tools_registry import call, descriptors, operations, request_state, visibility
from tools_registry.call import Prepared
from tools_registry.methods.exchange import Exchange, object_in, text_in
from tools_registry.operations import Reply, Subject
from tools_registry.paging import Key
from tools_registry.types import Tool


def list_tools(exchange: Exchange) -> JsonObject:
    """Exactly the tools that a call would not refuse: the same gate, asked now."""
    page = exchange.page(visibility.tools(exchange.principal), _key)
    told = [descriptors.told(tool, exchange.revision) for tool in page.things]
    return tool_shapes.tools_list_result(told, exchange.revision, page.next_cursor)


def call_tool(exchange: Exchange) -> Reply | Prepared:
    """The first half of a call: refused and recorded, or ready to run."""
    name, arguments = text_in(exchange.params, "name"), object_in(exchange.params, "arguments")
    this = exchange.call(operations.CALL, name, arguments)

    def vet(tool: Subject) -> None:
        # As soon as the caller may know which arguments have headers, and whatever else is wrong
        # with them (MCP 2026-07-28, basic/transports/streamable-http, Server Behavior for Custom
        # Headers).
        params = descriptors.mirrored(cast("Tool", tool))
        check_param_headers(exchange.headers, arguments, params)

    prepared = call.prepare(this, vet) if exchange.revision in MODERN else call.prepare(this)
    if isinstance(prepared, Prepared) and prepared.tool.mutates:
        request_state.spend(prepared.call.round.answers)
    return prepared


def _key(tool: Tool) -> Key:
    return (tool.integration, tool.name)
