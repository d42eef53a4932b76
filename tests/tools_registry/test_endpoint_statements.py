"""The hot path, statement by statement: a budget that grows only on purpose."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from documentation import search
from foundation import ids, limits
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.statements import (
    AUDIT,
    AUTHENTICATE,
    CUSTOMERS,
    EVENT,
    FINISH,
    PAGES,
    SWITCHES,
    first_table,
)
from tools_registry.models import ActionToggle
from workspace.models import Organization


@pytest.fixture(autouse=True)
def _counters_elsewhere(settings: Any) -> None:
    """In PostgreSQL the limits cost one statement more, and in Redis and memory none."""
    settings.HALO_LIMIT_STORE = "memory"
    limits.reset_store()


def statements(captured: CaptureQueriesContext) -> list[str]:
    """What each statement does and to which table first."""
    return [first_table(query["sql"]) for query in captured.captured_queries]


def test_search_docs_costs_authentication_audit_and_its_own_search(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(search, "answer", lambda _query, _limit: search.DocumentationAnswer())
    with CaptureQueriesContext(connection) as captured:
        mcp.call("search_docs", {"query": "x"})
    assert statements(captured) == [AUTHENTICATE, AUDIT]


def test_a_list_costs_authentication_and_the_switches(mcp: McpClient) -> None:
    with CaptureQueriesContext(connection) as captured:
        mcp.request("tools/list")
    assert statements(captured) == [AUTHENTICATE, SWITCHES]


@pytest.mark.parametrize("method", ["resources/templates/list", "prompts/list"])
def test_lists_of_templates_and_prompts_cost_no_more(mcp: McpClient, method: str) -> None:
    with CaptureQueriesContext(connection) as captured:
        mcp.request(method)
    assert statements(captured) == [AUTHENTICATE, SWITCHES]


def test_a_list_of_resources_costs_one_look_at_the_documentation(mcp: McpClient) -> None:
    with CaptureQueriesContext(connection) as captured:
        mcp.request("resources/list")
    assert statements(captured) == [AUTHENTICATE, SWITCHES, PAGES]


def test_reading_a_page_costs_the_page_and_its_row(mcp: McpClient) -> None:
    with CaptureQueriesContext(connection) as captured:
        mcp.request("resources/read", {"uri": "docs://tokens"})
    assert statements(captured) == [AUTHENTICATE, PAGES, AUDIT]


def test_ping_costs_authentication(mcp: McpClient) -> None:
    with CaptureQueriesContext(connection) as captured:
        mcp.request("ping")
    assert statements(captured) == [AUTHENTICATE]


@pytest.mark.usefixtures("lab")
def test_a_tool_of_an_integration_costs_one_look_at_its_switches(
    mcp: McpClient, grant: Grant
) -> None:
    grant.connect("crm", enabled=("find_contact",))
    with CaptureQueriesContext(connection) as captured:
        assert mcp.call("crm.find_contact").facts == {"contact": "c1"}
    assert statements(captured) == [AUTHENTICATE, SWITCHES, AUDIT]


@pytest.mark.usefixtures("lab")
def test_many_switches_and_many_calls_on_record_add_no_statement(
    mcp: McpClient, grant: Grant
) -> None:
    grant.connect("crm", enabled=("find_contact", *(f"action_{number}" for number in range(300))))
    for _ in range(20):
        mcp.call("crm.find_contact")
    with CaptureQueriesContext(connection) as captured:
        mcp.call("crm.find_contact")
        mcp.request("tools/list")
    assert statements(captured) == [AUTHENTICATE, SWITCHES, AUDIT, AUTHENTICATE, SWITCHES]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("key", ["bound_end_user_id", "bound_email"])
def test_a_binding_adds_one_look_at_the_customers(mcp: McpClient, grant: Grant, key: str) -> None:
    customer = grant.customer(email="ada@example.com")
    named = {"bound_end_user_id": customer.pk, "bound_email": customer.email}
    with CaptureQueriesContext(connection) as captured:
        assert mcp.call("echo", {"value": 1}, meta={key: named[key]}).facts == 1
    assert statements(captured) == [AUTHENTICATE, CUSTOMERS, AUDIT]


@pytest.mark.usefixtures("lab")
def test_caps_are_read_with_what_is_read_anyway(mcp: McpClient, grant: Grant) -> None:
    grant.connect("crm", enabled=("find_contact",))
    ActionToggle.objects.update(calls_per_minute=5)
    Organization.objects.update(calls_per_minute=5)
    with CaptureQueriesContext(connection) as captured:
        assert mcp.call("crm.find_contact").facts == {"contact": "c1"}
    assert statements(captured) == [AUTHENTICATE, SWITCHES, AUDIT]


@pytest.mark.usefixtures("lab")
def test_a_call_with_side_effects_is_recorded_before_and_after(
    mcp: McpClient, grant: Grant
) -> None:
    grant.connect("crm", enabled=("create_deal",))
    with CaptureQueriesContext(connection) as captured:
        assert mcp.call("crm.create_deal").facts == {"deal": "d1"}
    assert statements(captured) == [AUTHENTICATE, SWITCHES, AUDIT, FINISH]


@pytest.mark.django_db
def test_what_cannot_be_a_token_of_ours_is_never_looked_up() -> None:
    with CaptureQueriesContext(connection) as captured:
        McpClient("halo_at_short").request("ping")
    assert statements(captured) == [EVENT]


@pytest.mark.django_db
def test_a_stranger_costs_one_look_and_one_count() -> None:
    with CaptureQueriesContext(connection) as captured:
        McpClient(ids.opaque("halo_at_")).request("ping")
    assert statements(captured) == [AUTHENTICATE, EVENT]


@pytest.mark.parametrize("method", ["GET", "OPTIONS", "DELETE"])
def test_what_needs_no_caller_costs_nothing(mcp: McpClient, method: str) -> None:
    with CaptureQueriesContext(connection) as captured:
        mcp.http(method, headers={"Accept": "application/json"})
    assert statements(captured) == []
