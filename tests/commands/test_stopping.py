"""Web and worker end together, however they are ended, and a worker that dies comes back."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.commands.deployment import TIMEOUT, Deployment, wait_until, wait_within

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc"),
]


@pytest.fixture(autouse=True)
def _a_hang_up_is_not_ignored() -> Iterator[None]:
    """What a process ignores its children ignore too, and nohup has it ignore this signal."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize(
    "ending",
    [
        signal.SIGINT,
        pytest.param(signal.SIGTERM, marks=pytest.mark.daily),
        pytest.param(signal.SIGHUP, marks=pytest.mark.daily),
    ],
)
def test_ending_it_leaves_no_process(
    migrated_deployment: Deployment, ending: signal.Signals
) -> None:
    process = migrated_deployment.start()
    wait_until(migrated_deployment.is_up)
    wait_until(migrated_deployment.workers)

    # To the group, as a terminal sends Ctrl-C and its own closing.
    os.killpg(process.pid, ending)

    assert process.wait(TIMEOUT) == 0
    assert migrated_deployment.processes() == {}
    log = migrated_deployment.log.read_text()
    assert log.count("Stopping...\n") == 1
    assert log.endswith("Stopped.\n")
    assert "Traceback" not in log


def test_an_idle_worker_ends_without_waiting_for_its_next_look_at_the_queue(
    migrated_deployment: Deployment,
) -> None:
    """Celery looks for a request to stop every two seconds, and kept the whole server waiting."""
    env = {"REDIS_URL": "", "DJANGO_SETTINGS_MODULE": "halo_mcp.settings"}
    process = migrated_deployment.run("-c", END_WHILE_WAITING, **env)
    assert process.wait(TIMEOUT) == 0
    assert "looked 0 times" in migrated_deployment.log.read_text()


# A worker that gets SIGTERM while it sleeps between two looks, and counts the looks after that.
END_WHILE_WAITING = """
import os, signal, sys, threading, time
import django
django.setup()
from celery.signals import worker_ready
from kombu.transport.filesystem import Channel
from halo_mcp import celery

main, get, looks, before = threading.get_ident(), Channel._get, [], []

def look(*words):
    looks.append(words)
    return get(*words)

def is_sleeping():
    return sys._current_frames()[main].f_code.co_name == "drain_events"

def end(**_):
    while not (looks and is_sleeping()):
        time.sleep(0.01)
    before.append(len(looks))
    os.kill(os.getpid(), signal.SIGTERM)

Channel._get = look
begin = lambda **_: threading.Thread(target=end, daemon=True).start()
worker_ready.connect(begin, weak=False)
try:
    celery.run_worker(celery.SHORT)
finally:
    os.write(1, f"looked {len(looks) - before[0]} times".encode())
"""


def test_ending_it_while_it_prepares_leaves_no_process(deployment: Deployment) -> None:
    process = deployment.start()
    wait_until(deployment.listens)

    os.killpg(process.pid, signal.SIGINT)

    assert process.wait(TIMEOUT) == 0
    assert deployment.processes() == {}
    assert deployment.log.read_text().endswith("Stopped.\n")


@pytest.mark.daily
def test_a_worker_does_not_outlive_a_server_that_was_killed(
    migrated_deployment: Deployment,
) -> None:
    process = migrated_deployment.start()
    wait_until(migrated_deployment.workers)

    process.kill()

    process.wait(TIMEOUT)
    wait_until(lambda: migrated_deployment.processes() == {})


def test_a_worker_that_was_killed_is_replaced_and_works_on(migrated_deployment: Deployment) -> None:
    process = migrated_deployment.start()
    wait_until(migrated_deployment.is_up)
    killed = wait_until(migrated_deployment.workers)
    begun = migrated_deployment.manage("shell", "--no-imports", "-c", BEGIN_A_CALL).strip()

    os.kill(killed[0], signal.SIGKILL)
    replaced = wait_until(
        lambda: [pid for pid in migrated_deployment.workers() if pid not in killed]
    )

    assert len(replaced) == 3, "a process of the killed worker is still there"
    wait_until(lambda: swept(migrated_deployment, begun))
    process.terminate()
    process.wait(TIMEOUT)


# A call with side effects that a crash left open an hour ago: the sweeper's to name.
BEGIN_A_CALL = """
from datetime import timedelta
from django.utils import timezone
from audit import record
hour_ago = timezone.now() - timedelta(hours=1)
call = record.Execution(method="tools/call", started_at=hour_ago)
print(record.insert_call(record.Actor(), call).hex)
"""
SEND_THE_SWEEPER = """
from halo_mcp.celery import app
app.send_task("audit.finish_interrupted")
"""


def swept(deployment: Deployment, execution: str) -> bool:
    """Send the sweeper, and again when asked again: another run on this Redis may empty it."""
    deployment.manage("shell", "--no-imports", "-c", SEND_THE_SWEEPER)
    done = wait_within(15, lambda: outcome(deployment, execution) == "interrupted")
    return bool(done)


def outcome(deployment: Deployment, execution: str) -> str:
    rows = deployment.tables()["action_executions"]
    (row,) = (row for row in rows if execution in row.replace("-", ""))
    return "interrupted" if "interrupted" in row else "open"
