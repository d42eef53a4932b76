"""logging/setLevel, which the revisions with a handshake have."""

from mcp_protocol import failures, shapes
from mcp_protocol.negotiation import LOG_LEVELS
from mcp_protocol.strict_json import JsonObject
from tools_registry.methods.exchange import Exchange


def set_level(exchange: Exchange) -> JsonObject:
    """Take a level that exists; what is done with it belongs to the session that asked."""
    level_in(exchange)
    return shapes.empty_result(exchange.revision)


def level_in(exchange: Exchange) -> str:
    """The level that was asked for. Raises ProtocolError for anything else."""
    level = exchange.params.get("level")
    if not isinstance(level, str) or level not in LOG_LEVELS:
        names = ", ".join(sorted(LOG_LEVELS))
        raise failures.invalid_field("level", "There is no such level.", f"must be one of {names}")
    return level
