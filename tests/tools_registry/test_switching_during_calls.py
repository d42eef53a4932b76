"""A switch turned on its page while many calls are under way, against the real server."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.drivers import switches_page
from tests.drivers.fixture_server import Laboratory, laboratory
from tests.drivers.person import Person, form_with
from tests.drivers.server import EMAIL, PASSWORD

pytestmark = pytest.mark.process

# In flight, and of those at work: each holds a connection to the database, and PostgreSQL has 100.
CALLS, AT_WORK, TIMEOUT = 100, 30, 40
TOOL = "counter.stand_by"
CAST = f"""
from tools_registry.models import ActionToggle, IntegrationMode
from workspace.models import Organization, User
User.objects.create_superuser({EMAIL!r}, {PASSWORD!r})
place = Organization.objects.get()
IntegrationMode.objects.create(organization=place, integration="counter", connection="connected")
ActionToggle.objects.create(
    agent=place.agents.get(), integration="counter", action="stand_by", enabled=True
)
print(place.pk)
"""


@pytest.fixture
def lab_server(tmp_path: Path) -> Iterator[Laboratory]:
    with laboratory(tmp_path, {"HALO_CORE_THREADS": str(AT_WORK)}) as running_lab:
        yield running_lab


class Calls:
    """Calls of a tool that waits for a file of its own."""

    def __init__(self, running: Laboratory, folder: Path) -> None:
        self.running, self.folder = running, folder

    def make(self, number: int) -> str:
        """The reason of a refusal, or nothing for success."""
        arguments = {"file": str(self.folder / str(number))}
        params = {"name": TOOL, "arguments": arguments}
        message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        bearer = {"Authorization": f"Bearer {self.running.token}"}
        url = self.running.server.mcp_url
        reply = httpx2.post(url, json=message, headers=bearer, timeout=60).json()
        return json.dumps(reply["error"]) if "error" in reply else ""

    @property
    def begun(self) -> set[int]:
        return {int(mark.stem) for mark in self.folder.glob("*.begun")}

    def wait_for(self, least: int) -> None:
        deadline = time.monotonic() + TIMEOUT
        while len(self.begun) < least:
            assert time.monotonic() < deadline, self.begun
            time.sleep(0.02)

    def let_go(self) -> None:
        for number in range(2 * CALLS):
            (self.folder / str(number)).touch()


def turn_off(running: Laboratory, organization_id: str) -> None:
    url = running.server.url + switches_page.path_of(organization_id)
    person = Person()
    with person.browser as browser:
        person._sign_in(f"{running.server.url}/signin")
        form = dict(form_with(browser.get(url).text, "switch").fields)
        sent = form | {"switch": f"action:{TOOL}", "to": "off"}
        assert browser.post(url, data=sent).status_code == 302


def test_v05_calls_sent_after_a_switch_was_turned_are_refused_and_running_ones_finish(
    lab_server: Laboratory, tmp_path: Path
) -> None:
    folder = tmp_path / "awaited"
    folder.mkdir()
    calls = Calls(lab_server, folder)
    organization_id = lab_server.evaluate(CAST).strip()
    with ThreadPoolExecutor(2 * CALLS) as pool:
        flying = [pool.submit(calls.make, number) for number in range(CALLS)]
        calls.wait_for(AT_WORK)
        turn_off(lab_server, organization_id)
        late = [pool.submit(calls.make, number) for number in range(CALLS, 2 * CALLS)]
        calls.let_go()
        reported = [each.result() for each in flying]
        late_answers = [each.result() for each in late]
    assert len(calls.begun) >= AT_WORK
    assert {reported[number] for number in calls.begun} == {""}
    assert [each for each in late_answers if "agent_disabled" not in each] == []
    assert calls.begun <= set(range(CALLS))
