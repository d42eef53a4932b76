"""Mails are rows, which the worker sends.

Who has something to say to a person writes a row in the transaction in which it happens. The row
says whether the mail was sent, how often that was tried, and when it is tried next. A mail may
reach its recipient twice if the worker is killed between sending it and writing that down; it is
never lost, and a message of the queue that is delivered twice sends nothing twice.
"""

import json
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from smtplib import SMTPRecipientsRefused
from typing import Any, Final
from uuid import UUID, uuid4

import structlog
from django.core import mail
from django.db import transaction
from django.db.models import F, Max, QuerySet
from django.utils import timezone

from foundation import queueing, sealing
from foundation.resealing import SealedColumn
from foundation.sealing import SealBroken
from workspace.models import MailKind, MailState, OutgoingMail

log = structlog.get_logger(__name__)

SEND_TASK: Final = "workspace.send_mails"
# How long a process may take to send one. Each answer of the mail server has EMAIL_TIMEOUT.
CLAIM: Final = timedelta(minutes=2)
# Between attempts, in seconds; the last one is repeated until the mail expires.
PAUSES: Final = (20, 60, 120, 300)
# How long a mail that an admin sends again is tried.
SENT_AGAIN_FOR: Final = timedelta(days=1)
# After so many seconds a round ends, and the next one begins with a message of its own.
ROUND_SECONDS: Final = 60.0
KEPT_FOR: Final = timedelta(days=30)
# Replies of this kind are for good (RFC 5321, section 4.2.1).
PERMANENT: Final = 500
EXPIRED: Final = "It could not be sent before it expired."


@dataclass(frozen=True, slots=True)
class Draft:
    """A mail to write. It is not sent after `expires_at`, nor before `not_before` if it has one."""

    recipient: str
    subject: str
    text: str
    expires_at: datetime
    not_before: datetime | None = None


def add(organization_id: UUID, kind: MailKind, drafts: Sequence[Draft]) -> list[OutgoingMail]:
    """Writes mails, which the worker sends when the transaction is committed."""
    rows = [_build_row(organization_id, kind, draft) for draft in drafts]
    OutgoingMail.objects.bulk_create(rows)
    if rows:
        # If the message is lost, the schedule sends them.
        transaction.on_commit(lambda: queueing.send(SEND_TASK))
    return rows


def lock_waiting(organization_id: UUID, kind: MailKind, recipients: Sequence[str]) -> list[UUID]:
    """Returns the mails of a kind to these people that wait and that no process is sending.

    They stay so until the transaction ends.
    """
    rows = OutgoingMail.objects.filter(
        organization=organization_id,
        kind=kind,
        recipient__in=recipients,
        state=MailState.WAITING,
        claim=None,
    )
    return [row.pk for row in rows.select_for_update().order_by("pk")]


def find_last_sent(organization_id: UUID, kind: MailKind, recipient: str) -> datetime | None:
    """Returns when the last mail of a kind to a person was sent, or None."""
    rows = OutgoingMail.objects.filter(organization=organization_id, kind=kind, recipient=recipient)
    last: datetime | None = find_sent(rows).aggregate(last=Max("sent_at"))["last"]
    return last


def withdraw(mails: Sequence[UUID]) -> None:
    """Deletes mails that `lock_waiting` has returned: others say what they were to say."""
    OutgoingMail.objects.filter(pk__in=mails).delete()


def read_content(row: OutgoingMail) -> tuple[str, str]:
    """Returns the subject and the text of a mail that was not sent. Raises SealBroken."""
    opened = sealing.unseal(bytes(row.content or b""), context=_build_context(row))
    subject, text = json.loads(opened)
    return subject, text


def list_unsent(organization_id: UUID) -> QuerySet[OutgoingMail]:
    """Returns the mails of an organization that still have their content."""
    return OutgoingMail.objects.filter(organization=organization_id, content__isnull=False)


def find_sent(mails: QuerySet[OutgoingMail]) -> QuerySet[OutgoingMail]:
    """Returns those of the mails that were sent."""
    return mails.filter(state=MailState.SENT)


def send_due() -> int:
    """Sends the mails whose time has come, one after the other; returns how many were sent.

    If the mail server cannot be reached, the round ends after one attempt. Safe to run at any time,
    and by several processes at once.
    """
    _end_expired()
    connection = mail.get_connection()
    until = time.monotonic() + ROUND_SECONDS
    sent = 0
    while (row := _claim_next()) is not None:
        try:
            connection.open()
        except Exception as error:  # noqa: BLE001  backends raise errors of their own libraries
            log.warning("mail_server_unavailable", error=type(error).__name__)
            _postpone(row, error)
            break
        sent += _send(row, connection)
        if time.monotonic() > until:
            queueing.send(SEND_TASK)
            break
    _close(connection)
    return sent


def send_again(rows: QuerySet[OutgoingMail]) -> int:
    """Has mails that failed or wait sent now, and tried for a day; returns how many."""
    now = timezone.now()
    unsent = rows.filter(content__isnull=False, claim=None).exclude(state=MailState.SENT)
    with transaction.atomic():
        chosen = unsent.update(
            state=MailState.WAITING,
            attempts=0,
            next_attempt_at=now,
            expires_at=now + SENT_AGAIN_FOR,
        )
        transaction.on_commit(lambda: queueing.send(SEND_TASK))
    return chosen


def prune() -> int:
    """Deletes mails that were written a month ago; returns how many."""
    old = OutgoingMail.objects.filter(created_at__lt=timezone.now() - KEPT_FOR)
    return old.exclude(state=MailState.WAITING).delete()[0]


def _build_row(organization_id: UUID, kind: MailKind, draft: Draft) -> OutgoingMail:
    row = OutgoingMail(
        organization_id=organization_id,
        kind=kind,
        recipient=draft.recipient,
        expires_at=draft.expires_at,
    )
    row.next_attempt_at = draft.not_before or row.next_attempt_at
    content = json.dumps([draft.subject, draft.text]).encode()
    row.content = sealing.seal(content, context=_build_context(row))
    return row


def _build_context(row: OutgoingMail) -> bytes:
    return f"workspace.outgoingmail:{row.pk}:content".encode()


def _find_due() -> QuerySet[OutgoingMail]:
    # The claim of a process that was killed ends at this time too.
    return OutgoingMail.objects.filter(
        state=MailState.WAITING, next_attempt_at__lte=timezone.now()
    ).order_by("next_attempt_at", "pk")


def _end_expired() -> None:
    expired = _find_due().order_by().filter(expires_at__lte=timezone.now())
    expired.filter(error="").update(error=EXPIRED)
    if ended := expired.update(state=MailState.FAILED, claim=None):
        log.warning("mails_expired", count=ended)


def _claim_next() -> OutgoingMail | None:
    """Returns a mail that this process sends, and no other one until the claim ends."""
    while True:
        key = _find_due().values_list("pk", flat=True).first()
        if key is None:
            return None
        claimed = (
            _find_due()
            .order_by()
            .filter(pk=key)
            .update(
                claim=uuid4(),
                attempts=F("attempts") + 1,
                next_attempt_at=timezone.now() + CLAIM,
            )
        )
        if claimed:
            return OutgoingMail.objects.filter(pk=key).first()


def _send(row: OutgoingMail, connection: Any) -> bool:
    try:
        subject, text = read_content(row)
    except SealBroken as broken:
        log.exception("mail_not_opened", mail=str(row.pk))
        _finish(row, state=MailState.FAILED, error=str(broken))
        return False
    try:
        message = mail.EmailMessage(" ".join(subject.split()), text, to=[row.recipient])
        connection.send_messages([message])
    except Exception as error:  # noqa: BLE001  backends raise errors of their own libraries
        log.warning("mail_not_sent", mail=str(row.pk), error=type(error).__name__)
        if _is_refused_for_good(error):
            _finish(row, state=MailState.FAILED, error=_describe(error))
        else:
            _postpone(row, error)
        _close(connection)  # it may be broken
        return False
    _finish(row, state=MailState.SENT, sent_at=timezone.now(), content=None, error="")
    return True


def _is_refused_for_good(error: Exception) -> bool:
    if not isinstance(error, SMTPRecipientsRefused):
        return False
    return all(code >= PERMANENT for code, _reply in error.recipients.values())


def _postpone(row: OutgoingMail, error: Exception) -> None:
    seconds = PAUSES[min(row.attempts, len(PAUSES)) - 1]
    again_at = timezone.now() + timedelta(seconds=seconds)
    _finish(row, next_attempt_at=again_at, error=_describe(error))


def _describe(error: Exception) -> str:
    if isinstance(error, SMTPRecipientsRefused):
        code, reply = next(iter(error.recipients.values()))
        return f"{code} {reply.decode(errors='replace')}"[:300]
    return f"{type(error).__name__}: {error}"[:300]


def _finish(row: OutgoingMail, **columns: Any) -> None:
    """Writes what came of an attempt, unless its claim ended and another process sends the mail."""
    own = OutgoingMail.objects.filter(pk=row.pk, claim=row.claim)
    own.update(**columns, claim=None)


def _close(connection: Any) -> None:
    with suppress(Exception):  # it may be broken
        connection.close()


def _reseal(row: OutgoingMail, sealed: bytes) -> None:
    OutgoingMail.objects.filter(pk=row.pk, content__isnull=False).update(content=sealed)


SEALED: Final = SealedColumn(
    name="outgoing mails",
    rows=lambda: OutgoingMail.objects.filter(content__isnull=False),
    read=lambda row: bytes(row.content),
    write=_reseal,
    context=_build_context,
)
