"""The last check of a call to a project: the month's quota, the policy, and an approval.

A call that waits for a decision ends with the pending result of the Airlock document; see
docs/gateway.md, "Approvals".
"""

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any, Final

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from approvals import call_tasks, cards, outcomes, requests
from approvals.models import ApprovalRequest, ApprovalStatus
from foundation import queueing
from gateway import policies, quota
from gateway.models import Effect
from gateway.policies import PROJECT_SURFACES, PolicyDecision, ProjectPolicy
from gateway.requests import approver_mail, details, statuses
from mcp_protocol import mcp_apps
from tools_registry.api import Blocks
from tools_registry.pipeline.gate import Decision
from tools_registry.pipeline.invocation import (
    ApprovalPending,
    FinalOutcome,
    PreparedCall,
    RefusedCall,
)

MAIL_TASK: Final = "gateway.mail_approvers"
# A rule may be deleted after the policy was read, which is read again then.
ATTEMPTS: Final = 3
BEING_NOTIFIED: Final = "This operation requires approval. An approver is being notified."
NOTIFIED: Final = "This operation requires approval. An approver has been notified."
APPROVERS: Final = "It can be approved by {approvers}."
NO_APPROVER: Final = (
    "This operation requires approval, and no person can approve it. An admin of the organization "
    "has to name another approver in the policy, or has to let requesters approve their own "
    "requests, at {url} ."
)
NO_DECIDER: Final = (
    "No person: an admin of the organization has to name another approver in the policy."
)
APPROVED: Final = "This operation was approved and is being executed."
REPEAT: Final = "Repeat this call with the same arguments to get the decision and the result."
DENIED: Final = Decision(
    allowed=False, reason="policy_denied", layer="policy", message="Denied by policy"
)
EXHAUSTED: Final = Decision(
    allowed=False, reason="quota_exceeded", layer="quota", message="Rate limit exceeded"
)
CHANGED: Final = Decision(
    allowed=False,
    reason="document_changed",
    layer="policy",
    message=details.DOCUMENT_CHANGED,
)


def review(call: PreparedCall) -> PreparedCall | FinalOutcome:
    """Returns the call, to run it, or how it ends without being run (`Surface.review`)."""
    is_first = call.invocation.approval is None and not call.is_charged
    if is_first and not quota.take(call.principal.organization_id):
        return RefusedCall(EXHAUSTED)
    for _ in range(ATTEMPTS):
        with suppress(policies.RuleGone):
            reviewed = _apply_policy(call)
            is_unwanted = isinstance(reviewed, PreparedCall) and call.invocation.needs_task
            if is_unwanted and is_first:
                # Its endpoint refuses it: the call would run, and its caller would get no task.
                quota.give_back(call.principal.organization_id)
            return reviewed
    return RefusedCall(DENIED)


def _apply_policy(call: PreparedCall) -> PreparedCall | FinalOutcome:
    """What the policy says of the call now. Raises RuleGone."""
    subject, approval = call.subject, call.invocation.approval
    policy = policies.read(PROJECT_SURFACES.key_of(call.invocation.surface.name))
    decision = policy.decide(subject.name, call.arguments, is_read=not subject.mutates)
    if decision.effect == Effect.DENY:
        return RefusedCall(DENIED)
    if approval is not None:
        is_current = requests.version_of(approval) == policy.version
        return call if is_current else RefusedCall(CHANGED)
    return call if decision.effect == Effect.ALLOW else _request_approval(call, policy, decision)


def _request_approval(
    call: PreparedCall, policy: ProjectPolicy, decision: PolicyDecision
) -> FinalOutcome:
    """The state of the request for this call, which is filed unless an identical one answers it.

    Raises RuleGone.
    """
    project_id = PROJECT_SURFACES.key_of(call.invocation.surface.name)
    found = requests.request_call(
        call,
        expires_at=timezone.now() + timedelta(minutes=policy.approval_minutes),
        version=policy.version,
        summary=call.subject.name,
        rule=lambda: policies.kept_rule(project_id, policy, decision),
    )
    row = found.row
    if found.is_new:
        transaction.on_commit(partial(queueing.send, MAIL_TASK, str(row.organization_id)))
    outcome: FinalOutcome | None = outcomes.find_outcome_of_call(
        row, call, f" See {statuses.url(row)}"
    )
    if outcome is None:
        shows_card = mcp_apps.has_declared_apps(call.invocation.client_capabilities)
        outcome = ApprovalPending(_pending(row, _card(row) if shows_card else {}))
    return replace(outcome, note=statuses.audit_detail(row), approval_request=str(row.pk))


def _card(row: ApprovalRequest) -> dict[str, Any]:
    """What a client shows of the request, for the `_meta` of its result."""
    return cards.result_meta(
        row,
        url=statuses.url(row),
        deciders=policies.describe_approvers(row) or NO_DECIDER,
        request=details.request_head(row),
        project=details.project_name(row),
    )


def _pending(row: ApprovalRequest, meta: Mapping[str, Any]) -> Blocks:
    """The pending result (Airlock document, tools/call): one line of JSON with these keys."""
    url = statuses.url(row)
    body: dict[str, Any] = {
        "status": statuses.get_name(row),
        "requestId": str(row.pk),
        "statusUrl": url,
        "approvalUrl": url,
        "pollIntervalSeconds": call_tasks.WAITING_SECONDS,
        "message": _get_message(row),
    }
    return Blocks([{"type": "text", "text": json.dumps(body)}], body, meta)


def describe_task(row: ApprovalRequest) -> str:
    """Returns what the task of a call says of its request, empty once the call was executed."""
    if row.current_status in {ApprovalStatus.PENDING, ApprovalStatus.RUNNING}:
        return f"{_describe_open(row)} See {statuses.url(row)}"
    return "" if row.status == ApprovalStatus.DONE else outcomes.reason(row)


def _get_message(row: ApprovalRequest) -> str:
    return f"{_describe_open(row)} {REPEAT}"


def _describe_open(row: ApprovalRequest) -> str:
    if row.status == ApprovalStatus.RUNNING:
        return APPROVED
    approvers = policies.describe_approvers(row)
    if not approvers:
        project_id = PROJECT_SURFACES.key_of(row.surface)
        url = f"{settings.HALO_PUBLIC_URL}/projects/{project_id}/policy"
        return NO_APPROVER.format(url=url)
    is_notified = row.announced_at is not None and approver_mail.was_sent(row)
    notice = NOTIFIED if is_notified else BEING_NOTIFIED
    parts = (notice, APPROVERS.format(approvers=approvers), row.problem, details.find_obstacle(row))
    return " ".join(filter(None, parts))
