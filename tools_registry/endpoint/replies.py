"""The outcome of a call as an MCP result or error, by kind of call and revision.

Source: transport document, Error codes; MCP of each revision, server/tools, server/resources and
server/prompts.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias
from uuid import UUID

from foundation import json_text, store_failures
from foundation.store_failures import is_store_failure
from mcp_protocol import (
    failures,
    meta_keys,
    prompt_shapes,
    resource_shapes,
    shapes,
    task_shapes,
)
from mcp_protocol.errors import INTERNAL_ERROR, INVALID_PARAMS, ErrorCodes, ProtocolError
from mcp_protocol.meta_keys import META
from mcp_protocol.resource_shapes import Contents
from mcp_protocol.revisions import MODERN, Revision
from mcp_protocol.strict_json import JsonObject
from oauth.scopes import ScopeSet
from tools_registry.api import Blocks, ToolFailure
from tools_registry.endpoint import elicitation, rates
from tools_registry.endpoint.elicitation import StreamQuestion
from tools_registry.endpoint.surface import McpSurface
from tools_registry.pipeline.call_tasks import CallTask
from tools_registry.pipeline.invocation import (
    ApprovalPending,
    BindingRejected,
    CallCancelled,
    CallFailure,
    CallInProgress,
    CallInterrupted,
    ChangeInterrupted,
    ConnectionLost,
    Failed,
    FinalOutcome,
    Invocation,
    NeedsInput,
    RefusedCall,
    Succeeded,
    TokenEnded,
    UnknownName,
)
from tools_registry.vendors.slots import UpstreamBusy

Reply: TypeAlias = JsonObject | ProtocolError
# The last revision at which a failure of a tool is an error, and no result.
ERRORS_UNTIL: Final = Revision.V2025_06_18


def question(
    asked: NeedsInput, revision: Revision, surface: McpSurface, *, can_wait: bool
) -> Reply | StreamQuestion:
    """The question that a call has to have answered first: as its result, or on its stream."""
    invocation = asked.call.invocation
    if invocation.is_repeated:
        return elicitation.as_result(asked, revision)
    question = elicitation.on_stream(asked, revision, can_wait=can_wait)
    return question or _failure(invocation, elicitation.cannot_ask(), revision, surface)


def from_outcome(
    invocation: Invocation,
    outcome: FinalOutcome,
    revision: Revision,
    surface: McpSurface,
    *,
    host: str = "",
) -> Reply:
    """The result or error of a call that needs no input.

    `host` is the one that the request was sent to, for the challenge of a missing scope.
    """
    if invocation.takes_task:
        reply = _reply_with_task(invocation, outcome, revision, surface)
        if reply is not None:
            return reply
    if isinstance(outcome, ApprovalPending):
        outcome = Succeeded(outcome.result)
    if isinstance(outcome, Succeeded):
        return RESULTS[invocation.kind.method](outcome.subject, outcome, revision)
    if isinstance(outcome, RefusedCall):
        return _refusal(invocation, outcome, revision, surface, host)
    if isinstance(outcome.failure, TokenEnded):
        return _token_ended(outcome.failure, surface, host)
    return _failure(invocation, outcome.failure, revision, surface)


def task_result(
    task: CallTask, organization_id: UUID, revision: Revision, surface: McpSurface
) -> Reply | None:
    """The result of the call of a task, None unless it is completed."""
    match task.outcome:
        case None:
            return None
        case Failed(failure=failure):
            return _failed_call(failure, revision, surface)
        case Succeeded():
            tool = surface.catalogue.find(task.tool, organization_id)
            result = _call_result(tool, task.outcome, revision)
    return shapes.name_server(result, surface.server_name)


def from_exception(request_id: str, error: Exception) -> ProtocolError:
    """The error for an exception: to try again after an outage, else an id to quote."""
    if is_store_failure(error):
        return unavailable()
    message = f"Internal error. Quote {request_id} to your admin."
    return ProtocolError(INTERNAL_ERROR, message, http_status=500)


def unavailable() -> ProtocolError:
    """The error while a store does not answer."""
    return failures.unavailable(
        store_failures.MESSAGE, store_failures.CODE, store_failures.RETRY_AFTER_SECONDS
    )


def _reply_with_task(
    invocation: Invocation, outcome: FinalOutcome, revision: Revision, surface: McpSurface
) -> Reply | None:
    """The task that a call becomes, for a caller that takes one; None for the usual reply.

    A caller that needs it gets one for an outcome of its request, too, and can read no result in
    its place.
    """
    is_wanted = invocation.needs_task or isinstance(outcome, ApprovalPending)
    if surface.tasks is not None and outcome.approval_request and is_wanted:
        task = surface.tasks.find(invocation.principal, outcome.approval_request)
        if task is not None:
            reply = task_shapes.new_task_result(task, revision)
            # What the card of the request shows, for a client that shows it.
            more = outcome.result.meta if isinstance(outcome, ApprovalPending) else {}
            return {**reply, META: {**more, **reply.get(META, {})}} if more else reply
    # Such as the outcome that an idempotency key has.
    is_result = isinstance(outcome, Succeeded | ApprovalPending)
    return task_shapes.no_task_error() if invocation.needs_task and is_result else None


def _call_result(subject: Any, outcome: Succeeded, revision: Revision) -> JsonObject:
    result: Any = outcome.result
    meta: dict[str, Any] = {**result.meta}
    if isinstance(result, Blocks):
        content, structured = result.content, result.structured
    else:
        content = [shapes.text_block(outcome.text)]
        # The tool of a task may be gone.
        is_structured = subject is not None and subject.output_schema is not None
        structured = _structured_content(result.value, outcome.text) if is_structured else None
    reply = shapes.call_result(content, revision, structured=structured)
    if outcome.is_repeated:
        meta[meta_keys.REPEATED] = True
    if meta:
        reply[META] = {**meta, **reply.get(META, {})}
    return reply


def _structured_content(value: Any, text: str) -> Any:
    """A value, in which a number that clients would round is its digits, as text.

    `text` is the same value as JSON, where it is exact.
    """
    if not json_text.may_be_rounded(text):
        return value
    found, has_digits = json_text.parse_for_clients(text)
    return found if has_digits else value


def _read_result(resource: Any, outcome: Succeeded, revision: Revision) -> JsonObject:
    mime_type = outcome.result.mime_type or resource.mime_type
    contents = Contents(resource.uri, mime_type, outcome.result.content, resource.meta)
    return resource_shapes.read_result(contents, revision)


def _prompt_result(prompt: Any, outcome: Succeeded, revision: Revision) -> JsonObject:
    return prompt_shapes.prompt_result(prompt.description, outcome.result, revision)


def _refusal(
    invocation: Invocation, outcome: RefusedCall, revision: Revision, surface: McpSurface, host: str
) -> Reply:
    if outcome.verdict is not None:
        return rates.refusal(outcome.verdict, revision, surface.codes)
    decision, challenge = outcome.decision, ""
    if decision.layer in surface.refused_as_results and invocation.kind.method == "tools/call":
        return failures.refused_call(decision.reason, decision.message, revision)
    # Only a scope can be requested again, so only its refusal has a challenge and a 403.
    if decision.scope:
        scope = _to_request(outcome.scope, decision.scope, revision)
        challenge = surface.challenges.insufficient_scope(scope, host=host)
    return failures.refusal(
        decision.reason,
        decision.layer,
        decision.message,
        revision,
        surface.codes,
        http_status=403 if challenge else None,
        headers=[("WWW-Authenticate", challenge)] if challenge else [],
    )


def _to_request(permitted: ScopeSet, missing: str, revision: Revision) -> str:
    """The scopes that a client has to request next.

    Up to 2025-11-25 with those that it has, since clients request just what the challenge names and
    would lose them (MCP 2025-11-25, basic/authorization, Runtime Insufficient Scope Errors). At
    2026-07-28 clients add the missing one themselves (SEP-2350).
    """
    if revision in MODERN:
        return missing
    return " ".join(dict.fromkeys([*map(str, permitted), missing]))


def _failure(
    invocation: Invocation, failure: ToolFailure, revision: Revision, surface: McpSurface
) -> Reply:
    method, name, codes = invocation.kind.method, invocation.name, surface.codes
    if isinstance(failure, UnknownName):
        if method == "tools/call":
            return failures.unknown_tool(name, revision, codes, failure.nearest)
        return UNKNOWN[method](name, revision, codes)
    if type(failure) in STOPPED:
        return STOPPED[type(failure)](failure)
    if method == "tools/call":
        if invocation.needs_task:
            revision = ERRORS_UNTIL
        return _failed_call(failure, revision, surface)
    field, reason = failure.field or None, failure.reason or None
    if method != "prompts/get" and failure.kind == "not_found":
        return failures.unknown_resource(name, revision, codes)
    return failures.failed_request(
        failure.kind, failure.message, field, reason, revision=revision, codes=codes
    )


def _failed_call(failure: ToolFailure, revision: Revision, surface: McpSurface) -> Reply:
    field, reason = failure.field or None, failure.reason or None
    codes = surface.codes
    return failures.failed_call(
        failure.kind, failure.message, field, reason, revision=revision, codes=codes
    )


def _token_ended(failure: TokenEnded, surface: McpSurface, host: str) -> ProtocolError:
    challenge = surface.challenges.unauthorized_challenge("invalid_token", host=host)
    headers = [("WWW-Authenticate", challenge)]
    code = surface.codes.unauthorized
    return ProtocolError(code, failure.message, http_status=401, headers=headers)


def _rejection_error(failure: CallFailure) -> ProtocolError:
    data = {"reason": failure.kind, "layer": failure.layer}
    return ProtocolError(INVALID_PARAMS, failure.message, data=data)


def _cancellation_error(failure: CallFailure) -> ProtocolError:
    return ProtocolError(INTERNAL_ERROR, failure.message)


def _interruption_error(failure: CallFailure) -> ProtocolError:
    return ProtocolError(INTERNAL_ERROR, failure.message, http_status=503)


def _in_progress_error(failure: CallFailure) -> ProtocolError:
    data = {"reason": failure.kind, "layer": "idempotency"}
    retry = [("Retry-After", "1")]
    return ProtocolError(INTERNAL_ERROR, failure.message, data=data, http_status=409, headers=retry)


def _connection_lost(_failure: ToolFailure) -> ProtocolError:
    return unavailable()


def _busy(failure: ToolFailure) -> ProtocolError:
    return failures.unavailable(failure.message, failure.kind, UpstreamBusy.retry_after)


def _unknown_prompt(name: str, _revision: Revision, _codes: ErrorCodes) -> ProtocolError:
    return failures.unknown_prompt(name)


RESULTS: Final[Mapping[str, Callable[[Any, Succeeded, Revision], JsonObject]]] = {
    "tools/call": _call_result,
    "resources/read": _read_result,
    "prompts/get": _prompt_result,
}
UNKNOWN: Final[Mapping[str, Callable[[str, Revision, ErrorCodes], ProtocolError]]] = {
    "resources/read": failures.unknown_resource,
    "resources/subscribe": failures.unknown_resource,
    "resources/unsubscribe": failures.unknown_resource,
    "prompts/get": _unknown_prompt,
}
# Failures of the call itself, which are errors at every revision and of every kind of call.
STOPPED: Final[Mapping[type[ToolFailure], Callable[[Any], ProtocolError]]] = {
    BindingRejected: _rejection_error,
    CallCancelled: _cancellation_error,
    CallInProgress: _in_progress_error,
    CallInterrupted: _interruption_error,
    # Without a status that clients repeat a request for.
    ChangeInterrupted: _cancellation_error,
    ConnectionLost: _connection_lost,
    UpstreamBusy: _busy,
}
