"""Stores requests for approval: the request of a tool becomes a row that a person decides."""

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final, cast
from uuid import UUID

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals import cards, expiry, stored_arguments
from approvals.models import ApprovalRequest, ApprovalStatus
from foundation import admin_urls, idempotency, ids
from mcp_protocol.meta_keys import META
from oauth.principal import Principal
from tools_registry.api import (
    Blocks,
    BoundCustomer,
    Facts,
    Guarded,
    Json,
    Outgoing,
    RequestedApproval,
    Result,
    Tool,
    ToolFailure,
)
from tools_registry.pipeline import call_kinds, gate, surfaces
from tools_registry.pipeline.approval_port import Approval
from tools_registry.pipeline.call_kinds import CallSubject
from tools_registry.pipeline.idempotency import KeyReused
from tools_registry.pipeline.invocation import PreparedCall, Surface
from workspace.models import Membership, Organization

# A person decides each of them; more requests of one requester would hide the others.
MAX_OPEN_REQUESTS: Final = 50
MAX_OPEN_OF_ORGANIZATION: Final = 500
# How long an identical call gets the outcome of an ended request: a client that lost a response
# repeats its call, which must not file another request.
REPEATED: Final = timedelta(minutes=15)
ANOTHER_ADMIN: Final = "An admin of the organization who is not the requester."
WITHDRAWN: Final = "The requester has withdrawn it."
# The columns that the digest of every request covers, and those that some requests have.
IDENTIFYING: Final = (
    "surface",
    "tool",
    "requested_with",
    "arguments",
    "customer_id",
    "authorization_id",
)
FURTHER: Final = ("version", "call", "caller_key")
BLOCKS: Final = {"content", "structuredContent"}


class TooManyWait(ToolFailure):
    """The requester or the organization has as many open requests as it may have."""

    kind = "too_many_requests"

    def __init__(self, whose: str, most: int) -> None:
        super().__init__(
            f"{whose} already has {most} requests waiting for approval.", reason=self.kind
        )


class ApprovalRequestStore:
    """The store behind the pipeline's port (`tools_registry.pipeline.approval_port`)."""

    def request(
        self,
        requester: Principal,
        surface: str,
        requested_with: Guarded,
        customer: BoundCustomer | None,
        *,
        tool: str,
        arguments: Mapping[str, Json],
        summary: str,
        why: str = "",
    ) -> RequestedApproval:
        wanted = _approvable(surfaces.get_mounted(surface), tool, requester)
        call_kinds.validate_arguments(wanted, arguments)
        subject = {
            "surface": surface,
            "tool": wanted.name,
            "requested_with": requested_with.name,
            "arguments": arguments,
            "customer_id": customer.id if customer else "",
            "authorization_id": str(requester.authorization_id),
        }
        requested = _identifying_columns(subject, wanted, requester)
        words = {"summary": summary[:300], "why": why}
        row = _open(requested).first() or _create({**requested, **_facts(requester), **words})
        return RequestedApproval(str(row.pk), row.status, row.summary)

    def result_meta(self, requested: RequestedApproval) -> Mapping[str, Json]:
        """Returns what the card of a request shows, in the `_meta` of a result."""
        row = ApprovalRequest.objects.get(pk=requested.id)
        url = f"{settings.HALO_PUBLIC_URL}{admin_urls.row_url(row)}"
        return cards.result_meta(row, url=url, deciders=ANOTHER_ADMIN)

    def is_executing(self, approval: Approval, tool: Guarded) -> bool:
        """Returns whether the row is being executed under this claim, and for this tool."""
        rows = ApprovalRequest.objects.filter(pk=approval.request_id, claim=approval.claim)
        return rows.filter(status=ApprovalStatus.RUNNING, tool=tool.name).exists()

    def is_unchanged(self, approval: Approval, outgoing: Outgoing | None) -> bool:
        """Returns whether the digest of the row covers this content, and the row as it is now."""
        row = ApprovalRequest.objects.get(pk=approval.request_id)
        subject = {name: getattr(row, name) for name in IDENTIFYING}
        subject["arguments"] = stored_arguments.as_stored(row.arguments)
        further = {name: getattr(row, name) for name in FURTHER if getattr(row, name)}
        return row.digest == _digest({**subject, **further}, outgoing)


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """The request of a call; `is_new` if this call has filed it."""

    row: ApprovalRequest
    is_new: bool


def request_call(
    call: PreparedCall,
    *,
    expires_at: datetime,
    version: int,
    summary: str,
    rule: Callable[[], Mapping[str, Any]],
) -> FoundRequest:
    """Requests an approval for a validated call as a whole, for the review of its surface.

    An identical open request of the same grant is returned instead of another, and so is one that
    has ended in the last 15 minutes, unless it expired or was withdrawn; one with an idempotency
    key that was executed, for a day. One with the same key is returned also if another grant of the
    person has requested it, the document has changed since, or this server sends something else for
    the arguments. `version` is that of the document that describes the tool, and `rule` returns
    what demands the approval, which a new request keeps. Raises TooManyWait and KeyReused.
    """
    requested = {**_identify_call(call, version=version), **_facts(call.principal)}
    if (row := _find_answering(requested)) is not None:
        return FoundRequest(row, is_new=False)
    words = {"summary": summary[:300], "expires_at": expires_at, "rule": dict(rule())}
    return _get_or_create({**requested, **words})


def request_waiting_call(call: PreparedCall, name: str, *, summary: str) -> ApprovalRequest:
    """Requests an approval for a validated call that waits in a session, where `name` names it.

    It is requested once: later the same request is returned, whatever became of it. Raises
    TooManyWait.
    """
    requested = _identify_call(call, call=name)
    before = list_by_calls(call.principal.organization_id, [name]).first()
    return before or _create({**requested, **_facts(call.principal), "summary": summary[:300]})


def list_by_calls(organization_id: UUID, calls: Sequence[str]) -> QuerySet[ApprovalRequest]:
    """Returns the requests of calls that wait in sessions of an organization's agents.

    Those that expired or were interrupted are marked.
    """
    rows = ApprovalRequest.objects.filter(organization=organization_id, call__in=calls)
    expiry.settle(rows)
    return rows


def list_waiting_calls(organization_id: UUID) -> list[str]:
    """Returns the calls in sessions of an organization's agents that wait for a decision."""
    rows = ApprovalRequest.objects.filter(
        organization=organization_id, status=ApprovalStatus.PENDING
    )
    return list(rows.exclude(call="").values_list("call", flat=True))


def connection_requests(requester: Principal, surface: str) -> QuerySet[ApprovalRequest]:
    """Returns the requests that a grant or key has made through a surface."""
    return ApprovalRequest.objects.filter(
        organization=requester.organization_id,
        authorization_id=str(requester.authorization_id),
        surface=surface,
    )


def withdraw(rows: QuerySet[ApprovalRequest]) -> int:
    """Ends those of the requests that wait for a decision; returns how many."""
    now = timezone.now()
    return rows.filter(ApprovalRequest.with_current_status(ApprovalStatus.PENDING)).update(
        status=ApprovalStatus.DECLINED, note=WITHDRAWN, problem="", decided_at=now, ended_at=now
    )


def is_withdrawn(row: ApprovalRequest) -> bool:
    """Returns whether the requester or the end of their connection has ended the request."""
    is_declined = row.status == ApprovalStatus.DECLINED and row.decided_by_id is None
    return is_declined and row.note in {WITHDRAWN, gate.GRANT_ENDED}


def outcome_period(caller_key: str) -> timedelta:
    """Returns how long the outcome of an executed request answers an identical call.

    With a caller's idempotency key as long as the key is kept: nothing else keeps the key of a call
    whose result was read from its task.
    """
    return idempotency.KEPT if caller_key else REPEATED


def _identify_call(requested: PreparedCall, **more: Any) -> dict[str, Any]:
    """The columns that identify a request for a call as a whole."""
    requester, subject, customer = requested.principal, requested.subject, requested.customer
    invocation = requested.invocation
    if invocation.idempotency_key:
        more["caller_key"] = ids.sha256_hex(invocation.idempotency_key)
    wanted = {
        "surface": invocation.surface.name,
        "tool": subject.name,
        "requested_with": subject.name,
        "arguments": requested.arguments,
        "customer_id": customer.id if customer else "",
        "authorization_id": str(requester.authorization_id),
        **more,
    }
    return _identifying_columns(wanted, subject, requester, built=_reusable_outgoing(requested))


def _reusable_outgoing(call: PreparedCall) -> Outgoing | None:
    """What the call sends, if its arguments are in the form of a row already."""
    arguments = call.arguments
    is_stored = json.dumps(arguments) == json.dumps(stored_arguments.as_stored(arguments))
    return call.outgoing if is_stored else None


def version_of(approval: Approval) -> int | None:
    """Returns the version of the document that an approved request was made with."""
    rows = ApprovalRequest.objects.filter(pk=approval.request_id)
    return rows.values_list("version", flat=True).get()


def list_open_versions(surface_condition: Q) -> dict[str, set[int]]:
    """Returns the versions of documents that open requests were made with, by their surface."""
    rows = ApprovalRequest.objects.filter(
        surface_condition,
        status__in=(ApprovalStatus.PENDING, ApprovalStatus.RUNNING),
        version__isnull=False,
    ).order_by()
    found: dict[str, set[int]] = {}
    for surface, version in rows.values_list("surface", "version").distinct():
        found.setdefault(surface, set()).add(cast("int", version))
    return found


def stored_result(row: ApprovalRequest) -> Result:
    """Returns the result of an executed request as its tool returned it."""
    stored = row.result
    if isinstance(stored, dict) and stored.keys() - {META} == BLOCKS:
        return Blocks(stored["content"], stored["structuredContent"], stored.get(META, {}))
    return Facts(stored)


def _identifying_columns(
    subject: Mapping[str, Any],
    tool: CallSubject,
    requester: Principal,
    *,
    built: Outgoing | None = None,
) -> dict[str, Any]:
    """The columns that identify a request; its arguments are kept as an approval runs them.

    `built` is what the tool sends for them, if that is known.
    """
    arguments = stored_arguments.as_stored(subject["arguments"])
    organization_id, build = requester.organization_id, tool.outgoing
    outgoing = built or (None if build is None else build(organization_id, arguments))
    kept = {**subject, "arguments": arguments}
    return {
        **kept,
        "integration": tool.integration,
        "organization_id": organization_id,
        "digest": _digest(kept, outgoing),
    }


def _digest(subject: Mapping[str, Any], outgoing: Outgoing | None) -> str:
    """SHA-256 of what identifies a request, and of what its tool sends if it says so."""
    sent = {} if outgoing is None else {"outgoing": outgoing.digest}
    return idempotency.fingerprint({**subject, **sent})


def _approvable(surface: Surface, name: str, requester: Principal) -> Tool:
    organization_id, is_on = requester.organization_id, requester.mcp_server_on
    tool = surface.catalogue.find(name, organization_id)
    if tool is not None:
        switches = gate.switches_for_tool(organization_id, tool, mcp_server_on=is_on)
        if gate.may_be_approved(tool, requester.scope, switches, surface):
            return tool
    raise LookupError(f"{surface.name} has no tool {name} that an approval could allow")


def _facts(requester: Principal) -> dict[str, str]:
    """Returns the columns about the requester, as text, so that the row outlives them."""
    return {
        "user_id": str(requester.user_id),
        "user_email": requester.user_email,
        "client_id": requester.client_id,
        "client_name": requester.client_name,
        "credential": requester.credential,
        "credential_id": str(requester.token_id),
    }


def _open(requested: Mapping[str, Any]) -> QuerySet[ApprovalRequest]:
    """Returns an identical request that is not decided, or has an unknown outcome."""
    now = timezone.now()
    waiting = Q(status=ApprovalStatus.PENDING, expires_at__gt=now) | Q(
        status=ApprovalStatus.RUNNING
    )
    # A new request would have another key and could repeat the action.
    unknown = Q(status=ApprovalStatus.UNKNOWN, sent_at__gt=now - expiry.KEY_LIFETIME)
    rows = _requester_rows(requested).filter(digest=requested["digest"])
    return rows.filter(waiting | unknown).order_by("-pk")


def _find_answering(
    requested: Mapping[str, Any], *, without: Collection[UUID] = ()
) -> ApprovalRequest | None:
    """Returns a request that is open, or whose outcome answers another call.

    That is an identical one of the connection, else the one that its person, or its key, has
    requested with the same idempotency key. Raises KeyReused.
    """
    now, rows = timezone.now(), _requester_rows(requested).exclude(pk__in=without).order_by("-pk")
    key = requested.get("caller_key", "")
    waiting = Q(status=ApprovalStatus.PENDING, expires_at__gt=now) | Q(
        status=ApprovalStatus.RUNNING
    )
    executed = (ApprovalStatus.DONE, ApprovalStatus.FAILED, ApprovalStatus.UNKNOWN)
    recent = Q(status__in=executed, ended_at__gt=now - outcome_period(key))
    # A withdrawn request does not answer the same call made again.
    withdrawn = Q(decided_by=None, note=WITHDRAWN)
    declined = Q(status=ApprovalStatus.DECLINED, ended_at__gt=now - REPEATED) & ~withdrawn
    identical = rows.filter(digest=requested["digest"]).filter(waiting | recent | declined).first()
    if identical is not None or not key:
        return identical
    # What was never sent, because the document has changed, may be requested again.
    of_key = (
        _party_rows(requested)
        .exclude(pk__in=without)
        .order_by("-pk")
        .filter(surface=requested["surface"], tool=requested["tool"], caller_key=key)
    )
    # A connection that has ended executes nothing: what it requested has to be requested again.
    expiry.end_with_requesters(of_key.exclude(authorization_id=requested["authorization_id"]))
    row = of_key.filter(waiting | recent & Q(sent_at__isnull=False)).first()
    if row is not None and not _is_same_call(row, requested):
        raise KeyReused
    return row


def _is_same_call(row: ApprovalRequest, requested: Mapping[str, Any]) -> bool:
    arguments = idempotency.fingerprint(stored_arguments.as_stored(row.arguments))
    is_same = arguments == idempotency.fingerprint(requested["arguments"])
    return is_same and bool(row.customer_id == requested["customer_id"])


def _get_or_create(row: Mapping[str, Any]) -> FoundRequest:
    """Stores a request unless an identical one is open or ended while this was being prepared."""
    expiry.settle(_requester_rows(row))
    try:
        with transaction.atomic():
            _require_room(row)
            made = ApprovalRequest.objects.create(**row)
            # No open one exists, or the row could not be stored; one that has ended since the
            # search is committed and seen by this statement.
            ended = _find_answering(row, without=[made.pk])
            if ended is None:
                return FoundRequest(made, is_new=True)
            made.delete()
            return FoundRequest(ended, is_new=False)
    except IntegrityError:
        found = _requester_rows(row).filter(digest=row["digest"]).latest("pk")
        return FoundRequest(found, is_new=False)


def _require_room(row: Mapping[str, Any]) -> None:
    """Counts what waits of the person or key, with all their credentials, and of all others.

    Under a lock until the transaction ends, so that of two requests at a time the second counts the
    first.
    """
    Organization.with_sandboxes.select_for_update(no_key=True).only("pk").get(
        pk=row["organization_id"]
    )
    waiting = ApprovalRequest.objects.filter(
        organization_id=row["organization_id"],
        status=ApprovalStatus.PENDING,
        expires_at__gt=timezone.now(),
    )
    of_person = {"user_id": row["user_id"]} if row["user_id"] else {}
    of_caller = of_person or {"authorization_id": row["authorization_id"]}
    if waiting.filter(**of_caller).count() >= MAX_OPEN_REQUESTS:
        raise TooManyWait("The requester", MAX_OPEN_REQUESTS)
    if waiting.count() >= MAX_OPEN_OF_ORGANIZATION:
        raise TooManyWait("The organization", MAX_OPEN_OF_ORGANIZATION)


def _create(row: Mapping[str, Any]) -> ApprovalRequest:
    expiry.settle(_requester_rows(row))
    try:
        with transaction.atomic():
            _require_room(row)
            return ApprovalRequest.objects.create(**row)
    except IntegrityError:
        # A concurrent call of the same connection was first; it may have been decided already.
        return _requester_rows(row).filter(digest=row["digest"]).latest("pk")


def _requester_rows(row: Mapping[str, Any]) -> QuerySet[ApprovalRequest]:
    return ApprovalRequest.objects.filter(
        organization_id=row["organization_id"], authorization_id=row["authorization_id"]
    )


def _party_rows(row: Mapping[str, Any]) -> QuerySet[ApprovalRequest]:
    """Those of all connections of the person in the organization, or of the key."""
    if not row["user_id"]:
        return _requester_rows(row)
    return ApprovalRequest.objects.filter(
        organization_id=row["organization_id"], user_id=row["user_id"]
    )


def count_waiting(membership: Membership) -> int:
    """Returns how many requests of a member wait for an approval in the organization."""
    waiting = ApprovalRequest.with_current_status(ApprovalStatus.PENDING)
    rows = ApprovalRequest.objects.filter(waiting, organization=membership.organization_id)
    return rows.filter(user_id=str(membership.user_id)).count()
