"""A limit for how long a statement of a page may take: a page has one of a few threads."""

from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any, Final

import structlog
from django.conf import settings
from django.db import connection
from django.http import HttpRequest, HttpResponse

from console import error_forms, errors, outages
from foundation.db.time_limit import TimeLimitExceeded, time_limit

# Statements that change no row, as Django and the modules here write them.
READS: Final = ("SELECT", "\nSELECT", "SAVEPOINT", "RELEASE SAVEPOINT", "ROLLBACK")

log = structlog.get_logger(__name__)


class PageTimeLimit:
    """Middleware: cancels a statement that takes longer than HALO_PAGE_SECONDS, and answers 503.

    SQLite reads the rows of a result as they are needed, which is not limited; what takes it long,
    sorting and counting, it does before the first.
    """

    def __init__(self, answer: Callable[[HttpRequest], HttpResponse]) -> None:
        self._answer = answer

    def __call__(self, request: HttpRequest) -> HttpResponse:
        with connection.execute_wrapper(partial(_execute, request)):
            return self._answer(request)

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        if not isinstance(error, TimeLimitExceeded):
            return None
        log.warning("page_took_too_long", path=request.path)
        if error_forms.is_for_programs(request.path_info):
            return outages.answer(request)
        return errors.error_page(request, HTTPStatus.SERVICE_UNAVAILABLE)


def _execute(request: Any, execute: Callable[..., Any], sql: str, *given: Any) -> Any:
    if not sql.startswith(READS):
        # What the page of an outage says of it: something may be saved from here on.
        request.has_written = True
    with time_limit(settings.HALO_PAGE_SECONDS):
        return execute(sql, *given)
