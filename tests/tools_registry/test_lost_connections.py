"""PostgreSQL ends the connection of a tool in the middle of its query (security review, L6)."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from django.db import OperationalError, connection

from audit.models import ActionExecution
from foundation.store_failures import MESSAGE
from tests.drivers import grants
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(connection.vendor != "postgresql", reason="PostgreSQL ends connections"),
]

LOSING = Toolset(scope="docs:read", title="Losing")
NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
runs: list[str] = []


def query(ends: int) -> Facts:
    """Lose the connection in as many of the first runs."""
    runs.append("run")
    with connection.cursor() as cursor:
        if len(runs) <= ends:
            cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
        cursor.execute("SELECT 42")
        return Facts(cursor.fetchone()[0])


@LOSING.tool(title="Read", description="Loses once.", input_schema=NOTHING)
def read_once(_context: ToolContext, _arguments: Arguments) -> Facts:
    return query(1)


@LOSING.tool(title="Read in vain", description="Always loses.", input_schema=NOTHING)
def read_never(_context: ToolContext, _arguments: Arguments) -> Facts:
    return query(9)


@LOSING.tool(title="Write", description="Loses once.", input_schema=NOTHING, mutates=True)
def write_once(_context: ToolContext, _arguments: Arguments) -> Facts:
    return query(1)


@LOSING.tool(title="Lose", description="Loses behind.", input_schema=NOTHING, mutates=True)
def write_and_lose(_context: ToolContext, _arguments: Arguments) -> Facts:
    with connection.cursor() as cursor, suppress(OperationalError):
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    return Facts("written")


@pytest.fixture
def client() -> Iterator[McpClient]:
    runs.clear()
    with registry.including(LOSING):
        yield McpClient(grants.make_grant("actions:*").token())


def test_l6_a_tool_that_only_reads_runs_once_more(client: McpClient) -> None:
    assert client.call("read_once").facts == 42
    assert len(runs) == 2


def test_l6_a_read_that_loses_again_is_a_503(client: McpClient) -> None:
    reply = client.call("read_never")
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert reply.error["message"] == MESSAGE
    assert len(runs) == 2
    row = ActionExecution.objects.get(tool="read_never")
    assert (row.outcome, row.reason) == ("tool_error", "internal")
    assert client.call("read_never").status in {200, 503}


def test_l6_a_write_that_loses_its_connection_has_an_unknown_outcome(client: McpClient) -> None:
    reply = client.call("write_once")
    assert reply.status == 200
    assert "retry-after" not in reply.headers
    assert "The outcome is unknown" in str(reply.json)
    assert len(runs) == 1
    row = ActionExecution.objects.get(tool="write_once")
    assert (row.outcome, row.reason) == ("tool_error", "outcome_unknown")


def test_l6_a_result_is_sent_and_recorded_whose_connection_is_lost_behind_it(
    client: McpClient,
) -> None:
    assert client.call("write_and_lose").facts == "written"
    row = ActionExecution.objects.get(tool="write_and_lose")
    assert row.outcome == "success"
