"""logging/setLevel, which the revisions with a handshake have."""

from mcp_protocol import failures, shapes
from mcp_protocol.negotiation import LOG_LEVELS
from mcp_protocol.strict_json import JsonObject
from tools_registry.endpoint.methods.request import MethodRequest


def set_level(request: MethodRequest) -> JsonObject:
    """Accept a level that exists; `sessions.set_level` keeps it for the session."""
    level_in(request)
    return shapes.empty_result(request.revision)


def level_in(request: MethodRequest) -> str:
    """The level that was asked for. Raises ProtocolError for anything else."""
    level = request.params.get("level")
    if not isinstance(level, str) or level not in LOG_LEVELS:
        names = ", ".join(sorted(LOG_LEVELS))
        raise failures.invalid_field("level", "Unknown log level.", f"must be one of {names}")
    return level
