"""A bearer check in front of an ASGI application, with the least cost."""

from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
# The principal of a token; None for an unknown token.
Verify: TypeAlias = Callable[[str], Awaitable[Any]]

BEARER: Final = b"bearer "
HEADERS: Final = [(b"content-length", b"0"), (b"www-authenticate", b'Bearer error="invalid_token"')]


class Bearer:
    """Passes requests with an active token on, with `scope["caller"]`; 401 for all others."""

    def __init__(self, verify: Verify, *, lifespan: Application, requests: Application) -> None:
        self._verify, self._lifespan, self._requests = verify, lifespan, requests

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._lifespan(scope, receive, send)
            return
        scope["caller"] = None
        for name, value in scope["headers"]:
            if name == b"authorization" and value[: len(BEARER)].lower() == BEARER:
                scope["caller"] = await self._verify(str(value[len(BEARER) :].strip(), "latin-1"))
        if scope["caller"] is None:
            await send({"type": "http.response.start", "status": 401, "headers": HEADERS})
            await send({"type": "http.response.body", "body": b""})
            return
        await self._requests(scope, receive, send)


def in_memory(active: str) -> Verify:
    """A check without a database."""

    async def verify(token: str) -> str | None:
        return token if token == active else None

    return verify
