"""Listening over real sockets: an admin's page of one process is received in another."""

import os
import signal
from contextlib import ExitStack, closing
from pathlib import Path

import httpx2
import pytest

from foundation.admin_urls import page_url
from tests.drivers import fixture_server
from tests.drivers.fixture_server import Laboratory
from tests.drivers.mcp import McpClient, events_in
from tests.drivers.person import form_with
from tests.drivers.server import PASSWORD
from tests.drivers.subscription_client import check_events, request_of
from tests.drivers.websocket_client import open_socket
from tests.tools_registry.test_websocket_process import mint

pytestmark = pytest.mark.process

TIMEOUT = 20
PUSH = """
from tools_registry.endpoint.websocket import pushing
pushing.push({authorization!r}, {{"jsonrpc": "2.0", "method": "notifications/x", "params": {{}}}})
"""
CAST = """
from tools_registry.models import ActionToggle, IntegrationMode
from workspace.models import Organization
organization = Organization.objects.get(pk={organization!r})
IntegrationMode.objects.create(
    organization=organization, integration="crm", connection="connected"
)
toggle = ActionToggle.objects.create(
    agent=organization.agents.get(), integration="crm", action="find_contact"
)
print(toggle.pk, toggle.agent_id)
"""


class Open:
    """One stream that is being read."""

    def __init__(self, running: Laboratory, *, request_id: object = 7) -> None:
        headers, body = request_of(McpClient(running.token), request_id=request_id)
        headers["Host"] = f"127.0.0.1:{running.port}"
        self._client = httpx2.Client(timeout=TIMEOUT)
        request = self._client.build_request(
            "POST", running.server.mcp_url, headers=headers, content=body
        )
        self._response = self._client.send(request, stream=True)
        self._chunks = self._response.iter_bytes()
        self._read = b""

    def receives(self, *wanted: str) -> None:
        """Read until so much has come, and hold it against what should."""
        while len(events_in(self._read)) < len(wanted):
            self._read += next(self._chunks)
        assert check_events(events_in(self._read)) == list(wanted)

    def is_over(self) -> bool:
        return b"".join(self._chunks) == b""

    def close(self) -> None:
        self._response.close()
        self._client.close()


class SwitchAdmin:
    """An admin's browser."""

    def __init__(self, url: str, email: str) -> None:
        self._browser = httpx2.Client(base_url=url, timeout=TIMEOUT, follow_redirects=True)
        self.close = self._browser.close
        self._post("/signin", "login", {"login": email, "password": PASSWORD})

    def switch(self, cast: str, **fields: str) -> None:
        """Save the page of the action's switch."""
        toggle, agent = cast.split()
        page = page_url("tools_registry_actiontoggle_change", toggle)
        known = {"agent": agent, "integration": "crm", "action": "find_contact"}
        saved = self._post(page, "action", known | fields)
        assert "was changed successfully" in saved.text

    def _post(self, page: str, field: str, values: dict[str, str]) -> httpx2.Response:
        form = form_with(self._browser.get(page).text, field)
        hidden = {name: value for name, value in form.fields if name.startswith(("csrf", "shown"))}
        answer = self._browser.post(page, data=hidden | values)
        assert answer.status_code == 200, answer.text
        return answer


def publish(running: Laboratory, second: Laboratory) -> None:
    """Turn a switch twice in the admin of one process while a client listens to the other."""
    account = running.account
    cast = running.evaluate(CAST.format(organization=account.organization))
    with closing(Open(running)) as stream:
        stream.receives("acknowledged")
        with closing(SwitchAdmin(second.server.url, account.email)) as admin:
            admin.switch(cast, enabled="on")
            stream.receives("acknowledged", "list_changed")
            admin.switch(cast)
            stream.receives("acknowledged", "list_changed", "list_changed")


@pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="no REDIS_URL to test against")
def test_a_switch_turned_in_the_admin_of_one_process_is_published_through_redis(
    laboratory: Laboratory, second_laboratory: Laboratory
) -> None:
    publish(laboratory.with_account(), second_laboratory)


def test_a_message_is_pushed_to_the_sockets_of_its_credential_in_every_process(
    laboratory: Laboratory, second_laboratory: Laboratory
) -> None:
    running, second = laboratory.with_account(), second_laboratory
    ((token, authorization),) = mint(running, 1).items()
    with (
        open_socket(running.port, token) as here,
        open_socket(second.port, token) as there,
        open_socket(running.port, running.token) as other,
    ):
        running.evaluate(PUSH.format(authorization=authorization))
        assert here.receive()["method"] == there.receive()["method"] == "notifications/x"
        # One that reconnects gets it too, and none of them twice.
        with open_socket(running.port, token) as late:
            assert late.receive()["method"] == "notifications/x"
        for client in (here, there, other):
            assert client.request("ping")["result"] == {}


# SIGTERM: tests/tools_registry/test_asgi_shutdown.py.
@pytest.mark.daily
def test_a_server_that_is_interrupted_ends_its_streams_in_order(tmp_path: Path) -> None:
    with fixture_server.laboratory(tmp_path) as running, ExitStack() as streams:
        opened = [streams.enter_context(closing(Open(running, request_id=n))) for n in range(3)]
        for stream in opened:
            stream.receives("acknowledged")
        running.server.process.send_signal(signal.SIGINT)
        for stream in opened:
            stream.receives("acknowledged", "ended")
            assert stream.is_over()
        running.server.process.wait(TIMEOUT)
        log = running.server.log.read_text()
    # The server says so when it has to break something off.
    assert "timeout graceful shutdown exceeded" not in log
    assert "Traceback" not in log
    assert '"level": "error"' not in log
