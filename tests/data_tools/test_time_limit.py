"""A data tool that takes too long: its statement is cancelled, and its call fails with a reason."""

import time
from collections.abc import Iterator
from typing import Any, Literal

import pytest
from django.db import connection

from audit.models import ActionExecution
from data_tools.query import DataToolCall, data_tool, results
from foundation.db.time_limit import TimeLimitExceeded, time_limit
from tests.drivers.data_tools import answer, refusal
from tests.drivers.grants import make_grant
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import Facts, Toolset

pytestmark = pytest.mark.django_db(transaction=True)

COUNTING = Toolset(scope="data:read", title="Counting")
ENDLESS = (
    "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT 1 - n FROM numbers)"
    " SELECT max(n) FROM numbers"
)
LONG = ENDLESS.replace(
    "max(n) FROM numbers", "max(n) FROM (SELECT n FROM numbers LIMIT 20000) AS n"
)


@data_tool(
    COUNTING,
    title="Count",
    description="Counts to one, or without end.",
    result=results.schema(counted=results.WHOLE),
)
def data_count(call: DataToolCall, end: Literal["one", "none"] = "one") -> Facts:
    counted = scalar("SELECT 1" if end == "one" else ENDLESS)
    return results.answer(call, counted=counted, rows=1)


def scalar(statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()[0]


@pytest.fixture
def client() -> Iterator[McpClient]:
    with registry.including(COUNTING):
        yield McpClient(make_grant("data:read").token())


def test_a_call_that_takes_too_long_fails_and_the_next_one_is_answered(
    client: McpClient, settings: Any
) -> None:
    settings.HALO_DATA_SECONDS = 0.2
    failure = {
        "code": -32603,
        "message": ("The call took longer than 0.2 seconds. Use a shorter period or more filters."),
        "reason": "timeout",
    }

    for _ in range(2):
        assert refusal(client, "data_count", end="none") == failure
        assert answer(client, "data_count", end="one")["counted"] == 1

    rows = ActionExecution.objects.filter(tool="data_count").order_by("id")
    ends = [("tool_error", "timeout"), ("success", "")] * 2
    assert list(rows.values_list("outcome", "reason")) == ends


def test_a_shorter_limit_is_kept_while_a_longer_one_runs() -> None:
    with time_limit(600):
        with pytest.raises(TimeLimitExceeded), time_limit(0.1):
            scalar(ENDLESS)
        assert scalar("SELECT 1") == 1


def test_other_errors_of_the_database_are_passed_on() -> None:
    wrong = "SELECT * FROM no_such_table"
    with pytest.raises(Exception, match="no_such_table") as caught, time_limit(5):
        scalar(wrong)
    assert not isinstance(caught.value, TimeLimitExceeded)


def test_no_statement_is_cancelled_after_the_block() -> None:
    until = time.monotonic() + 0.3
    with time_limit(0.05):
        scalar("SELECT 1")
    while time.monotonic() < until:
        assert scalar(LONG) == 1
