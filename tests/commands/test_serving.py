"""`./run serve`: several web processes on one socket, and one sentence for what cannot be."""

import os
import signal
import socket
import subprocess
from pathlib import Path

import httpx2
import pytest

from halo_mcp.served_address import DECIDING
from tests.commands.deployment import TIMEOUT, Deployment, wait_until
from tests.drivers import forked_commands, sockets

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="reads /proc"),
]


# Only Redis or PostgreSQL count for several processes; a store of one's own makes SQLite do.
def counted_together() -> dict[str, str]:
    store = os.environ.get("REDIS_URL")
    return {"HALO_LIMIT_STORE": store} if store else pytest.skip("no Redis to count in")


@pytest.fixture
def own_starter(migrated_deployment: Deployment) -> subprocess.Popen[bytes]:
    """Its starter, with two web processes that answer."""
    return start_two(migrated_deployment)


@pytest.fixture(scope="module")
def starter(shared_deployment: Deployment) -> subprocess.Popen[bytes]:
    """The starter of a deployment whose web processes may be replaced, but not ended."""
    return start_two(shared_deployment)


def start_two(deployment: Deployment) -> subprocess.Popen[bytes]:
    process = deployment.serve("--workers", "2", **counted_together())
    wait_until(deployment.is_up)
    wait_until(lambda: len(web_processes(process)) == 2)
    return process


def web_processes(starter: subprocess.Popen[bytes]) -> set[int]:
    """The children that hold the socket: not Python's own tracker of resources."""
    children = Path(f"/proc/{starter.pid}/task/{starter.pid}/children").read_text().split()
    return {int(child) for child in children if _holds_a_listener(int(child))}


def _holds_a_listener(process: int) -> bool:
    return any(one.listens for one in sockets.sockets_of(process))


def answering(deployment: Deployment, processes: set[int]) -> set[int]:
    """Which of them answer, found by stopping all others while one is asked."""
    found = set()
    for asked in processes:
        others = processes - {asked}
        for each in others:
            os.kill(each, signal.SIGSTOP)
        try:
            if httpx2.get(f"{deployment.url}/health", timeout=30).is_success:
                found.add(asked)
        finally:
            for each in others:
                os.kill(each, signal.SIGCONT)
    return found


# As `./run serve` starts, but for what it serves.
SERVE_NOTHING = ("-c", "from halo_mcp.server import serve; serve.main('halo_mcp.asgi:nothing')")


def run_failed_start(deployment: Deployment, *words: str, **env: str) -> tuple[int, list[str]]:
    """How a start that cannot be ends, and what it says."""
    serving = ["-m", "halo_mcp.server.serve", *words]
    done = forked_commands.run(serving, deployment.env | env)
    return done.returncode, (done.stdout + done.stderr).splitlines()


def test_two_processes_answer_on_one_socket_and_nothing_else_runs(
    shared_deployment: Deployment, starter: subprocess.Popen[bytes]
) -> None:
    processes = web_processes(starter)

    wait_until(lambda: answering(shared_deployment, processes) == processes)
    assert shared_deployment.workers() == []
    assert "with 2 web processes." in shared_deployment.log.read_text()


def test_a_web_process_that_was_killed_comes_back(
    shared_deployment: Deployment, starter: subprocess.Popen[bytes]
) -> None:
    before = web_processes(starter)
    killed = before.pop()

    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: len(web_processes(starter) - {killed}) == 2)

    now = web_processes(starter)
    assert before < now
    wait_until(lambda: answering(shared_deployment, now) == now)
    wait_until(
        lambda: f"web_process_replaced ended={killed} code=-9" in shared_deployment.log.read_text()
    )


def test_sighup_replaces_every_web_process(
    shared_deployment: Deployment, starter: subprocess.Popen[bytes]
) -> None:
    before = web_processes(starter)
    wait_until(lambda: answering(shared_deployment, before) == before)

    starter.send_signal(signal.SIGHUP)

    wait_until(lambda: len(now := web_processes(starter)) == 2 and not now & before)
    assert shared_deployment.is_up()


@pytest.mark.parametrize(
    "ending", [pytest.param(signal.SIGINT, marks=pytest.mark.daily), signal.SIGTERM]
)
def test_a_signal_ends_every_process_in_order(
    migrated_deployment: Deployment, own_starter: subprocess.Popen[bytes], ending: signal.Signals
) -> None:
    own_starter.send_signal(ending)

    assert own_starter.wait(TIMEOUT) == 0
    assert migrated_deployment.processes() == {}
    log = migrated_deployment.log.read_text()
    assert log.endswith("Stopped.\n")
    assert "Traceback" not in log


@pytest.mark.daily
def test_web_processes_do_not_outlive_a_starter_that_was_killed(
    migrated_deployment: Deployment, own_starter: subprocess.Popen[bytes]
) -> None:
    own_starter.kill()

    own_starter.wait(TIMEOUT)
    wait_until(lambda: migrated_deployment.processes() == {})
    assert not migrated_deployment.listens()


def address_of_commands(deployment: Deployment) -> str:
    """The address that a command of another shell prints, which lacks the server's PORT."""
    other_shell = {name: value for name, value in deployment.env.items() if name not in DECIDING}
    words = ["manage.py", "shell", "--no-imports", "--command"]
    done = forked_commands.run(
        [*words, "from oauth import addresses; print(addresses.url(''))"], other_shell
    )
    return done.stdout.strip()


def test_one_process_serves_by_itself(migrated_deployment: Deployment) -> None:
    process = migrated_deployment.serve()
    wait_until(migrated_deployment.is_up)

    assert list(migrated_deployment.processes()) == [process.pid]
    assert address_of_commands(migrated_deployment) == migrated_deployment.url
    process.terminate()

    assert process.wait(TIMEOUT) == 0
    assert migrated_deployment.log.read_text().endswith("Stopped.\n")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--workers", "0"], "argument --workers: must be at least 1, got 0"),
        (["--workers", "-2"], "argument --workers: must be at least 1, got -2"),
        (["--workers", "two"], "argument --workers: expected a whole number, got 'two'"),
        (["--workers", ""], "argument --workers: expected a whole number, got ''"),
        (["--port", "65536"], "argument --port: must be at most 65535, got 65536"),
        (["--threads", "2"], "unrecognized arguments: --threads 2"),
    ],
)
def test_words_that_make_no_sense_are_reported_before_anything_is_begun(
    deployment: Deployment, words: list[str], sentence: str
) -> None:
    code, lines = run_failed_start(deployment, *words)

    assert (code, lines[-1]) == (2, f"./run serve: error: {sentence}")
    assert not (deployment.folder / "data").exists()


def test_a_busy_port_is_reported(migrated_deployment: Deployment) -> None:
    with socket.create_server(("127.0.0.1", 0)) as busy:
        port = busy.getsockname()[1]
        code, (line,) = run_failed_start(migrated_deployment, "--port", str(port))

    assert code == 1
    assert line.startswith(f"halo: Cannot listen on 127.0.0.1:{port}")


def test_a_database_without_its_tables_is_not_served(deployment: Deployment) -> None:
    code, (line,) = run_failed_start(deployment)

    assert code == 1
    assert "lacks" in line
    assert line.endswith("Run ./run manage bootstrap first.")


def test_several_processes_that_count_apart_are_refused(migrated_deployment: Deployment) -> None:
    code, lines = run_failed_start(migrated_deployment, "--workers", "2", HALO_LIMIT_STORE="memory")

    assert code == 1
    assert "(halo.E003)" in lines[0]
    assert "Set REDIS_URL" in "".join(lines)


@pytest.mark.parametrize(("workers", "code"), [("1", 3), ("2", 1)])
def test_an_application_that_cannot_be_loaded_ends_the_server(
    migrated_deployment: Deployment, workers: str, code: int
) -> None:
    process = migrated_deployment.run(*SERVE_NOTHING, "--workers", workers, **counted_together())

    assert process.wait(TIMEOUT) == code
    assert "application_not_loaded" in migrated_deployment.log.read_text()
    assert migrated_deployment.processes() == {}


def test_a_variable_that_is_wrong_is_named(migrated_deployment: Deployment) -> None:
    code, (line,) = run_failed_start(migrated_deployment, HALO_PROCESSES="many")

    assert (code, line) == (1, "halo: HALO_PROCESSES: expected a whole number, got 'many'")
