"""OAuth requests while Redis hangs: its process is stopped, so it accepts and does not answer."""

import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from shutil import which
from typing import Any
from urllib.parse import urlencode

import pytest
import redis
from django.core.cache import caches
from django.test import Client

from foundation import limits
from foundation.limits import charging
from oauth.endpoints import page_limits
from tests.commands.deployment import wait_until
from tests.drivers.oauth_client import AUTHORIZE, TOKEN
from tests.drivers.server import free_port

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(which("redis-server") is None, reason="needs redis-server"),
]

FORM = {"grant_type": "refresh_token", "client_id": "nobody", "refresh_token": "nothing"}


class StoppedClock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> StoppedClock:
    clock = StoppedClock()
    for outage in (charging.outage, page_limits.outage):
        monkeypatch.setattr(outage, "_now", clock)
    return clock


@pytest.fixture
def store(tmp_path: Path, settings: Any) -> Iterator[subprocess.Popen[bytes]]:
    port = free_port()
    words = ["--port", str(port), "--bind", "127.0.0.1", "--save", "", "--dir", str(tmp_path)]
    process = subprocess.Popen(["redis-server", *words], stdout=subprocess.DEVNULL)
    url = f"redis://127.0.0.1:{port}"
    try:
        with redis.Redis.from_url(url) as client:
            wait_until(lambda: answers(client))
        settings.HALO_LIMIT_STORE = url
        limits.reset_store()
        yield process
    finally:
        with suppress(ProcessLookupError):
            os.kill(process.pid, signal.SIGCONT)
        process.kill()
        process.wait(20)


def answers(client: redis.Redis) -> bool:
    with suppress(redis.ConnectionError):
        return bool(client.ping())
    return False


def token() -> int:
    kind = "application/x-www-form-urlencoded"
    return Client().post(TOKEN, urlencode(FORM), content_type=kind).status_code


def test_l3_after_one_time_out_a_hung_store_is_not_waited_for(
    store: subprocess.Popen[bytes], clock: StoppedClock
) -> None:
    assert token() == 401
    os.kill(store.pid, signal.SIGSTOP)
    assert token() == 503

    # It would answer now: that the next request is refused shows that it is not waited for.
    os.kill(store.pid, signal.SIGCONT)
    assert token() == 503

    clock.now += 1.1
    assert token() == 401


def test_l3_pages_do_not_wait_for_a_hung_store_either(
    store: subprocess.Popen[bytes], clock: StoppedClock, settings: Any
) -> None:
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": settings.HALO_LIMIT_STORE,
            "OPTIONS": {"socket_timeout": 0.5, "socket_connect_timeout": 0.5},
        }
    }
    caches["default"].clear()

    def page() -> int:
        return Client().get(AUTHORIZE).status_code

    assert page() == 400
    os.kill(store.pid, signal.SIGSTOP)
    assert page() == 503
    os.kill(store.pid, signal.SIGCONT)
    assert page() == 503
    clock.now += 1.1
    assert page() == 400
