"""Changes over MCP in two steps: prepared first, then committed once a person has approved.

Preparing runs the operation and rolls it back, so that it shows exactly what a commit would change,
and is refused for the same reasons. Committing does so again, asks the person, and runs it once.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Annotated, Any, Final

from django.conf import settings
from django.db import transaction

from mcp_protocol import mcp_apps, meta_keys
from oauth.server_keys import KeyPrincipal
from people.api.operation import CheckedCall, Operation, OperationAnswer
from people.mcp import change_words, confirmation_tokens, contract, projections, running
from people.mcp.confirmation_tokens import InvalidConfirmation, PreparedWrite
from people.mcp.contract import EXPOSED
from people.mcp.declaring import TEXT, Identifier, OperationArguments, an_object, hr_tool
from people.mcp.running import OperationCall, OperationRefused
from rest import idempotency
from rest.errors import ApiError
from rest.idempotency import CallerKey
from tools_registry.api import Declined, Facts, Keywords, ToolContext, ValidationFailure
from tools_registry.api.apps import APPROVAL_CARD

SCOPE: Final = "mcp:write"
# The record, the person whom it is about, and their balance.
ROWS: Final = 3
# What a change that is rolled back makes up.
PROVISIONAL: Final = frozenset({"id", "created_at", "updated_at"})
# What is kept with a decision, and is no field of the record.
DECISION_WORDS: Final = {"decided_by_id": "Decided by the person", "comment": "Comment"}
APPROVE: Final = {
    "approve": {
        "type": "boolean",
        "title": "Approve this change",
        "description": "Nothing is changed unless this is on.",
    }
}
TURNED_OFF: Final = (
    "Changes over MCP are turned off on this server. Show the person what would be changed, and "
    "stop."
)
NOT_APPROVED: Final = "The person did not approve the change. Nothing was changed."
PREPARE_AGAIN: Final = (
    "The confirmation token is not valid or has expired. Prepare the change again with "
    "prepare_api_write."
)
PAYLOAD: Final = an_object(
    {"operation_id": TEXT, "method": TEXT, "path": TEXT, "body": {"type": "object"}}
)
# A field that is not answered over MCP has no `from`.
CHANGE: Final = {
    "type": "object",
    "properties": {"field": TEXT, "from": {}, "to": {}},
    "required": ["field", "to"],
}
PERSON: Final = {"oneOf": [an_object({"id": TEXT, "display_name": TEXT}), {"type": "null"}]}


class WriteArguments(OperationArguments, total=False):
    """As of any operation, with the body of one that changes records."""

    body: Annotated[Mapping[str, Any], Keywords(description="get_api_operation has its schema.")]


@dataclass(frozen=True, slots=True)
class Preview:
    """What a change would do: the fields that differ, the person, and the record in words."""

    difference: list[dict[str, Any]]
    person: Mapping[str, str] | None
    words: Sequence[str]
    has_balance: bool

    @property
    def rows(self) -> int:
        return 1 + (self.person is not None) + self.has_balance


def are_on() -> bool:
    """Returns whether this server allows changes over MCP."""
    return settings.HALO_HR_WRITE_MODE == "enabled"


def refusal(operation: Operation, key: KeyPrincipal) -> OperationRefused | None:
    """Returns why a key may not change anything with an operation now; None if it may."""
    if not are_on():
        return OperationRefused(TURNED_OFF, reason="write_mode_off")
    missing = [one for one in (SCOPE, operation.scope) if one not in key.scopes]
    if not missing:
        return None
    message = f"The API key needs the scope {missing[0]}. Show the person the change, and stop."
    return OperationRefused(message, reason="permission_denied")


@hr_tool(
    title="Prepare a change",
    description=(
        "Check one operation that changes records, such as createTimeOff, and read what it "
        "would change. Nothing is changed yet. Show the person the question: the change in words, "
        "with what is left afterwards. Then send confirmation_token to commit_api_write within "
        "five minutes."
    ),
    scope=SCOPE,
    output=lambda: an_object(
        {
            "confirmation_token": TEXT,
            "expires_at": TEXT,
            "frozen_payload": PAYLOAD,
            "difference": {"type": "array", "items": CHANGE},
            "question": TEXT,
            "person": PERSON,
        }
    ),
    app=APPROVAL_CARD,
)
def prepare_api_write(
    context: ToolContext, operation_id: Identifier, args: WriteArguments | None = None
) -> Facts:
    operation = contract.find_operation(operation_id)
    if operation.is_read:
        message = f"{operation.id} reads. Send it to call_api_operation."
        raise ValidationFailure(message, field="operation_id")
    sent: WriteArguments = args or {}
    path, body = sent.get("pathParams", {}), sent.get("body", {})
    contract.require_path(operation, path)
    key = running.key_of(context)
    _require_permission(operation, key)
    with running.failures(context):
        asked = OperationCall(operation, path, sent.get("query", {}), body)
        call = running.check_call(key, asked)
        with running.reserve_budget(key, ROWS, call.organization_id) as rows:
            present = _read_record(operation, call)
            frozen = PreparedWrite(operation.id, path, body, present.etag)
            call = replace(call, if_match=present.etag)
            found = _preview_change(operation, call, body, present)
            rows.answered = found.rows
    value = {
        "confirmation_token": confirmation_tokens.to_token(frozen, key),
        "expires_at": frozen.expires_at,
        "frozen_payload": {
            "operation_id": operation.id,
            "method": operation.method,
            "path": f"/{operation.path}".format(**path),
            "body": body,
        },
        "difference": found.difference,
        "question": _describe_change(operation, frozen, found),
        "person": found.person,
    }
    # The mark by which the card tells our result from one that an API has written.
    shows_card = mcp_apps.has_declared_apps(context.client_capabilities)
    meta = {meta_keys.PREPARED_CHANGE: True} if shows_card else {}
    return Facts(value, row_count=rows.answered, meta=meta)


@hr_tool(
    title="Commit a change",
    description=(
        "Make a change that prepare_api_write has prepared. The person is asked to approve it "
        "first; without their approval nothing is changed. Do not try again when they decline."
    ),
    scope=SCOPE,
    mutates=True,
    output=lambda: an_object(
        {
            "operation_id": TEXT,
            "answer": {"type": "object"},
            "is_repeated": {"type": "boolean"},
        }
    ),
)
def commit_api_write(
    context: ToolContext,
    confirmation_token: Annotated[
        str, Keywords(minLength=1, maxLength=confirmation_tokens.MAX_CHARACTERS)
    ],
) -> Facts:
    """A change that was committed before is not run again: its answer is repeated."""
    key = running.key_of(context)
    # First: another token would not help.
    if not are_on():
        raise OperationRefused(TURNED_OFF, reason="write_mode_off")
    frozen = _read_token(confirmation_token, key)
    operation = EXPOSED[frozen.operation_id]
    _require_permission(operation, key)
    with running.failures(context):
        call = running.check_call(
            key, OperationCall(operation, frozen.path, body=frozen.body, if_match=frozen.if_match)
        )
        with running.reserve_budget(key, ROWS, call.organization_id) as rows:
            ended, is_repeated = idempotency.find_response(_idempotency_key(key, frozen)), True
            if ended is None:
                found = _preview_change(operation, call, frozen.body, _read_record(operation, call))
                rows.answered = found.rows
                # Another commit of the token may have ended meanwhile, so that its figures changed:
                # the person would be asked again about what they have approved.
                ended = idempotency.find_response(_idempotency_key(key, frozen))
            if ended is None:
                _ask_person(context, key, frozen, _describe_change(operation, frozen, found))
                ended, is_repeated = _run_once(operation, call, frozen)
            if "declined" in ended:
                raise Declined(NOT_APPROVED)
            rows.answered = 1
    value = {"operation_id": operation.id, "answer": ended["answer"], "is_repeated": is_repeated}
    return Facts(value, row_count=rows.answered)


def _require_permission(operation: Operation, key: KeyPrincipal) -> None:
    refused = refusal(operation, key)
    if refused is not None:
        raise refused


def _read_token(token: str, key: KeyPrincipal) -> PreparedWrite:
    try:
        return confirmation_tokens.from_token(token, key)
    except InvalidConfirmation:
        reason = "invalid_confirmation"
        raise ValidationFailure(PREPARE_AGAIN, field="confirmation_token", reason=reason) from None


def _read_record(operation: Operation, call: CheckedCall) -> OperationAnswer:
    """The record that the operation changes; empty, and without a tag, if it makes a new one."""
    return (
        EXPOSED[operation.read_by].run(call) if operation.read_by else OperationAnswer({"data": {}})
    )


def _preview_change(
    operation: Operation, call: CheckedCall, sent: Mapping[str, Any], present: OperationAnswer
) -> Preview:
    """What the change would do now; it is made and rolled back. Raises what a commit raises."""
    before = present.body["data"]
    row = change_words.find_request(call, before["id"]) if before else None
    with transaction.atomic():
        after = _run(operation, call)["data"]
        changed_row = change_words.find_request(call, after["id"])
        rows = [changed_row] if row is None else [changed_row, row]
        changed = change_words.read_allowances(call, rows)
        transaction.set_rollback(True)
    allowances = change_words.read_allowances(call, rows)
    fields = projections.parse_fields(operation.projection)
    old = projections.project_value(before, fields) if before else {}
    new = projections.project_value(after, fields)
    difference = [
        {"field": name, "from": old.get(name), "to": value}
        for name, value in new.items()
        if name not in PROVISIONAL and old.get(name) != value
    ]
    # Of what the answer does not have, the present value must not be shown either.
    difference += [{"field": name, "to": value} for name, value in sent.items() if name not in new]
    person = _find_person(call, after)
    name = f"{person['display_name']} ({person['id']})" if person else after["person_id"]
    words = change_words.describe(row, changed_row, allowances, changed)
    words = [f"Person: {change_words.format_value(name)}", *words]
    words += [
        f"{title}: {change_words.format_value(sent[name])}"
        for name, title in DECISION_WORDS.items()
        if sent.get(name)
    ]
    return Preview(difference, person, words, has_balance=bool(allowances))


def _run(operation: Operation, call: CheckedCall) -> Mapping[str, Any]:
    try:
        return operation.run(call).body
    except ApiError as problem:
        if problem.status != HTTPStatus.PRECONDITION_FAILED:
            raise
        message = "The record has changed since. Prepare the change again with prepare_api_write."
        raise ApiError(problem.status, message) from None


def _find_person(call: CheckedCall, record: Mapping[str, Any]) -> Mapping[str, str] | None:
    """The person whom a record is about, if the key may read people."""
    operation = EXPOSED["getPerson"]
    if operation.scope not in call.key.scopes or "person_id" not in record:
        return None
    found = operation.run(replace(call, path={"person_id": record["person_id"]}))
    shown = projections.project_answer(operation, found.body)["data"]
    return {"id": shown["id"], "display_name": shown["display_name"]}


def _describe_change(operation: Operation, frozen: PreparedWrite, found: Preview) -> str:
    """The change as a person reads it."""
    lines = ["Approve this change to HR records?", operation.summary]
    lines += [f"Request: {change_words.format_value(key)}" for key in frozen.path.values()]
    return "\n".join((*lines, *found.words))


def _ask_person(context: ToolContext, key: KeyPrincipal, frozen: PreparedWrite, words: str) -> None:
    """Returns once a person has approved the change. Raises Declined, which ends the token."""
    try:
        filled = context.ask_form("approval", words, APPROVE, ends=frozen.ends, asks_once=True)
        is_approved = filled["approve"]
    except Declined:
        is_approved = False
    if not is_approved:
        _run_idempotently(key, frozen, lambda: {"declined": True})
        raise Declined(NOT_APPROVED)


def _run_once(
    operation: Operation, call: CheckedCall, frozen: PreparedWrite
) -> tuple[Mapping[str, Any], bool]:
    """How the change ended, and whether that was in an earlier commit."""
    is_repeated = True

    def run() -> Mapping[str, Any]:
        nonlocal is_repeated
        is_repeated = False
        return {"answer": projections.project_answer(operation, _run(operation, call))}

    return _run_idempotently(call.key, frozen, run), is_repeated


def _run_idempotently(
    key: KeyPrincipal, frozen: PreparedWrite, run: Callable[[], Mapping[str, Any]]
) -> Mapping[str, Any]:
    """What `run` returns, or how an earlier commit of the same token ended."""
    sent = [frozen.operation_id, frozen.path, frozen.if_match, frozen.body]
    return idempotency.run_once(_idempotency_key(key, frozen), sent, run)


def _idempotency_key(key: KeyPrincipal, frozen: PreparedWrite) -> CallerKey:
    return CallerKey(
        key.organization_id,
        api="hr-mcp",
        credential=str(key.key_id),
        key=frozen.idempotency_key,
    )
