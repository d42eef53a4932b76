"""Many calls at the same moment, against the real server: limits hold and switches hold."""

import os
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest

from tests.drivers.fixture_server import Laboratory, laboratory
from tests.drivers.oauth_client import REGISTER, TOKEN, OAuthClient
from tests.drivers.person import Person
from tests.drivers.server import Server, running

pytestmark = [pytest.mark.process, pytest.mark.sqlite]

CAP, THREADS = 120, 24
CALLBACK = "http://127.0.0.1:33418/callback"
CONNECT = """
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from workspace.models import Organization
place = Organization.objects.get()
IntegrationMode.objects.create(organization=place, integration="crm", actions_on=True,
                               connection=ConnectionState.CONNECTED)
ActionToggle.objects.create(agent=place.agents.get(), integration="crm", action="find_contact",
                            enabled=True)
"""
SWITCH_OFF = """
from tools_registry.models import IntegrationMode
IntegrationMode.objects.update(actions_on=False)
"""


@pytest.fixture(scope="module")
def lab_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with laboratory(tmp_path_factory.mktemp("switches")) as running_lab:
        yield running_lab


def call(url: str, token: str, tool: str) -> int:
    """The JSON-RPC error code of a call, or 0 for success."""
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool}}
    bearer = {"Authorization": f"Bearer {token}"}
    reply = httpx2.post(url, json=message, headers=bearer, timeout=60)
    assert reply.status_code in {200, 429}, reply.text
    return int(reply.json().get("error", {"code": 0})["code"])


@pytest.mark.parametrize("calls", [pytest.param(100, id="V05")])
def test_no_call_that_begins_after_a_switch_was_turned_off_succeeds(
    calls: int, lab_server: Laboratory
) -> None:
    lab_server.evaluate(CONNECT)

    def timed(_turn: int) -> tuple[float, int]:
        begun = time.monotonic()
        return begun, call(lab_server.server.mcp_url, lab_server.token, "crm.find_contact")

    with ThreadPoolExecutor(8) as pool:
        before = list(pool.map(timed, range(20)))
        running_calls = pool.map(timed, range(calls))
        lab_server.evaluate(SWITCH_OFF)
        off = time.monotonic()
        reported = [*before, *running_calls, *pool.map(timed, range(calls))]
    assert {code for _, code in before} == {0}
    assert {code for begun, code in reported if begun > off} == {-32002}
    assert {code for _, code in reported} == {0, -32002}


def connected(server: Server) -> str:
    """A fresh access token of the server's own administrator."""
    document = {"redirect_uris": [CALLBACK], "token_endpoint_auth_method": "none"}
    client = OAuthClient(redirect_uri=CALLBACK)
    registered = httpx2.post(server.url + REGISTER, json=document, timeout=60)
    client.client_id = registered.json()["client_id"]
    person = Person()
    location = person.open(server.url + client.authorize_address())
    person.browser.close()
    code = parse_qs(urlsplit(location).query)["code"][0]
    proof = {"code": code, "code_verifier": client.verifier, "client_id": client.client_id}
    sent = {"grant_type": "authorization_code", **proof}
    return str(httpx2.post(server.url + TOKEN, data=sent, timeout=60).json()["access_token"])


def codes_at_once(server: Server) -> Counter[int]:
    token = connected(server)
    with ThreadPoolExecutor(THREADS) as pool:
        codes = pool.map(
            lambda _: call(server.mcp_url, token, "setup_get_jwt_sample"), range(CAP + THREADS)
        )
        return Counter(codes)


@pytest.mark.parametrize("cap", [pytest.param(CAP, id="V07")])
def test_of_many_calls_at_once_exactly_as_many_pass_as_the_cap_allows(
    cap: int, server: Server
) -> None:
    assert codes_at_once(server) == {0: cap, -32002: THREADS}


@pytest.mark.skipif(not os.environ.get("REDIS_URL"), reason="one process needs no shared counter")
@pytest.mark.parametrize("processes", [pytest.param(4, id="T05")])
def test_four_processes_count_together(processes: int, tmp_path: Path) -> None:
    with running(tmp_path, {"HALO_PROCESSES": str(processes)}) as server:
        assert codes_at_once(server) == {0: CAP, -32002: THREADS}
