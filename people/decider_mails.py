"""The e-mail to those who decide next about requests for time off that were approved in one step.

Everybody gets one a minute at most, with all requests that wait for them: one that waits to be sent
is replaced by the next one, as those of the approvers of a gateway are.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Final

from django.template.loader import render_to_string
from django.utils import timezone

from foundation.admin_urls import page_url
from oauth import addresses
from people import access, approvers
from people.models import AbsenceStatus, TimeOff
from workspace import outbox
from workspace.models import MailKind, Organization
from workspace.outbox import Draft

TEMPLATE: Final = "people/decider_mail.txt"
MAX_LISTED: Final = 20
PAUSE: Final = timedelta(minutes=1)
# A mail that could not be sent for so long is of no use.
LIFETIME: Final = timedelta(days=7)


def announce(row: TimeOff) -> None:
    """Writes the mails about a request to those who decide about it now, within a transaction."""
    # Locked: of two that are written at once, the later one has the requests of both.
    lock = Organization.with_sandboxes.select_for_update(no_key=True)
    organization = lock.get(pk=row.organization_id)
    if organization.sandbox_of_id is not None:
        return
    # Admins decide about first steps that wait for nobody; each of these has had one.
    rows = access.rows(TimeOff, organization.pk).filter(
        status=AbsenceStatus.PENDING, approved_steps__gt=0
    )
    waiting = list(rows.select_related("person").order_by("start_date", "pk"))
    deciders = approvers.find_deciders(organization, waiting)
    recipients = sorted({one.person.work_email for one in deciders.get(row.pk, ())} - {""})
    drafts = []
    for address in recipients:
        named = [
            other
            for other in waiting
            if any(one.person.work_email == address for one in deciders[other.pk])
        ]
        drafts.append(_build_mail(organization, address, named))
    replaced = outbox.lock_waiting(organization.pk, MailKind.TIME_OFF, recipients)
    outbox.withdraw(replaced)
    outbox.add(organization.pk, MailKind.TIME_OFF, drafts)


def _build_mail(organization: Organization, address: str, rows: Sequence[TimeOff]) -> Draft:
    now = timezone.now()
    sent_at = outbox.find_last_sent(organization.pk, MailKind.TIME_OFF, address)
    subject = f"{len(rows)} requests for time off wait for your approval"
    if len(rows) == 1:
        subject = f"{rows[0].person} requests time off: your approval is needed"
    context = {
        "organization": organization,
        "rows": rows[:MAX_LISTED],
        "others": len(rows[MAX_LISTED:]),
        "url": addresses.url(page_url("people_timeoff_changelist", waits_for="me")),
    }
    text = render_to_string(TEMPLATE, context)
    return Draft(
        address,
        subject,
        text,
        expires_at=now + LIFETIME,
        not_before=max(now, sent_at + PAUSE) if sent_at else None,
    )
