"""A call, the surface that it is made on, what came of it, and why it failed.

The same for every protocol: nothing here knows JSON-RPC, HTTP or a protocol revision. Each edge
makes an `Invocation` of its request and serializes the `Outcome`. In between the call is a
`PreparedCall`. None of them changes: a check that is made again makes another `PreparedCall`.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, Protocol, TypeAlias

from audit.record import Actor
from foundation import ids, store_failures
from foundation.limits import Verdict
from oauth.credentials import Verifiers
from oauth.principal import Principal
from oauth.scopes import ScopeSet
from tools_registry.api import Arguments, Blocks, BoundCustomer, Outgoing, ToolFailure
from tools_registry.api.answers import NONE_YET, Answers
from tools_registry.pipeline import gate
from tools_registry.pipeline.approval_port import Approval
from tools_registry.pipeline.call_kinds import CALL, CallKind, CallSubject
from tools_registry.pipeline.gate import Decision, Layers
from tools_registry.registry import Catalogue

NO_SCOPE: Final = ScopeSet()


class Review(Protocol):
    def __call__(self, call: "PreparedCall") -> "PreparedCall | FinalOutcome":
        """Returns a call that every layer allows, to run it, or how it ends without being run.

        Called again with `is_charged` set for a call that has waited. The invocation has an
        `approval` if it is executed because it was approved. Raises ToolFailure.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Surface:
    """What every protocol needs to know of an endpoint.

    `credentials` are the kinds it accepts, `catalogue` is what it offers, and `layers` are asked
    about each call, in this order. An approved request may run what a layer in `approvable`
    refuses. `review` is the last check of a call, which depends on its arguments. `recorded`
    returns what the audit row of a call keeps of its arguments, by its tool, None for an unknown
    one; without it, all of them.
    """

    name: str
    credentials: Verifiers
    catalogue: Catalogue
    layers: Layers = field(default_factory=lambda: gate.DEFAULT_LAYERS)
    approvable: frozenset[str] = frozenset({"destructive"})
    review: Review | None = None
    recorded: Callable[[Any, Mapping[str, Any]], Mapping[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Invocation:
    """One call as its edge knows it: who calls what on which surface, with which arguments.

    `name` is a tool's name, a URI or a prompt's name, by `kind`. `arguments` are recorded as they
    were sent. `binding` names a customer as the caller sent it. `address`, `protocol`, `request_id`
    and `note` are for the audit row, and so is `actor`, where the call is made by somebody other
    than its principal. `approval` is set only when an approved request is executed. `is_charged`
    says that the call was counted against the cap of its action before. `id` is the idempotency key
    that the tool gets.

    `idempotency_key` is the caller's, empty if there is none: the outcome of the first call with it
    is the outcome of all.

    `takes_task` says that the caller accepts a task for a call that waits for an approval.

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
    id: str = field(default_factory=ids.uuid7_hex)
    started_at: datetime = field(default_factory=partial(datetime.now, UTC))
    clock: float = field(default_factory=time.perf_counter)

    @property
    def needs_task(self) -> bool:
        """Whether the caller requested a task for this call: it is not made if it would run.

        A client that answers by calling again only declares that it can be given tasks.
        """
        return self.takes_task and not self.is_repeated


@dataclass(frozen=True, slots=True, eq=False)
class PreparedCall:
    """A call that was checked and can be run.

    `principal` is its caller, with what the credential permitted when it was checked last.
    `subject` and `customer` are what the name and the binding of the invocation name. `arguments`
    are those that the subject runs with. `outgoing` is what it sends for them, if it says so, and
    `waited` the time in seconds that the call has waited to send it, because others were waiting
    for the same server. `is_charged` says that it was counted before, as in `Invocation`; the call
    is being checked again then.
    """

    invocation: Invocation
    principal: Principal
    subject: CallSubject = field(repr=False)
    arguments: Arguments = field(repr=False)
    customer: BoundCustomer | None = field(repr=False)
    is_charged: bool
    outgoing: Outgoing | None = field(repr=False, default=None)
    waited: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeNote:
    """What is said of an outcome besides, by whatever ended the call.

    `note` is for the audit row. `approval_request` is the id of the request that the call waits for
    or has its outcome from.
    """

    note: str = ""
    approval_request: str = ""


@dataclass(frozen=True, slots=True)
class Succeeded(OutcomeNote):
    """The call ran. `text` is the JSON text of a result that is sent as text, else empty.

    `subject` is what was called, None where that is not known. `is_repeated` says that the result
    is that of an identical call before, which was not run again.
    """

    result: Any
    text: str = ""
    subject: CallSubject | None = field(repr=False, default=None)
    is_repeated: bool = False


@dataclass(frozen=True, slots=True)
class RefusedCall(OutcomeNote):
    """The gate refused the call, or the cap of its action did: then `verdict` says which limit.

    `scope` is what the caller's credential permitted at the gate.
    """

    decision: Decision
    verdict: Verdict | None = None
    scope: ScopeSet = NO_SCOPE


@dataclass(frozen=True, slots=True)
class Failed(OutcomeNote):
    """The call could not be run, or its tool failed."""

    failure: ToolFailure


@dataclass(frozen=True, slots=True)
class NeedsInput:
    """The tool asks its caller something. Nothing was changed; it runs again with the answers.

    `missing` are the client capabilities that the questions need and the caller lacks.
    """

    call: PreparedCall
    requests: Mapping[str, Any]
    state: Any
    missing: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ApprovalPending(OutcomeNote):
    """The call is not run until somebody else has decided; `result` is what its caller gets."""

    result: Blocks


# How a call ends that needs no input.
FinalOutcome: TypeAlias = Succeeded | RefusedCall | Failed | ApprovalPending
Outcome: TypeAlias = FinalOutcome | NeedsInput


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
