"""Web processes in production form, whose PostgreSQL and Redis are behind proxies that can fail."""

import json
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

import httpx2

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
from tests.faults.proxy import FaultProxy

PROCESSES: Final = 2
RATES: Final = {"HALO_RATE_TOOLS_CALL": "100000/m", "HALO_RATE_GATEWAY_CALL": "100000/m"}
FOUND: Final = """
import json
from django.conf import settings
from django.db import transaction
from documentation import index
from oauth import mcp_tokens
from tests.drivers import grants
from tests.drivers.project_rows import project

index.refresh(settings.HALO_DOCS_SOURCE)
grant = grants.make_grant("docs:read")
own = project(grant.organization, grant.user)
with transaction.atomic():
    new = mcp_tokens.issue(
        grant.user, grant.organization, f"/{own.pk}", name="faults", days=1, address="127.0.0.1"
    )
print(json.dumps({"token": grant.token(), "project": own.pk, "project_token": new.secret}))
"""


@dataclass(frozen=True)
class ProxiedDeployment:
    """The server, the proxies of its stores, and an organization with a project."""

    server: Server
    database: FaultProxy
    store: FaultProxy
    token: str
    project: str
    project_token: str

    def search(self, seconds: float) -> httpx2.Response:
        """Calls a tool that reads."""
        arguments = {"query": "token"}
        return self._call("/api/mcp", self.token, "search_docs", arguments, seconds)

    def request_approval(self, number: int, seconds: float) -> httpx2.Response:
        """Calls a tool of the project that writes, which has to be approved."""
        arguments = {"id": f"user-{number}"}
        return self._call(f"/{self.project}", self.project_token, "delete_user", arguments, seconds)

    def get(self, path: str, seconds: float) -> httpx2.Response:
        return httpx2.get(self.server.url + path, timeout=seconds)

    def _call(
        self, path: str, token: str, tool: str, arguments: Mapping[str, Any], seconds: float
    ) -> httpx2.Response:
        message = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": arguments},
        }
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/json, text/event-stream",
        }
        return httpx2.post(self.server.url + path, json=message, headers=headers, timeout=seconds)


@contextmanager
def deployment(folder: Path, given: Mapping[str, str] | None = None) -> Iterator[ProxiedDeployment]:
    """Two web processes without a worker, on a database and a Redis database of their own."""
    port = free_port()
    with ExitStack() as stack:
        direct = environment(folder, port) | RAISED | RATES | dict(given or {})
        direct |= {"HALO_PROCESSES": str(PROCESSES)}
        direct |= stack.enter_context(backends_of_its_own(port))
        lay_tables(direct)
        facts = json.loads(evaluate(direct, FOUND))
        database = stack.enter_context(FaultProxy(_port_of(direct["DATABASE_URL"], 5432)))
        store = stack.enter_context(FaultProxy(_port_of(direct["REDIS_URL"], 6379)))
        env = direct | {
            "DATABASE_URL": _proxy_url(database, direct["DATABASE_URL"]),
            "REDIS_URL": _proxy_url(store, direct["REDIS_URL"]),
        }
        words = ("-m", "halo_mcp.server.serve", "--workers", str(PROCESSES))
        log = folder / "server.log"
        server = stack.enter_context(start_server(f"http://127.0.0.1:{port}", log, env, *words))
        yield ProxiedDeployment(server, database, store, **facts)


def answers_of(many: int, call: Any) -> list[Any]:
    """What so many calls at the same time return or raise, in no order."""

    def attempt(number: int) -> Any:
        try:
            return call(number)
        except httpx2.TransportError as error:
            return error

    with ThreadPoolExecutor(many) as pool:
        return [*pool.map(attempt, range(many))]


def _port_of(url: str, usual: int) -> int:
    return urlsplit(url).port or usual


def _proxy_url(proxy: FaultProxy, url: str) -> str:
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{user}{'@' * bool(user)}127.0.0.1:{proxy.port}").geturl()
