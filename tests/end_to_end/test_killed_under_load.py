"""kill -9 while clients call: every call that was answered is on record, once."""

import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import httpx2
import pytest

from tests.drivers.fixture_server import Laboratory, laboratory, second_server
from tests.drivers.server import EMAIL, Server
from tests.drivers.tenants import Row, Tenant, client_of, create_tenants, rows

pytestmark = [pytest.mark.process, pytest.mark.sqlite, pytest.mark.daily]

KILLS, ANSWERS, TIMEOUT = 3, 150, 60


def call_until_killed(server: Server, tenants: list[Tenant], existing: Path) -> None:
    """Two clients of each organization call; the server is killed in the middle of it."""
    before = _answers(tenants)
    is_enough, is_over = threading.Event(), threading.Event()

    def call(tenant: Tenant) -> None:
        connection = tenant.connections[0]
        opened = client_of(tenant, connection, server.mcp_url, existing)
        # The answer that the killed server was about to send never comes.
        with opened as client, suppress(httpx2.TransportError):
            while not is_over.is_set():
                client.do_everything()
                if _answers(tenants) >= before + ANSWERS:
                    is_enough.set()

    with ThreadPoolExecutor(2 * len(tenants)) as pool:
        calls = [pool.submit(call, tenant) for tenant in tenants * 2]
        assert is_enough.wait(TIMEOUT)
        server.process.send_signal(signal.SIGKILL)
        server.process.wait(TIMEOUT)
        is_over.set()
        for each in calls:
            each.result()


def _answers(tenants: list[Tenant]) -> int:
    return sum(len(tenant.answered) for tenant in tenants)


def rows_by_request(running: Laboratory, tenants: list[Tenant]) -> dict[str, Row]:
    """All rows by the number of their request, which no two share."""
    found = rows(running, tenants)
    by_request = {row[0]: row for row in found}
    assert len(by_request) == len(found)
    return by_request


def test_a_call_that_was_answered_is_on_record_after_kill_9(tmp_path: Path) -> None:
    existing = tmp_path / "existing"
    existing.touch()
    with laboratory(tmp_path) as running:
        tenants = create_tenants(running, 3, super_admin=EMAIL)
        call_until_killed(running.server, tenants, existing)
        for number in range(1, KILLS):
            folder = tmp_path / f"again-{number}"
            folder.mkdir()
            with second_server(running, folder) as again:
                call_until_killed(again.server, tenants, existing)
        by_request = rows_by_request(running, tenants)

    assert _answers(tenants) >= KILLS * ANSWERS
    answered = [row for tenant in tenants for row in tenant.answered]
    assert [by_request.get(row[0]) for row in answered] == answered
    # Each of the clients may have had one more on the way, each time.
    assert len(by_request) <= len(answered) + KILLS * 2 * len(tenants)
