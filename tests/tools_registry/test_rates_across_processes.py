"""Group T05 and V07 over HTTP: four web processes share one limit."""

import os
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import httpx2
import pytest
from django.conf import settings

from tests.drivers.accounts import open_account
from tests.drivers.server import Server
from tests.tools_registry.test_calls_at_once import CAP, THREADS, codes_at_once

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(
        settings.HALO_LIMIT_STORE == "memory",
        reason="neither PostgreSQL nor Redis, so that there is one process",
    ),
]

AT_ONCE, TRIES = 8, 128
CALL = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "setup_get_jwt_sample", "arguments": {}},
}


def test_t05_v07_exactly_120_calls_pass_through_four_web_processes(
    four_processes: Server,
) -> None:
    token = open_account(four_processes.env).token
    headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}

    def call(_number: int) -> int:
        """Over a connection of its own, so that any of the processes may take it."""
        url = four_processes.mcp_url
        return httpx2.post(url, json=CALL, headers=headers, timeout=60).status_code

    with ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = Counter(pool.map(call, range(TRIES)))
    assert statuses == {200: 120, 429: TRIES - 120}


@pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="one process needs no shared counter")
@pytest.mark.parametrize("processes", [pytest.param(4, id="T05")])
def test_four_processes_count_together(processes: int, four_processes: Server) -> None:
    assert four_processes.env["HALO_PROCESSES"] == str(processes)
    assert codes_at_once(four_processes) == {0: CAP, -32002: THREADS}
