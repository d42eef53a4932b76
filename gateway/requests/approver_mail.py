"""The e-mail to the approvers of a new request. Its link opens a page and decides nothing."""

import json
from typing import Final

from django.core import mail
from django.template.loader import render_to_string

from approvals.models import ApprovalRequest, Status
from gateway import policies
from gateway.requests import details as request_details

TEMPLATE: Final = "gateway/approval_mail.txt"
MAX_ARGUMENT: Final = 200


def send(request_id: str) -> int:
    """Sends the mail of a request that waits; returns to how many people."""
    row = ApprovalRequest.objects.filter(pk=request_id, status=Status.PENDING).first()
    if row is None:
        return 0
    details = request_details.of(row)
    subject = " ".join(f"Approve {details.operation} in {details.project_name}?".split())
    # On one line each, so that no argument looks like a part of the mail.
    arguments = [(one.name, json.dumps(one.text)[:MAX_ARGUMENT]) for one in details.arguments]
    client = " ".join(row.client_name.split())
    text = render_to_string(
        TEMPLATE, {"details": details, "row": row, "arguments": arguments, "client": client}
    )
    # One each: approvers of a rule need not know of each other.
    to = [user.email for user in policies.approvers(row)]
    with mail.get_connection() as connection:
        connection.send_messages([mail.EmailMessage(subject, text, to=[address]) for address in to])
    return len(to)
