from uuid import UUID

import structlog

from foundation.background import task
from gateway import projects
from gateway.requests import approver_mail

log = structlog.get_logger(__name__)


@task(name="gateway.mail_approvers")
def mail_approvers(organization_id: str) -> int:
    """Writes mails to the approvers of an organization's new requests; returns how many.

    They are written to once a minute; what comes in between is for `mail_waiting`.
    """
    return approver_mail.announce(UUID(organization_id))


@task(name="gateway.mail_waiting")
def mail_waiting() -> int:
    """Writes mails about requests that no mail was written about; returns how many."""
    written = 0
    for organization_id in approver_mail.waiting_organizations():
        try:
            written += approver_mail.announce(organization_id)
        except Exception:  # another organization's approvers are written to all the same
            log.exception("approvers_not_mailed", organization=str(organization_id))
    return written


@task(name="gateway.prune_documents")
def prune_documents() -> int:
    """Deletes texts of documents that are older than the newest few of a project."""
    return projects.prune_documents()
