"""/api/mcp behind Django, for servers without ASGI: the same answers, streams buffered."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.conf import settings
from django.http import HttpRequest as DjangoRequest
from django.http import HttpResponse, UnreadablePostError
from django.views.decorators.csrf import csrf_exempt

from foundation import ids, peer
from mcp_protocol import sse
from tools_registry import endpoint
from tools_registry.exchange import Headers, HttpRequest, Later, Stream


@csrf_exempt  # no cookie counts here: a bearer is the only way in
def mcp(request: DjangoRequest) -> HttpResponse:
    try:
        answer = endpoint.respond(_whole(request))
        # Here each request has a thread of its own already, which may as well wait.
        while isinstance(answer, Later):
            answer = answer.finish()
    except UnreadablePostError:
        # The client went away before its request was whole: nobody reads this.
        return HttpResponse(status=400)
    body = _buffered(answer) if isinstance(answer, Stream) else answer.body
    response = HttpResponse(body, status=answer.status)
    del response["Content-Type"]
    for name, value in answer.headers:
        response[name] = value
    return response


def _whole(request: DjangoRequest) -> HttpRequest:
    facts = _facts(request)
    if not endpoint.wants_body(facts):
        return facts
    # One byte more than is allowed tells a body that is too large from one that just fits.
    return replace(facts, body=request.read(settings.HALO_MAX_BODY_BYTES + 1))


def _facts(request: DjangoRequest) -> HttpRequest:
    """The request as far as it is known before its body."""
    headers: Headers = tuple((name.lower(), value) for name, value in request.headers.items())
    return HttpRequest(
        method=request.method or "GET",
        headers=headers,
        query=request.META.get("QUERY_STRING", ""),
        body=b"",
        address=peer.client_address(
            request.META.get("REMOTE_ADDR", ""), request.headers.get("X-Forwarded-For")
        ),
        request_id=ids.uuid7().hex,
    )


def _buffered(stream: Stream) -> bytes:
    messages: list[Mapping[str, Any]] = []
    pause = stream.run(messages.append)
    if pause is not None:
        # Nothing is sent before the whole answer is here: what would wait ends, as at a shutdown.
        stream.on_shutdown()
        pause.resume(messages.append)
    return b"".join(sse.event(message) for message in messages)
