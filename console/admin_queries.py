"""Filters of the admin's lists and keys of its rows, as they stand in the address."""

from collections.abc import Callable

from django.contrib.admin.views.main import SEARCH_VAR
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console import errors

Answering = Callable[[HttpRequest], HttpResponse]


def without_nul(answering: Answering) -> Answering:
    """Refuse an admin address with a NUL with 400.

    Filters and keys of rows reach the database as they came, and PostgreSQL has no text with a
    NUL; what is searched for is checked by the search itself.
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
