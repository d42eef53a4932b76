"""A switch turned on its page while many calls are under way, against the real server."""

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx2
import pytest

from tests.drivers import switches_page
from tests.drivers.fixture_server import Laboratory
from tests.drivers.person import Person, form_with
from tests.drivers.servers import WIDE_THREADS
from tests.tools_registry.test_calls_at_once import call

pytestmark = pytest.mark.process

# In flight, and of those at work.
CALLS, AT_WORK, TIMEOUT = 100, WIDE_THREADS, 40
TOOL = "counter.stand_by"
CONNECT = """
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from workspace.models import Organization
place = Organization.objects.get(pk={organization!r})
IntegrationMode.objects.create(organization=place, integration="crm", actions_on=True,
                               connection=ConnectionState.CONNECTED)
ActionToggle.objects.create(agent=place.agents.get(), integration="crm", action="find_contact",
                            enabled=True)
"""
SWITCH_OFF = """
from tools_registry.models import IntegrationMode
IntegrationMode.objects.filter(organization={organization!r}).update(actions_on=False)
"""
CAST = """
from tools_registry.models import ActionToggle, IntegrationMode
from workspace.models import Organization
place = Organization.objects.get(pk={organization!r})
IntegrationMode.objects.create(organization=place, integration="counter", connection="connected")
ActionToggle.objects.create(
    agent=place.agents.get(), integration="counter", action="stand_by", enabled=True
)
"""


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
    def begun_numbers(self) -> set[int]:
        return {int(mark.stem) for mark in self.folder.glob("*.begun")}

    def wait_for(self, least: int) -> None:
        deadline = time.monotonic() + TIMEOUT
        while len(self.begun_numbers) < least:
            assert time.monotonic() < deadline, self.begun_numbers
            time.sleep(0.02)

    def let_go(self) -> None:
        for number in range(2 * CALLS):
            (self.folder / str(number)).touch()


def turn_off(running: Laboratory) -> None:
    url = running.server.url + switches_page.path_of(running.account.organization)
    person = Person(email=running.account.email)
    with person.browser as browser:
        person._sign_in(f"{running.server.url}/signin")
        form = dict(form_with(browser.get(url).text, "switch").fields)
        sent = form | {"switch": f"action:{TOOL}", "to": "off"}
        assert browser.post(url, data=sent).status_code == 302


def test_v05_calls_sent_after_a_switch_was_turned_are_refused_and_running_ones_finish(
    wide_laboratory: Laboratory, tmp_path: Path
) -> None:
    folder = tmp_path / "awaited"
    folder.mkdir()
    own = wide_laboratory.with_account()
    own.evaluate(CAST.format(organization=own.account.organization))
    calls = Calls(own, folder)
    with ThreadPoolExecutor(2 * CALLS) as pool:
        flying = [pool.submit(calls.make, number) for number in range(CALLS)]
        calls.wait_for(AT_WORK)
        turn_off(own)
        late = [pool.submit(calls.make, number) for number in range(CALLS, 2 * CALLS)]
        calls.let_go()
        reported = [each.result() for each in flying]
        late_answers = [each.result() for each in late]
    assert len(calls.begun_numbers) >= AT_WORK
    assert {reported[number] for number in calls.begun_numbers} == {""}
    assert [each for each in late_answers if "agent_disabled" not in each] == []
    assert calls.begun_numbers <= set(range(CALLS))


@pytest.mark.sqlite
@pytest.mark.parametrize("calls", [pytest.param(100, id="V05")])
def test_no_call_that_begins_after_a_switch_was_turned_off_succeeds(
    calls: int, wide_laboratory: Laboratory
) -> None:
    own = wide_laboratory.with_account()
    own.evaluate(CONNECT.format(organization=own.account.organization))

    def call_with_time(_turn: int) -> tuple[float, int]:
        begun = time.monotonic()
        return begun, call(own.server.mcp_url, own.token, "crm.find_contact")

    with ThreadPoolExecutor(8) as pool:
        before = list(pool.map(call_with_time, range(20)))
        running_calls = pool.map(call_with_time, range(calls))
        own.evaluate(SWITCH_OFF.format(organization=own.account.organization))
        off = time.monotonic()
        reported = [*before, *running_calls, *pool.map(call_with_time, range(calls))]
    assert {code for _, code in before} == {0}
    assert {code for begun, code in reported if begun > off} == {-32002}
    assert {code for _, code in reported} == {0, -32002}
