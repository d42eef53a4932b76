"""Background tasks of customers and knowledge. Their names are those of queued messages."""

from typing import Final
from uuid import UUID

import structlog

from customers import companies, document_jobs, kpis, text_backfill
from customers.imports import uploads
from customers.privacy import erasure, retention
from customers.privacy.ports import TryLater
from foundation.background import task
from knowledge import indexing
from workspace import outbox
from workspace.models import DataImport, KnowledgeSource

log = structlog.get_logger(__name__)

# Of snapshots that a worker has not written, because it did not run, those of so many days.
SETTLING_DAYS: Final = 35


@task(name="workspace.refresh_kpis")
def refresh_kpis() -> int:
    """Records present revenue and health, and writes the days that settled; safe to run twice."""
    return kpis.refresh_all(3)


@task(name="workspace.refresh_changed_kpis")
def refresh_changed_kpis() -> int:
    """Writes the snapshots again whose rows, or whose time zone, changed; safe to run twice."""
    return kpis.refresh_changed()


@task(name="workspace.refresh_older_kpis")
def refresh_older_kpis() -> int:
    """Writes the snapshots of some weeks, which a worker that stood still has not written."""
    return kpis.refresh_all(SETTLING_DAYS)


@task(name="workspace.count_teams")
def count_teams() -> int:
    """Counts the customers of companies; returns how many companies have another number now."""
    return companies.count_teams()


@task(name="workspace.index_knowledge")
def index_knowledge(source_id: str) -> None:
    """Turns a knowledge source into passages."""
    document_jobs.index(source_id)


@task(name="workspace.pick_up_knowledge")
def pick_up_knowledge() -> int:
    """Sends the sources that were left, and those to be read again; returns how many."""
    return document_jobs.send_left(KnowledgeSource) + indexing.request_outdated()


@task(name="workspace.embed_missing")
def embed_missing() -> int:
    """Computes vectors of passages that have none; returns how many."""
    return indexing.embed_missing()


@task(name="workspace.fill_search_texts")
def fill_search_texts() -> int:
    """Computes the search words of rows that have none; returns how many."""
    return text_backfill.fill_search_texts()


@task(name="workspace.renew_name_keys")
def renew_name_keys() -> int:
    """Writes the keys of names again that an earlier version wrote; returns how many."""
    return text_backfill.renew_name_keys()


@task(name="workspace.run_import")
def run_import(import_id: str) -> None:
    """Checks an uploaded file, or imports one that was confirmed."""
    document_jobs.take_import_step(import_id)


@task(name="workspace.pick_up_imports")
def pick_up_imports() -> int:
    """Sends the imports that were left, and deletes those that expired; returns how many."""
    return document_jobs.send_left(DataImport) + uploads.prune()


@task(name="workspace.finish_erasure")
def finish_erasure(erasure_id: str) -> None:
    """Erases what is left of a customer who was hidden; safe to run at any time and twice."""
    try:
        erasure.finish(UUID(erasure_id))
    except TryLater as later:
        log.info("erasure_waits", erasure=erasure_id, reason=str(later))
    except Exception:  # one that fails does not keep the others from being finished
        log.exception("erasure_failed", erasure=erasure_id)


@task(name="workspace.finish_erasures")
def finish_erasures() -> int:
    """Finishes the erasures that were interrupted or had to wait; returns how many were open."""
    open_ones = erasure.list_unfinished()
    for erasure_id in open_ones:
        finish_erasure(str(erasure_id))
    return len(open_ones)


@task(name="workspace.prune_data")
def prune_data() -> int:
    """Deletes what is older than its retention period; safe to run at any time and twice."""
    return sum(retention.prune().values()) + outbox.prune() + retention.prune_erased_names()
