"""The error body of each surface: one form for each kind of path of programs.

Django answers these errors where no view of a surface did: an address or a method that does not
exist, a request that a middleware refused, a store that does not answer. The surfaces outside of
Django use the same bodies (`endpoint/replies.py`, `agents/endpoint.py`).
"""

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from django.conf import settings
from django.http import HttpResponse, JsonResponse

from foundation import ids, store_failures
from mcp_protocol import envelope
from mcp_protocol import errors as protocol_errors
from mcp_protocol.errors import ProtocolError
from oauth.endpoints import replies as oauth
from oauth.errors import ServerBusy
from rest.errors import ApiError
from tools_registry.endpoint import replies as mcp

UNAVAILABLE: Final = HTTPStatus.SERVICE_UNAVAILABLE
CODES: Final = {
    HTTPStatus.BAD_REQUEST: "bad_request",
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.INTERNAL_SERVER_ERROR: "server_error",
    UNAVAILABLE: store_failures.CODE,
}
SENTENCES: Final = {
    HTTPStatus.BAD_REQUEST: "The request is not valid.",
    HTTPStatus.FORBIDDEN: "This is not allowed.",
    HTTPStatus.NOT_FOUND: "There is nothing at this address.",
    HTTPStatus.METHOD_NOT_ALLOWED: "This address does not accept the method.",
    HTTPStatus.INTERNAL_SERVER_ERROR: "Internal error.",
    UNAVAILABLE: store_failures.MESSAGE,
}

Form: TypeAlias = Callable[[HTTPStatus], HttpResponse]


def general(status: HTTPStatus) -> HttpResponse:
    """Returns the error of paths without a form of their own, and of pages for a program."""
    return _json({"error": CODES[status]}, status)


def _oauth(status: HTTPStatus) -> HttpResponse:
    if status is not UNAVAILABLE:
        return general(status)
    return oauth.error(ServerBusy(store_failures.MESSAGE))


def _sdk(status: HTTPStatus) -> HttpResponse:
    from ingestion import errors as sdk  # noqa: PLC0415  a web process starts without DRF

    return _json(sdk.body(ApiError(status, SENTENCES[status])), status)


def _hr(status: HTTPStatus) -> HttpResponse:
    from people.api import errors as hr  # noqa: PLC0415  a web process starts without DRF

    request_id = ids.uuid7_hex()
    body = hr.from_status(status, SENTENCES[status]).body(request_id)
    response = _json(body, status)
    response["X-Request-ID"] = request_id
    return response


def _agents(status: HTTPStatus) -> HttpResponse:
    return _json({"error": SENTENCES[status]}, status)


def _mcp(status: HTTPStatus) -> HttpResponse:
    # `endpoint/respond.py` answers with the id of the request; this is for what fails before it.
    return _json(envelope.failure(None, _mcp_error(status)), status)


def _mcp_error(status: HTTPStatus) -> ProtocolError:
    if status is UNAVAILABLE:
        return mcp.unavailable()
    is_internal = status >= HTTPStatus.INTERNAL_SERVER_ERROR
    code = protocol_errors.INTERNAL_ERROR if is_internal else protocol_errors.INVALID_REQUEST
    return ProtocolError(code, SENTENCES[status])


def _text(status: HTTPStatus) -> HttpResponse:
    return HttpResponse(
        f"{SENTENCES[status]}\n", content_type="text/plain; charset=utf-8", status=status
    )


def _json(body: Mapping[str, Any], status: HTTPStatus) -> HttpResponse:
    return JsonResponse(body, status=status)


# The first pattern that matches a path has its form. None is a page, and so are all other paths.
FORMS: Final[Mapping[re.Pattern[str], Form | None]] = {
    re.compile(pattern): form
    for pattern, form in {
        r"(?:/api/mcp)?/oauth/(?:token|revoke)/?": _oauth,
        r"(?:/api/mcp/oauth)?/register/?|/api/mcp/oauth/scopes": _oauth,
        r"(?:/w/[^/]+)?(?:/api/mcp)?(?:/prj_[^/]+)?/(?:\.well-known/.*|server-card/?)": _oauth,
        # Pages for people, below the path of the MCP endpoint.
        r"/api/mcp/oauth/consent/?|(?:/api/mcp)?/oauth/authorize/?": None,
        r"(?:/api/mcp)?/oauth(?:/.*)?|/register/.*": general,
        r"/api/sdk(?:/.*)?": _sdk,
        r"(?:/w/[^/]+)?/api/v1(?:/.*)?": _hr,
        rf"{re.escape(settings.HALO_AGENTS_PATH)}(?:/.*)?": _agents,
        r"(?:/w/[^/]+)?/api/mcp(?:/[^/]+)?/?": _mcp,
        r"/prj_[^/]+/?": _mcp,
        r"/prj_[^/]+/.*": general,
        r"/w/[^/]+/auth\.md|/auth\.md|/robots\.txt": _text,
        r"/health|/healthz|/readyz|/api/.*|/w/[^/]+/api/.*": general,
    }.items()
}


def is_for_programs(path: str) -> bool:
    """Returns whether programs use a path: they would take a page for what they requested."""
    return find_form(path) is not None


def find_form(path: str) -> Form | None:
    """Returns what answers for a path of programs, None for a page."""
    return next((form for pattern, form in FORMS.items() if pattern.fullmatch(path)), None)
