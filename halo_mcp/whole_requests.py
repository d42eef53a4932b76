"""Django's side of the server sees a request only once its body is all here.

A WSGI application reads its body in a thread. Without this a handful of senders that stop half-way
would hold every thread there is, and with them sign-in, the token endpoint and /health.
"""

from collections.abc import Awaitable, Callable
from typing import Final, TypeAlias

from tools_registry.asgi_types import Event, Receive, Scope, Send
from tools_registry.bodies import Bodies, Disconnected

Application: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

TOO_SLOW: Final = (408, b"The body did not arrive in time.\n")
TOO_LARGE: Final = (413, b"The body is too large.\n")


class WholeRequests:
    """Reads bodies on the loop, at most `most` bytes in `seconds`, and hands on what is whole."""

    def __init__(self, application: Application, *, most: int, seconds: float = 30) -> None:
        self._application = application
        self._most = most
        self._bodies = Bodies(seconds)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            body = await self._body(scope, receive)
        except Disconnected:
            return
        except TimeoutError:
            await _refuse(send, *TOO_SLOW)
            return
        if len(body) > self._most:
            await _refuse(send, *TOO_LARGE)
            return
        await self._application(_measured(scope, body), _replay(body, receive), send)

    def end(self) -> None:
        """The server is about to stop: give up soon what does not come."""
        self._bodies.hurry()

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        declared = dict(scope["headers"]).get(b"content-length", b"0")
        if len(declared) > len(str(self._most)) or int(declared) > self._most:
            # Said to be too large: none of it is read.
            return bytes(self._most + 1)
        return await self._bodies.read(receive, self._most + 1)


def _measured(scope: Scope, body: bytes) -> Scope:
    """The request with its true length, so that a chunked body is read too.

    Names with an underscore are left out: WSGI writes `X_Forwarded_For` as it writes
    `X-Forwarded-For`, so a stranger's would join what a trusted proxy says (RFC 3875 4.1.18).
    """
    framing = {b"content-length", b"transfer-encoding"}
    headers = [
        (name, value)
        for name, value in scope["headers"]
        if name not in framing and b"_" not in name
    ]
    return {**scope, "headers": [*headers, (b"content-length", b"%d" % len(body))]}


def _replay(body: bytes, receive: Receive) -> Receive:
    events: list[Event] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replayed() -> Event:
        return events.pop() if events else await receive()

    return replayed


async def _refuse(send: Send, status: int, text: bytes) -> None:
    headers = [
        (b"content-type", b"text/plain; charset=utf-8"),
        (b"content-length", b"%d" % len(text)),
        # The rest of the body may still come: nothing else can on this connection.
        (b"connection", b"close"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": text})
