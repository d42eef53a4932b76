"""Validates the query string and the row keys in URLs of the admin."""

from collections.abc import Callable
from typing import Final

import structlog
from django.contrib.admin.views.main import ERROR_FLAG, SEARCH_VAR
from django.core.exceptions import BadRequest
from django.db import DataError
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console import errors

log = structlog.get_logger(__name__)

# What Django and the databases raise for a value that no date or number can have.
IMPOSSIBLE: Final = (OverflowError, ValueError, DataError)


class AdminQueries:
    """Middleware: 400 for an admin URL with a NUL, and the plain list for an impossible filter.

    Filters and row keys are passed to the database unchanged, and PostgreSQL stores no NUL; the
    search form checks its text itself. Django leads back from a filter that it finds invalid with
    `?e=1`, but not from a year 9999 or from a number of twenty digits.
    """

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse]) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path.startswith(reverse("admin:index")) and _has_nul(request):
            return errors.bad_request(request, BadRequest("The address holds a NUL."))
        return self._answer(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, IMPOSSIBLE) or not _is_filtered_list(request):
            return None
        log.warning("admin_filter_rejected", path=request.path, exc_info=error)
        return HttpResponseRedirect(f"{request.path}?{ERROR_FLAG}=1")


def _is_filtered_list(request: HttpRequest) -> bool:
    found = request.resolver_match
    if found is None or found.app_name != "admin" or request.method != "GET":
        return False
    is_list = str(found.url_name).endswith("_changelist")
    return is_list and bool(request.GET.keys() - {ERROR_FLAG})


def _has_nul(request: HttpRequest) -> bool:
    if "\0" in request.path:
        return True
    filters = [pair for pair in request.GET.lists() if pair[0] != SEARCH_VAR]
    return any("\0" in text for name, values in filters for text in (name, *values))
