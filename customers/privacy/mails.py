"""Erasures and exports of customers: mails that were not sent yet and name one."""

from collections.abc import Iterator, Mapping
from typing import Any

from customers.privacy.redaction import Redaction
from customers.privacy.subject import Subject
from foundation.sealing import SealBroken
from workspace import outbox
from workspace.models import OutgoingMail


class OutgoingMails:
    """Their content is sealed, so each is opened. A mail that was sent has none any more."""

    name = "outgoing_mails"
    model = OutgoingMail
    effect = "deleted"

    def erase(self, subject: Subject) -> Iterator[int]:
        for row in _find_naming(subject):
            row.delete()
            yield 1

    def export_rows(self, subject: Subject) -> Iterator[Mapping[str, Any]]:
        for row in _find_naming(subject):
            title, text = outbox.read_content(row)
            yield {"id": row.pk, "subject": title, "text": text, "created_at": row.created_at}


def _find_naming(subject: Subject) -> Iterator[OutgoingMail]:
    redaction = Redaction(subject)
    for row in outbox.list_unsent(subject.organization_id).order_by("pk"):
        try:
            is_naming = redaction.finds([*outbox.read_content(row)])
        except SealBroken:  # nobody can read it, and it is not sent
            continue
        if is_naming:
            yield row
