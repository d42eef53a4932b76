"""The MCP methods, a function each, by name."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from audit.record import Actor
from mcp_protocol import shapes
from mcp_protocol.envelope import Request
from mcp_protocol.errors import INVALID_PARAMS, ProtocolError
from mcp_protocol.headers import HeaderLookup, check_param_headers
from mcp_protocol.meta_keys import META
from mcp_protocol.negotiation import Terms
from mcp_protocol.revisions import MODERN
from mcp_protocol.strict_json import JsonObject
from oauth.principal import Principal
from tools_registry import call, gate, registry
from tools_registry.call import Call, Prepared, Reply

INSTRUCTIONS: Final = (
    "Tools of one organization. Search the documentation with search_docs and open a page with "
    "read_doc. Tools that change something say so in their annotations; destructive actions are "
    "never available here. A refusal names its reason and the layer that refused."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """One request with everything known about it."""

    principal: Principal
    actor: Actor
    request: Request
    terms: Terms
    headers: HeaderLookup
    request_id: str


Handler: TypeAlias = Callable[[Exchange], Reply | Prepared]


def initialize(exchange: Exchange) -> JsonObject:
    """The handshake; without params the answer is the one the transport document prints."""
    if "protocolVersion" not in exchange.request.params:
        return shapes.bare_initialize_result()
    return shapes.initialize_result(exchange.terms.revision, INSTRUCTIONS)


def discover(_exchange: Exchange) -> JsonObject:
    return shapes.discover_result(INSTRUCTIONS)


def ping(exchange: Exchange) -> JsonObject:
    return shapes.empty_result(exchange.terms.revision)


def list_tools(exchange: Exchange) -> JsonObject:
    """Exactly the tools that a call would not refuse: the same gate, asked now."""
    cursor = exchange.request.params.get("cursor")
    if cursor is not None:
        # No list here is long enough to be cut, so no cursor was ever handed out.
        raise ProtocolError(INVALID_PARAMS, "The cursor is not valid.", data={"field": "cursor"})
    who = exchange.principal
    switches = gate.all_switches(who.organization_id, mcp_server_on=who.mcp_server_on)
    visible = [
        tool
        for tool in registry.tools(who.organization_id)
        if gate.decide(tool, who.scope, switches).allowed
    ]
    return shapes.tools_list_result(visible, exchange.terms.revision)


def call_tool(exchange: Exchange) -> Reply | Prepared:
    """The first half of a call: refused and recorded, or ready to run."""
    prepared = call.prepare(_call(exchange))
    if isinstance(prepared, Prepared) and exchange.terms.revision in MODERN:
        # Only now is there a schema to read the annotations of (MCP 2026-07-28, basic/transports/
        # streamable-http, Server Behavior for Custom Headers).
        schema = prepared.tool.input_schema
        check_param_headers(exchange.headers, prepared.call.arguments, schema)
    return prepared


def _call(exchange: Exchange) -> Call:
    params = exchange.request.params
    return Call(
        principal=exchange.principal,
        actor=exchange.actor,
        revision=exchange.terms.revision,
        name=_required_name(params),
        arguments=_object(params, "arguments"),
        meta=_object(params, META),
        request_id=exchange.request_id,
        host=exchange.headers("host") or "",
    )


HANDLERS: Final[Mapping[str, Handler]] = {
    "initialize": initialize,
    "server/discover": discover,
    "ping": ping,
    "tools/list": list_tools,
    "tools/call": call_tool,
}


def _required_name(params: Mapping[str, Any]) -> str:
    name = params.get("name")
    if not isinstance(name, str) or not name:
        raise ProtocolError(
            INVALID_PARAMS,
            "`name` must be a string that names a tool.",
            data={"field": "name", "reason": "must be a non-empty string"},
        )
    return name


def _object(params: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    value = params.get(key, {})
    if not isinstance(value, dict):
        raise ProtocolError(
            INVALID_PARAMS,
            f"`{key}` must be an object.",
            data={"field": key, "reason": "must be an object"},
        )
    return value
