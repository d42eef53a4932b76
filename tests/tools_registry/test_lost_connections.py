"""PostgreSQL ends the connection of a tool in the middle of its query (security review, L6)."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import connection

from audit.models import ActionExecution
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


@pytest.fixture
def client() -> Iterator[McpClient]:
    runs.clear()
    with registry.including(LOSING):
        yield McpClient(grants.granted("actions:*").token())


def test_l6_a_tool_that_only_reads_runs_once_more(client: McpClient) -> None:
    assert client.call("read_once").facts == 42
    assert len(runs) == 2


@pytest.mark.parametrize(("tool", "times"), [("read_never", 2), ("write_once", 1)])
def test_l6_a_tool_that_loses_again_or_writes_is_a_503(
    client: McpClient, tool: str, times: int
) -> None:
    reply = client.call(tool)
    assert (reply.status, reply.headers["retry-after"]) == (503, "1")
    assert "lost" in reply.error["message"]
    assert len(runs) == times
    row = ActionExecution.objects.get(tool=tool)
    assert (row.outcome, row.reason) == ("tool_error", "internal")
    assert client.call(tool).status in {200, 503}
