"""While the database is away, full, or has no connection left, every surface says so in its form.

What was answered is compared with the rows: nothing acknowledged is missing, nothing is done twice.
"""

import json
import os
import resource
import secrets
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Barrier, Event
from typing import Any
from urllib.parse import urlsplit

import httpx2
import psycopg
import pytest
from psycopg import sql
from websockets.sync.client import connect

from foundation.journal import FOLDER
from foundation.store_failures import MESSAGE
from tests.drivers.evaluation import evaluate
from tests.drivers.server import (
    RAISED,
    Server,
    backends_of_its_own,
    environment,
    free_port,
    lay_tables,
    start_server,
)
from tests.drivers.websocket_client import WebSocketClient, address
from tests.faults.proxy import Fault, FaultProxy

ON_POSTGRESQL = pytest.mark.skipif(
    not os.environ.get("DATABASE_URL", "").startswith("postgres"),
    reason="connections to PostgreSQL break",
)
ON_SQLITE = pytest.mark.skipif(
    bool(os.environ.get("DATABASE_URL")), reason="the file of SQLite cannot grow"
)
pytestmark = pytest.mark.slow

SECONDS = 30
CHAINS, REFRESHES = 6, 15
CUT_SECONDS = 0.3
# Of the role: a process has more threads that use the database.
CONNECTIONS = 5
RATES = {
    f"HALO_RATE_{name}": "100000/m"
    for name in ("TOOLS_CALL", "TOOLS_LIST", "OTHER", "GATEWAY_LIST", "GATEWAY_OTHER", "AGENTS")
}
# A file of the server has no more bytes than this: its log stays below, the journal of SQLite not.
FULL_BYTES = 1_000_000
# Calls until the file is full, and those that find it so. Each is tried for some seconds.
MAX_CALLS, OUTAGES = 200, 3

FACTS = f"""
import json
from django.conf import settings
from oauth import mcp_tokens, scopes, server_keys
from oauth.grants import tokens
from oauth.models import KeyKind
from tests.drivers import grants
from tests.drivers.project_rows import project
grant = grants.make_grant("docs:read")
own = project(grant.organization, grant.user)
new = mcp_tokens.issue(
    grant.user, grant.organization, f"/{{own.pk}}", name="faults", days=1, address="127.0.0.1"
)
def key(kind, scope):
    row = server_keys.build_row(grant.organization, "faults", (scope,), 1, kind)
    return server_keys.issue(row, user=None, address="").secret
def chain():
    other = grant.another()
    pair = tokens.issue(other.authorization, scopes.parse("docs:read"))
    return [other.client.client_id, pair.refresh]
print(json.dumps({{
    "organization": str(grant.organization.pk),
    "workspace": grant.organization.slug,
    "token": grant.token(),
    "project": own.pk,
    "project_token": new.secret,
    "agent_key": key(KeyKind.AGENTS, "docs:read"),
    "hr_key": key(KeyKind.LIVE, "people:read"),
    "chains": [chain() for _ in range({CHAINS})],
    "cookie": settings.SESSION_COOKIE_NAME,
}}))
"""
ROWS = """
from audit.models import ActionExecution
print(ActionExecution.objects.filter(organization_id={organization!r}, tool="search_docs").count())
"""


@dataclass(frozen=True)
class OutageDeployment:
    """A server, and an organization with a credential for each surface."""

    server: Server
    env: Mapping[str, str] = field(repr=False)
    facts: Mapping[str, Any] = field(repr=False)

    def search(self, number: int = 1) -> httpx2.Response:
        """Calls a tool that reads."""
        params = {"name": "search_docs", "arguments": {"query": "token"}}
        return self.json_rpc("/api/mcp", self.facts["token"], "tools/call", params, number)

    def list_project(self, number: int = 1) -> httpx2.Response:
        path, token = f"/{self.facts['project']}", self.facts["project_token"]
        return self.json_rpc(path, token, "tools/list", {}, number)

    def list_hr(self, number: int = 1) -> httpx2.Response:
        path = f"/w/{self.facts['workspace']}/api/mcp"
        return self.json_rpc(path, self.facts["hr_key"], "tools/list", {}, number)

    def json_rpc(
        self, path: str, token: str, method: str, params: Any, number: int
    ) -> httpx2.Response:
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        return self._send("POST", path, token, json=message)

    def list_sessions(self) -> httpx2.Response:
        return self._send("GET", "/aap/sessions", self.facts["agent_key"])

    def list_people(self) -> httpx2.Response:
        path = f"/w/{self.facts['workspace']}/api/v1/people"
        return self._send("GET", path, self.facts["hr_key"])

    def refresh(self, client_id: str, refresh_token: str) -> httpx2.Response:
        form = {
            "grant_type": "refresh_token",
            "client_id": client_id,
            "refresh_token": refresh_token,
        }
        return httpx2.post(f"{self.server.url}/oauth/token", data=form, timeout=SECONDS)

    def _send(self, method: str, path: str, token: str, **given: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {token}", "Accept": "application/json"}
        url = f"{self.server.url}{path}"
        return httpx2.request(method, url, headers=headers, timeout=SECONDS, **given)


def is_json_rpc_outage(answer: httpx2.Response, number: int = 1) -> bool:
    body = answer.json()
    return bool((body["id"], body["error"]["message"]) == (number, MESSAGE))


def is_oauth_outage(answer: httpx2.Response) -> bool:
    return bool(answer.json()["error"] == "temporarily_unavailable")


def is_hr_outage(answer: httpx2.Response) -> bool:
    return bool(answer.json()["error"]["code"] == "unavailable")


def is_agents_outage(answer: httpx2.Response) -> bool:
    return bool(answer.json() == {"error": MESSAGE})


def works_or_reports(answer: httpx2.Response, is_outage: Callable[[httpx2.Response], bool]) -> bool:
    """Whether a request was answered; an outage is, in the form of its surface."""
    if answer.status_code == 200:
        return True
    assert answer.status_code == 503, answer.text
    assert int(answer.headers["Retry-After"]) > 0
    assert is_outage(answer), answer.text
    return False


@contextmanager
def start_deployment(
    folder: Path, database: Callable[[str], str] = str, **settings: str
) -> Iterator[OutageDeployment]:
    """One web process; `database` changes the address of the database that it gets."""
    port = free_port()
    with backends_of_its_own(port) as backends:
        direct = environment(folder, port) | RAISED | RATES | backends | settings
        lay_tables(direct)
        facts = json.loads(evaluate(direct, FACTS))
        env = dict(direct)
        if "DATABASE_URL" in env:
            env["DATABASE_URL"] = database(env["DATABASE_URL"])
        words = ("-m", "halo_mcp.server.serve")
        with start_server(f"http://127.0.0.1:{port}", folder / "server.log", env, *words) as server:
            yield OutageDeployment(server, direct, facts)


@pytest.fixture(scope="module")
def proxy() -> Iterator[FaultProxy]:
    with FaultProxy(urlsplit(os.environ["DATABASE_URL"]).port or 5432) as proxy:
        yield proxy


@pytest.fixture(scope="module")
def deployment(
    tmp_path_factory: pytest.TempPathFactory, proxy: FaultProxy
) -> Iterator[OutageDeployment]:
    def proxy_url(url: str) -> str:
        parts = urlsplit(url)
        user = parts.netloc.rpartition("@")[0]
        return parts._replace(netloc=f"{user}@127.0.0.1:{proxy.port}").geturl()

    # A connection that ends while it commits leaves open whether it has: a client that repeats its
    # refresh then may have a spent token.
    window = {"HALO_REFRESH_REPLAY_SECONDS": "30"}
    with start_deployment(tmp_path_factory.mktemp("outage"), proxy_url, **window) as deployment:
        yield deployment


@ON_POSTGRESQL
def test_f9_every_surface_reports_that_the_database_is_away_and_works_again(
    deployment: OutageDeployment, proxy: FaultProxy
) -> None:
    client_id, refresh_token = deployment.facts["chains"][0]
    attempts: list[tuple[Callable[[], httpx2.Response], Callable[[httpx2.Response], bool]]] = [
        (deployment.search, is_json_rpc_outage),
        (deployment.list_project, is_json_rpc_outage),
        (deployment.list_hr, is_json_rpc_outage),
        (deployment.list_sessions, is_agents_outage),
        (deployment.list_people, is_hr_outage),
    ]
    port = int(deployment.server.url.rpartition(":")[2])
    project, token = deployment.facts["project"], deployment.facts["project_token"]
    with connect(address(port, project=project, token=token)) as connection:
        socket = WebSocketClient(connection)
        with proxy.fault(Fault.CUT):
            for call, is_outage in attempts:
                assert not works_or_reports(call(), is_outage)
            assert not works_or_reports(
                deployment.refresh(client_id, refresh_token), is_oauth_outage
            )
            # Any session, which has to be looked up.
            cookie = {"Cookie": f"{deployment.facts['cookie']}={'a' * 32}"}
            page = httpx2.get(f"{deployment.server.url}/connections", headers=cookie)
            assert (page.status_code, "Try again" in page.text) == (503, True)
            socket.send({"jsonrpc": "2.0", "id": "mine", "method": "tools/list"})
            answer = socket.receive()
            assert (answer["id"], answer["error"]["message"]) == ("mine", MESSAGE)
    for call, _form in attempts:
        assert _wait_until_it_works(call).status_code == 200
    assert deployment.refresh(client_id, refresh_token).status_code == 200


def _wait_until_it_works(call: Callable[[], httpx2.Response]) -> httpx2.Response:
    """The first answer that is no outage; a breaker may be open for a second."""
    for _ in range(SECONDS):
        answer = call()
        if answer.status_code != 503:
            return answer
        # What the answer says; there is no event.
        Event().wait(float(answer.headers["Retry-After"]))
    pytest.fail(f"still unavailable: {answer.text}")


@ON_POSTGRESQL
@pytest.mark.daily
def test_f5_chains_of_refreshes_go_on_while_connections_break(
    deployment: OutageDeployment, proxy: FaultProxy
) -> None:
    is_over = Event()
    outages = Counter[str]()

    def follow(chain: list[str]) -> str:
        client_id, refresh_token = chain
        refreshed = 0
        while refreshed < REFRESHES:
            answer = deployment.refresh(client_id, refresh_token)
            if works_or_reports(answer, is_oauth_outage):
                refresh_token = answer.json()["refresh_token"]
                refreshed += 1
            else:
                outages[client_id] += 1
        return str(answer.json()["access_token"])

    def cut() -> None:
        while not is_over.wait(CUT_SECONDS):
            proxy.cut_connections()

    with ThreadPoolExecutor(CHAINS + 1) as pool:
        cutting = pool.submit(cut)
        chains = deployment.facts["chains"][1:]
        accesses = [*pool.map(follow, chains)]
        is_over.set()
        cutting.result()
    assert outages.total() > 0
    for access in accesses:
        call = deployment.json_rpc("/api/mcp", access, "ping", {}, 1)
        assert call.status_code == 200, call.text


@contextmanager
def role_with_few_connections() -> Iterator[str]:
    """The name of a role of PostgreSQL that may open `CONNECTIONS` connections."""
    name = f"halo_faults_{secrets.token_hex(4)}"
    url = os.environ["DATABASE_URL"]
    owner = sql.Identifier(urlsplit(url).username or "postgres")
    create = sql.SQL("CREATE ROLE {} LOGIN IN ROLE {} CONNECTION LIMIT {}")
    with psycopg.connect(url, autocommit=True) as admin:
        admin.execute(create.format(sql.Identifier(name), owner, sql.Literal(CONNECTIONS)))
        try:
            yield name
        finally:
            admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@ON_POSTGRESQL
@pytest.mark.daily
def test_f9_every_surface_reports_that_no_connection_is_left(tmp_path: Path) -> None:
    def as_role(url: str) -> str:
        parts = urlsplit(url)
        place = parts.netloc.rpartition("@")[2]
        return parts._replace(netloc=f"{role}@{place}").geturl()

    with role_with_few_connections() as role, start_deployment(tmp_path, as_role) as deployment:
        begin = Barrier(16)
        calls: list[tuple[Callable[[], httpx2.Response], Callable[[httpx2.Response], bool]]] = [
            (deployment.search, is_json_rpc_outage),
            (deployment.list_project, is_json_rpc_outage),
            (deployment.list_sessions, is_agents_outage),
            (deployment.list_people, is_hr_outage),
        ]

        def work(number: int) -> Counter[tuple[int, bool]]:
            call, is_outage = calls[number % len(calls)]
            begin.wait(SECONDS)
            answered = [works_or_reports(call(), is_outage) for _ in range(25)]
            return Counter((number % len(calls), one) for one in answered)

        with ThreadPoolExecutor(16) as pool:
            counts = sum(pool.map(work, range(16)), Counter[tuple[int, bool]]())
        # Reads of the documentation have a row each: as many as were answered, and no more.
        assert counts[0, True] == _rows_of(deployment)


def _rows_of(deployment: OutageDeployment) -> int:
    return int(evaluate(deployment.env, ROWS.format(organization=deployment.facts["organization"])))


@ON_SQLITE
@pytest.mark.daily
@pytest.mark.sqlite
def test_f9_a_full_disk_is_an_outage_that_ends_without_a_restart(tmp_path: Path) -> None:
    with start_deployment(tmp_path) as deployment:
        process = deployment.server.process.pid
        before = resource.prlimit(process, resource.RLIMIT_FSIZE)
        # As on a full disk: no file grows beyond it, and the journal cannot have one.
        resource.prlimit(process, resource.RLIMIT_FSIZE, (FULL_BYTES, before[1]))
        journal = Path(deployment.env["HALO_DATA_DIR"]) / FOLDER
        journal.touch()
        answered: list[bool] = []
        for number in range(MAX_CALLS):
            is_outage = partial(is_json_rpc_outage, number=number)
            answered.append(works_or_reports(deployment.search(number), is_outage))
            if answered.count(False) == OUTAGES:
                break
        assert answered.count(False) == OUTAGES
        journal.unlink()
        resource.prlimit(process, resource.RLIMIT_FSIZE, before)
        assert deployment.search().status_code == 200
        assert sum(answered) + 1 == _rows_of(deployment)
