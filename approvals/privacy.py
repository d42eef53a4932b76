"""Erasures and exports of customers: the requests for approval that name one."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from approvals import delivery, masked_arguments
from approvals.models import ApprovalRequest, ApprovalStatus
from customers.privacy import tables
from customers.privacy.ports import TryLater
from customers.privacy.redaction import ERASED, Redaction
from customers.privacy.subject import Subject

BATCH: Final = 100
TEXTS: Final = ("summary", "why", "note", "problem")
VALUES: Final = ("arguments", "result", "rule")
EXPORTED: Final = (
    *("id", "tool", "arguments", "summary", "why", "status", "created_at", "decided_at"),
    *("note", "result", "problem", "customer_id"),
)
IS_RUNNING: Final = (
    "An approval request of this customer is being executed. Try again in 5 minutes."
)
DECLINED: Final = "The customer was erased."


class ApprovalRequests:
    """Requests for approval. One that waits is declined, since its arguments are redacted."""

    name = "approval_requests"
    model = ApprovalRequest
    effect = "redacted"

    def erase(self, subject: Subject) -> Iterator[int]:
        """Raises TryLater while a request is executed, which needs its arguments."""
        redaction = Redaction(subject)
        is_running = False
        keys = list(_naming(subject, redaction).values_list("pk", flat=True))
        for start in range(0, len(keys), BATCH):
            with transaction.atomic():
                rows = ApprovalRequest.objects.select_for_update().order_by("pk")
                part = list(rows.filter(pk__in=keys[start : start + BATCH]))
                ended = [row for row in part if row.status != ApprovalStatus.RUNNING]
                is_running = is_running or len(ended) < len(part)
                changed = [row for row in ended if _redact(row, subject, redaction)]
            if changed:
                yield len(changed)
        if is_running:
            raise TryLater(IS_RUNNING)

    def export_rows(self, subject: Subject) -> Iterator[Mapping[str, Any]]:
        redaction = Redaction(subject)
        for row in _naming(subject, redaction).order_by("pk").iterator(chunk_size=BATCH):
            values = {name: getattr(row, name) for name in EXPORTED}
            if redaction.finds(values):
                shown = masked_arguments.mask_request(row).values
                result = masked_arguments.masked_result(row)
                yield {**values, "arguments": shown, "result": result}


def _naming(subject: Subject, redaction: Redaction) -> QuerySet[ApprovalRequest]:
    naming = Q(customer_id__in=subject.ids)
    naming |= redaction.text_condition(*TEXTS) | redaction.json_condition(*VALUES)
    return ApprovalRequest.objects.filter(naming, organization=subject.organization_id)


def _redact(row: ApprovalRequest, subject: Subject, redaction: Redaction) -> bool:
    before = _values(row)
    for name in TEXTS:
        column: Any = ApprovalRequest._meta.get_field(name)
        setattr(row, name, redaction.text(getattr(row, name))[: column.max_length])
    for name in VALUES:
        setattr(row, name, redaction.json(getattr(row, name)))
    if row.customer_id in subject.ids:
        row.customer_id = ERASED
    if before == _values(row):
        return False
    if row.status == ApprovalStatus.PENDING:
        row.status, row.note = ApprovalStatus.DECLINED, DECLINED
        row.decided_at = row.ended_at = timezone.now()
        transaction.on_commit(lambda: delivery.deliver(row))
    row.save()
    tables.empty_history(ApprovalRequest, [row.pk])
    return True


def _values(row: ApprovalRequest) -> list[Any]:
    return [getattr(row, name) for name in (*TEXTS, *VALUES, "customer_id")]
