"""Jobs on what organizations uploaded leave threads of the worker free, and take turns."""

from collections.abc import Callable, Iterator
from datetime import timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import pytest
from django.utils import timezone

import knowledge
from customers import document_jobs, tasks
from customers.imports import uploads
from foundation.limits import charging
from halo_mcp import celery
from retrieval.documents import process
from retrieval.documents.readers import read
from tests.drivers import grants
from workspace import reading_budget
from workspace.models import DataImport, ImportStatus, KnowledgeSource, Organization
from workspace.models.knowledge import SourceStatus
from workspace.reading_budget import ReadingBudgetSpent

pytestmark = pytest.mark.django_db

TEXT = b"# Seats\n\nEach seat costs the same.\n"
CSV = b"email,name\nada@example.com,Ada\n"


@pytest.fixture
def queued_tasks() -> Iterator[list[tuple[str, str]]]:
    """The tasks that are sent, which nothing runs."""
    sent: list[tuple[str, str]] = []
    with patch("foundation.queueing.send", lambda *given: sent.append(given)):
        yield sent


def organization() -> Organization:
    return grants.make_grant("data:read").organization


def source_of(owner: Organization) -> KnowledgeSource:
    return knowledge.add(owner, kind="markdown", original=TEXT)


def status_of(source: KnowledgeSource) -> str:
    source.refresh_from_db()
    return source.status


def reading(meanwhile: Callable[[int], None]) -> Any:
    """Reads in this process; `meanwhile` runs during each reading, with its number."""
    numbers = iter(range(100))

    def read_here(documents: Any) -> Any:
        meanwhile(next(numbers))
        return [read(*document) for document in documents]

    return patch.object(process, "read_all", read_here)


def nothing(_number: int) -> None:
    pass


@pytest.mark.usefixtures("queued_tasks")
def test_an_organization_has_one_job_at_a_time_and_all_together_leave_threads_free() -> None:
    first, second, third = organization(), organization(), organization()
    sources = [source_of(owner) for owner in (first, first, second, third)]
    seen: list[str] = []

    def others_arrive(number: int) -> None:
        if number == 0:
            tasks.index_knowledge(sources[1].pk)
            seen.append(status_of(sources[1]))
            tasks.index_knowledge(sources[2].pk)
            seen.append(status_of(sources[2]))
        elif number == 1:
            tasks.index_knowledge(sources[3].pk)
            seen.append(status_of(sources[3]))

    with reading(others_arrive):
        tasks.index_knowledge(sources[0].pk)
    waits, ready = SourceStatus.PENDING, SourceStatus.READY
    assert seen == [waits, waits, ready]
    assert [status_of(one) for one in sources] == [ready, waits, ready, waits]
    assert celery.LONG.threads - document_jobs.MAX_RUNNING >= 2


def test_the_end_of_a_job_sends_the_organization_that_has_waited_longest(
    queued_tasks: list[tuple[str, str]],
) -> None:
    busy, quiet = organization(), organization()
    sources = [source_of(busy) for _ in range(3)]
    late = source_of(quiet)
    queued_tasks.clear()
    with reading(nothing):
        tasks.index_knowledge(sources[0].pk)
        assert queued_tasks.pop() == ("workspace.index_knowledge", str(late.pk))
        tasks.index_knowledge(late.pk)
        assert queued_tasks.pop() == ("workspace.index_knowledge", str(sources[1].pk))
        tasks.index_knowledge(sources[1].pk)
        tasks.index_knowledge(sources[2].pk)
    assert {status_of(one) for one in (*sources, late)} == {SourceStatus.READY}


def test_an_import_and_a_source_of_an_organization_do_not_run_together(
    queued_tasks: list[tuple[str, str]],
) -> None:
    owner = organization()
    source = source_of(owner)
    given = uploads.upload(owner, kind="customers", file_name="a.csv", content=CSV, by=None)
    before = DataImport.objects.get(pk=given.pk).status
    during: list[str] = []

    def import_arrives(_number: int) -> None:
        tasks.run_import(given.pk)
        during.append(DataImport.objects.get(pk=given.pk).status)

    queued_tasks.clear()
    with reading(import_arrives):
        tasks.index_knowledge(source.pk)
    assert during == [before]
    assert queued_tasks == [("workspace.run_import", str(given.pk))]
    tasks.run_import(given.pk)
    assert DataImport.objects.get(pk=given.pk).status != before


def taking(seconds: float) -> Any:
    """A clock of reading times on which each takes so long. Threads of others keep their own."""
    clock = count(step=seconds)
    return patch("workspace.reading_budget.time", SimpleNamespace(monotonic=lambda: next(clock)))


@pytest.mark.usefixtures("queued_tasks")
@pytest.mark.parametrize(("seconds", "number"), [(1.0, 2), (0.25, 4), (0.01, 11)])
def test_an_organization_that_has_used_up_its_time_of_a_day_waits_and_others_do_not(
    settings: Any, seconds: float, number: int
) -> None:
    """Sixty seconds have to be left; what a document takes is counted in tenths of a second."""
    settings.HALO_KNOWLEDGE_DAILY_SECONDS = 61
    charging.reset_store()
    owner, other = organization(), organization()
    sources = [source_of(one) for one in (*(owner,) * (number + 1), other)]
    with reading(nothing):
        for source in sources:
            with taking(seconds):
                tasks.index_knowledge(source.pk)
    ready, failed = SourceStatus.READY, SourceStatus.FAILED
    assert [status_of(one) for one in sources] == [*(ready,) * number, failed, ready]
    assert "used up the time to read" in sources[number].error


@pytest.mark.usefixtures("queued_tasks")
@pytest.mark.parametrize(("seconds", "number"), [(31, 1), (300, 1), (1, 3)])
def test_imports_count_against_the_same_time_of_a_day(
    settings: Any, seconds: int, number: int
) -> None:
    """Sixty seconds have to be left; what an import takes beyond them counts too."""
    settings.HALO_KNOWLEDGE_DAILY_SECONDS = 62
    owner, other = organization(), organization()
    files = [
        uploads.upload(one, kind="customers", file_name="a.csv", content=CSV, by=None)
        for one in (owner, owner, owner, owner, other)
    ]
    source, clock = source_of(owner), count(step=seconds)
    with patch("workspace.reading_budget.time", SimpleNamespace(monotonic=lambda: next(clock))):
        for file in files:
            tasks.run_import(file.pk)
        with reading(nothing):
            tasks.index_knowledge(source.pk)
    rows = [DataImport.objects.get(pk=file.pk) for file in files]
    ready, refused = ImportStatus.READY, ImportStatus.REFUSED
    wanted = [*(ready,) * number, *(refused,) * (4 - number), ready]
    assert [row.status for row in rows] == wanted
    assert "used up the time to read files" in rows[3].problems[0][2]
    assert status_of(source) == SourceStatus.FAILED


def test_a_reading_that_takes_longer_than_is_left_uses_up_the_day(settings: Any) -> None:
    settings.HALO_KNOWLEDGE_DAILY_SECONDS = 3_600
    charging.reset_store()
    owner = organization().pk
    with taking(100), reading_budget.spend(owner, 60):
        pass
    with taking(4_000), reading_budget.spend(owner, 60):
        pass
    with pytest.raises(ReadingBudgetSpent), reading_budget.spend(owner, 0.1):
        pass


def test_what_a_job_gives_back_can_be_used_by_who_was_refused_meanwhile(settings: Any) -> None:
    settings.HALO_KNOWLEDGE_DAILY_SECONDS = 61
    charging.reset_store()
    owner = organization().pk
    with (
        taking(1),
        reading_budget.spend(owner, 60),
        pytest.raises(ReadingBudgetSpent),
        reading_budget.spend(owner, 20),
    ):
        pass
    with taking(1), reading_budget.spend(owner, 20):
        pass


@pytest.mark.usefixtures("queued_tasks")
def test_a_job_that_fails_gives_its_place_back() -> None:
    owner = organization()
    sources = [source_of(owner) for _ in range(2)]

    def fails(number: int) -> None:
        if number == 0:
            raise OSError

    with reading(fails):
        for source in sources:
            tasks.index_knowledge(source.pk)
    assert [status_of(one) for one in sources] == [SourceStatus.FAILED, SourceStatus.READY]


def test_a_job_that_ends_with_a_defect_sends_the_next(queued_tasks: list[tuple[str, str]]) -> None:
    sources = [source_of(organization()) for _ in range(2)]
    queued_tasks.clear()
    defect = patch("knowledge.indexing.index", side_effect=MemoryError)
    with defect, pytest.raises(MemoryError):
        tasks.index_knowledge(sources[0].pk)
    assert len(queued_tasks) == 1
    assert queued_tasks[0][0] == "workspace.index_knowledge"


def test_what_was_left_is_sent_job_by_job_and_not_worked_off_in_the_schedule(
    queued_tasks: list[tuple[str, str]],
) -> None:
    sources = [source_of(organization()) for _ in range(3)]
    given = uploads.upload(
        organization(), kind="customers", file_name="b.csv", content=CSV, by=None
    )
    before = DataImport.objects.get(pk=given.pk).status
    long_ago = timezone.now() - timedelta(hours=1)
    KnowledgeSource.objects.update(updated_at=long_ago)
    DataImport.objects.update(updated_at=long_ago)
    queued_tasks.clear()
    with reading(nothing):
        tasks.pick_up_knowledge()
        tasks.pick_up_imports()
    assert sorted(queued_tasks) == sorted(
        [
            *(("workspace.index_knowledge", str(one.pk)) for one in sources),
            ("workspace.run_import", str(given.pk)),
        ]
    )
    assert {status_of(one) for one in sources} == {SourceStatus.PENDING}
    assert DataImport.objects.get(pk=given.pk).status == before
