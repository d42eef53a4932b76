"""Runs operations of the HR API for tools: with the key, within the budget, projected."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

from rest_framework.exceptions import ValidationError

from oauth import server_keys
from oauth.principal import Unauthenticated
from oauth.server_keys import KeyPrincipal
from people import changes, disclosure
from people.access import RecordNotFound
from people.api import callers, errors, requests
from people.api.errors import HrApiError
from people.api.operation import CheckedCall, Operation
from people.mcp import budget, projections
from people.models import OrgUnit, Person, TimeOff, TimeOffCategory
from rest.errors import ApiError, FieldIssue
from rest.paging import DEFAULT_LIMIT
from tools_registry.api import Facts, ToolContext, ToolFailure, ValidationFailure
from tools_registry.api import NotFound as NoSuchRecord


@dataclass(frozen=True, slots=True)
class OperationCall:
    """An operation with its parameters and its body as they were sent.

    A query parameter that is None was left out.
    """

    operation: Operation
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, Any] = field(default_factory=dict)
    body: Mapping[str, Any] = field(default_factory=dict)
    if_match: str = ""


@dataclass(slots=True)
class Rows:
    """How many records of people a call has answered."""

    answered: int = 0


class OperationRefused(ToolFailure):
    """An operation refused the call for what no correction of arguments changes."""

    kind = "refused"


class KeyEnded(ToolFailure):
    """The key of the call was revoked, or has expired, while the call ran."""

    kind = "token_ended"


class BudgetSpent(ToolFailure):
    """The budget of personal data has less left than the call may need."""

    kind = "rate_limited"


REFUSALS: Final = (
    ApiError,
    RecordNotFound,
    changes.RefusedChange,
    ValidationError,
)
FAILURES: Final[Mapping[str, type[ToolFailure]]] = {
    "invalid_request": ValidationFailure,
    "not_found": NoSuchRecord,
}
# Where the ids of records come from, for a model that has sent one that does not exist.
SOURCES_OF_IDS: Final[Mapping[type, str]] = {
    Person: "Send an id that search_people answered, not a name.",
    TimeOff: "Send an id that list_time_off answered.",
    TimeOffCategory: "Send an id that list_reference answered for time_off_categories.",
    OrgUnit: "Send an id that listOrgUnits answered.",
}


def key_of(context: ToolContext) -> KeyPrincipal:
    """Returns the key of a call as it is now. Raises KeyEnded."""
    try:
        return server_keys.active(UUID(context.credential_id))
    except Unauthenticated:
        raise KeyEnded("The key is no longer valid.") from None


def run_operation(context: ToolContext, asked: OperationCall) -> Facts:
    """Returns the projected answer of one operation. Raises ToolFailure."""
    (body,), rows = run_operations(context, [asked])
    return Facts(body, row_count=rows)


def run_operations(
    context: ToolContext, asked: Sequence[OperationCall]
) -> tuple[list[dict[str, Any]], int]:
    """Returns the projected answers of operations, and how many records of people are in them.

    All or none: what they may need together is reserved first. Raises ToolFailure.
    """
    key = key_of(context)
    with failures(context):
        calls = [check_call(key, one) for one in asked]
        most = sum(_max_rows(one.operation, call) for one, call in zip(asked, calls, strict=True))
        with reserve_budget(key, most, calls[0].organization_id) as rows:
            found = [one.operation.run(call).body for one, call in zip(asked, calls, strict=True)]
            pairs = list(zip(asked, found, strict=True))
            rows.answered = sum(one.operation.rows(body) for one, body in pairs)
    return [projections.project_answer(one.operation, body) for one, body in pairs], rows.answered


@contextmanager
def failures(context: ToolContext) -> Iterator[None]:
    """Raises what the HR API refuses as the failure of a tool; its `reason` is the code."""
    try:
        yield
    except REFUSALS as problem:
        refusal = errors.from_exception(disclosure.limit_problem(problem), context.call_id)
        hint = SOURCES_OF_IDS.get(getattr(problem, "model", type(None)), "")
        raise _failure(refusal, hint) from None


@contextmanager
def reserve_budget(key: KeyPrincipal, most: int, organization_id: UUID) -> Iterator[Rows]:
    """Reserves as many records of people as an answer may have; what is not answered is returned.

    Raises BudgetSpent.
    """
    rows = Rows()
    use = _reserve_records(key, most, organization_id) if most else None
    try:
        yield rows
    finally:
        if use is not None:
            budget.settle(use, rows.answered)


def check_call(key: KeyPrincipal, asked: OperationCall) -> CheckedCall:
    """Returns the checked call of an operation. Raises HrApiError and ValidationError."""
    operation = asked.operation
    if operation.scope and operation.scope not in key.scopes:
        raise HrApiError("permission_denied", f"The API key needs the scope {operation.scope}.")
    query = {name: value for name, value in asked.query.items() if value is not None}
    hidden = [name for name in query if name in operation.hidden]
    if hidden or (operation.query is None and query):
        names = hidden or list(query)
        details = [FieldIssue(name[:80], "There is no such parameter.") for name in names]
        raise HrApiError("invalid_request", "There is no such parameter.", details)
    return CheckedCall(
        callers.records_of(key),
        key,
        path=asked.path,
        query=requests.validate_values(operation.query, query),
        body=requests.validate_values(operation.request, dict(asked.body)),
        if_match=asked.if_match,
        is_for_ai=True,
    )


def _max_rows(operation: Operation, call: CheckedCall) -> int:
    """How many records of people an answer may have."""
    if not operation.personal:
        return 0
    return call.query.get("limit", DEFAULT_LIMIT) if operation.lists else 1


def _reserve_records(key: KeyPrincipal, rows: int, organization_id: UUID) -> Any:
    try:
        return budget.reserve(organization_id, key.key_id, rows)
    except budget.Spent as spent:
        message = (
            f"This call may answer {rows} records of people, and {spent.remaining} are left of the "
            f"organization's budget for 24 hours. Ask for fewer with limit, or wait until "
            f"{spent.grows_at:%Y-%m-%d %H:%M} UTC."
        )
        raise BudgetSpent(message, field="limit", reason="rate_limited") from None


def _failure(problem: HrApiError, hint: str = "") -> ToolFailure:
    name = problem.details[0].field if problem.details else ""
    message = problem.message
    if len(problem.details) == 1:
        message = problem.details[0].issue
    elif problem.details:
        message = " ".join(f"{one.field}: {one.issue}" for one in problem.details)
    kind = FAILURES.get(problem.code, OperationRefused)
    return kind(" ".join(filter(None, (message, hint))), field=name, reason=problem.code)
