"""Group T05 and V07: processes that charge at once allow what one would, and not a call more."""

import os
import subprocess
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.core.management.base import SystemCheckError
from django.db import connection

pytestmark = pytest.mark.process

ROOT = Path(__file__).resolve().parents[2]
PROCESSES, CALLS = 4, 60

# Each says that it is ready and waits for a word, so that none is done before the last begins.
CHARGE = """
import sys
import django

django.setup()
from foundation.limits import Bucket, Limit, charge

key, calls = sys.argv[1], int(sys.argv[2])
charge([Bucket(f"{key}:warm", Limit(1000, 60))])
print("ready", flush=True)
sys.stdin.readline()
bucket = Bucket(key, Limit.parse("120/h"))
print(sum(charge([bucket]) is None for _ in range(calls)), flush=True)
"""


@contextmanager
def charging(key: str, env: dict[str, str]) -> Iterator[list[subprocess.Popen[str]]]:
    """Processes that are about to charge one bucket, each more often than its even share."""
    settings = {**os.environ, **env, "DJANGO_SETTINGS_MODULE": "halo_mcp.settings"}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", CHARGE, key, str(CALLS)],
            cwd=ROOT,
            env=settings,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(PROCESSES)
    ]
    try:
        yield running
    finally:
        for process in running:
            process.kill()
            process.communicate()


def count_passed(env: dict[str, str]) -> int:
    """How many calls all processes got through together."""
    with charging(uuid.uuid4().hex, env) as running:
        for process in running:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
        for process in running:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return sum(int(process.communicate(timeout=60)[0]) for process in running)


@pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="REDIS_URL names no Redis to count in")
def test_t05_v07_exactly_120_pass_in_four_processes_that_count_in_redis() -> None:
    assert count_passed({"HALO_LIMIT_STORE": os.environ["REDIS_URL"]}) == 120


@pytest.mark.skipif(
    connection.vendor != "postgresql", reason="the database of this run is not PostgreSQL"
)
@pytest.mark.django_db(transaction=True)
def test_t05_v07_exactly_120_pass_in_four_processes_that_count_in_postgresql() -> None:
    given = connection.settings_dict
    host, port = given["HOST"] or "127.0.0.1", given["PORT"] or 5432
    who = ":".join(filter(None, (given["USER"], given["PASSWORD"])))
    url = f"postgres://{who}@{host}:{port}/{given['NAME']}"
    assert count_passed({"DATABASE_URL": url, "HALO_LIMIT_STORE": "postgresql"}) == 120


def test_t05_several_processes_do_not_start_where_each_would_count_for_itself(
    settings: Any,
) -> None:
    settings.HALO_PROCESSES, settings.HALO_LIMIT_STORE = PROCESSES, "memory"
    with pytest.raises(SystemCheckError, match=r"halo\.E003"):
        call_command("check")
