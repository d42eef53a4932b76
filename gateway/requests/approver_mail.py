"""The e-mails about new requests. Their links open pages and decide nothing.

An organization's approvers get one a minute at most, with everything that was requested meanwhile:
no number of requests is that number of mails. A mail that waits is replaced by the next one.

A requester whose credential for the API is missing gets one mail about a project, and another one
only once none of the requests that it was about waits any more.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, QuerySet
from django.template.loader import render_to_string
from django.utils import timezone

from approvals import deciders
from approvals.masked_arguments import UNDECLARED
from approvals.models import ApprovalRequest, ApprovalStatus
from audit import record
from foundation import limits
from foundation.limits import Bucket, Limit
from gateway import policies
from gateway.requests import details as request_details
from gateway.requests import statuses
from gateway.requests.details import ShownArgument
from workspace import outbox
from workspace.models import MailKind, OutgoingMail
from workspace.outbox import Draft

log = structlog.get_logger(__name__)

ONE_REQUEST: Final = "gateway/approval_mail.txt"
MISSING_CREDENTIAL: Final = "gateway/credential_mail.txt"
SEVERAL_REQUESTS: Final = "gateway/approvals_mail.txt"
MAX_ARGUMENT: Final = 200
MAX_LISTED: Final = 20
ONE_A_MINUTE: Final = Limit(1, 60)


@dataclass(slots=True)
class MailRound:
    """Requests to announce: who decides each, and what a mail says of it, by its id."""

    by_approver: dict[str, set[UUID]] = field(default_factory=dict)
    texts: dict[UUID, Mapping[str, Any]] = field(default_factory=dict)


def announce(organization_id: UUID) -> int:
    """Writes the mails about requests that wait and were not announced; returns how many.

    None is written within a minute after the last ones. A request that nobody can approve now is
    announced once somebody can.
    """
    unannounced = [*_find_unannounced().filter(organization=organization_id).order_by("pk")]
    if not unannounced:
        return 0
    bucket = Bucket(f"approver_mail:{organization_id}", ONE_A_MINUTE)
    if limits.charge_or_share([bucket], record.limits_unavailable) is not None:
        return 0
    # Before the transaction: a request that cannot be read must not break it.
    written = _write_credential_mails(organization_id, unannounced)
    mails = MailRound()
    _find_approvers(unannounced, mails)
    for row in unannounced:
        _describe(row, mails)
    return written + _write_mails(organization_id, mails)


def waiting_organizations() -> list[UUID]:
    """Returns the organizations with requests that no mail was written about."""
    return [*_find_unannounced().values_list("organization_id", flat=True).distinct()]


def was_sent(row: ApprovalRequest) -> bool:
    """Returns whether an approver was sent a mail about a request."""
    return outbox.find_sent(row.mails.filter(kind=MailKind.APPROVAL)).exists()


def _find_unannounced() -> QuerySet[ApprovalRequest]:
    return _find_waiting().filter(announced_at=None)


def _find_waiting() -> QuerySet[ApprovalRequest]:
    waiting = ApprovalRequest.objects.filter(
        policies.PROJECT_SURFACES.condition(),
        status=ApprovalStatus.PENDING,
        expires_at__gt=timezone.now(),
    )
    return waiting.order_by()


def _find_approvers(rows: Sequence[ApprovalRequest], mails: MailRound) -> None:
    """Finds them once for all requests that have the same ones."""
    groups: dict[str, list[ApprovalRequest]] = {}
    for row in rows:
        groups.setdefault(deciders.decider_key(row), []).append(row)
    for same in groups.values():
        try:
            users = policies.approvers(same[0])
        except Exception:  # other requests are announced all the same
            log.exception("approvers_not_found", request=str(same[0].pk))
            continue
        for user in users:
            mails.by_approver.setdefault(user.email, set()).update(row.pk for row in same)


def _write_credential_mails(organization_id: UUID, rows: Sequence[ApprovalRequest]) -> int:
    """Writes to the requesters whose own credential is missing; returns how many."""
    waiting: dict[tuple[str, str], list[ApprovalRequest]] = {}
    for row in rows:
        waiting.setdefault((row.surface, row.user_id), []).append(row)
    written = 0
    for same in waiting.values():
        try:
            written += _write_credential_mail(organization_id, same)
        except Exception:  # approvers, and other requesters, are written to all the same
            log.exception("requester_not_mailed", request=str(same[0].pk))
    return written


@transaction.atomic
def _write_credential_mail(organization_id: UUID, rows: Sequence[ApprovalRequest]) -> int:
    """Writes to one requester about the requests to one project; returns how many mails."""
    recipient = request_details.find_reachable_requester(rows[0])
    if recipient is None or not request_details.takes_personal_credentials(rows[0]):
        return 0
    # Tools of one project may need other credentials.
    keys = [row.pk for row in rows if request_details.find_obstacle(row)]
    # Another process may write to the same person.
    lacking = [*_find_waiting().filter(pk__in=keys).select_for_update().order_by("pk")]
    if not lacking:
        return 0
    sent = OutgoingMail.objects.filter(kind=MailKind.CREDENTIAL, recipient=recipient.email)
    about = _find_waiting().filter(surface=rows[0].surface, mails__in=sent)
    if about.exists():
        return 0
    name = request_details.project_name(rows[0])
    project_id = policies.PROJECT_SURFACES.key_of(rows[0].surface)
    context = {
        "project_name": name,
        "tools": sorted({row.tool for row in lacking}),
        "url": f"{settings.HALO_PUBLIC_URL}/projects/{project_id}/credentials",
        "requests_url": f"{settings.HALO_PUBLIC_URL}/requests",
    }
    subject = f"Your credential for {name} is missing"
    text = render_to_string(MISSING_CREDENTIAL, context)
    draft = Draft(recipient.email, subject, text, max(row.expires_at for row in lacking))
    [mail] = outbox.add(organization_id, MailKind.CREDENTIAL, [draft])
    mail.approval_requests.add(*lacking)
    return 1


@transaction.atomic
def _write_mails(organization_id: UUID, mails: MailRound) -> int:
    """Writes one to each person: approvers of a rule need not know of each other."""
    found = {key for keys in mails.by_approver.values() for key in keys}
    new = _find_unannounced().filter(pk__in=found).select_for_update().order_by("pk")
    # Another process may have announced some of them meanwhile.
    own = {row.pk: row for row in new}
    by_approver = {
        address: rows
        for address, keys in mails.by_approver.items()
        if (rows := {key: own[key] for key in keys if key in own})
    }
    _replace_waiting(organization_id, by_approver, mails)
    drafts = [_build_mail(address, rows, mails) for address, rows in by_approver.items()]
    written = outbox.add(organization_id, MailKind.APPROVAL, drafts)
    for mail, rows in zip(written, by_approver.values(), strict=True):
        mail.approval_requests.add(*rows.values())
    ApprovalRequest.objects.filter(pk__in=own).update(announced_at=timezone.now())
    return len(written)


def _replace_waiting(
    organization_id: UUID,
    by_approver: Mapping[str, dict[UUID, ApprovalRequest]],
    mails: MailRound,
) -> None:
    """Deletes mails that could not be sent yet; the new ones name their requests too."""
    waiting = outbox.lock_waiting(organization_id, MailKind.APPROVAL, [*by_approver])
    named = _find_waiting().filter(mails__in=waiting)
    for row in named.annotate(address=F("mails__recipient")).distinct():
        _describe(row, mails)
        by_approver[row.address][row.pk] = row
    outbox.withdraw(waiting)


def _build_mail(address: str, named: Mapping[UUID, ApprovalRequest], mails: MailRound) -> Draft:
    rows = sorted(named.values(), key=lambda row: row.pk)
    listed = [mails.texts[row.pk] for row in rows[:MAX_LISTED]]
    if len(rows) == 1 and "details" in listed[0]:
        details = listed[0]["details"]
        subject = f"Approve {details.operation} in {details.project_name}?"
        text = render_to_string(ONE_REQUEST, dict(listed[0]))
    else:
        subject = f"{len(rows)} requests wait for your approval"
        if len(rows) == 1:
            subject = "A request waits for your approval"
        context = {
            "requests": listed,
            "others": len(rows) - len(listed),
            "url": f"{settings.HALO_PUBLIC_URL}/requests",
        }
        text = render_to_string(SEVERAL_REQUESTS, context)
    return Draft(address, subject, text, expires_at=max(row.expires_at for row in rows))


def _describe(row: ApprovalRequest, mails: MailRound) -> None:
    """Says who made a request and where it is; if it can be read, also what it would do."""
    if row.pk in mails.texts:
        return
    client = " ".join(row.client_name.split())
    text: dict[str, Any] = {"row": row, "client": client, "url": statuses.url(row)}
    try:
        details = request_details.build(row)
        arguments = [(_name(one), _text(one)) for one in details.arguments]
        text |= {"details": details, "arguments": arguments}
    except Exception:  # the others are described all the same
        log.exception("request_not_described", request=str(row.pk))
    mails.texts[row.pk] = text


# On one line each, so that no argument looks like a part of the mail.
def _name(argument: ShownArgument) -> str:
    name = json.dumps(argument.name)[1:-1]
    return name if argument.is_declared else f"{name}{UNDECLARED}"


def _text(argument: ShownArgument) -> str:
    line = argument.line
    return line if len(line) <= MAX_ARGUMENT else f"{line[:MAX_ARGUMENT]}… (the page has all of it)"
