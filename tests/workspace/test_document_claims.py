"""Sources and imports belong to one worker, which renews its lease and gives them back."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
import time_machine
from django.utils import timezone

import knowledge
from customers import tasks
from customers.imports import passes, uploads
from foundation import leases
from foundation.leases import LEASE
from retrieval.documents import process
from retrieval.documents.readers import read
from tests.drivers import grants
from workspace import document_claims
from workspace.models import DataImport, KnowledgeSource, Organization

pytestmark = pytest.mark.django_db

TEXT = b"# Seats\n\nEach seat costs the same.\n"
CSV = b"email,name\nada@example.com,Ada\n"


@pytest.fixture(autouse=True)
def queued_tasks(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, str]]:
    """The tasks that are sent, which nothing runs."""
    sent: list[tuple[str, str]] = []
    monkeypatch.setattr("foundation.queueing.send", lambda *given: sent.append(given))
    monkeypatch.setattr(leases, "_stopping", threading.Event())
    return sent


@pytest.fixture
def owner() -> Organization:
    return grants.make_grant("data:read").organization


def add_source(owner: Organization) -> KnowledgeSource:
    return knowledge.add(owner, kind="markdown", original=TEXT)


def add_import(owner: Organization) -> DataImport:
    return uploads.upload(owner, kind="customers", file_name="a.csv", content=CSV, by=None)


def reading(meanwhile: Callable[[], object]) -> Any:
    """Reads in this process; `meanwhile` runs during each reading."""

    def read_here(documents: Any) -> Any:
        meanwhile()
        return [read(*document) for document in documents]

    return patch.object(process, "read_all", read_here)


def storing(meanwhile: Callable[[], object]) -> Any:
    run = passes._run

    def run_after(*given: Any, **more: Any) -> Any:
        meanwhile()
        return run(*given, **more)

    return patch.object(passes, "_run", run_after)


def state(row: Any) -> tuple[str, int]:
    row.refresh_from_db()
    return row.status, row.attempts


def test_a_source_is_given_back_when_the_worker_is_stopped_and_no_attempt_counts(
    owner: Organization, queued_tasks: list[tuple[str, str]]
) -> None:
    source = add_source(owner)
    queued_tasks.clear()
    with reading(leases.begin_stop):
        tasks.index_knowledge(source.pk)
    assert state(source) == ("pending", 0)
    assert (source.claim, source.leased_until) == (None, None)
    assert ("workspace.index_knowledge", source.pk) in queued_tasks


@pytest.mark.parametrize("status", ["uploaded", "confirmed"])
def test_an_import_is_given_back_when_the_worker_is_stopped_and_no_attempt_counts(
    owner: Organization, queued_tasks: list[tuple[str, str]], status: str
) -> None:
    given = add_import(owner)
    DataImport.objects.update(status=status)
    queued_tasks.clear()
    with storing(leases.begin_stop):
        tasks.run_import(given.pk)
    assert state(given) == (status, 0)
    assert ("workspace.run_import", given.pk) in queued_tasks


def test_a_row_of_a_worker_that_was_killed_is_taken_over_within_a_minute(
    owner: Organization,
) -> None:
    source, start = add_source(owner), timezone.now()

    def end_process() -> None:
        raise SystemExit

    with time_machine.travel(start, tick=False):
        with reading(end_process), pytest.raises(SystemExit):
            tasks.index_knowledge(source.pk)
        assert document_claims.find_left(KnowledgeSource) == []
    with time_machine.travel(start + LEASE + timedelta(seconds=1), tick=False):
        assert document_claims.find_left(KnowledgeSource) == [source.pk]
        with reading(lambda: None):
            tasks.index_knowledge(source.pk)
    assert state(source) == ("ready", 0)


def test_a_source_that_ends_its_workers_is_given_up(owner: Organization) -> None:
    source = add_source(owner)

    def end_process() -> None:
        raise SystemExit

    for _ in range(document_claims.MAX_ATTEMPTS):
        with reading(end_process), pytest.raises(SystemExit):
            tasks.index_knowledge(source.pk)
        KnowledgeSource.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    tasks.index_knowledge(source.pk)
    assert state(source)[0] == "failed"
    assert "begun 3 times, and each time the worker ended" in source.error
    knowledge.request_index(source)
    with reading(lambda: None):
        tasks.index_knowledge(source.pk)
    assert state(source) == ("ready", 0)


def test_a_lease_is_extended_as_long_as_its_worker_works(owner: Organization) -> None:
    source = add_source(owner)
    claimed = document_claims.claim(KnowledgeSource, source.pk)
    assert claimed is not None
    lease = document_claims.build_lease(claimed)
    later = timezone.now() + timedelta(seconds=50)
    with time_machine.travel(later, tick=False):
        assert lease.renew()
    source.refresh_from_db()
    assert source.leased_until == later + LEASE
    knowledge.request_index(source)
    assert not lease.renew()


def test_another_worker_leaves_an_organization_alone_that_has_a_job(owner: Organization) -> None:
    """The places of `document_jobs` are those of one process."""
    source, given = add_source(owner), add_import(owner)
    assert document_claims.claim(KnowledgeSource, source.pk)
    assert document_claims.claim(KnowledgeSource, source.pk) is None
    assert document_claims.claim(DataImport, given.pk) is None
    others = add_source(grants.make_grant().organization)
    assert document_claims.claim(KnowledgeSource, others.pk)


def test_an_import_next_to_that_of_a_command_waits_without_a_thread(
    owner: Organization, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = add_import(owner)
    DataImport.objects.update(status="confirmed")
    with monkeypatch.context() as patched:
        patched.setattr(passes, "lock_or_leave", lambda _organization: False)
        tasks.run_import(given.pk)
    assert state(given) == ("importing", 0)
    DataImport.objects.update(leased_until=timezone.now() - timedelta(seconds=1))
    tasks.run_import(given.pk)
    assert state(given)[0] == "done"
