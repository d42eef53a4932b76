"""What ASGI calls its own, by type (ASGI specification, HTTP & WebSocket)."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, TypeAlias

from tools_registry.exchange import Headers

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]


def head(status: int, headers: Headers) -> Event:
    """The event that begins an answer."""
    raw = [(name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in headers]
    return {"type": "http.response.start", "status": status, "headers": raw}
