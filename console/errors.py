"""Error responses of Django: pages for users, JSON for programs."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse

from audit import record
from oauth.endpoints import replies

PROGRAM_PATHS: Final = ("/api/", "/.well-known/")
ERRORS: Final = {
    HTTPStatus.BAD_REQUEST: "bad_request",
    HTTPStatus.FORBIDDEN: "forbidden",
    HTTPStatus.NOT_FOUND: "not_found",
    HTTPStatus.METHOD_NOT_ALLOWED: "method_not_allowed",
    HTTPStatus.INTERNAL_SERVER_ERROR: "server_error",
    HTTPStatus.SERVICE_UNAVAILABLE: "took_too_long",
}


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django's signature
    return error_page(request, HTTPStatus.BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django's signature
    return error_page(request, HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001  Django's signature
    return error_page(request, HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    """Returns 500 without using the session, the user or the database, which may be the cause."""
    status = HTTPStatus.INTERNAL_SERVER_ERROR
    if _is_program(request):
        return _json(status)
    return HttpResponse(render_to_string("500.html"), status=status)


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001  Django's signature
    """Shows a page that says to go back and try again; Django logs the reason."""
    if request.path == reverse("oauth_consent"):
        # This may be an attempt to approve a client in another user's name.
        record.security_event("consent_csrf", address=replies.address_of(request))
    return render(request, "403_csrf.html", status=HTTPStatus.FORBIDDEN)


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
    """Returns the page of an error; JSON for a program."""
    if _is_program(request):
        return _json(status)
    return render(request, f"{status.value}.html", status=status)


def _is_program(request: HttpRequest) -> bool:
    # Clients parse a page under these paths as the document they requested.
    return request.path.startswith(PROGRAM_PATHS)


def _json(status: HTTPStatus) -> JsonResponse:
    return JsonResponse({"error": ERRORS[status]}, status=status)
