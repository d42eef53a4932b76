"""Agents of the real server: with curl, kill -9, and hundreds of streams that wait."""

import json
import shutil
import signal
import subprocess
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from aap_conformance import command_line
from tests.agents.real_server import PREPARE
from tests.drivers import server as server_process
from tests.drivers.evaluation import evaluate
from tests.drivers.server import Server

pytestmark = [pytest.mark.process]

BODY = {
    "agent": {"name": "documentation", "tools": [{"name": "search_docs", "trust": True}]},
    "messages": [{"role": "user", "content": "How do scopes work?"}],
}


@dataclass(frozen=True)
class RunningAgents:
    server: Server
    secret: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.secret}"}

    @property
    def url(self) -> str:
        return f"{self.server.url}/aap"


@pytest.fixture(scope="module")
def running(server: Server) -> RunningAgents:
    return RunningAgents(server, json.loads(evaluate(server.env, PREPARE)))


@pytest.mark.skipif(shutil.which("curl") is None, reason="no curl here")
@pytest.mark.parametrize("stream", ["delta", "message", "none"])
def test_curl_gets_an_answer_in_each_mode(running: RunningAgents, stream: str) -> None:
    words = ["curl", "-sS", "-N", "-X", "PUT", f"{running.url}/session"]
    words += ["-H", f"Authorization: Bearer {running.secret}"]
    words += ["-d", json.dumps(BODY | {"stream": stream})]
    said = subprocess.run(words, capture_output=True, text=True, check=True, timeout=60).stdout
    if stream == "none":
        assert json.loads(said)["stopReason"] == "end_turn"
        return
    assert said.startswith("event: session_start\n")
    assert said.endswith('event: turn_stop\ndata: {"stopReason":"end_turn"}\n\n')
    assert ("event: text_delta" in said, "event: text\n" in said) == (
        stream == "delta",
        stream == "message",
    )


@pytest.mark.parametrize("agent", ["documentation", "ask-ai"])
def test_the_conformance_suite_shows_and_passes_everything(
    running: RunningAgents, agent: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--url", running.url, "--key", running.secret, "--agent", agent]
    # More sessions than one page has.
    code = command_line.main([*given, "--tool", "search_docs", "--sessions", "101", "--strict"])
    assert code == 0, capsys.readouterr().out


def threads_of(running: RunningAgents) -> int:
    status = Path(f"/proc/{running.server.process.pid}/status").read_text()
    return int(status.partition("Threads:")[2].split()[0])


@pytest.mark.daily
def test_a_client_that_leaves_early_costs_the_server_nothing(running: RunningAgents) -> None:
    with httpx2.Client(headers=running.headers, timeout=30) as client:
        for _number in range(30):
            body = BODY | {"stream": "delta"}
            with client.stream("PUT", f"{running.url}/session", json=body) as answer:
                assert answer.status_code == 200
        before = threads_of(running)
        for _number in range(30):
            body = BODY | {"stream": "delta"}
            with client.stream("PUT", f"{running.url}/session", json=body) as answer:
                assert answer.status_code == 200
        assert threads_of(running) <= before + 2


CALLS_BY_TURN = """
import json
from collections import Counter
from audit.models import ActionExecution
from agents.models import Session, SessionMessage
from django.utils import timezone
# As if the minute of the lease had passed.
Session.objects.exclude(leased_until=None).update(leased_until=timezone.now())
rows = ActionExecution.objects.filter(tool="search_docs").values_list("detail", flat=True)
stored = Counter(
    (message["toolCallId"], session)
    for session, message in SessionMessage.objects.values_list("session", "content")
    if message["role"] == "tool"
)
print(json.dumps([Counter(rows), len(stored), max(stored.values(), default=0)]))
"""


@pytest.mark.daily
def test_under_load_no_call_is_made_twice_by_a_server_that_is_killed(tmp_path: Path) -> None:
    with server_process.running(tmp_path, {"HALO_RATE_AGENTS": "100000/m"}) as first:
        running = RunningAgents(first, json.loads(evaluate(first.env, PREPARE)))
        begun, killed = threading.Event(), threading.Event()

        def keep_asking() -> None:
            with httpx2.Client(headers=running.headers, timeout=30) as client:
                while not killed.is_set():
                    try:
                        client.put(f"{running.url}/session", json=BODY)
                    except httpx2.HTTPError:
                        return
                    begun.set()

        with ThreadPoolExecutor(8) as pool:
            asking = [pool.submit(keep_asking) for _number in range(8)]
            assert begun.wait(60)
            first.process.kill()
            killed.set()
            for one in asking:
                one.result()
        assert first.process.wait(60) == -signal.SIGKILL
        again = server_process.start_server(
            first.url, tmp_path / "again.log", first.env, "manage.py", "up"
        )
        with again, httpx2.Client(headers=running.headers, timeout=30) as client:
            evaluate(first.env, CALLS_BY_TURN)
            for session_id in client.get(f"{running.url}/sessions").json()["sessions"]:
                more = {"messages": [{"role": "user", "content": "And what is a token?"}]}
                answer = client.post(f"{running.url}/session/{session_id}", json=more)
                assert (answer.status_code, answer.json()["stopReason"]) == (200, "end_turn")
            rows, stored, most = json.loads(evaluate(first.env, CALLS_BY_TURN))
            assert (max(rows.values()), most) == (1, 1)
            # Every call has its row: what has a result, and what was interrupted.
            assert sum(rows.values()) >= stored - 8


@pytest.mark.daily
def test_no_session_is_lost_or_unreadable_after_kill_9(tmp_path: Path) -> None:
    with server_process.running(tmp_path, {"HALO_RATE_AGENTS": "100000/m"}) as first:
        running = RunningAgents(first, json.loads(evaluate(first.env, PREPARE)))
        with httpx2.Client(headers=running.headers, timeout=30) as client:
            made = [
                client.put(f"{running.url}/session", json=BODY).json()["sessionId"]
                for _number in range(5)
            ]
            with client.stream("PUT", f"{running.url}/session", json=BODY | {"stream": "delta"}):
                first.process.kill()
        assert first.process.wait(60) == -signal.SIGKILL
        again = server_process.start_server(
            first.url, tmp_path / "again.log", first.env, "manage.py", "up"
        )
        with again, httpx2.Client(headers=running.headers, timeout=30) as client:
            listed = client.get(f"{running.url}/sessions").json()["sessions"]
            assert [one for one in listed if one in made] == made
            for session_id in listed:
                session: Any = client.get(f"{running.url}/session/{session_id}").json()
                assert session["history"]["full"][0]["content"] == "How do scopes work?"
