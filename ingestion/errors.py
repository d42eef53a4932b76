"""Errors of the SDK API: a code, a reason, and the field that is concerned, as JSON."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any, Final, NamedTuple

import structlog
from django.db import IntegrityError
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from customers.identification.field_values import InvalidField, escape_name
from customers.tickets import NoSuchTicket
from foundation import store_failures
from foundation.limits import Verdict
from foundation.store_failures import is_store_failure

log = structlog.get_logger(__name__)

CODES: Final[Mapping[int, str]] = {
    400: "invalid_request",
    401: "unauthorized",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    409: "conflict",
    413: "payload_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
    500: "server_error",
    503: "unavailable",
}
GENERAL: Final = "non_field_errors"
# Of a batch of a thousand users.
MAX_FIELDS: Final = 100


class FieldProblem(NamedTuple):
    """What is wrong with one field of a request."""

    field: str
    reason: str


class SdkApiError(Exception):
    """A refusal with its status; `field` is empty where no field is concerned."""

    status = HTTPStatus.BAD_REQUEST

    def __init__(self, field: str, reason: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(f"{field}: {reason}")
        self.field, self.reason = field, reason
        self.headers = headers or {}

    def body(self) -> dict[str, Any]:
        field = {"field": self.field} if self.field else {}
        return {"error": CODES[self.status], "reason": self.reason, **field}


class SdkInvalidRequest(SdkApiError):
    """Fields have wrong values, or the body is no JSON. `fields` are all that are wrong."""

    def __init__(self, field: str, reason: str, *others: FieldProblem) -> None:
        super().__init__(field, reason)
        self.fields = (FieldProblem(field, reason), *others) if field else others

    def body(self) -> dict[str, Any]:
        fields = [{"field": one.field, "reason": one.reason} for one in self.fields[:MAX_FIELDS]]
        return {**super().body(), **({"fields": fields} if fields else {})}


class SdkUnauthorized(SdkApiError):
    """No valid key (RFC 9110 section 15.5.2)."""

    status = HTTPStatus.UNAUTHORIZED

    def __init__(self, reason: str) -> None:
        super().__init__("", reason, {"WWW-Authenticate": 'Bearer realm="halo-sdk"'})


class SdkForbidden(SdkApiError):
    """The key is valid, and may not do this."""

    status = HTTPStatus.FORBIDDEN


class SdkNotFound(SdkApiError):
    """There is no such row, or it is another organization's."""

    status = HTTPStatus.NOT_FOUND


class SdkConflict(SdkApiError):
    """The request contradicts an earlier one."""

    status = HTTPStatus.CONFLICT


class SdkTooLarge(SdkApiError):
    """The body is too large."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE


class SdkMethodNotAllowed(SdkApiError):
    """The address has no such method; the framework adds the header Allow."""

    status = HTTPStatus.METHOD_NOT_ALLOWED

    def __init__(self) -> None:
        super().__init__("", "This address does not accept the method.")


class SdkUnsupportedMediaType(SdkApiError):
    """The body is no JSON."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE

    def __init__(self) -> None:
        super().__init__("", "Send application/json.")


class SdkUnavailable(SdkApiError):
    """The request can be sent again."""

    status = HTTPStatus.SERVICE_UNAVAILABLE

    def __init__(self) -> None:
        retry = {"Retry-After": str(store_failures.RETRY_AFTER_SECONDS)}
        super().__init__("", store_failures.MESSAGE, retry)


class SdkRateLimited(SdkApiError):
    """A rate limit refuses the request."""

    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, verdict: Verdict) -> None:
        super().__init__("", "Too many requests. Try again later.", verdict.headers())


def body_of_status(status: int, reason: str) -> dict[str, str]:
    """Returns the body of an error that no view raised: of an address, a method or a server."""
    return {"error": CODES[status], "reason": reason}


def response(problem: Exception, _context: Mapping[str, Any]) -> Response | None:
    """Returns the response to an exception of a view, or None for an unexpected one."""
    found = _refusal(problem)
    if found is None:
        return None
    set_rollback()
    return Response(found.body(), found.status, headers=dict(found.headers))


def _refusal(problem: Exception) -> SdkApiError | None:
    if isinstance(problem, SdkApiError):
        return problem
    if isinstance(problem, exceptions.ValidationError):
        first, *others = list_problems(problem.detail)
        return SdkInvalidRequest(first.field, first.reason, *others)
    if is_store_failure(problem):
        log.error("sdk_request_failed", error=repr(problem))
        return SdkUnavailable()
    translate = next((OTHERS[kind] for kind in OTHERS if isinstance(problem, kind)), None)
    return translate(problem) if translate else None


def _translate_conflict(problem: Exception) -> SdkApiError:
    """Two requests changed the same rows."""
    log.error("sdk_request_failed", error=repr(problem))
    return SdkUnavailable()


# The errors of other modules, each with the refusal that is sent for it.
OTHERS: Final[Mapping[type[Exception], Callable[[Any], SdkApiError]]] = {
    InvalidField: lambda problem: SdkInvalidRequest(
        problem.field,
        problem.reason,
        *(FieldProblem(one.field, one.reason) for one in problem.each[1:]),
    ),
    exceptions.ParseError: lambda problem: SdkInvalidRequest("", str(problem.detail)),
    exceptions.UnsupportedMediaType: lambda _: SdkUnsupportedMediaType(),
    exceptions.MethodNotAllowed: lambda _: SdkMethodNotAllowed(),
    NoSuchTicket: lambda _: SdkNotFound("ticket_id", "There is no such ticket."),
    IntegrityError: _translate_conflict,
}


def list_problems(detail: Any, place: str = "") -> list[FieldProblem]:
    """Returns each error of a serializer with the path of its field, such as `events[3].at`."""
    if isinstance(detail, dict):
        return [
            problem
            for name, inner in detail.items()
            for problem in list_problems(inner, _place_of(name, place))
        ]
    if isinstance(detail, list):
        return [
            problem
            for number, inner in enumerate(detail)
            for problem in list_problems(
                inner, f"{place}[{number}]" if isinstance(inner, dict) else place
            )
        ]
    return [FieldProblem(place, str(detail))]


def _place_of(name: str | int, place: str) -> str:
    if isinstance(name, int):
        return f"{place}[{name}]"
    return place if name == GENERAL else ".".join(filter(None, (place, escape_name(name))))
