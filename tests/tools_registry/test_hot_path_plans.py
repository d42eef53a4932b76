"""How the database finds what the hot path asks for, with many tenants in every table.

The statements are those that went out, with the values that went out next to them.
"""

from typing import Any

import pytest
from django.db import connection

from foundation import limits
from oauth import principal
from oauth.credentials import ACCESS_TOKEN_VERIFIERS
from oauth.models import AccessToken
from tests.drivers import many_tenants, query_plans
from tests.drivers.fake_vendors import help_desk, site
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.statements import (
    AUDIT,
    AUTHENTICATE,
    CREDENTIAL,
    CUSTOMERS,
    FINISH,
    SWITCHES,
    Statement,
    record_statements,
)

HOT = {AUTHENTICATE, SWITCHES, CUSTOMERS, CREDENTIAL, AUDIT, FINISH}
# What every audit row costs next to itself. Each is one more page to write in the same commit.
AUDIT_INDICES = {
    "primary key",
    "audit_by_organization",
    "audit_by_authorization",
    "audit_unfinished",
    "audit_by_request",
    "audit_by_client",
    "audit_by_user",
    "audit_by_integration",
    "audit_by_outcome",
    "audit_by_reason",
    "audit_by_actor",
}


@pytest.fixture
def hot(grant: Grant, settings: Any) -> list[Statement]:
    """Every statement that calls and lists send, with rows of many other tenants."""
    settings.HALO_LIMIT_STORE = "memory"
    limits.reset_store()
    many_tenants.gather()
    customer = grant.customer(email="ada@example.com")
    client = McpClient(grant.token())
    token_id = AccessToken.objects.get(authorization=grant.authorization).pk
    with help_desk.open_desk(settings) as vendor:
        vendor.script(site.saying("done"), site.saying("done"))
        help_desk.connect(grant)
        query_plans.gather_statistics()
        with record_statements() as received:
            ACCESS_TOKEN_VERIFIERS[principal.ACCESS_TOKEN].recheck(token_id)
            assert client.tool_names()
            assert client.call("desk.get_ticket", meta={"bound_email": customer.email}).facts
            assert client.call("desk.open_ticket", meta={"bound_end_user_id": customer.pk}).facts
    return list({statement.sql: statement for statement in received}.values())


def test_nothing_on_the_hot_path_reads_a_whole_table(hot: list[Statement]) -> None:
    assert {statement.name for statement in hot} == HOT
    read_whole = {statement.sql: query_plans.whole_tables(statement) for statement in hot}
    assert {sql: tables for sql, tables in read_whole.items() if tables} == {}
    # By the token's hash, by its id, of one integration, of all, and a customer either way.
    assert [statement.name for statement in hot].count(AUTHENTICATE) == 2
    assert [statement.name for statement in hot].count(SWITCHES) == 2
    assert [statement.name for statement in hot].count(CUSTOMERS) == 2
    # And a table that is read whole would be seen.
    unaided = Statement("SELECT id FROM workspace_user WHERE name = %s", ("Ada",))
    assert query_plans.whole_tables(unaided)


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
