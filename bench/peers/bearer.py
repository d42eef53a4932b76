"""A bearer check in front of an ASGI application, with the least cost."""

import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any, Final, TypeAlias

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]
# The principal of a token; None for an unknown token.
Verify: TypeAlias = Callable[[str], Awaitable[Any]]

BEARER: Final = b"bearer "
CHALLENGE: Final = b'Bearer error="invalid_token"'
BODY: Final = json.dumps({"error": "invalid_token"}).encode()
HEADERS: Final = [
    (b"content-type", b"application/json"),
    (b"content-length", str(len(BODY)).encode()),
    (b"www-authenticate", CHALLENGE),
]


class Bearer:
    """Passes requests with an active token on, with `scope["caller"]`; 401 for all others.

    `lives` handles the lifespan, `serves` the requests.
    """

    def __init__(self, verify: Verify, *, lives: Application, serves: Application) -> None:
        self._verify, self._lives, self._serves = verify, lives, serves

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._lives(scope, receive, send)
            return
        token = _token(scope)
        scope["caller"] = await self._verify(token) if token else None
        if scope["caller"] is None:
            await send({"type": "http.response.start", "status": 401, "headers": HEADERS})
            await send({"type": "http.response.body", "body": BODY})
            return
        await self._serves(scope, receive, send)


def in_memory(*tokens: str) -> Verify:
    """A check without a database."""
    known = frozenset(tokens)

    async def verify(token: str) -> str | None:
        return token if token in known else None

    return verify


def _token(scope: Scope) -> str:
    for name, value in scope["headers"]:
        if name == b"authorization" and value[: len(BEARER)].lower() == BEARER:
            return str(value[len(BEARER) :].strip(), "latin-1")
    return ""
