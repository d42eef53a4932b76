"""A call that needs an approval takes as long with many ended requests as with none."""

import re
from collections.abc import Iterator
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from approvals.models import ApprovalRequest, ApprovalStatus
from approvals.tasks import settle
from foundation.ids import uuid7
from gateway.tasks import mail_waiting
from tests.drivers import query_plans
from tests.drivers.grants import Grant
from tests.drivers.reviewed_project import ReviewedProject, open_reviewed_project
from tests.drivers.statements import Statement, record_statements

TABLE = "approvals_approvalrequest"
# Each finds a few rows, however many have ended: of one request, of the calls of a session, of the
# requests that wait.
SELECTIVE = re.compile(r"\b(id|call|digest|status)\b")
# Partial indexes: they have requests that wait, and none that have ended.
OF_OPEN_REQUESTS = {"approvals_unannounced", "approvals_one_open"}


@pytest.fixture
def project(grant: Grant) -> Iterator[ReviewedProject]:
    query_plans.start_empty(ApprovalRequest)
    with open_reviewed_project(grant) as project:
        yield project


@pytest.fixture
def many(project: ReviewedProject) -> ReviewedProject:
    """The project, with many ended requests of the same connection for other arguments."""
    first = project.request()
    ago = timezone.now() - timedelta(days=30)
    columns = {
        field.name: getattr(first, field.name) for field in ApprovalRequest._meta.concrete_fields
    }
    ended = {"status": ApprovalStatus.DONE, "ended_at": ago, "expires_at": ago, "announced_at": ago}
    ApprovalRequest.objects.bulk_create(
        ApprovalRequest(**columns | ended | {"id": uuid7(), "digest": f"{number:064}"})
        for number in range(2_000)
    )
    query_plans.gather_statistics()
    return project


def reads_much(statement: Statement) -> list[str]:
    """How the statement reads the requests if it does so by nothing that finds a few of them."""
    if connection.vendor == "postgresql":
        if query_plans.index_names(statement) & OF_OPEN_REQUESTS:
            return []
        explained = query_plans.index_conditions(statement)
        return [] if any(map(SELECTIVE.search, explained)) else explained or ["the whole table"]
    steps = [step for step in query_plans.sqlite_steps(statement) if TABLE in step]
    return [step for step in steps if not SELECTIVE.search(step.partition("(")[2])]


def test_a_call_that_needs_an_approval_searches_by_indexes_only(many: ReviewedProject) -> None:
    with record_statements() as received:
        request = many.request(name="Grace")
        assert many.request(name="Grace").pk == request.pk
        settle()
        mail_waiting()
    # One statement is planned once, with the values that it had first.
    reads = {one.sql: one for one in received if f'"{TABLE}" WHERE' in one.sql}
    assert len(reads) > 8
    assert {sql: reads_much(one) for sql, one in reads.items() if reads_much(one)} == {}


@pytest.mark.usefixtures("many")
def test_a_search_through_all_requests_would_be_seen() -> None:
    with record_statements() as received:
        assert not ApprovalRequest.objects.filter(tool="x").order_by("pk").exists()
    assert reads_much(received[-1])
