"""Error responses of Django: pages for users, the errors of their surface for programs."""

import sys
from collections.abc import Callable
from http import HTTPStatus

import structlog
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from console import error_forms, outages, refusal_pages
from foundation.store_failures import is_store_failure

log = structlog.get_logger(__name__)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django's signature
    return error_page(request, HTTPStatus.BAD_REQUEST)


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponse:
    form = error_forms.find_form(request.path_info)
    return form(HTTPStatus.FORBIDDEN) if form else refusal_pages.show_denied(request, exception)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django's signature
    return error_page(request, HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    """Returns 500, or 503 while a store does not answer.

    Uses no session, user or database, which may be the cause.
    """
    # Django calls this while it handles the exception, of a view or of a middleware.
    error = sys.exception()
    if error is not None and is_store_failure(error):
        log.error("unavailable", path=request.path, error=repr(error))
        return outages.answer(request)
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    form = error_forms.find_form(request.path_info)
    if form is not None:
        return form(status)
    return HttpResponse(render_to_string("500.html"), status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  Django's signature
    """Leads back to the form, or shows why it was not accepted; Django logs the reason."""
    return refusal_pages.show_refused_form(request)


def method_not_allowed(
    answer: Callable[[HttpRequest], HttpResponse],
) -> Callable[[HttpRequest], HttpResponse]:
    """Adds a body to Django's empty 405 response."""

    def middleware(request: HttpRequest) -> HttpResponse:
        response = answer(request)
        if response.status_code != HTTPStatus.METHOD_NOT_ALLOWED or response.content:
            return response
        reply = error_page(request, HTTPStatus.METHOD_NOT_ALLOWED)
        reply["Allow"] = response["Allow"]
        return reply

    return middleware


def error_page(request: HttpRequest, status: HTTPStatus) -> HttpResponse:
    """Returns the page of an error; for a program the error of its surface."""
    form = error_forms.find_form(request.path_info)
    if form is not None:
        return form(status)
    return render(request, f"{status.value}.html", status=status)
