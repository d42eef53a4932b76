"""Errors of the HR API: one body with a code, a message, the request's id and its fields."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import structlog
from django.db import IntegrityError
from rest_framework import exceptions

from foundation import store_failures
from foundation.limits import Verdict
from foundation.store_failures import is_store_failure
from ingestion import errors as ingestion
from people import changes
from people.access import NotFound

log = structlog.get_logger(__name__)

STATUSES: Final[Mapping[str, int]] = {
    "invalid_request": 400,
    "idempotency_required": 400,
    "authentication_required": 401,
    "permission_denied": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "conflict": 409,
    "idempotency_conflict": 409,
    "precondition_failed": 412,
    "payload_too_large": 413,
    "unsupported_media_type": 415,
    "precondition_required": 428,
    "rate_limited": 429,
    "internal_error": 500,
    "unavailable": 503,
}


@dataclass(frozen=True, slots=True)
class Detail:
    """What is wrong with one field."""

    field: str
    issue: str


@dataclass(slots=True)
class ApiError(Exception):
    """A refusal; `code` is one of STATUSES."""

    code: str
    message: str
    details: Sequence[Detail] = ()
    headers: Mapping[str, str] = field(default_factory=dict)

    @property
    def status(self) -> int:
        return STATUSES[self.code]

    def body(self, request_id: str) -> dict[str, Any]:
        details = [{"field": one.field, "issue": one.issue} for one in self.details]
        return {
            "error": {
                "code": self.code,
                "message": self.message,
                "request_id": request_id,
                "details": details,
            }
        }


def rate_limited(verdict: Verdict) -> ApiError:
    headers = {"Retry-After": str(verdict.retry_after)}
    return ApiError("rate_limited", "Too many requests. Try again later.", headers=headers)


def unavailable() -> ApiError:
    """Returns the error for a request that can be sent again as it is."""
    headers = {"Retry-After": str(store_failures.RETRY_AFTER_SECONDS)}
    return ApiError("unavailable", store_failures.MESSAGE, headers=headers)


def of_status(status: int, message: str) -> ApiError:
    """Returns the error that no view raised: of an address, a method or a server."""
    code = next(code for code, of_code in STATUSES.items() if of_code == status)
    return ApiError(code, message)


def invalid(name: str, issue: str) -> ApiError:
    return ApiError("invalid_request", issue, [Detail(name, issue)])


def of(problem: Exception, request_id: str) -> ApiError:
    """Returns the refusal for an exception; an unexpected one is logged."""
    if isinstance(problem, ApiError):
        return problem
    if is_store_failure(problem):
        log.error("hr_request_failed", request_id=request_id, error=repr(problem))
        return unavailable()
    for kind, translate in OTHERS.items():
        if isinstance(problem, kind):
            return translate(problem)
    log.error("hr_request_failed", request_id=request_id, exc_info=problem)
    message = f"Internal error. Quote {request_id} to your admin."
    return ApiError("internal_error", message)


def _refused(problem: changes.Refused) -> ApiError:
    details = [Detail(problem.field, problem.message)] if problem.field else []
    return ApiError(problem.code, problem.message, details)


def _of_fields(problem: exceptions.ValidationError) -> ApiError:
    details = [Detail(one.field, one.reason) for one in ingestion.list_problems(problem.detail)]
    named = ", ".join(dict.fromkeys(one.field for one in details if one.field))
    message = f"Check these fields: {named}." if named else details[0].issue
    return ApiError("invalid_request", message, details)


def _of_ingestion(problem: ingestion.ApiError) -> ApiError:
    code = {409: "idempotency_conflict", 413: "payload_too_large"}.get(problem.status)
    return ApiError(
        code or "invalid_request", problem.reason, [Detail(problem.field, problem.reason)]
    )


def _of_conflict(problem: Exception) -> ApiError:
    """Two requests changed the same rows."""
    log.error("hr_request_failed", error=repr(problem))
    return unavailable()


# The exceptions of other modules, each with the refusal that is sent for it.
OTHERS: Final[Mapping[type[Exception], Callable[[Any], ApiError]]] = {
    NotFound: lambda _: ApiError("not_found", "There is no such record."),
    changes.Refused: _refused,
    exceptions.ValidationError: _of_fields,
    exceptions.ParseError: lambda problem: ApiError("invalid_request", str(problem.detail)),
    exceptions.UnsupportedMediaType: lambda _: ApiError(
        "unsupported_media_type", "Send application/json."
    ),
    exceptions.MethodNotAllowed: lambda _: ApiError(
        "method_not_allowed", "This address does not accept the method."
    ),
    ingestion.ApiError: _of_ingestion,
    IntegrityError: _of_conflict,
}
