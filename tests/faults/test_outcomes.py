"""Calls in flight while the database breaks or the server stops: their outcome is never lost.

Each scenario compares what callers were promised with what the API did and what is on record.
"""

import json
import os
import signal
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx2
import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.accounts import Account, open_account
from tests.drivers.evaluation import evaluate
from tests.drivers.mcp import McpClient, Reply, http_transport
from tests.drivers.person import form_with
from tests.drivers.server import (
    RAISED,
    Server,
    backends_of_its_own,
    environment,
    free_port,
    lay_tables,
    start_server,
)
from tests.faults.proxy import Fault, FaultProxy
from tests.tools_registry.test_asgi_process import wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not os.environ.get("DATABASE_URL", "").startswith("postgres"),
        reason="connections to PostgreSQL break",
    ),
]

ANSWER_SECONDS = 60
# Longer than a server gave a call when it stopped, and shorter than an API may take.
LONG_SECONDS = 12.0
LIST, DELETE = "list_users", "delete_user"
# Of a process: the fewest that a setting may give it, and as many calls as one API may have.
CONNECTIONS = 4

PROJECT = """
import json
from django.conf import settings
from django.test import Client
from gateway.models import PolicyRule
from oauth import mcp_tokens
from tests.drivers import project_rows
from workspace import organizations
from workspace.models import Organization, User
organization = Organization.objects.get(pk={organization!r})
owner = User.objects.get(email={email!r})
member = User.objects.create_user("member-of-{name}-" + owner.email)
organizations.join(organization, member)
row = project_rows.project(organization, owner, name={name!r}, target_url={api!r})
if {is_allowed}:
    PolicyRule.objects.create(project=row, position=0, pattern="*", effect="allow")
token = mcp_tokens.issue(member, organization, f"/{{row.pk}}", name="Laptop", days=0, address="")
browser = Client()
browser.force_login(owner)
session = browser.cookies[settings.SESSION_COOKIE_NAME].value
print(json.dumps([row.pk, token.secret, settings.SESSION_COOKIE_NAME, session]))
"""
ROWS = """
import json
from audit.models import ActionExecution
rows = ActionExecution.objects.filter(surface="gateway:{project}", method="tools/call")
rows = rows.exclude(outcome="pending_approval")
print(json.dumps([*rows.values_list("outcome", flat=True)]))
"""
REQUESTS = """
import json
from approvals.models import ApprovalRequest
rows = ApprovalRequest.objects.filter(surface="gateway:{project}")
print(json.dumps([*rows.values_list("status", flat=True)]))
"""


class HeldApi(ThreadingHTTPServer):
    """An API that notes what it begins and does, and answers once it is released."""

    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _HeldApiHandler)
        self.begun = threading.Semaphore(0)
        self.released = threading.Event()
        self.hold_seconds = float(ANSWER_SECONDS)
        self.log: list[tuple[str, str]] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"

    def count_done(self) -> Counter[str]:
        """How often each path was done; what was begun was done too."""
        begun, done = (
            Counter(path for word, path in self.log if word == each) for each in ("begun", "done")
        )
        assert begun == done
        return done


class _HeldApiHandler(BaseHTTPRequestHandler):
    server: HeldApi

    def do_GET(self) -> None:
        api = self.server
        api.log.append(("begun", self.path))
        api.begun.release()
        api.released.wait(api.hold_seconds)
        api.log.append(("done", self.path))
        body = json.dumps({"done": self.path}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_DELETE = do_GET  # noqa: N815  the name is that of the base class

    def log_message(self, *_message: Any) -> None:
        """Says nothing."""


@dataclass(frozen=True)
class DatabaseProxyDeployment:
    """A server behind a proxy to its database, and the environment past the proxy."""

    server: Server
    database: FaultProxy
    env: Mapping[str, str] = field(repr=False)

    def read(self, code: str, **values: Any) -> Any:
        return json.loads(evaluate(self.env, code.format(**values)))


@dataclass(frozen=True)
class DeployedProject:
    """A project with a member's client and its owner's browser."""

    deployment: DatabaseProxyDeployment
    id: str
    client: McpClient
    owner: httpx2.Client

    def outcomes(self) -> Counter[str]:
        """The audit rows of its calls, by outcome."""
        return Counter(self.deployment.read(ROWS, project=self.id))

    def requests(self) -> Counter[str]:
        """Its requests for approval, by status."""
        return Counter(self.deployment.read(REQUESTS, project=self.id))

    def request(self, user: str) -> str:
        """Files a request for approval; returns its id."""
        key: str = self.client.call(DELETE, {"id": user}).facts["requestId"]
        return key

    def approve(self, key: str) -> httpx2.Response:
        page = self.owner.get(f"/requests/{key}").text
        form = dict(form_with(page, "csrfmiddlewaretoken").fields)
        token = {"csrfmiddlewaretoken": form["csrfmiddlewaretoken"]}
        referrer = {"Referer": f"{self.owner.base_url}requests/{key}"}
        return self.owner.post(f"/requests/{key}/approve", data=token, headers=referrer)


@contextmanager
def start_deployment(folder: Path, **settings: str) -> Iterator[DatabaseProxyDeployment]:
    """Web process and worker, whose connections to PostgreSQL go through a proxy."""
    port = free_port()
    with backends_of_its_own(port) as backends:
        direct = environment(folder, port) | RAISED | backends | settings
        lay_tables(direct)
        url = urlsplit(direct["DATABASE_URL"])
        with FaultProxy(url.port or 5432) as database:
            place = url._replace(netloc=url.netloc.rpartition(":")[0] + f":{database.port}")
            given = direct | {"DATABASE_URL": place.geturl()}
            address = f"http://127.0.0.1:{port}"
            with start_server(address, folder / "server.log", given, "manage.py", "up") as server:
                yield DatabaseProxyDeployment(server, database, direct)


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DatabaseProxyDeployment]:
    with start_deployment(tmp_path_factory.mktemp("outcomes")) as deployment:
        yield deployment


@pytest.fixture
def api() -> Iterator[HeldApi]:
    with HeldApi() as api:
        thread = threading.Thread(target=api.serve_forever, args=(0.05,))
        thread.start()
        yield api
        api.released.set()
        api.shutdown()
        thread.join()


@contextmanager
def project_on(
    deployment: DatabaseProxyDeployment, api: HeldApi, *, is_allowed: bool
) -> Iterator[DeployedProject]:
    """A project of a new organization; its writes are allowed, or need an approval."""
    account: Account = open_account(deployment.env)
    key, token, cookie, session = deployment.read(
        PROJECT,
        organization=account.organization,
        email=account.email,
        name="Directory",
        api=api.url,
        is_allowed=is_allowed,
    )
    url = deployment.server.url
    client = McpClient(token, Revision.V2025_06_18).with_transport(http_transport(f"{url}/{key}"))
    with httpx2.Client(base_url=url, cookies={cookie: session}, timeout=ANSWER_SECONDS) as owner:
        yield DeployedProject(deployment, key, client, owner)


@pytest.fixture
def allowing_project(
    deployment: DatabaseProxyDeployment, api: HeldApi
) -> Iterator[DeployedProject]:
    with project_on(deployment, api, is_allowed=True) as project:
        yield project


@pytest.fixture
def reviewed_project(
    deployment: DatabaseProxyDeployment, api: HeldApi
) -> Iterator[DeployedProject]:
    with project_on(deployment, api, is_allowed=False) as project:
        yield project


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(4) as pool:
        yield pool


def delete(
    pool: ThreadPoolExecutor, project: DeployedProject, api: HeldApi, user: str
) -> Future[Reply]:
    """A write that the API has begun."""
    call = pool.submit(project.client.call, DELETE, {"id": user})
    assert api.begun.acquire(timeout=ANSWER_SECONDS)
    return call


def is_answered(reply: Reply, path: str) -> bool:
    """Whether a call has the result of the API, with its own id."""
    return reply.status == 200 and reply.json["id"] == 1 and path in str(reply.result)


def test_a_write_is_answered_with_its_result_when_its_connection_breaks(
    deployment: DatabaseProxyDeployment,
    allowing_project: DeployedProject,
    api: HeldApi,
    pool: ThreadPoolExecutor,
) -> None:
    call = delete(pool, allowing_project, api, "ada")
    deployment.database.cut_connections()
    api.released.set()
    assert is_answered(call.result(ANSWER_SECONDS), "/users/ada")
    assert api.count_done() == {"/users/ada": 1}
    assert allowing_project.outcomes() == {"success": 1}


@pytest.mark.daily
def test_reads_are_answered_when_their_connections_break(
    deployment: DatabaseProxyDeployment,
    allowing_project: DeployedProject,
    api: HeldApi,
    pool: ThreadPoolExecutor,
) -> None:
    calls = [
        pool.submit(allowing_project.client.call, LIST, {"limit": number}) for number in range(4)
    ]
    for _ in calls:
        assert api.begun.acquire(timeout=ANSWER_SECONDS)
    deployment.database.cut_connections()
    api.released.set()
    for call in calls:
        assert is_answered(call.result(ANSWER_SECONDS), "/users?limit=")
    assert sum(api.count_done().values()) == 4
    assert allowing_project.outcomes() == {"success": 4}


@pytest.mark.daily
def test_while_the_database_is_away_a_write_is_answered_and_recorded_later(
    deployment: DatabaseProxyDeployment,
    allowing_project: DeployedProject,
    api: HeldApi,
    pool: ThreadPoolExecutor,
) -> None:
    call = delete(pool, allowing_project, api, "ada")
    with deployment.database.fault(Fault.CUT):
        api.released.set()
        assert is_answered(call.result(ANSWER_SECONDS), "/users/ada")
    assert allowing_project.outcomes() == {"started": 1}
    # What was kept is written with the next outcome.
    wait_until(lambda: allowing_project.client.call(LIST).status == 200)
    wait_until(lambda: allowing_project.outcomes()["started"] == 0)
    assert allowing_project.outcomes()["success"] >= 2
    assert api.count_done()["/users/ada"] == 1


@pytest.mark.daily
def test_a_write_that_is_repeated_with_its_key_is_done_once(
    deployment: DatabaseProxyDeployment,
    allowing_project: DeployedProject,
    api: HeldApi,
    pool: ThreadPoolExecutor,
) -> None:
    meta = {"idempotency_key": "one intent"}

    def call() -> Reply:
        return allowing_project.client.call(DELETE, {"id": "ada"}, meta=meta)

    first = pool.submit(call)
    assert api.begun.acquire(timeout=ANSWER_SECONDS)
    deployment.database.cut_connections()
    wait_until(lambda: call().status == 409)
    api.released.set()
    assert is_answered(first.result(ANSWER_SECONDS), "/users/ada")
    deployment.database.cut_connections()
    wait_until(lambda: is_answered(call(), "/users/ada"))
    assert api.count_done() == {"/users/ada": 1}


@pytest.mark.daily
def test_the_result_of_an_approved_request_is_kept_when_connections_break(
    deployment: DatabaseProxyDeployment, reviewed_project: DeployedProject, api: HeldApi
) -> None:
    key = reviewed_project.request("ada")
    assert reviewed_project.approve(key).status_code == 302
    assert api.begun.acquire(timeout=ANSWER_SECONDS)
    assert reviewed_project.requests() == {"running": 1}
    deployment.database.cut_connections()
    api.released.set()
    wait_until(lambda: reviewed_project.requests() == {"done": 1})
    wait_until(
        lambda: is_answered(reviewed_project.client.call(DELETE, {"id": "ada"}), "/users/ada")
    )
    assert api.count_done() == {"/users/ada": 1}


@pytest.mark.daily
def test_f9_calls_that_wait_for_an_api_keep_no_connection(
    tmp_path: Path, api: HeldApi, pool: ThreadPoolExecutor
) -> None:
    with (
        start_deployment(tmp_path, HALO_DATABASE_CONNECTIONS=str(CONNECTIONS)) as deployment,
        project_on(deployment, api, is_allowed=True) as project,
    ):
        calls = {
            f"/users/{number}": delete(pool, project, api, str(number))
            for number in range(CONNECTIONS)
        }
        assert DELETE in project.client.tool_names()
        api.released.set()
        for path, call in calls.items():
            assert is_answered(call.result(ANSWER_SECONDS), path)
        assert api.count_done() == dict.fromkeys(calls, 1)
        assert project.outcomes() == {"success": CONNECTIONS}


@pytest.mark.daily
def test_a_server_that_stops_waits_for_a_write_that_takes_long(
    tmp_path: Path, api: HeldApi, pool: ThreadPoolExecutor
) -> None:
    api.hold_seconds = LONG_SECONDS
    with (
        start_deployment(tmp_path, HALO_STOP_SECONDS="30") as deployment,
        project_on(deployment, api, is_allowed=True) as project,
    ):
        call = delete(pool, project, api, "ada")
        deployment.server.process.send_signal(signal.SIGTERM)
        assert is_answered(call.result(ANSWER_SECONDS), "/users/ada")
        assert deployment.server.process.wait(ANSWER_SECONDS) == 0
        assert api.count_done() == {"/users/ada": 1}
        assert project.outcomes() == {"success": 1}


@pytest.mark.daily
def test_a_worker_that_stops_waits_for_an_approved_request(tmp_path: Path, api: HeldApi) -> None:
    api.hold_seconds = LONG_SECONDS
    with (
        start_deployment(tmp_path, HALO_STOP_SECONDS="30") as deployment,
        project_on(deployment, api, is_allowed=False) as project,
    ):
        assert project.approve(project.request("ada")).status_code == 302
        assert api.begun.acquire(timeout=ANSWER_SECONDS)
        deployment.server.process.send_signal(signal.SIGTERM)
        assert deployment.server.process.wait(ANSWER_SECONDS) == 0
        assert api.count_done() == {"/users/ada": 1}
        assert project.outcomes() == {"success": 1}
        assert project.requests() == {"done": 1}


@pytest.mark.daily
def test_a_write_that_outlasts_the_time_to_stop_has_an_unknown_outcome(
    tmp_path: Path, api: HeldApi, pool: ThreadPoolExecutor
) -> None:
    with (
        start_deployment(tmp_path, HALO_STOP_SECONDS="5") as deployment,
        project_on(deployment, api, is_allowed=True) as allowed,
    ):
        call = delete(pool, allowed, api, "ada")
        deployment.server.process.send_signal(signal.SIGTERM)
        reply = call.result(ANSWER_SECONDS)
        assert (reply.status, reply.json["id"]) == (200, 1)
        assert "The outcome is unknown" in reply.error["message"]
        assert "retry-after" not in reply.headers
        assert deployment.server.process.wait(ANSWER_SECONDS) == 0
        assert allowed.outcomes() == {"started": 1}
