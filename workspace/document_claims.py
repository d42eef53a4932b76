"""Which process works on a knowledge source or an import: one row of an organization at a time.

A row that waits is claimed by an update, in a transaction that locks its organization. Its process
renews the lease while it works (`foundation/leases.py`); a row whose lease has ended is claimed
like one that waits.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Any, Final, TypeVar
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F, Q
from django.utils import timezone

from foundation import queueing
from foundation.leases import LEASE, Lease
from workspace.models import DataImport, ImportStatus, KnowledgeSource, Organization, SourceStatus

Row = TypeVar("Row", KnowledgeSource, DataImport)

# What a worker does: the status in which a row waits, and the one in which it is worked on.
STEPS: Final[Mapping[Any, Mapping[str, str]]] = {
    KnowledgeSource: {SourceStatus.PENDING: SourceStatus.INDEXING},
    DataImport: {
        ImportStatus.UPLOADED: ImportStatus.CHECKING,
        ImportStatus.CONFIRMED: ImportStatus.IMPORTING,
    },
}
TASKS: Final[Mapping[Any, str]] = {
    KnowledgeSource: "workspace.index_knowledge",
    DataImport: "workspace.run_import",
}
# A row that has waited for so long has lost its message.
LOST_AFTER: Final = timedelta(minutes=2)
# So many workers begin with a step, and end before it is done: the next one would too.
MAX_ATTEMPTS: Final = 3
AT_ONCE: Final = 100
# How long the version without leases may have worked on a row.
WITHOUT_LEASE: Final = timedelta(minutes=20)


def send(row: KnowledgeSource | DataImport) -> None:
    """Has a worker look at a row once the transaction is committed.

    If the message is lost, `find_left` finds the row.
    """
    task, key = TASKS[type(row)], str(row.pk)
    transaction.on_commit(lambda: queueing.send(task, key))


@transaction.atomic
def claim(model: type[Row], key: str) -> Row | None:
    """Marks a row as being worked on by this process, and returns it.

    None if it does not wait, or while another row of its organization is worked on.
    """
    rows = model.objects.filter(pk=key)
    owners = Organization.objects.select_for_update(no_key=True)
    owner = owners.filter(pk__in=rows.values("organization")).first()
    if owner is None or _is_busy(owner.pk):
        return None
    now = timezone.now()
    for waits, works in STEPS[model].items():
        if rows.filter(Q(status=waits) | Q(status=works) & _is_lapsed(now)).update(
            status=works,
            claim=uuid4(),
            leased_until=now + LEASE,
            attempts=F("attempts") + 1,
            updated_at=now,
        ):
            return model.objects.select_related("organization").get(pk=key)
    return None


def build_lease(row: KnowledgeSource | DataImport) -> Lease:
    """Returns the lease of a row that this process has claimed."""

    def renew() -> bool:
        return bool(_own(row).update(leased_until=timezone.now() + LEASE))

    def give_back() -> None:
        release(row, attempts=F("attempts") - 1)
        # It waits for no schedule: another worker may be there already.
        queueing.send(TASKS[type(row)], str(row.pk))

    return Lease(renew, give_back)


def release(row: KnowledgeSource | DataImport, **columns: Any) -> bool:
    """Makes a claimed row wait again, as before its claim."""
    waits = next(each for each, works in STEPS[type(row)].items() if works == row.status)
    return finish(row, status=waits, **columns)


def postpone(row: KnowledgeSource | DataImport) -> None:
    """Leaves a claimed row until its lease ends: it is begun again then, and not counted."""
    _own(row).update(attempts=F("attempts") - 1)


def finish(row: KnowledgeSource | DataImport, **columns: Any) -> bool:
    """Writes what came of a claimed row; False if it was changed, deleted or claimed by another."""
    written = _own(row).update(**columns, claim=None, leased_until=None, updated_at=timezone.now())
    return bool(written)


def find_left(model: type[KnowledgeSource] | type[DataImport]) -> list[str]:
    """Returns the rows that wait for longer than a message takes, or whose worker has died."""
    now, steps = timezone.now(), STEPS[model]
    lost = Q(status__in=steps.keys(), updated_at__lt=now - LOST_AFTER)
    ended = Q(status__in=steps.values()) & _is_lapsed(now)
    rows = model.objects.filter(lost | ended).order_by("updated_at")
    return [str(key) for key in rows.values_list("pk", flat=True)[:AT_ONCE]]


def _own(row: Any) -> Any:
    return type(row).objects.filter(pk=row.pk, status=row.status, claim=row.claim)


def find_busy() -> set[UUID]:
    """Returns the organizations of which a row is worked on now, by whatever worker."""
    return {
        organization_id
        for model in STEPS
        for organization_id in _find_leased(model).values_list("organization", flat=True)
    }


def _find_leased(model: Any) -> Any:
    return model.objects.filter(
        status__in=STEPS[model].values(), leased_until__gte=timezone.now()
    ).order_by()


def _is_busy(organization_id: UUID) -> bool:
    return any(_find_leased(model).filter(organization=organization_id).exists() for model in STEPS)


def _is_lapsed(now: datetime) -> Q:
    unleased = Q(leased_until=None, updated_at__lt=now - WITHOUT_LEASE)
    return Q(leased_until__lt=now) | unleased
