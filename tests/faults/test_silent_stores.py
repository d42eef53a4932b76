"""Stores that accept connections and answer nothing cost requests seconds, and no thread.

Web processes in production form with PostgreSQL and Redis behind proxies. The limits themselves are
those of production: what is waited for is an event, and no time is measured but that of the probes'
client.
"""

from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from django.conf import settings

from tests.faults.deployment import ProxiedDeployment, answers_of, deployment
from tests.faults.proxy import Fault
from tests.tools_registry.test_asgi_process import wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        settings.ON_SQLITE or not settings.REDIS_URL, reason="needs PostgreSQL and Redis"
    ),
]

# For an answer of a process whose stores work, on a busy machine.
SECONDS = 20
# For a request that meets a silent database: its limits, and a busy machine.
SILENT_SECONDS = 60
MANY = 12


@pytest.fixture
def running(tmp_path: Path) -> Iterator[ProxiedDeployment]:
    with deployment(tmp_path) as running:
        answers_of(MANY, lambda _number: running.search(SECONDS))
        yield running


def statuses(answers: list[object]) -> set[object]:
    """The statuses; an answer that did not come is its error."""
    return {
        answer.status_code if isinstance(answer, httpx2.Response) else type(answer).__name__
        for answer in answers
    }


def test_f1_a_silent_broker_holds_up_no_call(running: ProxiedDeployment) -> None:
    with running.store.fault(Fault.HANG):
        requested = answers_of(MANY, lambda number: running.request_approval(number, SECONDS))
        others = answers_of(MANY, lambda _number: running.search(SECONDS))
        health = running.get("/health", SECONDS)
        ready = running.get("/readyz", SECONDS)

    assert statuses(requested) == {200}
    assert all("PENDING_APPROVAL" in answer.text for answer in requested)
    assert statuses(others) == {200}
    assert health.json() == {"status": "ok"}
    assert ready.json()["missing"] == ["redis"]
    wait_until(lambda: running.get("/readyz", SECONDS).status_code == 200)


@pytest.mark.daily
def test_f8_a_silent_database_is_answered_with_an_error_and_keeps_no_thread(
    running: ProxiedDeployment,
) -> None:
    with running.database.fault(Fault.HANG):
        # More than a process has threads for calls.
        first = answers_of(3 * MANY, lambda _number: running.search(SILENT_SECONDS))
        later = answers_of(MANY, lambda _number: running.search(SILENT_SECONDS))
        health = running.get("/health", SECONDS)
        ready = running.get("/readyz", SECONDS)

    assert statuses(first) | statuses(later) == {503}
    assert health.status_code == 200
    assert ready.json()["missing"] == ["database"]
    wait_until(lambda: running.get("/readyz", SECONDS).status_code == 200)
    wait_until(lambda: running.search(SECONDS).status_code == 200)
    assert statuses(answers_of(3 * MANY, lambda _number: running.search(SECONDS))) == {200}


@pytest.mark.daily
def test_f8_after_a_failover_the_connections_to_the_old_server_are_replaced(
    running: ProxiedDeployment,
) -> None:
    answers_of(MANY, lambda _number: running.get("/signin", SECONDS))
    running.database.set_fault(Fault.FREEZE)

    # Both processes: each finds out by itself.
    wait_until(
        lambda: statuses(answers_of(MANY, lambda _number: running.search(SILENT_SECONDS))) == {200}
    )
    assert statuses(answers_of(MANY, lambda _number: running.get("/signin", SECONDS))) == {200}
    assert statuses(answers_of(3 * MANY, lambda _number: running.search(SECONDS))) == {200}


@pytest.mark.daily
def test_f9_requests_wait_for_a_connection_of_their_process(tmp_path: Path) -> None:
    with deployment(tmp_path, {"HALO_DATABASE_CONNECTIONS": "4"}) as running:
        found = answers_of(4 * MANY, lambda _number: running.search(SILENT_SECONDS))
        # Four of each process, and at most the evaluation of this test.
        assert running.database.open_connections <= 2 * 4

    assert statuses(found) == {200}
