"""Validates the query string and the row keys in URLs of the admin."""

from collections.abc import Callable

from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console import errors

Answering = Callable[[HttpRequest], HttpResponse]


def without_nul(answering: Answering) -> Answering:
    """Returns 400 for an admin URL with a NUL.

    Filters and row keys are passed to the database unchanged, and PostgreSQL stores no NUL; the
    search form checks its text itself.
    """

    def checked(request: HttpRequest) -> HttpResponse:
        if request.path.startswith(reverse("admin:index")) and _has_nul(request):
            return errors.bad_request(request, BadRequest("The address holds a NUL."))
        return answering(request)

    return checked


def _has_nul(request: HttpRequest) -> bool:
    if "\0" in request.path:
        return True
    filters = [pair for pair in request.GET.lists() if pair[0] != SEARCH_VAR]
    return any("\0" in text for name, values in filters for text in (name, *values))
