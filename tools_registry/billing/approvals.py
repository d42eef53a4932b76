"""An admin's word on a billing request, and what follows from it: one call, through the pipeline.

    claim (one UPDATE) -> every gate again -> mark as sent -> run -> write down how it ended

Whoever wins the claim is the only one to call the vendor, and always with the request's own
idempotency key. No transaction is open meanwhile.
"""

from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from audit import record
from audit.outcomes import ActorKind, Outcome
from audit.record import Actor, Ending
from mcp_protocol.errors import ProtocolError
from mcp_protocol.revisions import Revision
from oauth import authorizations
from oauth.principal import Principal
from oauth.scopes import ScopeSet
from tools_registry import call, registry
from tools_registry.asking import Question, Round
from tools_registry.billing import settling
from tools_registry.billing.models import BillingRequest, Status
from tools_registry.call import Call, Ended, Prepared
from tools_registry.gate import Approval
from tools_registry.operations import Reply
from tools_registry.request_state import SealedFor
from tools_registry.types import Silence, Tool
from workspace import flags, organizations
from workspace.models import User

# Failures are told as errors with their sentence there, which is all that is needed here.
REVISION: Final = Revision.V2025_06_18
# A vendor that answers so has done nothing; 409 says that a call under the same key still runs.
REFUSALS: Final = frozenset(range(400, 500)) - {408, 409}
ANEW: Final = "The same is asked for in a newer request: look at that one."


class Undecidable(Exception):
    """It cannot be decided on, or not by this person; the message is for them."""

    message = ""

    def __init__(self, message: str = "") -> None:
        super().__init__(message or self.message)


class SelfApproval(Undecidable):
    """Two people have to want it (separation of duties)."""

    message = "You asked for this yourself, so somebody else has to approve it."


class NotWaiting(Undecidable):
    """Somebody was faster, it lapsed, or its key is too old to try again."""

    message = "This request is not waiting for a decision any more."


class GateRefused(Undecidable):
    """A gate has closed since it was filed; the request waits on."""


@dataclass(frozen=True, slots=True)
class Decider:
    """Who decides, and from where."""

    user: User
    address: str = field(repr=False)


def approve(request_id: UUID, decider: Decider) -> BillingRequest:
    """Carry out a request, or try again one whose end is open; returns it as it ended.

    Raises SelfApproval, NotWaiting and GateRefused. What the vendor refuses is an end of the
    request and raises nothing.
    """
    settling.settle()
    row = BillingRequest.objects.get(pk=request_id)
    _require_another(row, decider)
    filed_as = _filed_as(row)
    before, claim = row.status, _claim(row, decider)
    row.refresh_from_db()
    prepared = call.prepare(_call(row, claim, filed_as, decider))
    if not isinstance(prepared, Prepared):
        raise _given_back(row, claim, before, prepared)
    _mark_sent(row, claim)
    execution, ended = call.perform(prepared, Silence())
    _close(row, claim, execution, ended, _status(ended.ending, before))
    row.refresh_from_db()
    return row


def decline(request_id: UUID, decider: Decider, note: str = "") -> BillingRequest:
    """End a request unheard of at the vendor. Raises NotWaiting."""
    settling.settle()
    waiting = BillingRequest.objects.filter(pk=request_id, status=Status.PENDING)
    declined = waiting.update(
        status=Status.DECLINED,
        decided_by=decider.user,
        decided_at=timezone.now(),
        note=note[:500],
    )
    if not declined:
        raise NotWaiting
    return BillingRequest.objects.get(pk=request_id)


def may_be_tried(row: BillingRequest) -> bool:
    """Whether an approval can carry it out, for the first time or again."""
    return BillingRequest.objects.filter(_open(), pk=row.pk).exists()


def _open() -> Q:
    now = timezone.now()
    again = Q(status__in=(Status.FAILED, Status.UNKNOWN))
    return Q(status=Status.PENDING, expires_at__gt=now) | again & Q(
        sent_at__gt=now - settling.KEY_LIFETIME
    )


def is_own(row: BillingRequest, user: User) -> bool:
    """Whether it was asked for in this person's name, so that another has to approve it."""
    return str(user.pk) == row.user_id


def _require_another(row: BillingRequest, decider: Decider) -> None:
    if not is_own(row, decider.user):
        return
    record.security_event(
        "self_approval",
        address=decider.address,
        subject=str(row.pk),
        organization_id=str(row.organization_id),
        client_id=row.client_id,
        user_id=row.user_id,
        detail=row.summary,
    )
    raise SelfApproval


def _claim(row: BillingRequest, decider: Decider) -> UUID:
    """Take the request, as the only one who does; `claim` proves it from now on."""
    claim, now = uuid4(), timezone.now()
    # Conditions on the row alone: PostgreSQL asks them again of what another has just committed.
    rows = BillingRequest.objects.filter(_open(), pk=row.pk, status=row.status)
    try:
        with transaction.atomic():
            taken = rows.update(
                status=Status.RUNNING,
                claim=claim,
                claimed_at=now,
                decided_by=decider.user,
                decided_at=now,
                problem="",
            )
            # Asked behind the update, which keeps the same from being filed meanwhile.
            if taken and _was_done_anew(row):
                raise NotWaiting(ANEW)
    except IntegrityError:
        # After this one failed it was asked for anew.
        raise NotWaiting(ANEW) from None
    if not taken:
        raise NotWaiting
    return claim


def _was_done_anew(row: BillingRequest) -> bool:
    """Whether the same was asked for later and has, or may have, happened under its own key."""
    same = BillingRequest.objects.filter(authorization_id=row.authorization_id, digest=row.digest)
    return same.filter(pk__gt=row.pk, status__in=(Status.DONE, Status.UNKNOWN)).exists()


def _call(row: BillingRequest, claim: UUID, filed_as: Tool, decider: Decider) -> Call:
    scope = authorizations.standing_scope(UUID(row.authorization_id))
    principal = _principal(row, scope or ScopeSet())
    name = f"{row.integration}.{row.perform}"
    # Looked up anew: the customer may be gone, or another's by now.
    bound = {"bound_end_user_id": row.customer_id} if row.customer_id else {}
    purpose = SealedFor(principal.authorization_id, "tools/call", name, row.arguments, bound)
    return Call(
        principal=principal,
        actor=_actor(row, decider),
        revision=REVISION,
        round=Round(purpose=purpose, revision=REVISION),
        name=name,
        arguments=row.arguments,
        meta=bound,
        request_id=f"billing-{row.pk.hex}",
        approval=Approval(row.pk, claim, filed_as, scope),
        about=f"billing request {row.pk}",
        id=row.idempotency_key,
    )


def _filed_as(row: BillingRequest) -> Tool:
    tool = registry.find(f"{row.integration}.{row.filed_as}", row.organization_id)
    if tool is None:
        raise GateRefused("The tool that this was asked for with is gone.")
    return tool


def _principal(row: BillingRequest, scope: ScopeSet) -> Principal:
    """Who asked, with what their consent still grants."""
    return Principal(
        token_id=UUID(row.token_id),
        authorization_id=UUID(row.authorization_id),
        organization_id=row.organization_id,
        user_id=UUID(row.user_id),
        user_email=row.user_email,
        client_id=row.client_id,
        client_name=row.client_name,
        scope=scope,
        mcp_server_on=organizations.flag(row.organization_id, flags.MCP_SERVER),
    )


def _actor(row: BillingRequest, decider: Decider) -> Actor:
    return Actor(
        kind=ActorKind.PERSON,
        organization_id=str(row.organization_id),
        user_id=str(decider.user.pk),
        user_email=decider.user.email,
        # The consent that it was asked for under, so that both rows are found by it.
        authorization_id=row.authorization_id,
        address=decider.address,
    )


def _given_back(row: BillingRequest, claim: UUID, before: str, reply: object) -> GateRefused:
    """Put a request back that a gate has stopped before anything was sent."""
    told = reply.message if isinstance(reply, ProtocolError) else "It was refused."
    held = BillingRequest.objects.filter(pk=row.pk, claim=claim)
    undecided = {"decided_by": None, "decided_at": None} if before == Status.PENDING else {}
    held.update(status=before, claim=None, problem=told[:500], **undecided)
    return GateRefused(told)


def _mark_sent(row: BillingRequest, claim: UUID) -> None:
    held = BillingRequest.objects.filter(pk=row.pk, claim=claim, status=Status.RUNNING)
    # The first time counts: the vendor's memory of the key began no later.
    if not held.update(sent_at=Coalesce("sent_at", timezone.now())):
        raise NotWaiting  # it took so long to begin that it was given back


def _close(
    row: BillingRequest,
    claim: UUID,
    execution: UUID,
    ended: Ended[Reply | Question],
    status: Status,
) -> None:
    answer = ended.reply
    told = {"problem": answer.message[:500]} if isinstance(answer, ProtocolError) else {}
    given = {"result": answer.get("structuredContent")} if isinstance(answer, dict) else {}
    # Also where the sweeper was faster: this is the one who knows.
    held = BillingRequest.objects.filter(pk=row.pk, claim=claim)
    held.update(status=status, execution_id=str(execution), **told, **given)


def _status(ending: Ending, before: str) -> Status:
    """Done, failed where the vendor said so itself, else unknown."""
    if ending.outcome == Outcome.SUCCESS:
        return Status.DONE
    if before == Status.UNKNOWN:
        # A refusal now says nothing of the attempt before.
        return Status.UNKNOWN
    by_vendor = ending.reason == "unauthorized" or ending.upstream_status in REFUSALS
    never_sent = ending.outcome in {Outcome.VALIDATION_FAILED, Outcome.NOT_FOUND}
    return Status.FAILED if by_vendor or never_sent else Status.UNKNOWN
