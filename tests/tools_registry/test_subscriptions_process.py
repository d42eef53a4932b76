"""Listening over real sockets: an admin's page of one process is received in another."""

import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path

import httpx2
import pytest

from foundation.admin_urls import page_url
from tests.drivers.fixture_server import Laboratory, laboratory
from tests.drivers.mcp import McpClient, events_in
from tests.drivers.person import form_with
from tests.drivers.server import EMAIL, PASSWORD, Server, free_port, started
from tests.drivers.subscription_client import judged, request_of

pytestmark = pytest.mark.process

TIMEOUT = 20
CAST = f"""
from django.contrib.auth import get_user_model
from tools_registry.models import ActionToggle, IntegrationMode
from workspace.models import Organization
get_user_model().objects.create_superuser({EMAIL!r}, {PASSWORD!r})
organization = Organization.objects.get()
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
        assert judged(events_in(self._read)) == list(wanted)

    def is_over(self) -> bool:
        return b"".join(self._chunks) == b""

    def close(self) -> None:
        self._response.close()
        self._client.close()


@contextmanager
def second_process(running: Laboratory, folder: Path) -> Iterator[Server]:
    """Another web process on the same database, without the fixture tools."""
    port = free_port()
    words = ("-m", "uvicorn", "halo_mcp.asgi:application", "--port", str(port), "--no-access-log")
    env = {**running.env, "PORT": str(port)}
    with started(f"http://127.0.0.1:{port}", folder / "second.log", env, *words) as server:
        yield server


class Admin:
    """An admin's browser."""

    def __init__(self, url: str) -> None:
        self._browser = httpx2.Client(base_url=url, timeout=TIMEOUT, follow_redirects=True)
        self.close = self._browser.close
        self._post("/signin", "login", {"login": EMAIL, "password": PASSWORD})

    def switch(self, cast: str, **fields: str) -> None:
        """Save the page of the action's switch."""
        toggle, agent = cast.split()
        page = page_url("tools_registry_actiontoggle_change", toggle)
        known = {"agent": agent, "integration": "crm", "action": "find_contact"}
        saved = self._post(page, "action", known | fields)
        assert "was changed successfully" in saved.text

    def _post(self, page: str, field: str, values: dict[str, str]) -> httpx2.Response:
        form = form_with(self._browser.get(page).text, field)
        hidden = {name: value for name, value in form.fields if name.startswith("csrf")}
        answer = self._browser.post(page, data=hidden | values)
        assert answer.status_code == 200, answer.text
        return answer


@pytest.fixture(params=["redis", "none"], ids=["redis", "own-carrier"])
def carrier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Notices through Redis, and as they go without it: PostgreSQL's own, or a file."""
    if request.param == "none":
        monkeypatch.delenv("REDIS_URL", raising=False)
    elif not os.environ.get("REDIS_URL"):
        pytest.skip("no REDIS_URL to test against")


@pytest.mark.usefixtures("carrier")
def test_a_switch_turned_in_the_admin_of_one_process_is_published_to_another(
    tmp_path: Path,
) -> None:
    with laboratory(tmp_path) as running, second_process(running, tmp_path) as second:
        cast = running.evaluate(CAST)
        with closing(Open(running)) as stream:
            stream.receives("acknowledged")
            with closing(Admin(second.url)) as admin:
                admin.switch(cast, enabled="on")
                stream.receives("acknowledged", "list_changed")
                admin.switch(cast)
                stream.receives("acknowledged", "list_changed", "list_changed")


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT], ids=["SIGTERM", "SIGINT"])
def test_a_server_that_is_asked_to_stop_ends_its_streams_in_order(
    tmp_path: Path, ending: signal.Signals
) -> None:
    with laboratory(tmp_path) as running, ExitStack() as streams:
        opened = [streams.enter_context(closing(Open(running, request_id=n))) for n in range(3)]
        for stream in opened:
            stream.receives("acknowledged")
        running.server.process.send_signal(ending)
        for stream in opened:
            stream.receives("acknowledged", "ended")
            assert stream.is_over()
        running.server.process.wait(TIMEOUT)
        log = running.server.log.read_text()
    # The server says so when it has to break something off.
    assert "timeout graceful shutdown exceeded" not in log
    assert "Traceback" not in log
    assert '"level": "error"' not in log
