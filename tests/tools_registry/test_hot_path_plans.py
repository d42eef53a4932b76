"""How the database finds what the hot path asks for, with many tenants in every table.

The statements are those that went out, with the values that went out beside them.
"""

from typing import Any

import pytest
from django.db import connection

from foundation import limits
from oauth import principal
from oauth.models import AccessToken
from tests.drivers import crowd, plans
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.standins import desk, site
from tests.drivers.statements import (
    AUDIT,
    AUTHENTICATE,
    CREDENTIAL,
    CUSTOMERS,
    FINISH,
    SWITCHES,
    Statement,
    asked,
)

HOT = {AUTHENTICATE, SWITCHES, CUSTOMERS, CREDENTIAL, AUDIT, FINISH}
# What every audit row costs beside itself. Each is one more page to write in the same commit.
AUDIT_INDICES = {
    "primary key",
    "audit_by_organization",
    "audit_by_authorization",
    "audit_unfinished",
}


@pytest.fixture
def hot(grant: Grant, settings: Any) -> list[Statement]:
    """Every statement that calls and lists send, with a crowd around the one who asks."""
    settings.HALO_LIMIT_STORE = "memory"
    limits.reset_store()
    crowd.gather()
    customer = grant.customer(email="ada@example.com")
    client = McpClient(grant.token())
    token_id = AccessToken.objects.get(authorization=grant.authorization).pk
    with desk.opened(settings) as vendor:
        vendor.script(site.saying("done"), site.saying("done"))
        desk.connect(grant)
        plans.gather_statistics()
        with asked() as heard:
            principal.recheck(token_id)
            assert client.tool_names()
            assert client.call("desk.get_ticket", meta={"bound_email": customer.email}).facts
            assert client.call("desk.open_ticket", meta={"bound_end_user_id": customer.pk}).facts
    return list({statement.sql: statement for statement in heard}.values())


def test_nothing_on_the_hot_path_reads_a_whole_table(hot: list[Statement]) -> None:
    assert {statement.name for statement in hot} == HOT
    read_whole = {statement.sql: plans.whole_tables(statement) for statement in hot}
    assert {sql: tables for sql, tables in read_whole.items() if tables} == {}
    # By the token's hash, by its id, of one integration, of all, and a customer either way.
    assert [statement.name for statement in hot].count(AUTHENTICATE) == 2
    assert [statement.name for statement in hot].count(SWITCHES) == 2
    assert [statement.name for statement in hot].count(CUSTOMERS) == 2
    # And a table that is read whole would be seen.
    unaided = Statement("SELECT id FROM workspace_user WHERE name = %s", ("Ada",))
    assert plans.whole_tables(unaided)


@pytest.mark.django_db
def test_an_audit_row_maintains_these_indices_and_no_more() -> None:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, "action_executions")
    kept = {
        "primary key" if one["primary_key"] else name
        for name, one in found.items()
        if one["index"] or one["unique"] or one["primary_key"]
    }
    assert kept == AUDIT_INDICES
