"""Calls go on within this process's part of each limit while nothing can be counted together."""

import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import ActionExecution, SecurityEvent
from foundation import ids, limits
from foundation.limits import Limit, charging, in_redis
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient
from tests.drivers.oauth_client import OAuthClient
from tests.drivers.server import free_port

NOBODY = "redis://:hunter2@127.0.0.1:1/0"
NOON = "2026-01-01T12:00:00Z"


@pytest.fixture
def _down(settings: Any) -> None:
    """A store that nobody answers for, and four processes that would share it."""
    settings.HALO_LIMIT_STORE, settings.HALO_PROCESSES = NOBODY, 4
    limits.reset_store()


def statuses(client: McpClient, times: int) -> list[int]:
    return [client.request("ping").status for _ in range(times)]


@pytest.mark.usefixtures("_down")
def test_this_process_allows_its_part_and_then_refuses(mcp: McpClient, settings: Any) -> None:
    settings.HALO_RATE_OTHER = Limit(11, 60)
    assert statuses(mcp, 3) == [200, 200, 429]
    message = mcp.request("ping").headers
    assert (message["x-ratelimit-limit"], message["x-ratelimit-remaining"]) == ("2", "0")
    assert int(message["retry-after"]) > 0
    assert set(ActionExecution.objects.values_list("outcome", "detail")) == {
        ("rate_limited", "token")
    }


@pytest.mark.usefixtures("_down")
def test_everybody_has_at_least_one_call(grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_OTHER = Limit(1, 60)
    assert statuses(McpClient(grant.token()), 2) == [200, 429]
    assert statuses(McpClient(make_grant().token()), 1) == [200]


@pytest.mark.usefixtures("_down")
def test_a_part_is_shared_by_the_tokens_of_a_family(grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_OTHER = Limit(8, 60)
    answered = [statuses(McpClient(grant.token()), 1)[0] for _ in range(3)]
    assert answered == [200, 200, 429]


@pytest.mark.usefixtures("_down")
def test_an_outage_is_on_record_once_a_minute_and_names_no_address(
    mcp: McpClient, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    with time_machine.travel(NOON, tick=False):
        statuses(mcp, 5)
    assert SecurityEvent.objects.get(kind="limits_unavailable").count == 1
    printed = capsys.readouterr()
    logged = printed.out + printed.err + caplog.text
    assert "limit_store_down" in logged
    assert "hunter2" not in logged
    assert "Traceback" not in logged


@pytest.mark.usefixtures("_down", "db")
def test_t07_strangers_are_still_counted_and_refused_before_the_look_up(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charging.outage, "retry_after", 60.0)
    settings.HALO_RATE_IP = Limit(8, 60)
    stranger = McpClient(ids.opaque("halo_at_"))
    assert statuses(stranger, 3) == [401, 401, 429]
    with CaptureQueriesContext(connection) as statements:
        assert statuses(stranger, 2) == [429, 429]
    assert len(statements) == 0


@pytest.mark.usefixtures("_down", "db")
def test_authentication_stays_closed() -> None:
    client = OAuthClient()
    for reply in (client.register(), client.refresh("x")):
        assert reply.status_code == 503
        assert reply.json()["error"] == "temporarily_unavailable"
        assert reply["Retry-After"] == "1"


class Redis:
    """A real server on a port of its own, killed and started as the test goes."""

    def __init__(self, program: str, folder: Path) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._command = [program, "--port", str(self.port), "--save", "", "--dir", str(folder)]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        self._process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        client = redis.Redis.from_url(self.url)
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            try:
                client.ping()
            except redis.ConnectionError:
                time.sleep(0.02)
            else:
                break
        client.close()

    def kill(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait(20)
            self._process = None


@pytest.fixture
def a_redis(tmp_path: Path) -> Iterator[Redis]:
    program = shutil.which("redis-server")
    if program is None:
        pytest.skip("redis-server is not installed")
    server = Redis(program, tmp_path)
    server.start()
    yield server
    server.kill()


def test_calls_survive_a_redis_that_is_killed_and_count_there_again_once_it_is_back(
    mcp: McpClient, a_redis: Redis, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(charging.outage, "retry_after", 0.0)
    # A Redis that a busy machine keeps waiting is not down.
    monkeypatch.setattr(in_redis, "SOCKET_SECONDS", 20)
    settings.HALO_LIMIT_STORE, settings.HALO_PROCESSES = a_redis.url, 2
    settings.HALO_RATE_OTHER = Limit(4, 60)
    limits.reset_store()
    assert statuses(mcp, 1) == [200]

    a_redis.kill()
    assert statuses(mcp, 3) == [200, 200, 429]
    assert OAuthClient().refresh("x").status_code == 503

    a_redis.start()
    assert statuses(mcp, 5) == [200, 200, 200, 200, 429]
    assert OAuthClient().refresh("x").status_code == 400
    assert SecurityEvent.objects.get(kind="limits_unavailable").count == 1
