"""Keeps an uploaded file while it is checked, confirmed and imported, and what came of it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Final

import structlog
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from foundation import leases
from foundation.leases import Lease, WorkStopped
from workspace import document_claims
from workspace.imports import passes, reading
from workspace.imports.columns import Problem, Unusable
from workspace.imports.passes import Outcome
from workspace.models import DataImport, ImportStatus, Organization, User

log = structlog.get_logger(__name__)

# A file without a confirmation is deleted after so long, and its report later.
CONFIRM_WITHIN: Final = timedelta(hours=24)
KEPT_FOR: Final = timedelta(days=30)
MAX_OPEN: Final = 20
ATTEMPTS: Final = 3
UNEXPECTED: Final = "The import failed: an internal error, which is in the log. Nothing was stored."
CONFLICT: Final = "The data was changed while it was imported. Nothing was stored. Try again."
GIVEN_UP: Final = (
    f"The import failed: it was begun {document_claims.MAX_ATTEMPTS} times, and each time the "
    "worker ended before it was done. Nothing was stored. Split the file and upload its parts."
)
RUNNING: Final = frozenset(
    status for step in document_claims.STEPS[DataImport].items() for status in step
)


class TooMany(Exception):
    """The organization has too many files that wait for a confirmation."""


class _Superseded(Exception):
    """Another worker has taken over, or the import was deleted."""


class _OthersImport(Exception):
    """A command is importing into the same organization."""


def upload(
    organization: Organization, *, kind: str, file_name: str, content: bytes, by: User | None
) -> DataImport:
    """Stores a file, which the worker checks soon afterwards. Raises Unusable and TooMany.

    Its header and size are checked at once.
    """
    reading.open_file(passes.KINDS[kind], content)
    with transaction.atomic():
        Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        kept = DataImport.objects.filter(organization=organization, content__isnull=False)
        if kept.count() >= MAX_OPEN:
            raise TooMany
        stored = DataImport.objects.create(
            organization=organization,
            kind=kind,
            file_name=file_name[:255],
            content=content,
            rows=reading.count_lines(content),
            uploaded_by=by,
        )
        document_claims.send(stored)
    return stored


def confirm(import_id: str, *, by: User) -> bool:
    """Has the worker store a file that is ready; returns whether this was the confirmation."""
    with transaction.atomic():
        ready = DataImport.objects.filter(pk=import_id, status=ImportStatus.READY)
        confirmed = ready.update(
            status=ImportStatus.CONFIRMED,
            done=0,
            attempts=0,
            confirmed_by=by,
            updated_at=timezone.now(),
        )
        if confirmed:
            document_claims.send(DataImport(pk=import_id))
    return bool(confirmed)


def work(import_id: str) -> None:
    """Takes the next step with a file that waits: the check, or the import.

    Does nothing if it does not wait, or while its organization has another job. If the worker is
    stopped, the import waits again.
    """
    claimed = document_claims.claim(DataImport, import_id)
    if claimed is None:
        return
    if claimed.attempts > document_claims.MAX_ATTEMPTS:
        log.error("import_given_up", data_import=claimed.pk)
        _finish_failed(claimed, GIVEN_UP)
        return
    step = _check if claimed.status == ImportStatus.CHECKING else _store
    lease = document_claims.build_lease(claimed)
    try:
        with leases.hold(lease):
            step(claimed, lease)
    except WorkStopped:
        log.info("import_given_back", data_import=claimed.pk)
    except _OthersImport:
        # No thread waits for the other one.
        document_claims.postpone(claimed)
    except _Superseded:
        log.info("import_superseded", data_import=claimed.pk)
    except Exception:  # a defect ends this import, not the worker
        log.exception("import_failed", data_import=claimed.pk)
        _finish_failed(claimed, UNEXPECTED)


def prune() -> int:
    """Deletes files that were not confirmed in time, and old reports; returns how many."""
    now = timezone.now()
    expired = expire(DataImport.objects.filter(created_at__lt=now - CONFIRM_WITHIN))
    old = DataImport.objects.filter(created_at__lt=now - KEPT_FOR).exclude(status__in=RUNNING)
    return expired + old.delete()[0]


def expire(imports: QuerySet[DataImport]) -> int:
    """Deletes the files of those imports that wait for their confirmation; returns how many."""
    waiting = imports.filter(status__in=(ImportStatus.READY, ImportStatus.UPLOADED))
    return waiting.update(
        status=ImportStatus.EXPIRED, content=None, preview={}, updated_at=timezone.now()
    )


def import_now(
    organization: Organization,
    *,
    kind: str,
    file_name: str,
    content: bytes,
    advance: Callable[[int], None] = lambda _rows: None,
) -> Outcome:
    """Imports a file without a preview, and keeps a record of it. Raises Unusable."""
    with transaction.atomic():
        passes.wait_for_others(organization)
        outcome = passes.store(organization, kind, content, advance)
        DataImport.objects.create(
            organization=organization,
            kind=kind,
            file_name=file_name[:255],
            status=ImportStatus.DONE,
            **_counts(outcome),
        )
    log.info("data_imported", kind=kind, organization=str(organization.pk), outcome=str(outcome))
    return outcome


def _check(claimed: DataImport, lease: Lease) -> None:
    def advance(rows: int) -> None:
        lease.check()
        DataImport.objects.filter(pk=claimed.pk).update(done=rows)

    found = passes.check(claimed.organization, claimed.kind, bytes(claimed.content or b""), advance)
    if found.problem_count or not found.rows:
        _finish_refused(claimed, found)
        return
    preview = {"columns": found.columns, "rows": found.preview}
    _finish(claimed, status=ImportStatus.READY, preview=preview, **_counts(found))


def _store(claimed: DataImport, lease: Lease) -> None:
    content = bytes(claimed.content or b"")
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with _reported(claimed, lease) as advance, transaction.atomic():
                if not passes.lock_or_leave(claimed.organization):
                    raise _OthersImport
                outcome = passes.store(claimed.organization, claimed.kind, content, advance)
                _finish_done(claimed, outcome)
        except Unusable as unusable:
            found = Outcome(problem_count=unusable.count, problems=[*unusable.problems])
            found.refused = len({problem.line for problem in found.problems})
            _finish_refused(claimed, found)
            return
        except (IntegrityError, OperationalError):
            # A request has added or locked one of the rows in the meantime; the next attempt
            # finds it.
            if attempt == ATTEMPTS:
                _finish_failed(claimed, CONFLICT)
            continue
        return


@contextmanager
def _reported(claimed: DataImport, lease: Lease) -> Iterator[Callable[[int], None]]:
    """Yields a function that shows the progress of an open transaction to other connections.

    SQLite has one writer at a time, so there nothing is shown before the transaction ends.
    """
    if connection.vendor == "sqlite":
        yield lambda _rows: lease.check()
        return
    other = connection.copy()
    table = other.ops.quote_name(DataImport._meta.db_table)

    def advance(rows: int) -> None:
        lease.check()
        with other.cursor() as cursor:
            cursor.execute(f"UPDATE {table} SET done = %s WHERE id = %s", [rows, claimed.pk])  # noqa: S608  our name

    try:
        yield advance
    finally:
        other.close()


def _finish_done(claimed: DataImport, outcome: Outcome) -> None:
    _finish(
        claimed, status=ImportStatus.DONE, content=None, preview={}, problems=[], **_counts(outcome)
    )
    organization = claimed.organization
    log.info(
        "data_imported",
        kind=claimed.kind,
        organization=str(organization.pk),
        data_import=claimed.pk,
        outcome=str(outcome),
    )
    if claimed.confirmed_by_id is None:
        return
    # In the organization's history: a row for each customer would hide everything else.
    LogEntry.objects.log_actions(
        user_id=claimed.confirmed_by_id,
        queryset=[organization],
        action_flag=CHANGE,
        change_message=f"Imported {claimed.kind}: {outcome}.",
        single_object=True,
    )


def _finish_refused(claimed: DataImport, found: Outcome) -> None:
    if not found.problem_count:
        found.note([Problem(0, "", "The file has no rows.")])
    _finish(
        claimed,
        status=ImportStatus.REFUSED,
        content=None,
        preview={},
        problem_count=found.problem_count,
        problems=[[each.line, each.column, each.reason] for each in found.problems],
        **_counts(found),
    )


def _finish_failed(claimed: DataImport, reason: str) -> None:
    document_claims.finish(
        claimed,
        status=ImportStatus.FAILED,
        content=None,
        preview={},
        problem_count=1,
        problems=[[0, "", reason]],
    )


def _finish(claimed: DataImport, **columns: Any) -> None:
    """Writes the result. Raises _Superseded if the import was claimed again or deleted."""
    if not document_claims.finish(claimed, **columns):
        raise _Superseded


def _counts(outcome: Outcome) -> dict[str, int]:
    return {
        "rows": outcome.rows,
        "done": outcome.rows,
        "added": outcome.added,
        "changed": outcome.changed,
        "unchanged": outcome.unchanged,
        "refused": outcome.refused,
    }
