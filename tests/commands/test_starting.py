"""The real start: one line for what is wrong, and data that it leaves alone."""

import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from foundation.version import PRODUCT
from tests.commands import checkout
from tests.commands.deployment import TIMEOUT, Deployment, wait_until

pytestmark = [
    pytest.mark.process,
    pytest.mark.sqlite,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc"),
]


def test_a_second_start_changes_no_data(deployment: Deployment) -> None:
    for env in ({"HALO_ADMIN_PASSWORD": ""}, {}):
        began = time.monotonic()
        process = deployment.start(**env)
        wait_until(deployment.is_up)
        print(f"up after {time.monotonic() - began:.1f} s")  # noqa: T201  for people, not judged
        process.terminate()
        process.wait(TIMEOUT)
        if env:
            first, message = deployment.tables(), deployment.log.read_text()

    assert "Password" in message
    assert PRODUCT in message
    data = deployment.folder / "data"
    readable = [path for path in [data, *data.rglob("*")] if path.stat().st_mode & 0o077]
    assert readable == []
    assert not [*data.glob("*.before-migration")]
    assert "Password" not in deployment.log.read_text()
    assert deployment.tables() == first
    assert len(first["workspace_user"]) == 1
    assert first["workspace_customer"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("PORT", "eighty"),
        ("PORT", "0"),
        ("PORT", "65536"),
        ("HALO_RATE_TOOLS_CALL", "fast"),
        ("DATABASE_URL", "postgres://nobody@127.0.0.1:1/halo"),
        ("REDIS_URL", "redis://127.0.0.1:1"),
        ("HALO_LOG_LEVEL", "loud"),
    ],
)
def test_a_variable_that_is_wrong_is_named_in_one_line(
    deployment: Deployment, name: str, value: str
) -> None:
    (line,) = deployment.run_failed_start(**{name: value})

    assert line.startswith(f"halo: {name}: ")


def test_a_data_folder_that_cannot_be_written_to_is_reported_in_one_line(
    deployment: Deployment,
) -> None:
    (deployment.folder / "file").touch()

    (line,) = deployment.run_failed_start(HALO_DATA_DIR=str(deployment.folder / "file" / "data"))

    assert line.startswith("halo: HALO_DATA_DIR: ")


def test_a_busy_port_is_reported_in_one_line_and_nothing_is_begun(deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", int(deployment.env["PORT"]))):
        assert deployment.start().wait(TIMEOUT) == 1
    (line,) = deployment.log.read_text().splitlines()

    assert f"Cannot listen on 127.0.0.1:{deployment.env['PORT']}" in line
    assert "another PORT" in line
    assert not (deployment.folder / "data" / "halo.sqlite3").exists()


INTERRUPTED = "raise KeyboardInterrupt"


@pytest.mark.parametrize(
    ("at", "words"),
    [
        pytest.param("django.py", ["check"], id="while-modules-are-read"),
        pytest.param("interrupted.py", ["check"], id="while-settings-are-read"),
        pytest.param("unread.py", ["shell", "--no-imports", "-c", INTERRUPTED], id="at-work"),
    ],
)
def test_an_interrupted_command_ends_without_a_traceback(
    deployment: Deployment, at: str, words: list[str]
) -> None:
    (deployment.folder / at).write_text(INTERRUPTED)
    settings = "interrupted" if at == "interrupted.py" else "halo_mcp.settings"
    own = {"PYTHONPATH": str(deployment.folder), "DJANGO_SETTINGS_MODULE": settings}

    done = subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=checkout.ROOT,
        env=deployment.env | own,
        capture_output=True,
        text=True,
        timeout=TIMEOUT,
        check=False,
    )

    assert (done.returncode, done.stderr) == (130, "")
