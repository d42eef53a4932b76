"""Group T05 and V07 over HTTP: four web processes share one limit."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest
from django.conf import settings

from tests.drivers.fixture_server import Laboratory, laboratory

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


def status_of_a_call(running: Laboratory) -> int:
    """Over a connection of its own, so that any of the processes may take it."""
    headers = {"Authorization": f"Bearer {running.token}", "Accept": "application/json"}
    return httpx2.post(running.server.mcp_url, json=CALL, headers=headers, timeout=60).status_code


def test_t05_v07_exactly_120_calls_pass_through_four_web_processes(tmp_path: Path) -> None:
    given = {"HALO_PROCESSES": "4", "HALO_RATE_TOOLS_CALL": "120/h"}
    with laboratory(tmp_path, given) as running, ThreadPoolExecutor(AT_ONCE) as pool:
        statuses = Counter(pool.map(status_of_a_call, [running] * TRIES))
    assert statuses == {200: 120, 429: TRIES - 120}
