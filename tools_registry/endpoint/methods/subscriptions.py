"""subscriptions/listen."""

from mcp_protocol import subscriptions
from tools_registry.endpoint.http import Stream
from tools_registry.endpoint.methods import tasks
from tools_registry.endpoint.methods.request import MethodRequest
from tools_registry.endpoint.streams import listen_streams


def listen(request: MethodRequest) -> Stream:
    """The stream of change notifications, open while the token is valid and the client stays."""
    notifications = subscriptions.parse_filter(request.params)
    tasks.require_tasks_declared(request)
    accept = request.headers("accept")
    return listen_streams.stream(
        request.principal, request.surface, request.id, notifications, accept
    )
