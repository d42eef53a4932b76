"""Which refusal an exception becomes that a view of Django REST framework has raised."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import structlog
from django.db import IntegrityError
from rest_framework import exceptions

from customers.identification.field_values import escape_name
from foundation.store_failures import is_store_failure
from rest.errors import ApiError, FieldIssue, unavailable

log = structlog.get_logger(__name__)

# By the class of an exception.
Translations: TypeAlias = Mapping[type[Exception], Callable[[Any], ApiError]]

# What Django REST framework calls errors of an object as a whole.
GENERAL: Final = "non_field_errors"
OF_THE_FRAMEWORK: Final[Translations] = {
    exceptions.UnsupportedMediaType: lambda _: ApiError(415, "Send application/json."),
    exceptions.MethodNotAllowed: lambda _: ApiError(
        405, "This address does not accept the method."
    ),
}


def find_refusal(
    problem: Exception, translations: Translations, event: str, **context: str
) -> ApiError | None:
    """Returns the refusal that an exception becomes, or None for an unexpected one.

    `translations` are those of one API; an outage is logged as `event`.
    """
    if isinstance(problem, ApiError):
        return problem
    # IntegrityError: two requests changed the same rows.
    if is_store_failure(problem) or isinstance(problem, IntegrityError):
        log.error(event, error=repr(problem), **context)
        return unavailable()
    every = {**translations, **OF_THE_FRAMEWORK}
    translate = next((every[kind] for kind in every if isinstance(problem, kind)), None)
    return translate(problem) if translate else None


def list_issues(detail: Any, place: str = "") -> list[FieldIssue]:
    """Returns each error of a serializer with the path of its field, such as `events[3].at`."""
    if isinstance(detail, dict):
        return [
            issue
            for name, inner in detail.items()
            for issue in list_issues(inner, _place_of(name, place))
        ]
    if isinstance(detail, list):
        return [
            issue
            for number, inner in enumerate(detail)
            for issue in list_issues(
                inner, f"{place}[{number}]" if isinstance(inner, dict) else place
            )
        ]
    return [FieldIssue(place, str(detail))]


def _place_of(name: str | int, place: str) -> str:
    if isinstance(name, int):
        return f"{place}[{name}]"
    return place if name == GENERAL else ".".join(filter(None, (place, escape_name(name))))
