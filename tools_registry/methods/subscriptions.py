"""subscriptions/listen."""

from mcp_protocol import subscriptions
from tools_registry import listening
from tools_registry.exchange import Stream
from tools_registry.methods.exchange import Exchange


def listen(exchange: Exchange) -> Stream:
    """Have the token hear of changes for as long as it counts and its client stays."""
    notifications = subscriptions.honoured(exchange.params)
    accept = exchange.headers("accept")
    return listening.stream(exchange.principal, exchange.request.id, notifications, accept)
