"""The e-mail to the approvers of new requests. Its links open pages and decide nothing.

An organization's approvers get one a minute at most, with everything that was requested meanwhile:
no number of requests is that number of mails.
"""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Final
from uuid import UUID

import structlog
from django.conf import settings
from django.core import mail
from django.db import transaction
from django.db.models import Q, QuerySet
from django.template.loader import render_to_string
from django.utils import timezone

from approvals.masked_arguments import UNDECLARED
from approvals.models import ApprovalRequest, Status
from audit import record
from foundation import limits
from foundation.limits import Bucket, Limit
from gateway import policies
from gateway.requests import details as request_details
from gateway.requests import statuses
from gateway.requests.details import ShownArgument

log = structlog.get_logger(__name__)

ONE_REQUEST: Final = "gateway/approval_mail.txt"
SEVERAL_REQUESTS: Final = "gateway/approvals_mail.txt"
MAX_ARGUMENT: Final = 200
MAX_LISTED: Final = 20
ONE_A_MINUTE: Final = Limit(1, 60)
# How long the requests of a worker that was killed wait for another one.
CLAIM: Final = timedelta(minutes=5)
# How long those who were not reached before the mail server went down are tried again.
REPEATED_FOR: Final = timedelta(minutes=15)


@dataclass(slots=True)
class MailRound:
    """Requests that one process announces: who decides each, and who was mailed about it."""

    rows: Sequence[ApprovalRequest]
    by_approver: dict[str, list[ApprovalRequest]] = field(default_factory=dict)
    mailed: set[str] = field(default_factory=set)
    # By the id of the request.
    texts: dict[UUID, Mapping[str, Any]] = field(default_factory=dict)
    unresolved: set[UUID] = field(default_factory=set)
    is_server_down: bool = False


def send(organization_id: UUID) -> int:
    """Sends the mails of the requests that wait and were not announced; returns to how many people.

    Nothing is sent within a minute after the last ones. A mail that is refused keeps no other one
    back. Requests are announced again if nobody was mailed about them, or the mail server could not
    be reached.
    """
    if not _find_unannounced().filter(organization=organization_id).exists():
        return 0
    bucket = Bucket(f"approver_mail:{organization_id}", ONE_A_MINUTE)
    if limits.charge_or_share([bucket], record.limits_unavailable) is not None:
        return 0
    mails = MailRound(_claim_requests(organization_id))
    _find_approvers(mails)
    _send_mails(mails)
    _confirm_requests(mails)
    return len(mails.mailed)


def waiting_organizations() -> list[UUID]:
    """Returns the organizations with requests that no mail was sent about."""
    return [*_find_unannounced().values_list("organization_id", flat=True).distinct()]


def _find_unannounced() -> QuerySet[ApprovalRequest]:
    """Returns the requests that were not announced, and that no process announces now."""
    now = timezone.now()
    return ApprovalRequest.objects.filter(
        Q(announcing_until=None) | Q(announcing_until__lte=now),
        surface__startswith=policies.SURFACE_PREFIX,
        status=Status.PENDING,
        announced_at=None,
        expires_at__gt=now,
    ).order_by()


def _claim_requests(organization_id: UUID) -> list[ApprovalRequest]:
    """Returns the requests that this process announces: for five minutes no other one does."""
    with transaction.atomic():
        unannounced = _find_unannounced().filter(organization=organization_id)
        rows = [*unannounced.select_for_update().order_by("pk")]
        _extend_claim(rows)
    return rows


def _extend_claim(rows: Sequence[ApprovalRequest]) -> None:
    claimed = ApprovalRequest.objects.filter(pk__in=[row.pk for row in rows])
    claimed.update(announcing_until=timezone.now() + CLAIM)


def _find_approvers(mails: MailRound) -> None:
    """Finds them once for all requests that have the same ones."""
    groups: dict[str, list[ApprovalRequest]] = {}
    for row in mails.rows:
        groups.setdefault(policies.approver_key(row), []).append(row)
    for rows in groups.values():
        try:
            users = policies.approvers(rows[0])
        except Exception:  # other requests are announced all the same
            log.exception("approvers_not_found", request=str(rows[0].pk))
            mails.unresolved.update(row.pk for row in rows)
            continue
        if not users:  # somebody who joins a group later is mailed then
            mails.unresolved.update(row.pk for row in rows)
        for user in users:
            mails.by_approver.setdefault(user.email, []).extend(rows)


def _send_mails(mails: MailRound) -> None:
    """Sends one to each person: approvers of a rule need not know of each other."""
    connection = mail.get_connection()
    for address, rows in mails.by_approver.items():
        _extend_claim(mails.rows)
        try:
            connection.open()
        except Exception:
            log.exception("mail_server_unavailable")
            mails.is_server_down = True
            break
        try:
            message = _message(address, sorted(rows, key=lambda row: row.pk), mails)
            connection.send_messages([message])
            mails.mailed.add(address)
        except Exception:  # the others are mailed all the same, on another connection
            log.exception("approver_not_mailed", address=address)
            _close(connection)
    _close(connection)


def _close(connection: Any) -> None:
    with suppress(Exception):  # it may be broken
        connection.close()


def _confirm_requests(mails: MailRound) -> None:
    """Marks the announced requests, and gives the others up for the next attempt."""
    again, partly = set(mails.unresolved), set[UUID]()
    reached = {row.pk for address in mails.mailed for row in mails.by_approver[address]}
    since = timezone.now() - REPEATED_FOR
    for address, rows in mails.by_approver.items():
        if address not in mails.mailed:
            again.update(row.pk for row in rows if row.pk not in reached)
            if mails.is_server_down:
                partly.update(row.pk for row in rows if row.created_at > since)
    keys = [row.pk for row in mails.rows]
    claimed = ApprovalRequest.objects.filter(pk__in=keys)
    claimed.exclude(pk__in=again | partly).update(
        announced_at=timezone.now(), announcing_until=None
    )
    # Those of which some approvers know stay claimed, so that these are not mailed each minute.
    claimed.filter(pk__in=again).update(announcing_until=None)


def _message(address: str, rows: Sequence[ApprovalRequest], mails: MailRound) -> mail.EmailMessage:
    listed = [_get_text(row, mails) for row in rows[:MAX_LISTED]]
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
    return mail.EmailMessage(" ".join(subject.split()), text, to=[address])


def _get_text(row: ApprovalRequest, mails: MailRound) -> Mapping[str, Any]:
    """Returns what a mail says of a request: only who made it and where it is, if that fails."""
    if row.pk not in mails.texts:
        client = " ".join(row.client_name.split())
        text: dict[str, Any] = {"row": row, "client": client, "url": statuses.url(row)}
        try:
            details = request_details.of(row)
            arguments = [(_name(one), _text(one)) for one in details.arguments]
            text |= {"details": details, "arguments": arguments}
        except Exception:  # the others are described all the same
            log.exception("request_not_described", request=str(row.pk))
        mails.texts[row.pk] = text
    return mails.texts[row.pk]


# On one line each, so that no argument looks like a part of the mail.
def _name(argument: ShownArgument) -> str:
    name = json.dumps(argument.name)[1:-1]
    return name if argument.is_declared else f"{name}{UNDECLARED}"


def _text(argument: ShownArgument) -> str:
    text = json.dumps(argument.text)
    return text if len(text) <= MAX_ARGUMENT else f"{text[:MAX_ARGUMENT]}… (the page has all of it)"
