"""What each surface answers while a store of this server does not.

Programs get the error of their surface (`console/error_forms.py`) with 503 and Retry-After, people
a page that needs no store. What an outage is, is defined in `foundation/store_failures.py`.
"""

from typing import Final

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string

from console import error_forms
from console.error_forms import UNAVAILABLE
from foundation import store_failures

HTML: Final = "text/html"
JSON: Final = "application/json"


def answer(request: HttpRequest) -> HttpResponse:
    """Returns 503 in the form of the surface, without a store, a session or a user."""
    response = answer_program(request.path_info)
    if response is not None:
        return response
    if _wants_json(request):
        return _with_headers(error_forms.general(UNAVAILABLE), store_failures.RETRY_AFTER_SECONDS)
    return _with_headers(_page(request), store_failures.PAGE_RETRY_AFTER_SECONDS)


def answer_program(path: str) -> HttpResponse | None:
    """Returns 503 in the form of a path for programs, None for a page."""
    form = error_forms.find_form(path)
    if form is None:
        return None
    return _with_headers(form(UNAVAILABLE), store_failures.RETRY_AFTER_SECONDS)


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
