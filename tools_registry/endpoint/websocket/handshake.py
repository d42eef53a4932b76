"""The handshake of a WebSocket: its address, the checks of its caller, and a refusal over HTTP.

The token is in the query or in the Authorization header. A query must not be logged, so that it is
removed from the scope before anything else reads it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias
from urllib.parse import parse_qsl

import structlog
from django.conf import settings

from foundation.asgi import Scope, Send
from mcp_protocol.envelope import Malformed
from mcp_protocol.errors import ProtocolError
from oauth.principal import Principal
from tools_registry.endpoint import admission, dispatch, rates, replies, respond
from tools_registry.endpoint.caller_slots import CallerSlots
from tools_registry.endpoint.http import CompleteAnswer, HttpRequest, response_start
from tools_registry.endpoint.methods import MethodRequest
from tools_registry.endpoint.surface import McpSurface
from tools_registry.endpoint.websocket.close_codes import get_close_code

log = structlog.get_logger(__name__)

MAX_FIELDS: Final = 10
# The extension of a server that sends an HTTP response in place of the handshake (ASGI, WebSocket
# Denial Response).
HTTP_RESPONSE: Final = "websocket.http.response"
PLAIN: Final = (("Content-Type", "text/plain; charset=utf-8"),)
NOT_FOUND: Final = CompleteAnswer(404, PLAIN, b"Not found.\n")
MALFORMED: Final = CompleteAnswer(
    400, PLAIN, b"The query must name projectId once, and token once.\n"
)
# Seconds; a guess at when one of them is closed, for a client that has too many.
RETRY_AFTER: Final = 5

OPEN: Final = CallerSlots(lambda: settings.HALO_GATEWAY_SOCKETS_PER_CREDENTIAL)


class Address(NamedTuple):
    """What the address of a WebSocket names."""

    path: str
    project_id: str


# Finds the surface of an address; None if nothing is there.
FindSurface: TypeAlias = Callable[[Address], McpSurface | None]


@dataclass(frozen=True, slots=True)
class Admitted:
    """A caller who may open a WebSocket; `OPEN` counts it until `release`.

    `host` is the one that the handshake was sent to, `address` the client's.
    """

    principal: Principal
    surface: McpSurface
    host: str
    address: str

    def release(self) -> None:
        OPEN.release(self.principal)


def take_address(scope: Scope) -> Address | None:
    """Remove the query from the scope and parse it; None if it is malformed.

    A token becomes an Authorization header of the scope.
    """
    query, scope["query_string"] = scope.get("query_string", b""), b""
    try:
        named = parse_qsl(query.decode(), keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:  # too many fields, or no UTF-8
        return None
    values = dict(named)
    if len(values) < len(named) or not values.keys() >= {"projectId"}:
        return None
    if "token" in values:
        bearer = f"Bearer {values['token']}".encode("latin-1", "replace")
        scope["headers"] = [*scope["headers"], (b"authorization", bearer)]
    return Address(scope["path"], values["projectId"])


def admit(request: HttpRequest) -> Admitted | CompleteAnswer:
    """Check host, Origin, token and limits; returns a refusal as an HTTP response."""
    try:
        return _admit(request)
    except ProtocolError as error:
        return respond.refusal_answer(request, error)
    except Exception as error:
        log.exception("handshake_failed", request_id=request.request_id)
        return respond.refusal_answer(request, replies.from_exception(request.request_id, error))


def _admit(request: HttpRequest) -> Admitted | CompleteAnswer:
    clock = time.perf_counter()
    admission.require_host_and_origin(request)
    who = admission.identify(request)
    error = _too_many(request, who)
    if error is None:
        return Admitted(who, request.surface, request.header("host") or "", request.address)
    refused = MethodRequest(request, who, None, Malformed(None, error))
    return respond.write_answer(dispatch.turn_away(refused, error, clock), request)


def _too_many(request: HttpRequest, who: Principal) -> ProtocolError | None:
    """Count the socket, and charge the handshake as one message."""
    codes, revision = request.surface.codes, request.declared_revision
    verdict = rates.spend(who, request.surface, "", request.address)
    if verdict is not None:
        return rates.refusal(verdict, revision, codes)
    if OPEN.acquire(who):
        return None
    most = settings.HALO_GATEWAY_SOCKETS_PER_CREDENTIAL
    return rates.slot_limit_error(
        "This connection, person or organization has too many open WebSockets. Close one first.",
        most=most,
        wait=RETRY_AFTER,
        revision=revision,
        codes=codes,
    )


async def refuse(scope: Scope, send: Send, answer: CompleteAnswer) -> None:
    """Send a refusal as an HTTP response, or as a close code if the server offers no responses."""
    if HTTP_RESPONSE not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": get_close_code(answer.status)})
        return
    start = response_start(answer.status, answer.headers)
    await send({**start, "type": f"{HTTP_RESPONSE}.start"})
    await send({"type": f"{HTTP_RESPONSE}.body", "body": answer.body})
