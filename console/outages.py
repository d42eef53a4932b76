"""What each surface answers while a store of this server does not: one form for each kind of path.

Programs get the error of their surface with 503 and Retry-After, people a page that needs no store.
The surfaces outside of Django word the same error (`endpoint/replies.py`, `agents/endpoint.py`).
What an outage is, is defined in `foundation/store_failures.py`.
"""

import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, TypeAlias

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import render_to_string

from foundation import ids, store_failures
from mcp_protocol import envelope
from oauth.endpoints import replies as oauth
from oauth.errors import ServerBusy
from tools_registry.endpoint import replies as mcp

HTML: Final = "text/html"
JSON: Final = "application/json"
UNAVAILABLE: Final = HTTPStatus.SERVICE_UNAVAILABLE
# For the paths of programs without a form of their own, and of pages that a program reads.
GENERAL: Final = {"error": store_failures.CODE}

Form: TypeAlias = Callable[[], HttpResponse]


def _oauth() -> HttpResponse:
    return oauth.error(ServerBusy(store_failures.MESSAGE))


def _sdk() -> HttpResponse:
    from ingestion import errors as sdk  # noqa: PLC0415  a web process starts without DRF

    return _json(sdk.Unavailable().body())


def _hr() -> HttpResponse:
    from people.api import errors as hr  # noqa: PLC0415  a web process starts without DRF

    request_id = ids.uuid7_hex()
    response = _json(hr.unavailable().body(request_id))
    response["X-Request-ID"] = request_id
    return response


def _mcp() -> HttpResponse:
    # `endpoint/respond.py` answers with the id of the request; this is for what fails before it.
    return _json(envelope.failure(None, mcp.unavailable()))


def _text() -> HttpResponse:
    return HttpResponse(
        f"{store_failures.MESSAGE}\n",
        content_type="text/plain; charset=utf-8",
        status=UNAVAILABLE,
    )


def _general() -> HttpResponse:
    return _json(GENERAL)


def _json(body: Mapping[str, Any]) -> HttpResponse:
    return JsonResponse(body, status=UNAVAILABLE)


# The first pattern that matches a path has its form. None is a page, and so are all other paths.
FORMS: Final[Mapping[re.Pattern[str], Form | None]] = {
    re.compile(pattern): form
    for pattern, form in {
        r"(?:/api/mcp)?/oauth/(?:token|revoke)/?": _oauth,
        r"(?:/api/mcp/oauth)?/register/?|/api/mcp/oauth/scopes": _oauth,
        r"(?:/w/[^/]+)?(?:/api/mcp)?/\.well-known/.*": _oauth,
        # Pages for people, below the path of the MCP endpoint.
        r"/api/mcp/oauth/.*": None,
        r"/api/sdk/.*": _sdk,
        r"(?:/w/[^/]+)?/api/v1/.*": _hr,
        r"(?:/w/[^/]+)?/api/mcp(?:/[^/]+)?/?": _mcp,
        r"/prj_[^/]+/?": _mcp,
        r"/w/[^/]+/auth\.md|/auth\.md": _text,
        r"/health|/readyz|/api/.*": _general,
    }.items()
}


def is_for_programs(path: str) -> bool:
    """Returns whether programs use a path: they would take a page for what they requested."""
    return find_form(path) is not None


def find_form(path: str) -> Form | None:
    """Returns what answers for a path of programs, None for a page."""
    return next((form for pattern, form in FORMS.items() if pattern.fullmatch(path)), None)


def answer(request: HttpRequest) -> HttpResponse:
    """Returns 503 in the form of the surface, without a store, a session or a user."""
    response = answer_program(request.path_info)
    if response is not None:
        return response
    if _wants_json(request):
        return _with_headers(_general(), store_failures.RETRY_AFTER_SECONDS)
    return _with_headers(_page(request), store_failures.PAGE_RETRY_AFTER_SECONDS)


def answer_program(path: str) -> HttpResponse | None:
    """Returns 503 in the form of a path for programs, None for a page."""
    form = find_form(path)
    return None if form is None else _with_headers(form(), store_failures.RETRY_AFTER_SECONDS)


def _with_headers(response: HttpResponse, seconds: int) -> HttpResponse:
    response["Retry-After"] = str(seconds)
    response["Cache-Control"] = "no-store"
    return response


def _wants_json(request: HttpRequest) -> bool:
    """Whether a program reads the page, with its credential (`console/gateway/requests.py`)."""
    is_program = "Authorization" in request.headers
    return is_program or request.get_preferred_type([HTML, JSON]) == JSON


def _page(request: HttpRequest) -> HttpResponse:
    is_sent = request.method not in {"GET", "HEAD"}
    context = {
        "is_sent": is_sent,
        # Set by `PageTimeLimit` before a statement that changes something.
        "may_be_saved": is_sent and getattr(request, "has_written", False),
    }
    return HttpResponse(render_to_string("unavailable.html", context), status=UNAVAILABLE)
