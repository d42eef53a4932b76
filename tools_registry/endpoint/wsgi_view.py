"""MCP surfaces behind Django, for servers without ASGI: the same answers, streams buffered."""

from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.http import HttpRequest as DjangoRequest
from django.http import HttpResponse, UnreadablePostError

from foundation import ids, peer
from mcp_protocol import sse
from tools_registry.endpoint import respond
from tools_registry.endpoint.http import Deferred, Headers, HttpRequest, Stream
from tools_registry.endpoint.surface import McpSurface


def mcp(request: DjangoRequest, surface: McpSurface) -> HttpResponse:
    try:
        answer = respond.respond(_request(request, surface))
        # Here each request has a thread of its own already, which may as well wait.
        while isinstance(answer, Deferred):
            answer = answer.finish()
    except UnreadablePostError:
        # The client went away before its request was complete; this answer is not read.
        return HttpResponse(status=400)
    body = _buffer_stream(answer) if isinstance(answer, Stream) else answer.body
    response = HttpResponse(body, status=answer.status)
    del response["Content-Type"]
    for name, value in answer.headers:
        response[name] = value
    return response


def _request(request: DjangoRequest, surface: McpSurface) -> HttpRequest:
    headers: Headers = tuple((name.lower(), value) for name, value in request.headers.items())
    read = HttpRequest(
        method=request.method or "GET",
        headers=headers,
        query=request.META.get("QUERY_STRING", ""),
        body=b"",
        address=peer.client_address(
            request.META.get("REMOTE_ADDR", ""), request.headers.get("X-Forwarded-For")
        ),
        request_id=ids.uuid7().hex,
        surface=surface,
    )
    if respond.wants_body(read):
        # One byte more than allowed shows that a body is too large.
        read.body = request.read(settings.HALO_MAX_BODY_BYTES + 1)
    return read


def _buffer_stream(stream: Stream) -> bytes:
    messages: list[Mapping[str, Any]] = []
    pause = stream.run(messages.append)
    if pause is not None:
        # Nothing is sent before the whole answer is here: what would wait ends, as at a shutdown.
        stream.on_shutdown()
        pause.resume(messages.append)
    return b"".join(sse.event(message) for message in messages)
