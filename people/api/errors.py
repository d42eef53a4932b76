"""Errors of the HR API: one body with a code, a message, the request's id and its fields."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import structlog
from rest_framework.exceptions import ValidationError

from people import changes
from people.access import RecordNotFound, ReferenceNotFound
from rest import exceptions
from rest.errors import ApiError, FieldIssue, field_error, internal_error
from rest.exceptions import Translations
from rest.idempotency import IdempotencyConflict

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


class HrApiError(ApiError):
    """A refusal; `code` is one of STATUSES."""

    def __init__(
        self,
        code: str,
        message: str,
        details: Sequence[FieldIssue] = (),
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(STATUSES[code], message, details, headers)
        self.code = code

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


def from_status(status: int, message: str) -> HrApiError:
    """Returns the error that no view raised: of an address, a method or a server."""
    return HrApiError(_find_code(status), message)


def from_exception(problem: Exception, request_id: str) -> HrApiError:
    """Returns the refusal for an exception; an unexpected one is logged."""
    event = "hr_request_failed"
    refusal = exceptions.find_refusal(problem, TRANSLATIONS, event, request_id=request_id)
    if refusal is None:
        log.error(event, request_id=request_id, exc_info=problem)
        refusal = internal_error(request_id)
    return refusal if isinstance(refusal, HrApiError) else _add_code(refusal)


def _add_code(refusal: ApiError) -> HrApiError:
    is_reused = isinstance(refusal, IdempotencyConflict)
    code = "idempotency_conflict" if is_reused else _find_code(refusal.status)
    return HrApiError(code, refusal.message, refusal.details, refusal.headers)


def _find_code(status: int) -> str:
    return next(code for code, of_code in STATUSES.items() if of_code == status)


def _translate_refusal(problem: changes.RefusedChange) -> HrApiError:
    details = [FieldIssue(problem.field, problem.message)] if problem.field else []
    return HrApiError(problem.code, problem.message, details)


def _translate_field_errors(problem: ValidationError) -> ApiError:
    details = exceptions.list_issues(problem.detail)
    named = ", ".join(dict.fromkeys(one.field for one in details if one.field))
    message = f"Check these fields: {named}." if named else details[0].issue
    return ApiError(400, message, details)


TRANSLATIONS: Final[Translations] = {
    ReferenceNotFound: lambda problem: field_error(400, problem.field, str(problem)),
    RecordNotFound: lambda problem: ApiError(404, str(problem)),
    changes.RefusedChange: _translate_refusal,
    ValidationError: _translate_field_errors,
}
