"""How a client and this server meet: handshake, discovery, ping."""

from mcp_protocol import handshake_shapes, shapes
from mcp_protocol.strict_json import JsonObject
from tools_registry.endpoint.methods.request import MethodRequest


def initialize(request: MethodRequest) -> JsonObject:
    """The handshake; without params the answer is the one the transport document prints."""
    surface = request.surface
    if "protocolVersion" not in request.params:
        return surface.bare_initialize()
    return handshake_shapes.initialize_result(
        request.revision, surface.server(), surface.instructions
    )


def discover(request: MethodRequest) -> JsonObject:
    return handshake_shapes.discover_result(request.surface.server(), request.surface.instructions)


def ping(request: MethodRequest) -> JsonObject:
    return shapes.empty_result(request.revision)
