"""An earlier version serves the migrated database next to the present one, under load.

No call fails with an error of a server, and what was acknowledged is on record, once.
"""

import json
import os
import subprocess
import tarfile
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from io import BytesIO
from itertools import cycle
from pathlib import Path

import httpx2
import pytest

from tests.drivers.evaluation import evaluate
from tests.drivers.mcp import McpClient, Reply, http_transport
from tests.drivers.server import (
    RAISED,
    ROOT,
    backends_of_its_own,
    environment,
    free_port,
    lay_tables,
    start_server,
)
from tests.faults.proxy import FaultProxy
from tests.faults.test_outcomes import (
    ANSWER_SECONDS,
    DELETE,
    LIST,
    DatabaseProxyDeployment,
    DeployedProject,
    HeldApi,
    api,
    project_on,
)
from tests.tools_registry.test_asgi_process import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.daily,
    pytest.mark.skipif(
        not os.environ.get("DATABASE_URL", "").startswith("postgres"),
        reason="an upgrade without an interruption requires PostgreSQL",
    ),
]
__all__ = ["api"]

# The last one with the migrations that the present ones replace. Use the tag of the release once
# there is one.
EARLIER = "2a72267"
RATES = {f"HALO_RATE_{name}": "100000/m" for name in ("TOOLS_CALL", "GATEWAY_CALL")}
# The earlier version carries out few calls of an organization at the same time.
THREADS, CALLS = 4, 25
REFRESHES = 30

CHAIN = """
import json
from oauth import scopes
from oauth.grants import tokens
from tests.drivers import grants
grant = grants.make_grant("docs:read")
pair = tokens.issue(grant.authorization, scopes.parse("docs:read"))
print(json.dumps([grant.client.client_id, pair.refresh]))
"""


@pytest.fixture(scope="module")
def earlier(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The code of the earlier version."""
    archive = subprocess.run(
        ["git", "archive", EARLIER], cwd=ROOT, capture_output=True, check=False
    )
    if archive.returncode:
        pytest.skip(f"the clone does not have the commit {EARLIER}")
    folder = tmp_path_factory.mktemp("earlier")
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")
    return folder


@pytest.fixture(scope="module")
def versions(
    earlier: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[DatabaseProxyDeployment, DatabaseProxyDeployment]]:
    """A web process of the present version, and one of the earlier, on one migrated database."""
    folder = tmp_path_factory.mktemp("versions")
    port, other = free_port(), free_port()
    with backends_of_its_own(port) as backends:
        env = environment(folder, port) | RAISED | RATES | backends
        lay_tables(env)
        words = ("-m", "halo_mcp.server.serve")
        with (
            start_server(
                f"http://127.0.0.1:{port}", folder / "present.log", env, *words
            ) as present,
            start_server(
                f"http://127.0.0.1:{other}",
                folder / "earlier.log",
                env | {"PORT": str(other)},
                *words,
                code=earlier,
            ) as old,
            # No connection goes through it.
            FaultProxy(0) as unused,
        ):
            yield (
                DatabaseProxyDeployment(present, unused, env),
                DatabaseProxyDeployment(old, unused, env),
            )


def clients_of(
    project: DeployedProject, versions: tuple[DatabaseProxyDeployment, DatabaseProxyDeployment]
) -> list[McpClient]:
    """The client of a project at each version."""
    return [
        project.client.with_transport(http_transport(f"{version.server.url}/{project.id}"))
        for version in versions
    ]


@contextmanager
def owner_at(version: DatabaseProxyDeployment, project: DeployedProject) -> Iterator[httpx2.Client]:
    """The browser of the owner of a project at a version."""
    url, cookies = version.server.url, project.owner.cookies
    with httpx2.Client(base_url=url, cookies=cookies, timeout=ANSWER_SECONDS) as owner:
        yield owner


def call_all(calls: list[Callable[[], Reply]]) -> Counter[int]:
    """Makes the calls, several at a time; returns how often each status was answered."""
    with ThreadPoolExecutor(THREADS) as pool:
        replies = [*pool.map(lambda call: call(), calls)]
    for reply in replies:
        assert "result" in reply.json, reply.body
    return Counter(reply.status for reply in replies)


def test_two_versions_serve_one_database(
    versions: tuple[DatabaseProxyDeployment, DatabaseProxyDeployment], api: HeldApi
) -> None:
    present, _earlier = versions
    api.released.set()
    with (
        project_on(present, api, is_allowed=True) as allowed,
        project_on(present, api, is_allowed=False) as reviewed,
    ):
        calls: list[Callable[[], Reply]] = []
        for number in range(CALLS):
            user = {"id": f"{number}"}
            for client in clients_of(allowed, versions):
                calls.append(partial(client.call, LIST, {"limit": number}))
                calls.append(partial(client.call, DELETE, user))
            calls += [partial(each.call, DELETE, user) for each in clients_of(reviewed, versions)]
        assert call_all(calls) == {200: 6 * CALLS}
        # Each version has its own request for a call: the present one binds more of it.
        assert reviewed.requests() == {"pending": 2 * CALLS}
        done = api.count_done()
        assert (done.total(), {*done.values()}) == (4 * CALLS, {2})
        assert allowed.outcomes() == {"success": 4 * CALLS}


def test_a_request_of_the_present_version_is_executed_once_at_the_earlier(
    versions: tuple[DatabaseProxyDeployment, DatabaseProxyDeployment], api: HeldApi
) -> None:
    present, earlier = versions
    api.released.set()
    with project_on(present, api, is_allowed=False) as reviewed:
        key = reviewed.request("ada")
        with owner_at(earlier, reviewed) as owner:
            assert replace(reviewed, owner=owner).approve(key).status_code == 302
        wait_until(lambda: reviewed.requests() == {"done": 1})
        assert reviewed.client.call(DELETE, {"id": "ada"}).status == 200
        assert api.count_done() == {"/users/ada": 1}


def test_a_request_of_the_earlier_version_has_to_be_requested_again_at_the_present(
    versions: tuple[DatabaseProxyDeployment, DatabaseProxyDeployment], api: HeldApi
) -> None:
    present, _earlier = versions
    api.released.set()
    with project_on(present, api, is_allowed=False) as reviewed:
        at_present, at_earlier = clients_of(reviewed, versions)
        key = at_earlier.call(DELETE, {"id": "ada"}).facts["requestId"]
        assert reviewed.approve(key).status_code == 302
        assert reviewed.requests() == {"failed": 1}
        assert at_present.call(DELETE, {"id": "ada"}).facts["requestId"] != key
        assert api.count_done() == {}


def test_a_chain_of_refreshes_goes_through_both_versions(
    versions: tuple[DatabaseProxyDeployment, DatabaseProxyDeployment],
) -> None:
    client_id, refresh_token = json.loads(evaluate(versions[0].env, CHAIN))
    for version, _number in zip(cycle(versions), range(REFRESHES), strict=False):
        form = {
            "grant_type": "refresh_token",
            "client_id": client_id,
            "refresh_token": refresh_token,
        }
        answer = httpx2.post(f"{version.server.url}/oauth/token", data=form, timeout=ANSWER_SECONDS)
        assert answer.status_code == 200, answer.text
        refresh_token = answer.json()["refresh_token"]
