"""What ASGI calls its own, by type (ASGI specification, HTTP & WebSocket)."""

from collections.abc import Awaitable, Callable, MutableMapping
from itertools import chain, repeat
from typing import Any, Final, TypeAlias

from tools_registry.exchange import Headers

Scope: TypeAlias = MutableMapping[str, Any]
Event: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[Event]]
Send: TypeAlias = Callable[[Event], Awaitable[None]]

# What headers are read and written in, for as many as there are. No header costs a byte code of
# ours this way: a name and its value are taken in turns.
LATIN_1: Final = repeat("latin-1")


def head(status: int, headers: Headers) -> Event:
    """The event that begins an answer."""
    texts = map(str.encode, chain.from_iterable(headers), LATIN_1)
    raw = list(zip(map(bytes.lower, texts), texts, strict=True))
    return {"type": "http.response.start", "status": status, "headers": raw}
