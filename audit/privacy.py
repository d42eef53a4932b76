"""Erasures and exports of customers: the audit rows and the security events that name one.

No index finds what arguments contain, so the rows of the organization are read once, newest first,
in batches by the index of the organization. A row that is written meanwhile is not read. One
statement finds the security events that may name the customer, since there are few of them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from audit import listing, record
from audit.models import ActionExecution, SecurityEvent
from customers.privacy.redaction import ERASED, Redaction
from customers.privacy.subject import Subject
from customers.privacy.text_columns import id_and_email_redaction
from workspace.models import Erasure

BATCH: Final = 1_000
EXPORTED: Final = (
    *("id", "started_at", "method", "tool", "integration", "action", "outcome", "reason"),
    *("bound_customer_id", "arguments", "detail"),
)
# A client may write any text for these: a name of a tool that does not exist.
NAMES: Final = ("method", "tool", "request_id")

EXPORTED_EVENT: Final = ("id", "kind", "first_at", "last_at", "count", "detail")


class Calls:
    """The audit log. What names the customer is replaced, the rest of the row stays."""

    name = "calls"
    model = ActionExecution
    effect = "redacted"

    def erase(self, subject: Subject) -> Iterator[int]:
        redaction = Redaction(subject)
        for rows in _naming(subject, redaction):
            with transaction.atomic():
                many = _redact(rows.select_for_update(), subject, redaction)
            if many:
                yield many

    def export_rows(self, subject: Subject) -> Iterator[Mapping[str, Any]]:
        redaction = Redaction(subject)
        for rows in _naming(subject, redaction):
            yield from filter(redaction.finds, rows.order_by("-pk").values(*EXPORTED))


class SecurityEvents:
    """Details of security events of the organization, and of those without one: the operator's."""

    name = "security_events"
    model = SecurityEvent
    effect = "redacted"

    def erase(self, subject: Subject) -> Iterator[int]:
        redaction = Redaction(subject)
        keys = list(_events(subject, redaction, "").values_list("pk", flat=True))
        for start in range(0, len(keys), BATCH):
            with transaction.atomic():
                many = _redact_details(keys[start : start + BATCH], redaction)
            if many:
                yield many

    def export_rows(self, subject: Subject) -> Iterator[Mapping[str, Any]]:
        redaction = Redaction(subject)
        rows = _events(subject, redaction).order_by("-pk").values(*EXPORTED_EVENT)
        yield from filter(redaction.finds, rows)


class PrivacyEventRecorder:
    """Writes the security events; `subject` is the customer's internal id."""

    def record_erasure(self, erasure: Erasure, detail: str) -> None:
        record.security_event(
            "customer_erased",
            address=erasure.address,
            subject=erasure.customer_id,
            organization_id=str(erasure.organization_id),
            user_id=erasure.user_id,
            detail=detail,
        )

    def record_export(self, subject: Subject, *, user_id: str, address: str, detail: str) -> None:
        record.security_event(
            "customer_exported",
            address=address,
            subject=subject.customer_id,
            organization_id=str(subject.organization_id),
            user_id=user_id,
            detail=detail,
        )


def _naming(subject: Subject, redaction: Redaction) -> Iterator[QuerySet[ActionExecution]]:
    """Yields the rows that may name the customer, by batches of the rows that were read."""
    naming = Q(bound_customer_id__in=subject.ids)
    naming |= redaction.json_condition("arguments") | redaction.text_condition("detail")
    naming |= id_and_email_redaction(subject).text_condition(*NAMES)
    for keys in _batches(subject.organization_id):
        yield ActionExecution.objects.order_by("pk").filter(naming, pk__in=keys)


def _batches(organization_id: UUID) -> Iterator[Sequence[UUID]]:
    rows = ActionExecution.objects.filter(organization_id=str(organization_id))
    found = listing.newest(rows, BATCH)
    while found.keys:
        yield found.keys
        if not found.has_more:
            return
        found = listing.newest(rows.filter(pk__lt=found.keys[-1]), BATCH)


def _redact(rows: QuerySet[ActionExecution], subject: Subject, redaction: Redaction) -> int:
    columns, changed = ("bound_customer_id", "arguments", "detail", *NAMES), []
    of_names = id_and_email_redaction(subject)
    for row in rows:
        before = [getattr(row, name) for name in columns]
        if row.bound_customer_id in subject.ids:
            row.bound_customer_id = ERASED
        row.arguments, row.detail = redaction.json(row.arguments), redaction.text(row.detail)
        for name in NAMES:
            column: Any = ActionExecution._meta.get_field(name)
            setattr(row, name, of_names.text(getattr(row, name))[: column.max_length])
        if before != [getattr(row, name) for name in columns]:
            changed.append(row)
    ActionExecution.objects.bulk_update(changed, columns, batch_size=100)
    return len(changed)


def _events(subject: Subject, redaction: Redaction, *more: str) -> QuerySet[SecurityEvent]:
    """Returns the events that may name the customer: the organization's, and those of `more`."""
    rows = SecurityEvent.objects.order_by("pk")
    rows = rows.filter(organization_id__in=(str(subject.organization_id), *more))
    return rows.filter(redaction.text_condition("detail"))


def _redact_details(keys: Sequence[UUID], redaction: Redaction) -> int:
    changed = []
    for row in SecurityEvent.objects.select_for_update().order_by("pk").filter(pk__in=keys):
        before, row.detail = row.detail, redaction.text(row.detail)
        if row.detail != before:
            changed.append(row)
    SecurityEvent.objects.bulk_update(changed, ["detail"], batch_size=100)
    return len(changed)
