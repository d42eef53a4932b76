"""A vendor that says nothing, seen by everybody else at the same real server process."""

import json
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.fake_vendors import site
from tests.drivers.fake_vendors.site import Answer, Site
from tests.drivers.fixture_server import Laboratory
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.servers import vendor_port

pytestmark = pytest.mark.process

TIMEOUT = 15
SHARE = 4  # a quarter of HALO_VENDOR_CALLS
# By who it is; to the lucky one the vendor answers.
KEYS = ("unlucky", "unlucky-too", "lucky")
PREPARE = """
import json
from tests.drivers import grants
from tools_registry.models import IntegrationMode
from tools_registry.vendors import credentials

def connect_grant(key):
    grant = grants.make_grant("actions:*")
    grant.connect("patient", enabled=("ask",))
    credentials.store(IntegrationMode.objects.get(organization=grant.organization), key)
    return {{"token": grant.token(), "organization": str(grant.organization.pk)}}

print(json.dumps(list(map(connect_grant, {keys!r}))))
"""
LAST_ROWS = """
from audit.models import ActionExecution
rows = ActionExecution.objects.filter(tool="patient.ask", outcome="rate_limited")
rows = rows.filter(organization_id={organization!r})
print(sorted({{row.reason for row in rows}}), rows.count())
"""


@dataclass
class Town:
    """Three organizations at one server; the vendor drips for two of them until `over`.

    `organization` is the id of the first one.
    """

    running: Laboratory
    organization: str
    vendor: Site
    unlucky: McpClient
    unlucky_too: McpClient
    lucky: McpClient


def saying_little(over: threading.Event) -> Answer:
    slow, answering = site.dripping(over), site.saying({"id": 1})

    def answer(handler: object) -> None:
        headers = handler.headers  # type: ignore[attr-defined]  of the standard library's handler
        given = headers["Authorization"]
        (answering if given == "Bearer lucky" else slow)(handler)  # type: ignore[arg-type]  as above

    return answer


@pytest.fixture(scope="module")
def town(laboratory: Laboratory) -> Iterator[Town]:
    with site.serving(Site(port=vendor_port(laboratory.env, "patient"))) as vendor:
        vendor.usual = saying_little(vendor.over)
        connected = json.loads(laboratory.evaluate(PREPARE.format(keys=KEYS)))
        to_it = http_transport(laboratory.server.mcp_url)
        clients = (McpClient(one["token"], transport=to_it) for one in connected)
        yield Town(laboratory, connected[0]["organization"], vendor, *clients)


@pytest.fixture(autouse=True)
def _as_before(town: Town) -> None:
    town.vendor.over.clear()
    town.vendor.asked.clear()
    town.vendor.seen.clear()


def test_an_organization_whose_vendor_is_silent_harms_nobody(town: Town) -> None:
    with ThreadPoolExecutor(12) as pool:
        waiting = [pool.submit(town.unlucky.call, "patient.ask") for _ in range(12)]
        wait_until(lambda: [call.done() for call in waiting].count(True) == 12 - SHARE)
        refused = [call.result() for call in waiting if call.done()]
        assert len(town.vendor.seen) == SHARE
        assert [reply.headers["retry-after"] for reply in refused] == ["5"] * (12 - SHARE)
        for _ in range(SHARE + 1):
            assert town.lucky.call("patient.ask").facts == {"id": 1}
            assert town.unlucky.call("search_docs", {"query": "tokens"}).status == 200
            assert town.unlucky.request("ping").status == 200
        assert [call.done() for call in waiting].count(False) == SHARE
        town.vendor.over.set()
        answered = [call.result() for call in waiting]
    assert [reply.facts for reply in answered if "result" in reply.json] == [{}] * SHARE
    refusals = town.running.evaluate(LAST_ROWS.format(organization=town.organization))
    assert refusals.strip() == f"['busy'] {12 - SHARE}"


def wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT
    while not true():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def test_a_batch_that_waits_for_a_vendor_takes_no_thread_of_the_others(town: Town) -> None:
    call = {"jsonrpc": "2.0", "method": "tools/call", "params": {"name": "patient.ask"}}
    batch = [{**call, "id": 1}, {"jsonrpc": "2.0", "method": "ping", "id": 2}]
    client = town.unlucky_too.with_revision(Revision.V2025_03_26)
    with ThreadPoolExecutor(8) as pool:
        waiting = [pool.submit(client.send, batch) for _ in range(8)]
        assert town.vendor.asked.wait(10)
        for _ in range(3):
            assert town.lucky.request("ping").status == 200
        assert any(not one.done() for one in waiting)
        town.vendor.over.set()
        assert {one.result().status for one in waiting} == {200}
