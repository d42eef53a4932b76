"""Errors of the SDK API: a code, a reason, and the field that is concerned, as JSON."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, Final

from rest_framework.exceptions import ValidationError
from rest_framework.response import Response

from customers.conversations import ConversationOfAnother
from customers.events import KnownEvents
from customers.identification.field_values import InvalidField
from customers.identification.join_undo import CannotUndo, NoSuchJoin
from customers.identification.merges import NoSuchCustomer, TooManyRows
from customers.tickets import KnownTicket, NoSuchTicket
from rest import exceptions
from rest.errors import ApiError, FieldIssue, field_error
from rest.exceptions import Translations

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
# Of a batch of a thousand users.
MAX_FIELDS: Final = 100


def body(problem: ApiError) -> dict[str, Any]:
    """Returns the body of an error; that of a wrong request names every field."""
    found: dict[str, Any] = {"error": CODES[problem.status], "reason": problem.message}
    first, *others = problem.details or [FieldIssue("", "")]
    fields = [first, *others] if first.field else others
    if first.field:
        found["field"] = first.field
    if fields and problem.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.CONFLICT}:
        found["fields"] = [{"field": one.field, "reason": one.issue} for one in fields[:MAX_FIELDS]]
    return found


def response(problem: Exception, _context: Mapping[str, Any]) -> Response | None:
    """Returns the response to an exception of a view, or None for an unexpected one."""
    refusal = exceptions.find_refusal(problem, TRANSLATIONS, "sdk_request_failed")
    if refusal is None:
        return None
    return Response(body(refusal), refusal.status, headers=dict(refusal.headers))


def _name_fields(issues: list[FieldIssue]) -> ApiError:
    return ApiError(400, issues[0].issue, issues)


def _name_known_events(problem: KnownEvents) -> ApiError:
    reason = "Another event has this id."
    return ApiError(
        409, reason, [FieldIssue(f"events[{one}].id", reason) for one in problem.places]
    )


TRANSLATIONS: Final[Translations] = {
    ValidationError: lambda problem: _name_fields(exceptions.list_issues(problem.detail)),
    InvalidField: lambda problem: _name_fields(
        [FieldIssue(one.field, one.reason) for one in problem.each]
    ),
    KnownEvents: _name_known_events,
    ConversationOfAnother: lambda _: field_error(
        409, "user_id", "The conversation of this session is of another customer."
    ),
    KnownTicket: lambda _: field_error(409, "external_id", "Another ticket has this external id."),
    NoSuchCustomer: lambda problem: field_error(404, problem.field, "There is no such customer."),
    TooManyRows: lambda problem: field_error(409, "from_id", str(problem)),
    NoSuchJoin: lambda _: field_error(404, "join_id", "There is no such join."),
    CannotUndo: lambda problem: field_error(409, "join_id", str(problem)),
    NoSuchTicket: lambda _: field_error(404, "ticket_id", "There is no such ticket."),
}
