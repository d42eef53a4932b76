"""Keeps an uploaded file while it is checked, confirmed and imported, and what came of it."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from typing import Any, Final

import structlog
from django.contrib.admin.models import CHANGE, LogEntry
from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from customers.imports import inspection, passes, reading
from customers.imports.choices import Choices, Guess
from customers.imports.columns import CellProblem, Unusable
from customers.imports.inspection import Inspection
from customers.imports.passes import ImportOutcome, Unclear
from foundation import leases
from foundation.leases import Lease, WorkStopped
from workspace import document_claims, reading_budget
from workspace.models import DataImport, ImportMapping, ImportStatus, Organization, User
from workspace.reading_budget import ReadingBudgetSpent

log = structlog.get_logger(__name__)

# A file without a confirmation is deleted after so long, and its report later.
CONFIRM_WITHIN: Final = timedelta(hours=24)
KEPT_FOR: Final = timedelta(days=30)
MAX_OPEN: Final = 20
# So many headers of an organization keep their column.
MAX_REMEMBERED: Final = 1_000
ATTEMPTS: Final = 3
UNEXPECTED: Final = "The import failed: an internal error, which is in the log. Nothing was stored."
CONFLICT: Final = "The data was changed while it was imported. Nothing was stored. Try again."
GIVEN_UP: Final = (
    f"The import failed: it was begun {document_claims.MAX_ATTEMPTS} times, and each time the "
    "worker ended before it was done. Nothing was stored. Split the file and upload its parts."
)
# The file is kept, so that a wrong guess can be corrected without another upload.
CHANGEABLE: Final = frozenset({ImportStatus.UNCLEAR, ImportStatus.READY, ImportStatus.REFUSED})
SPENT: Final = (
    "The organization has used up the time to read files for today. Nothing was stored. Upload the "
    "file again tomorrow."
)
SPENT_LATER: Final = (
    "The organization has used up the time to read files for today. The file was not imported. "
    "Confirm it again tomorrow."
)
# What a step may take before more of the budget of a day is charged.
STEP_SECONDS: Final = 60
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

    Its size and what kind of file it is are checked at once.
    """
    reading.check_content(content)
    with transaction.atomic():
        Organization.objects.select_for_update(no_key=True).get(pk=organization.pk)
        kept = DataImport.objects.filter(organization=organization, content__isnull=False)
        if kept.count() >= MAX_OPEN:
            # Those that are refused give way to a new one.
            refused = kept.filter(status=ImportStatus.REFUSED)
            _forget(DataImport.objects.filter(pk__in=[row.pk for row in refused.only("pk")]))
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


def choose(import_id: str, choices: Choices) -> bool:
    """Has the worker check a file again with other choices; returns whether it will."""
    return _send(
        DataImport.objects.filter(pk=import_id, status__in=CHANGEABLE, content__isnull=False),
        status=ImportStatus.UPLOADED,
        choices=choices.as_json(),
        preview={},
        problems=[],
        problem_count=0,
        refused_rows=None,
    )


def confirm(import_id: str, *, by: User, without_refused: bool = False) -> bool:
    """Has the worker store a file that is ready; returns whether this was the confirmation.

    `without_refused` stores the other rows of a file that was refused for some of its rows.
    """
    rows = DataImport.objects.filter(pk=import_id, content__isnull=False)
    if without_refused:
        some = Q(added__gt=0) | Q(changed__gt=0) | Q(unchanged__gt=0)
        rows = rows.filter(some, status=ImportStatus.REFUSED, refused_rows__isnull=False)
    else:
        rows = rows.filter(status=ImportStatus.READY)
    ready = rows.defer("content", "problems", "refused_rows").first()
    if ready is None:
        return False
    guesses = [Guess.from_json(each) for each in ready.preview.get("guesses", ())]
    return _send(
        rows,
        status=ImportStatus.CONFIRMED,
        choices=Choices.from_guesses(guesses).as_json(),
        confirmed_by=by,
        skips_refused=without_refused,
    )


def _send(rows: QuerySet[DataImport], **columns: Any) -> bool:
    """Changes the row and has the worker take its next step; returns whether there was one."""
    with transaction.atomic():
        keys = [row.pk for row in rows.only("pk")]
        changed = rows.update(**columns, done=0, attempts=0, updated_at=timezone.now())
        if changed:
            document_claims.send(DataImport(pk=keys[0]))
    return bool(changed)


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
        with leases.hold(lease), reading_budget.spend(claimed.organization_id, STEP_SECONDS):
            step(claimed, lease)
    except ReadingBudgetSpent:
        _finish_spent(claimed)
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


def expires_at(found: DataImport) -> datetime:
    """Returns when the file is deleted without a confirmation, or without another one."""
    since = found.updated_at if found.confirmed_by_id is not None else found.created_at
    return since + CONFIRM_WITHIN


def prune() -> int:
    """Deletes files that were not confirmed in time, and old reports; returns how many."""
    now = timezone.now()
    uploaded_before = Q(created_at__lt=now - CONFIRM_WITHIN)
    # Those that wait again after a confirmation have a day more.
    waits_again = Q(confirmed_by__isnull=False, updated_at__gte=now - CONFIRM_WITHIN)
    expired = expire(DataImport.objects.filter(uploaded_before & ~waits_again))
    ended = DataImport.objects.filter(updated_at__lt=now - CONFIRM_WITHIN)
    ended.exclude(status__in=RUNNING).filter(refused_rows__isnull=False).update(refused_rows=None)
    old = DataImport.objects.filter(created_at__lt=now - KEPT_FOR).exclude(status__in=RUNNING)
    return expired + old.delete()[0]


def expire(imports: QuerySet[DataImport]) -> int:
    """Deletes the files of those imports that wait for their confirmation; returns how many."""
    waiting = (ImportStatus.UNCLEAR, ImportStatus.READY, ImportStatus.UPLOADED)
    refused = _forget(imports.filter(status=ImportStatus.REFUSED, content__isnull=False))
    return refused + _forget(imports.filter(status__in=waiting), status=ImportStatus.EXPIRED)


def forget_rows(imports: QuerySet[DataImport]) -> None:
    """Deletes what imports keep of the rows of their files, unless they are worked on."""
    expire(imports)
    imports.exclude(status__in=RUNNING).filter(refused_rows__isnull=False).update(refused_rows=None)


def _forget(imports: QuerySet[DataImport], **columns: Any) -> int:
    now = timezone.now()
    return imports.update(**columns, content=None, preview={}, refused_rows=None, updated_at=now)


def import_now(
    organization: Organization,
    *,
    inspected: Inspection,
    file_name: str,
    advance: Callable[[int], None] = lambda _rows: None,
    without_refused: bool = False,
) -> ImportOutcome:
    """Imports a file without a preview, and keeps a record of it. Raises Unclear and Unusable."""
    kind = inspected.kind.kind
    with transaction.atomic():
        passes.wait_for_others(organization)
        outcome = passes.store(organization, inspected, advance, without_refused=without_refused)
        _remember(organization, inspected)
        DataImport.objects.create(
            organization=organization,
            kind=kind,
            file_name=file_name[:255],
            status=ImportStatus.DONE,
            **_counts(outcome),
        )
    log.info("data_imported", kind=kind, organization=str(organization.pk), outcome=str(outcome))
    return outcome


def inspect(
    organization: Organization, kind: str, data: bytes, choices: Choices | None = None
) -> Inspection:
    """Returns how a file is read, with what the organization chose for its last imports."""
    rows = ImportMapping.objects.filter(organization=organization, kind=kind)
    remembered = rows.values_list("columns", flat=True).first() or {}
    return inspection.inspect(
        organization, passes.KINDS[kind], data, choices or Choices(), remembered
    )


def has_refused_rows(import_id: str) -> bool:
    """Returns whether the rows that were refused are kept, without reading them."""
    return DataImport.objects.filter(pk=import_id, refused_rows__isnull=False).exists()


def _remember(organization: Organization, inspected: Inspection) -> None:
    """Keeps the column of each header for the next import of the organization."""
    kind = inspected.kind.kind
    kept = ImportMapping.objects.filter(organization=organization, kind=kind).first()
    columns = {**(kept.columns if kept else {}), **inspected.fields}
    # The newest last: a file may have new headers every time.
    newest = dict([*columns.items()][-MAX_REMEMBERED:])
    ImportMapping.objects.update_or_create(
        organization=organization, kind=kind, defaults={"columns": newest}
    )


def _inspect(claimed: DataImport) -> Inspection:
    content, choices = bytes(claimed.content or b""), Choices.from_json(claimed.choices)
    return inspect(claimed.organization, claimed.kind, content, choices)


def _check(claimed: DataImport, lease: Lease) -> None:
    def advance(rows: int) -> None:
        lease.check()
        DataImport.objects.filter(pk=claimed.pk).update(done=rows)

    inspected = _inspect(claimed)
    lease.check()
    read_as: dict[str, Any] = {
        "product": inspected.product,
        "guesses": [guess.as_json() for guess in inspected.guesses],
    }
    DataImport.objects.filter(pk=claimed.pk).update(rows=inspected.rows or claimed.rows)
    try:
        found = passes.check(claimed.organization, inspected, advance)
    except Unclear as unclear:
        _finish_unclear(claimed, inspected, unclear, read_as)
        return
    if found.problem_count or not found.rows:
        _finish_refused(claimed, found, read_as)
        return
    preview = {**read_as, "columns": found.columns, "rows": found.preview}
    _finish(claimed, status=ImportStatus.READY, preview=preview, **_counts(found))


def _finish_unclear(
    claimed: DataImport, inspected: Inspection, unclear: Unclear, read_as: dict[str, Any]
) -> None:
    _finish(
        claimed,
        status=ImportStatus.UNCLEAR,
        rows=inspected.rows,
        preview=read_as,
        problem_count=len(unclear.problems),
        problems=_as_rows(unclear.problems),
    )


def _store(claimed: DataImport, lease: Lease) -> None:
    inspected = _inspect(claimed)
    for attempt in range(1, ATTEMPTS + 1):
        try:
            with _progress_reporter(claimed, lease) as advance, transaction.atomic():
                if not passes.lock_or_leave(claimed.organization):
                    raise _OthersImport
                outcome = passes.store(
                    claimed.organization,
                    inspected,
                    advance,
                    without_refused=claimed.skips_refused,
                )
                _remember(claimed.organization, inspected)
                _finish_done(claimed, outcome)
        except Unusable as unusable:
            found = ImportOutcome(problem_count=unusable.count, problems=[*unusable.problems])
            found.refused = len({problem.line for problem in found.problems})
            _finish_refused(claimed, found, claimed.preview)
            return
        except Unclear as unclear:
            # The version before has checked it, and kept no choices.
            read_as = {"guesses": [guess.as_json() for guess in inspected.guesses]}
            _finish_unclear(claimed, inspected, unclear, read_as)
            return
        except (IntegrityError, OperationalError):
            # A request has added or locked one of the rows in the meantime; the next attempt
            # finds it.
            if attempt == ATTEMPTS:
                _finish_failed(claimed, CONFLICT)
            continue
        return


@contextmanager
def _progress_reporter(claimed: DataImport, lease: Lease) -> Iterator[Callable[[int], None]]:
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


def _finish_done(claimed: DataImport, outcome: ImportOutcome) -> None:
    _finish(
        claimed,
        status=ImportStatus.DONE,
        content=None,
        preview={},
        problem_count=outcome.problem_count,
        problems=_as_rows(outcome.problems),
        refused_rows=outcome.refused_rows or None,
        **_counts(outcome),
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


def _finish_refused(claimed: DataImport, found: ImportOutcome, read_as: dict[str, Any]) -> None:
    if not found.problem_count:
        found.note([CellProblem(0, "", "The file has no rows.")])
    _finish(
        claimed,
        status=ImportStatus.REFUSED,
        preview={**read_as, "columns": found.columns, "rows": found.preview},
        problem_count=found.problem_count,
        problems=_as_rows(found.problems),
        refused_rows=found.refused_rows or None,
        **_counts(found),
    )


def _as_rows(problems: Sequence[CellProblem]) -> list[list[Any]]:
    return [[each.line, each.column, each.reason] for each in problems]


def _finish_spent(claimed: DataImport) -> None:
    """Refuses a file that was to be checked; one that was confirmed can be confirmed again."""
    if claimed.status == ImportStatus.CHECKING:
        problems = _as_rows([CellProblem(0, "", SPENT)])
        document_claims.finish(
            claimed, status=ImportStatus.REFUSED, problem_count=1, problems=problems
        )
        return
    (later,) = _as_rows([CellProblem(0, "", SPENT_LATER)])
    if claimed.skips_refused:
        # Its other rows can be confirmed, and those that are refused stay listed.
        others = [problem for problem in claimed.problems if problem != later]
        count = claimed.problem_count + 1 - (len(claimed.problems) - len(others))
        status, problems = ImportStatus.REFUSED, [later, *others]
    else:
        count, status, problems = 1, ImportStatus.READY, [later]
    document_claims.finish(claimed, status=status, problem_count=count, problems=problems)


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


def _counts(outcome: ImportOutcome) -> dict[str, int]:
    return {
        "rows": outcome.rows,
        "done": outcome.rows,
        "added": outcome.added,
        "changed": outcome.changed,
        "unchanged": outcome.unchanged,
        "refused": outcome.refused,
    }
