"""Jobs that read what an organization uploaded: knowledge sources and imports.

They may take minutes each. Some threads of the worker are for them, one of an organization at a
time; the others are always free for mail, expiry and erasure. A job that finds no place stays in
its table, and the end of another sends it again: first that of the organization which has waited
longest. The schedule sends what was lost.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final
from uuid import UUID

from customers.imports import uploads
from foundation import queueing
from knowledge import indexing
from workspace import document_claims
from workspace.document_claims import STEPS, TASKS
from workspace.models import DataImport, KnowledgeSource

# Of the threads of the long lane, of which `halo_mcp.celery` has more.
MAX_RUNNING: Final = 2
_lock: Final = threading.Lock()
_running: Final[set[UUID]] = set()
_ended_at: Final[dict[UUID, float]] = {}


def index(source_id: str) -> None:
    """Indexes a source that waits, if there is a place."""
    _run(KnowledgeSource, source_id, indexing.index)


def take_import_step(import_id: str) -> None:
    """Checks or stores an import that waits, if there is a place."""
    _run(DataImport, import_id, uploads.work)


def send_left(model: type[KnowledgeSource] | type[DataImport]) -> int:
    """Queues jobs that were left, a message each; returns how many."""
    keys = document_claims.find_left(model)
    for key in keys:
        queueing.send(TASKS[model], key)
    return len(keys)


def _run(model: Any, key: str, work: Callable[[str], None]) -> None:
    organization = model.objects.filter(pk=key).values_list("organization", flat=True).first()
    if organization is None:
        return
    is_free = False
    try:
        with _place(organization) as is_free:
            if is_free:
                work(key)
    finally:
        # After a defect too: the others have not caused it.
        if is_free:
            _send_next()


@contextmanager
def _place(organization: UUID) -> Iterator[bool]:
    with _lock:
        is_free = len(_running) < MAX_RUNNING and organization not in _running
        if is_free:
            _running.add(organization)
    try:
        yield is_free
    finally:
        if is_free:
            with _lock:
                _running.discard(organization)
                _ended_at[organization] = time.monotonic()


def _send_next() -> None:
    """Queues a waiting job: a message and not a loop, so that the worker can stop in between."""
    with _lock:
        running = frozenset(_running)
    # A message for an organization that another worker is at would be dropped, and sent again.
    running |= document_claims.find_busy()
    waiting = {
        organization: (task, rows)
        for task, rows in _waiting(running)
        for organization in rows.order_by().values_list("organization", flat=True).distinct()
    }
    if not waiting:
        return
    organization = min(waiting, key=lambda one: _ended_at.get(one, 0.0))
    task, rows = waiting[organization]
    first = rows.filter(organization=organization).order_by("updated_at").first()
    if first is not None:
        queueing.send(task, str(first.pk))


def _waiting(running: Collection[UUID]) -> Iterator[tuple[str, Any]]:
    for model, steps in STEPS.items():
        waiting = model.objects.filter(status__in=steps.keys())
        yield TASKS[model], waiting.exclude(organization__in=running)
