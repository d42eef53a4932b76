from foundation.background import task
from gateway.requests import approver_mail


@task(name="gateway.mail_approvers")
def mail_approvers(request_id: str) -> int:
    """Writes to the approvers of a new request; returns how many there are."""
    return approver_mail.send(request_id)
