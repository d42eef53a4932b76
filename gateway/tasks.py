from uuid import UUID

import structlog

from foundation.background import task
from gateway.requests import approver_mail

log = structlog.get_logger(__name__)


@task(name="gateway.mail_approvers")
def mail_approvers(organization_id: str) -> int:
    """Writes to the approvers of an organization's new requests; returns to how many people.

    They are written to once a minute; what comes in between is for `mail_waiting`.
    """
    return approver_mail.send(UUID(organization_id))


@task(name="gateway.mail_waiting")
def mail_waiting() -> int:
    """Writes to approvers of requests that no mail was sent about; returns to how many people."""
    written = 0
    for organization_id in approver_mail.waiting_organizations():
        try:
            written += approver_mail.send(organization_id)
        except Exception:  # another organization's approvers are written to all the same
            log.exception("approvers_not_mailed", organization=str(organization_id))
    return written
