"""Erases a customer: hides them in one transaction, then removes their rows in batches.

An erasure that was interrupted is finished by running it again, or by the background worker. Every
batch is a transaction that locks the row of the erasure, so two processes may work on the same one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from customers.imports import uploads
from customers.privacy import ports, subject, suppression, workspace_texts
from customers.privacy.redaction import ERASED_NAME
from customers.privacy.subject import Subject, UnknownCustomer
from customers.privacy.tables import ALIASES, CUSTOMER, ROWS, TABLES, Table
from foundation import queueing
from workspace.models import Customer, DataImport, Erasure

# The columns of a hidden customer that are not emptied.
FIXED: Final = frozenset({"id", "organization", "created_at", "updated_at", "erased_at", "name"})


# How rows of others that named the customer are counted, and the member of an export.
MENTIONS: Final = "mentions"
FINISH_TASK: Final = "workspace.finish_erasure"


@dataclass(frozen=True, slots=True)
class PrivacyActor:
    """Who erases or exports: an admin with the address of their request, or a command."""

    name: str
    user_id: str = ""
    address: str = "unknown"


def preview(whom: Subject) -> Mapping[str, int]:
    """Returns the number of rows that an erasure removes or anonymizes, by table."""
    return {table.name: table.rows(whom).count() for table in TABLES}


def preview_left(whom: Subject) -> Mapping[str, int]:
    """Returns how many rows name the customer and are left as they are, by what they are."""
    counts = {
        columns.name: sum(1 for _ in columns.export_rows(whom))
        for columns in ports.left_as_they_are()
    }
    return {name: many for name, many in counts.items() if many}


def preview_not_found(whom: Subject) -> Mapping[str, int]:
    """Returns how many rows of others have the full name or the external id, by what they are.

    They may be those of the customer or of another person of this name. `own_company` is a company
    without another customer.
    """
    counts = {
        columns.name: sum(1 for _ in columns.export_rows(whom))
        for columns in workspace_texts.NAMED_ONLY
    }
    counts["own_company"] = workspace_texts.list_own_companies(whom).count()
    return {name: many for name, many in counts.items() if many}


@transaction.atomic
def begin(organization_id: UUID, customer_id: str, actor: PrivacyActor) -> Erasure:
    """Hides a customer from every read, and stores what it takes to erase the rest.

    Raises UnknownCustomer, also if the customer is being erased already.
    """
    rows = Customer.objects.select_for_update().filter(organization=organization_id)
    customer = rows.filter(pk=customer_id, erased_at__isnull=True).first()
    if customer is None:
        raise UnknownCustomer
    whom = subject.from_customer(customer)
    erasure = Erasure.objects.create(
        organization_id=organization_id,
        customer_id=customer_id,
        names=whom.names(),
        actor=actor.name,
        user_id=actor.user_id,
        address=actor.address,
    )
    # An id that was merged into the customer would name one who is hidden.
    while _erase_batch(erasure.pk, ALIASES, whom):
        pass
    ids = (whom.external_id, *whom.other_external_ids)
    suppression.keep(organization_id, suppression.make_names(ids, whom.emails))
    rows.filter(pk=customer_id).update(
        **_empty_values(), name=ERASED_NAME, erased_at=timezone.now()
    )
    # A file that waits for its confirmation may name the customer, and would add them again.
    uploads.forget_rows(DataImport.objects.filter(organization=organization_id))
    return erasure


def finish_later(begun: Erasure) -> None:
    """Has the background worker erase the rest, once the transaction has ended."""
    transaction.on_commit(lambda: queueing.send(FINISH_TASK, str(begun.pk)))


def _empty_values() -> dict[str, Any]:
    columns = (column for column in Customer._meta.concrete_fields if column.name not in FIXED)
    return {
        column.name: None if column.null else column.value_from_object(Customer())
        for column in columns
    }


def finish(erasure_id: UUID) -> Erasure:
    """Erases what is left, and returns the finished erasure. Raises TryLater."""
    erasure = Erasure.objects.get(pk=erasure_id)
    if erasure.finished_at is not None:
        return erasure
    whom = subject.from_erasure(erasure)
    for table in ROWS:
        while _erase_batch(erasure_id, table, whom):
            pass
    _delete_customer(erasure_id, whom)
    for columns in ports.mentions():
        for many in columns.erase(whom):
            _count(erasure_id, MENTIONS, many)
    for holder in ports.holders():
        for many in holder.erase(whom):
            _count(erasure_id, holder.name, many)
    return _end(erasure_id)


def list_unfinished() -> Sequence[UUID]:
    """Returns the erasures that have begun and not ended, oldest first."""
    rows = Erasure.objects.filter(finished_at__isnull=True).order_by("begun_at", "pk")
    return list(rows.values_list("pk", flat=True))


@transaction.atomic
def _erase_batch(erasure_id: UUID, table: Table, whom: Subject) -> int:
    erasure = _lock_erasure(erasure_id)
    keys = list(table.rows(whom).order_by("pk").values_list("pk", flat=True)[: table.batch])
    if keys:
        table.erase(whom, keys)
        _add(erasure, table.name, len(keys))
    return len(keys)


@transaction.atomic
def _delete_customer(erasure_id: UUID, whom: Subject) -> None:
    """Deletes the customer with the rows that a concurrent request has added meanwhile."""
    _lock_erasure(erasure_id)
    # No row can refer to the customer while it is locked.
    list(CUSTOMER.rows(whom).select_for_update())
    for table in TABLES:
        while _erase_batch(erasure_id, table, whom):
            pass


@transaction.atomic
def _count(erasure_id: UUID, name: str, many: int) -> None:
    _add(_lock_erasure(erasure_id), name, many)


@transaction.atomic
def _end(erasure_id: UUID) -> Erasure:
    erasure = _lock_erasure(erasure_id)
    if erasure.finished_at is None:
        erasure.names, erasure.finished_at = {}, timezone.now()
        erasure.save(update_fields=["names", "finished_at"])
        ports.recorder().record_erasure(erasure, f"by {erasure.actor}: {summary(erasure)}")
    return erasure


def summary(erasure: Erasure) -> str:
    """Returns what was done, such as `2 events deleted, 1 tickets anonymized`."""
    tables = {table.name: table.effect for table in TABLES}
    effects = tables | {MENTIONS: "redacted"}
    effects |= {holder.name: holder.effect for holder in ports.holders()}
    done = ((name, erasure.counts[name]) for name in effects if name in erasure.counts)
    return ", ".join(f"{name}: {many} {effects[name]}" for name, many in done)


def _lock_erasure(erasure_id: UUID) -> Erasure:
    return Erasure.objects.select_for_update().get(pk=erasure_id)


def _add(erasure: Erasure, name: str, many: int) -> None:
    erasure.counts[name] = erasure.counts.get(name, 0) + many
    erasure.save(update_fields=["counts"])
