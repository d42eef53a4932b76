"""What is withdrawn holds for the very next request, whoever withdrew it through whichever process.

The server keeps its connections, threads and prepared statements. What ends a token or turns a
switch is written by another process, without any notification of this server.
"""

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import Any, TypeAlias

import psycopg
import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.fixture_server import Laboratory
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.server import DATABASE

pytestmark = pytest.mark.process
WIRES = [Revision.V2025_11_25, Revision.V2026_07_28]
TOOL = "crm.find_contact"
CAST = """
from tools_registry.models import ActionToggle, IntegrationMode
from workspace.models import FeatureFlag, Organization
place = Organization.objects.get(pk={organization!r})
IntegrationMode.objects.create(organization=place, integration="crm", connection="connected")
ActionToggle.objects.create(
    agent=place.agents.get(), integration="crm", action="find_contact", enabled=True
)
FeatureFlag.objects.create(organization=place, name="mcp_server", enabled=True)
"""
THEN = "'2026-01-01 00:00:00+00:00'"
Seen: TypeAlias = tuple[int, str]


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    own = laboratory.with_account()
    own.evaluate(CAST.format(organization=own.account.organization))
    return own


@pytest.fixture(params=WIRES, ids=str)
def client(request: pytest.FixtureRequest, running: Laboratory) -> McpClient:
    transport = http_transport(running.server.mcp_url)
    return McpClient(running.token, request.param, transport=transport)


# Which rows of a table belong to an account.
OWN = {
    "oauth_accesstoken": "authorization_id = {authorization}",
    "oauth_authorization": "id = {authorization}",
    "oauth_client": "client_id = '{client_id}'",
    "tools_registry_actiontoggle": (
        "agent_id IN (SELECT id FROM workspace_agent WHERE organization_id = {organization})"
    ),
    "tools_registry_integrationmode": "organization_id = {organization}",
    "workspace_featureflag": "organization_id = {organization}",
    "workspace_organization": "id = {organization}",
    "workspace_user": "email = '{email}'",
}


def elsewhere(running: Laboratory, table: str, change: str) -> None:
    """Change the account's rows through a connection that this process alone has."""
    rows = OWN[table].format(
        authorization=quote_id(running.account.authorization),
        organization=quote_id(running.account.organization),
        client_id=running.account.client_id,
        email=running.account.email,
    )
    commit(running, f"UPDATE {table} SET {change} WHERE {rows}")  # noqa: S608  our own names


def quote_id(identifier: str) -> str:
    """An id as the database writes it: SQLite has no type for it."""
    text = identifier if os.environ.get("DATABASE_URL") else identifier.replace("-", "")
    return f"'{text}'"


def commit(running: Laboratory, command: str) -> None:
    if os.environ.get("DATABASE_URL"):
        with closing(psycopg.connect(running.env["DATABASE_URL"], autocommit=True)) as other:
            other.execute(command.encode())
        return
    path = f"{running.env['HALO_DATA_DIR']}/{DATABASE}"
    with closing(sqlite3.connect(path, timeout=20, isolation_level=None)) as other:
        other.execute(command)


def reason_of(body: Any) -> str:
    return str((body["error"].get("data") or {}).get("reason", body["error"]["code"]))


def call(client: McpClient) -> Seen:
    """The status of a call, and why it was refused."""
    reply = client.call(TOOL)
    return reply.status, reason_of(reply.json) if "error" in reply.json else ""


def list_tool(client: McpClient) -> Seen:
    """The status of a list, and what stands there of the tool, or why there is no list."""
    reply = client.request("tools/list")
    if "error" in reply.json:
        return reply.status, reason_of(reply.json)
    shown = TOOL in [tool["name"] for tool in reply.result["tools"]]
    return reply.status, "" if shown else "hidden"


@dataclass(frozen=True)
class Withdrawal:
    """A change of a table, the one that undoes it, and what a call and a list say in between."""

    table: str
    off: str
    on: str
    call: Seen
    listed: Seen


def make_withdrawal(table: str, column: str, off: str, on: str, *seen: Seen) -> Withdrawal:
    return Withdrawal(table, f"{column} = {off}", f"{column} = {on}", *seen)


GONE, HIDDEN = (401, "-32001"), (200, "hidden")
OFF = (403, "feature_disabled")
WITHDRAWN = {
    "revoked": make_withdrawal("oauth_authorization", "revoked_at", THEN, "NULL", GONE, GONE),
    "user": make_withdrawal("workspace_user", "is_active", "false", "true", GONE, GONE),
    "client": make_withdrawal("oauth_client", "disabled_at", THEN, "NULL", GONE, GONE),
    "suspended": make_withdrawal(
        "workspace_organization", "suspended_at", THEN, "NULL", GONE, GONE
    ),
    # Leaving sets the membership of every authorization under it to nothing.
    "membership": make_withdrawal(
        "oauth_authorization",
        "membership_id",
        "NULL",
        "(SELECT m.id FROM workspace_membership m WHERE m.user_id = oauth_authorization.user_id)",
        GONE,
        GONE,
    ),
    "expired": make_withdrawal(
        "oauth_accesstoken", "expires", THEN, "'2100-01-01 00:00:00+00:00'", GONE, GONE
    ),
    "flag": make_withdrawal("workspace_featureflag", "enabled", "false", "true", OFF, OFF),
    "mode": make_withdrawal(
        "tools_registry_integrationmode",
        "actions_on",
        "false",
        "true",
        (200, "integration_disabled"),
        HIDDEN,
    ),
    "connection": make_withdrawal(
        "tools_registry_integrationmode",
        "connection",
        "'not_connected'",
        "'connected'",
        (200, "not_connected"),
        HIDDEN,
    ),
    "action": make_withdrawal(
        "tools_registry_actiontoggle",
        "enabled",
        "false",
        "true",
        (200, "agent_disabled"),
        HIDDEN,
    ),
    "scope": make_withdrawal(
        "oauth_authorization", "scope", "'docs:read'", "'actions:*'", (403, "scope_denied"), HIDDEN
    ),
}


@pytest.mark.parametrize("name", WITHDRAWN)
def test_the_very_next_request_knows_and_the_one_after_it_is_undone_as_well(
    running: Laboratory, client: McpClient, name: str
) -> None:
    one = WITHDRAWN[name]
    ways: list[tuple[Callable[[McpClient], Seen], Seen]] = [
        (call, one.call),
        (list_tool, one.listed),
    ]
    # Each as the very next: first a call, then a list.
    for ask, expected in ways:
        assert ask(client) == (200, "")
        elsewhere(running, one.table, one.off)
        try:
            assert ask(client) == expected
        finally:
            elsewhere(running, one.table, one.on)
        assert ask(client) == (200, "")


@pytest.mark.parametrize("table", ["tools_registry_actiontoggle", "workspace_organization"])
def test_a_cap_holds_from_the_very_next_call(
    running: Laboratory, client: McpClient, table: str
) -> None:
    assert [call(client) for _ in range(3)] == [(200, "")] * 3
    # A cap of its own for each revision: what was counted under another one stays there.
    most = 1 + WIRES.index(client.revision)
    elsewhere(running, table, f"calls_per_minute = {most}")
    try:
        message = [call(client) for _ in range(most + 1)]
        assert message == [(200, "")] * most + [(429, "rate_limited")]
        assert list_tool(client) == (200, "")
        elsewhere(running, table, "calls_per_minute = 1000")
        assert call(client) == (200, "")
    finally:
        elsewhere(running, table, "calls_per_minute = NULL")
    assert call(client) == (200, "")
