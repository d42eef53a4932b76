"""Statements are prepared on PostgreSQL, and what breaks a prepared one breaks one call at most."""

import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.db import connection
from psycopg import sql

from foundation import limits
from foundation.db.waits import TRUSTED_SECONDS
from mcp_protocol.revisions import Revision
from tests.drivers.fixture_server import Laboratory, laboratory
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.statements import AUDIT, AUTHENTICATE, FINISH, SWITCHES, first_table

pytestmark = pytest.mark.skipif(
    settings.ON_SQLITE, reason="SQLite's module keeps the statements of a connection by itself"
)
WIRES = [Revision.V2025_11_25, Revision.V2026_07_28]
PREPARED = """
SELECT statement, generic_plans + custom_plans, generic_plans FROM pg_prepared_statements
"""
# PostgreSQL weighs five plans for the values against the lasting one, once it is prepared.
ENOUGH = 5 + 5 + 5
CONNECT = """
from tools_registry.models import ActionToggle, IntegrationMode
from workspace.models import Organization
place = Organization.objects.get(pk={organization!r})
IntegrationMode.objects.create(organization=place, integration="crm", connection="connected")
for action in ("find_contact", "create_deal"):
    ActionToggle.objects.create(
        agent=place.agents.get(), integration="crm", action=action, enabled=True
    )
"""


@pytest.fixture
def client(mcp: McpClient, grant: Grant, settings: object) -> McpClient:
    """A client whose statements the connection has received often enough."""
    settings.HALO_LIMIT_STORE = "memory"  # type: ignore[attr-defined]  the fixture has no type
    limits.reset_store()
    grant.connect("crm", enabled=("find_contact", "create_deal"))
    for _ in range(ENOUGH):
        once(mcp)
    return mcp


def once(client: McpClient) -> None:
    assert client.call("crm.find_contact").status == 200
    assert client.call("crm.create_deal").facts == {"deal": "d1"}
    assert client.tool_names()


def executions() -> dict[str, int]:
    """How often each prepared statement of this connection has run, by verb and table."""
    found: dict[str, int] = {}
    for statement, runs, _generic in rows():
        found[first_table(statement)] = found.get(first_table(statement), 0) + runs
    return found


def rows() -> list[tuple[str, int, int]]:
    with connection.cursor() as cursor:
        cursor.execute(PREPARED)
        message = cursor.fetchall()
    return [row for row in message if "pg_prepared_statements" not in row[0]]


def test_the_driver_is_asked_to_prepare() -> None:
    options = settings.DATABASES["default"]["OPTIONS"]
    assert options["server_side_binding"] is True
    assert 0 < options["prepare_threshold"] <= 5


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("revision", WIRES, ids=str)
def test_every_statement_of_a_call_and_a_list_runs_prepared(
    client: McpClient, revision: Revision
) -> None:
    before = executions()
    once(client.with_revision(revision))
    ran = {name: runs - before.get(name, 0) for name, runs in executions().items()}
    assert {name: runs for name, runs in ran.items() if runs} == {
        AUTHENTICATE: 3,
        SWITCHES: 3,
        AUDIT: 2,
        FINISH: 1,
    }


@pytest.mark.usefixtures("lab", "client")
def test_hot_statements_are_bound_by_the_server_and_planned_once() -> None:
    hot = {AUTHENTICATE, SWITCHES, AUDIT}
    kept = [row for row in rows() if first_table(row[0]) in hot]
    assert {first_table(statement) for statement, _runs, _generic in kept} == hot
    assert all("$1" in statement for statement, _runs, _generic in kept)
    settled = {first_table(statement) for statement, _runs, generic in kept if generic}
    assert settled == hot


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """A server with one thread, so that every call meets the same connection."""
    folder: Path = tmp_path_factory.mktemp("prepared")
    with laboratory(folder, {"HALO_CORE_THREADS": "1"}) as started:
        started.evaluate(CONNECT.format(organization=started.account.organization))
        yield started


@pytest.fixture
def warm(running: Laboratory) -> McpClient:
    """A client of a server whose one connection is new and has everything prepared."""
    client = McpClient(running.token, transport=http_transport(running.server.mcp_url))
    end_connections(running)
    assert statuses(client, ENOUGH)[1:] == [200] * (ENOUGH - 1)
    return client


def statuses(client: McpClient, calls: int = 4) -> list[int]:
    """What as many calls of a tool of our own are answered, one behind the other."""
    return [client.call("echo", {"value": 1}).status for _ in range(calls)]


def execute(running: Laboratory, *commands: str) -> None:
    """As somebody else does, who is connected to the same database."""
    with closing(psycopg.connect(running.env["DATABASE_URL"], autocommit=True)) as admin:
        for command in commands:
            admin.execute(sql.SQL(command))


def widen(running: Laboratory) -> None:
    execute(
        running,
        "ALTER TABLE oauth_accesstoken ADD COLUMN later integer NOT NULL DEFAULT 0",
        "ALTER TABLE action_executions ADD COLUMN later integer",
    )


def retype(running: Laboratory) -> None:
    """What a longer `max_length` does: the row that a prepared statement promised is another."""
    execute(running, "ALTER TABLE oauth_client ALTER COLUMN name TYPE varchar(300)")


def end_connections(running: Laboratory) -> None:
    execute(
        running,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()",
    )


def forget_plans(running: Laboratory) -> None:
    """Like ANALYZE and a new index: every plan is made again."""
    execute(running, "CREATE INDEX ON oauth_accesstoken (created)", "ANALYZE")


@pytest.mark.process
@pytest.mark.parametrize(
    "change",
    [
        pytest.param(widen, id="column", marks=pytest.mark.daily),
        pytest.param(retype, id="type", marks=pytest.mark.daily),
        pytest.param(forget_plans, id="plans", marks=pytest.mark.daily),
        pytest.param(end_connections, id="connection"),
    ],
)
def test_what_breaks_a_connection_or_its_statements_costs_one_call_at_most(
    running: Laboratory, warm: McpClient, change: Callable[[Laboratory], None]
) -> None:
    change(running)
    first, *later = statuses(warm)
    assert first in {200, 500, 503}
    assert later == [200, 200, 200]


@pytest.mark.process
def test_a_connection_that_broke_while_nobody_called_costs_no_call(
    running: Laboratory, warm: McpClient
) -> None:
    end_connections(running)
    time.sleep(TRUSTED_SECONDS + 0.1)  # no event: a connection is trusted for that time
    assert statuses(warm) == [200] * 4
