"""Web and worker end together, however they are ended, and a worker that dies comes back."""

import os
import signal
from pathlib import Path

import pytest

from tests.commands.deployment import PATIENCE, Deployment, until, within
from tests.drivers.server import lay_tables

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc"),
]


@pytest.fixture
def prepared(deployment: Deployment) -> Deployment:
    """A deployment with its tables in place: how it comes by them is not what ends it."""
    lay_tables(deployment.folder)
    return deployment


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_ending_it_leaves_no_process(prepared: Deployment, ending: signal.Signals) -> None:
    process = prepared.start()
    until(prepared.is_up)
    until(prepared.workers)

    # To the group, as a terminal sends Ctrl-C and its own closing.
    os.killpg(process.pid, ending)

    assert process.wait(PATIENCE) == 0
    assert prepared.processes() == {}
    log = prepared.log.read_text()
    assert log.endswith("Stopped.\n")
    assert "Traceback" not in log


def test_ending_it_while_it_prepares_leaves_no_process(deployment: Deployment) -> None:
    process = deployment.start()
    until(deployment.listens)

    os.killpg(process.pid, signal.SIGINT)

    assert process.wait(PATIENCE) == 0
    assert deployment.processes() == {}
    assert deployment.log.read_text().endswith("Stopped.\n")


def test_a_worker_does_not_outlive_a_server_that_was_killed(prepared: Deployment) -> None:
    process = prepared.start()
    until(prepared.workers)

    process.kill()

    process.wait(PATIENCE)
    until(lambda: prepared.processes() == {})


def test_a_worker_that_was_killed_is_replaced_and_works_on(prepared: Deployment) -> None:
    process = prepared.start()
    until(prepared.is_up)
    killed = until(prepared.workers)
    begun = prepared.manage("shell", "--no-imports", "-c", BEGIN_A_CALL).strip()

    os.kill(killed[0], signal.SIGKILL)
    replaced = until(lambda: [pid for pid in prepared.workers() if pid not in killed])

    assert len(replaced) == 2, "the beat of the killed worker is still there"
    until(lambda: swept(prepared, begun))
    process.terminate()
    process.wait(PATIENCE)


# A call with side effects that a crash left open an hour ago: the sweeper's to name.
BEGIN_A_CALL = """
from datetime import timedelta
from django.utils import timezone
from audit import record
hour_ago = timezone.now() - timedelta(hours=1)
print(record.begin(record.Actor(), record.Act(method="tools/call", started_at=hour_ago)).hex)
"""
SEND_THE_SWEEPER = """
from halo_mcp.celery import app
app.send_task("audit.finish_interrupted")
"""


def swept(deployment: Deployment, execution: str) -> bool:
    """Send the sweeper, and again when asked again: another run on this Redis may empty it."""
    deployment.manage("shell", "--no-imports", "-c", SEND_THE_SWEEPER)
    done = within(15, lambda: outcome(deployment, execution) == "interrupted")
    return bool(done)


def outcome(deployment: Deployment, execution: str) -> str:
    rows = deployment.tables()["action_executions"]
    (row,) = (row for row in rows if execution in row.replace("-", ""))
    return "interrupted" if "interrupted" in row else "open"
