"""A call, what came of it, and why it failed: the same for every protocol.

Nothing here knows JSON-RPC, HTTP or a protocol revision. Each edge makes an `Invocation` of its
request and serializes the `Outcome`.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, TypeAlias

from audit.record import Actor
from foundation import ids, store_failures
from foundation.limits import Verdict
from oauth.principal import Principal
from tools_registry.api import Arguments, Blocks, BoundCustomer, Outgoing, ToolFailure
from tools_registry.api.answers import NONE_YET, Answers
from tools_registry.pipeline.approval_port import Approval
from tools_registry.pipeline.call_kinds import CALL, CallKind, CallSubject
from tools_registry.pipeline.gate import Decision
from tools_registry.pipeline.surface import Surface


@dataclass(slots=True, kw_only=True, eq=False)
class Invocation:
    """One call to run: who calls what on which surface, with which arguments.

    `name` is a tool's name, a URI or a prompt's name, by `kind`. `binding` names a customer as the
    caller sent it. `address`, `protocol`, `request_id` and `note` are for the audit row, and so is
    `actor`, where the call is made by somebody other than its principal. `approval` is set only
    when an approved request is executed. `is_charged` says that the call was counted against the
    cap of its action before. `id` is the idempotency key that the tool gets.

    `idempotency_key` is the caller's, empty if there is none: the outcome of the first call with it
    is the outcome of all.

    `takes_task` says that the caller accepts a task for a call that waits for an approval,
    `needs_task` that it accepts nothing else, so that a call that would run is not made, and
    `approval_request` is the id of the request that the call waits for or has its outcome from, set
    by the review of its surface.

    `subject` and `customer` are what `name` and `binding` name, once `calls.prepare` has found
    them; a call without a subject cannot be executed. `validated` are the arguments that the
    subject runs with; `arguments` are recorded as they were sent. `outgoing` is what the subject
    sends for them, if it says so; `waited` is the time in seconds that the call has waited to send
    it, because others were waiting for the same server.

    `client_capabilities` say what the caller can be asked for, in the form of MCP's
    ClientCapabilities, and `answers` what it has answered so far. `is_repeated` says that a
    question is answered by calling again with the answers, instead of within the call.
    """

    surface: Surface
    principal: Principal
    name: str
    arguments: Mapping[str, Any]
    request_id: str
    kind: CallKind = CALL
    binding: Mapping[str, Any] = field(default_factory=dict)
    client_capabilities: Mapping[str, Any] = field(default_factory=dict)
    answers: Answers = NONE_YET
    is_repeated: bool = False
    approval: Approval | None = None
    protocol: str = ""
    address: str = ""
    actor: Actor | None = None
    note: str = ""
    is_charged: bool = False
    idempotency_key: str = ""
    takes_task: bool = False
    needs_task: bool = False
    id: str = field(default_factory=ids.uuid7_hex)
    started_at: datetime = field(default_factory=partial(datetime.now, UTC))
    clock: float = field(default_factory=time.perf_counter)
    subject: CallSubject = field(init=False, repr=False)
    customer: BoundCustomer | None = field(init=False, repr=False, default=None)
    validated: Arguments = field(init=False, repr=False)
    outgoing: Outgoing | None = field(init=False, repr=False, default=None)
    waited: float = field(init=False, default=0.0)
    approval_request: str = field(init=False, default="")


@dataclass(frozen=True, slots=True)
class Succeeded:
    """The call ran. `text` is the JSON text of a result that is sent as text, else empty.

    `is_repeated` says that the result is that of an identical call before, which was not run again.
    """

    result: Any
    text: str = ""
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class RefusedCall:
    """The gate refused the call, or the cap of its action did: then `verdict` says which limit."""

    decision: Decision
    verdict: Verdict | None = None


@dataclass(frozen=True, slots=True)
class Failed:
    """The call could not be run, or its tool failed."""

    failure: ToolFailure


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """The tool asks its caller something. Nothing was changed; it runs again with the answers.

    `missing` are the client capabilities that the questions need and the caller lacks.
    """

    invocation: Invocation
    requests: Mapping[str, Any]
    state: Any
    missing: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ApprovalPending:
    """The call is not run until somebody else has decided; `result` is what its caller gets."""

    result: Blocks


# How a call ends before it runs.
Settled: TypeAlias = Succeeded | RefusedCall | Failed | ApprovalPending
Outcome: TypeAlias = Settled | NeedsInput


class CallFailure(ToolFailure):
    """A failure of the call itself, not of its tool; `layer` is what the audit row records."""

    layer = ""


class UnknownName(CallFailure):
    """Nothing of this name exists for the caller. The kind depends on what was called.

    `nearest` is the tool that the caller may have meant, or empty.
    """

    def __init__(self, kind: str, nearest: str = "") -> None:
        super().__init__(f'Unknown name, perhaps "{nearest}".' if nearest else "Unknown name.")
        self.kind, self.nearest = kind, nearest


class BindingRejected(CallFailure):
    """The customer that the call is bound to cannot be used.

    The message is the same for every cause: a caller must not learn which ids exist in other
    organizations, or that two customers share an address. `attempted` is for the audit row.
    """

    kind = "binding_rejected"
    layer = "binding"

    def __init__(self, attempted: str) -> None:
        super().__init__("The bound customer does not exist in this organization.")
        self.attempted = attempted


class TokenEnded(CallFailure):
    """The credential stopped being valid while the call waited."""

    kind = "token_ended"
    layer = "token"

    def __init__(self) -> None:
        super().__init__("The token is no longer valid. Sign in again.")


class ToolChanged(CallFailure):
    """The tool was changed or removed while the call waited."""

    kind = "tool_changed"

    def __init__(self) -> None:
        super().__init__("The tool has changed while the call waited. Call it again.")


class CallCancelled(CallFailure):
    """The caller went away or cancelled the call."""

    kind = "cancelled"

    def __init__(self) -> None:
        super().__init__("The call was cancelled.")


INTERRUPTED: Final = (
    "The server stopped before the call finished. Changes made until then are not undone."
)


class CallInterrupted(CallFailure):
    """The server stopped before the call finished."""

    kind = "interrupted"

    def __init__(self) -> None:
        super().__init__(INTERRUPTED)


class ChangeInterrupted(CallInterrupted):
    """The server stopped while a call was changing something: it must not be repeated blindly."""


class ConnectionLost(CallFailure):
    """The database connection was lost before anything was changed: the call may be repeated."""

    def __init__(self) -> None:
        super().__init__(store_failures.MESSAGE)


class CallInProgress(CallFailure):
    """The first call with the same idempotency key still runs; its outcome may be had later."""

    kind = "call_in_progress"

    def __init__(self) -> None:
        super().__init__(
            "A call with the same idempotency key is in progress. Send it again in a moment."
        )


OUTCOME_UNKNOWN: Final = (
    "The outcome is unknown: the call may have been carried out. Check before you call again."
)


class CallOutcomeUnknown(CallFailure):
    """The call was sent, and what came of it will not become known here."""

    kind = "outcome_unknown"

    def __init__(self) -> None:
        super().__init__(OUTCOME_UNKNOWN)
