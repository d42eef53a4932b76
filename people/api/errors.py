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
from people.access import RecordNotFound

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
class FieldIssue:
    """What is wrong with one field."""

    field: str
    issue: str


@dataclass(slots=True)
class HrApiError(Exception):
    """A refusal; `code` is one of STATUSES."""

    code: str
    message: str
    details: Sequence[FieldIssue] = ()
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


def rate_limited(verdict: Verdict) -> HrApiError:
    headers = {"Retry-After": str(verdict.retry_after)}
    return HrApiError("rate_limited", "Too many requests. Try again later.", headers=headers)


def unavailable() -> HrApiError:
    """Returns the error for a request that can be sent again as it is."""
    headers = {"Retry-After": str(store_failures.RETRY_AFTER_SECONDS)}
    return HrApiError("unavailable", store_failures.MESSAGE, headers=headers)


def from_status(status: int, message: str) -> HrApiError:
    """Returns the error that no view raised: of an address, a method or a server."""
    code = next(code for code, of_code in STATUSES.items() if of_code == status)
    return HrApiError(code, message)


def invalid(name: str, issue: str) -> HrApiError:
    return HrApiError("invalid_request", issue, [FieldIssue(name, issue)])


def from_exception(problem: Exception, request_id: str) -> HrApiError:
    """Returns the refusal for an exception; an unexpected one is logged."""
    if isinstance(problem, HrApiError):
        return problem
    if is_store_failure(problem):
        log.error("hr_request_failed", request_id=request_id, error=repr(problem))
        return unavailable()
    for kind, translate in OTHERS.items():
        if isinstance(problem, kind):
            return translate(problem)
    log.error("hr_request_failed", request_id=request_id, exc_info=problem)
    message = f"Internal error. Quote {request_id} to your admin."
    return HrApiError("internal_error", message)


def _translate_refusal(problem: changes.RefusedChange) -> HrApiError:
    details = [FieldIssue(problem.field, problem.message)] if problem.field else []
    return HrApiError(problem.code, problem.message, details)


def _translate_field_errors(problem: exceptions.ValidationError) -> HrApiError:
    details = [FieldIssue(one.field, one.reason) for one in ingestion.list_problems(problem.detail)]
    named = ", ".join(dict.fromkeys(one.field for one in details if one.field))
    message = f"Check these fields: {named}." if named else details[0].issue
    return HrApiError("invalid_request", message, details)


def _translate_sdk_error(problem: ingestion.SdkApiError) -> HrApiError:
    code = {409: "idempotency_conflict", 413: "payload_too_large"}.get(problem.status)
    return HrApiError(
        code or "invalid_request", problem.reason, [FieldIssue(problem.field, problem.reason)]
    )


def _translate_conflict(problem: Exception) -> HrApiError:
    """Two requests changed the same rows."""
    log.error("hr_request_failed", error=repr(problem))
    return unavailable()


# The exceptions of other modules, each with the refusal that is sent for it.
OTHERS: Final[Mapping[type[Exception], Callable[[Any], HrApiError]]] = {
    RecordNotFound: lambda _: HrApiError("not_found", "There is no such record."),
    changes.RefusedChange: _translate_refusal,
    exceptions.ValidationError: _translate_field_errors,
    exceptions.ParseError: lambda problem: HrApiError("invalid_request", str(problem.detail)),
    exceptions.UnsupportedMediaType: lambda _: HrApiError(
        "unsupported_media_type", "Send application/json."
    ),
    exceptions.MethodNotAllowed: lambda _: HrApiError(
        "method_not_allowed", "This address does not accept the method."
    ),
    ingestion.SdkApiError: _translate_sdk_error,
    IntegrityError: _translate_conflict,
}
