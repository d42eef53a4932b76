"""How a client and this server meet: handshake, discovery, ping."""

from mcp_protocol import handshake_shapes, mcp_apps, shapes
from mcp_protocol.strict_json import JsonObject
from tools_registry.endpoint.methods.request import MethodRequest


def initialize(request: MethodRequest) -> JsonObject:
    """The handshake; without params the answer is the one the transport document prints."""
    surface = request.surface
    if "protocolVersion" not in request.params:
        return surface.bare_initialize()
    result = handshake_shapes.initialize_result(
        request.revision, surface.server(), surface.instructions
    )
    return mcp_apps.announce(result) if request.terms.shows_apps else result


def discover(request: MethodRequest) -> JsonObject:
    surface = request.surface
    result = handshake_shapes.discover_result(surface.server(), surface.instructions)
    return mcp_apps.announce(result) if request.terms.shows_apps else result


def ping(request: MethodRequest) -> JsonObject:
    return shapes.empty_result(request.revision)
