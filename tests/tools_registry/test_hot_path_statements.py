"""What one call and one list may ask of the database, on both wires.

Authenticate, gate, audit: whatever the answer is, nothing on the hot path costs more than that,
and nothing that reaches the driver goes past the count.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import pytest

from foundation import limits
from foundation.limits import Limit
from mcp_protocol.revisions import Revision
from tests.drivers.fake_vendors import help_desk, site
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tests.drivers.statements import (
    AUDIT,
    AUTHENTICATE,
    CREDENTIAL,
    CUSTOMERS,
    FINISH,
    SWITCHES,
    first_table,
    record_driver_statements,
    record_statements,
)
from tools_registry.models import ActionToggle
from workspace.models import Organization

pytestmark = pytest.mark.usefixtures("lab")
WIRES = [Revision.V2025_11_25, Revision.V2026_07_28]
FIND, DEAL = "crm.find_contact", "crm.create_deal"
Ask: TypeAlias = Callable[[McpClient], Reply]
Arrange: TypeAlias = Callable[[Grant, Any], object]


@pytest.fixture(autouse=True)
def _counters_elsewhere(settings: Any) -> None:
    """In PostgreSQL the limits cost one statement more, and in Redis and memory none."""
    settings.HALO_LIMIT_STORE = "memory"
    limits.reset_store()


@dataclass(frozen=True)
class CostCase:
    """A request, what it was answered, and what that may cost."""

    arrange: Arrange
    ask: Ask
    reason: str
    cost: list[str]


def calling(tool: str, **arguments: Any) -> Ask:
    return lambda client: client.call(tool, arguments)


def ask_with_binding(**keys: str) -> Ask:
    return lambda client: client.call(FIND, meta=keys)


def listing(client: McpClient) -> Reply:
    return client.request("tools/list")


def nothing(_grant: Grant, _settings: Any) -> None:
    """Nothing is arranged."""


def connect(grant: Grant, _settings: Any) -> None:
    grant.connect("crm", enabled=("find_contact", "create_deal", "delete_contact"))


def mode_off(grant: Grant, _settings: Any) -> None:
    grant.connect("crm", enabled=("find_contact",), actions_on=False)


def action_off(grant: Grant, _settings: Any) -> None:
    grant.connect("crm")


def connect_and_narrow(grant: Grant, settings: Any) -> None:
    connect(grant, settings)
    grant.narrow("docs:read")


def flag_off(grant: Grant, _settings: Any) -> None:
    grant.switch_off("mcp_server")


def connect_and_cap(grant: Grant, settings: Any) -> None:
    connect(grant, settings)
    ActionToggle.objects.update(calls_per_minute=5)
    Organization.objects.update(calls_per_minute=5)


def with_customers(grant: Grant, settings: Any) -> None:
    connect(grant, settings)
    grant.customer(email="ada@example.com")


def connect_and_spend(name: str) -> Arrange:
    def arrange(grant: Grant, settings: Any) -> None:
        connect(grant, settings)
        setattr(settings, name, Limit(1, 60))
        client = McpClient(grant.token(), Revision.V2025_11_25)
        client.call(FIND)
        listing(client)

    return arrange


READ, REFUSED = [AUTHENTICATE, SWITCHES, AUDIT], [AUTHENTICATE, AUDIT]
CALLS = {
    "own": CostCase(nothing, calling("echo", value=1), "", [AUTHENTICATE, AUDIT]),
    "read": CostCase(connect, calling(FIND), "", READ),
    "write": CostCase(connect, calling(DEAL), "", [*READ, FINISH]),
    "capped": CostCase(connect_and_cap, calling(FIND), "", READ),
    "capped-write": CostCase(connect_and_cap, calling(DEAL), "", [*READ, FINISH]),
    "bound": CostCase(
        with_customers,
        ask_with_binding(bound_email="ada@example.com"),
        "",
        [AUTHENTICATE, SWITCHES, CUSTOMERS, AUDIT],
    ),
}
# By the first word of the layer that refuses, in the order in which they are asked.
REFUSALS = {
    "limit": CostCase(
        connect_and_spend("HALO_RATE_TOOLS_CALL"), calling(FIND), "rate_limited", REFUSED
    ),
    "flag": CostCase(flag_off, calling(FIND), "feature_disabled", REFUSED),
    "destructive": CostCase(connect, calling("crm.delete_contact"), "destructive_blocked", READ),
    "connection": CostCase(nothing, calling(FIND), "not_connected", READ),
    "integration": CostCase(mode_off, calling(FIND), "integration_disabled", READ),
    "agent": CostCase(action_off, calling(FIND), "agent_disabled", READ),
    "scope": CostCase(connect_and_narrow, calling(FIND), "scope_denied", READ),
    "binding": CostCase(
        connect,
        ask_with_binding(bound_email="nobody@example.com"),
        "binding_rejected",
        [AUTHENTICATE, SWITCHES, CUSTOMERS, AUDIT],
    ),
    "shape-of-binding": CostCase(
        connect, ask_with_binding(bound_email=""), "binding_rejected", READ
    ),
}
LISTS = {
    "list": CostCase(nothing, listing, "", [AUTHENTICATE, SWITCHES]),
    "list-connected": CostCase(connect_and_cap, listing, "", [AUTHENTICATE, SWITCHES]),
    "list-limit": CostCase(
        connect_and_spend("HALO_RATE_TOOLS_LIST"), listing, "rate_limited", REFUSED
    ),
    "list-flag": CostCase(flag_off, listing, "feature_disabled", REFUSED),
}
CASES = CALLS | REFUSALS | LISTS


def reason_of(reply: Reply) -> str:
    """Why a request was refused; empty for one that succeeded."""
    if "error" in reply.json:
        return str(reply.json["error"]["data"]["reason"])
    assert reply.result.get("isError") in {None, False}, reply.body
    return ""


@pytest.mark.parametrize("revision", WIRES, ids=str)
@pytest.mark.parametrize("name", CASES)
def test_a_request_costs_no_more_than_its_budget(
    mcp: McpClient, grant: Grant, settings: Any, revision: Revision, name: str
) -> None:
    case = CASES[name]
    case.arrange(grant, settings)
    with record_statements() as received, record_driver_statements() as reached:
        reply = case.ask(mcp.with_revision(revision))
    assert reason_of(reply) == case.reason
    assert [statement.name for statement in received] == case.cost
    # No transaction, no savepoint, no look whether the connection lives: those are round trips too.
    assert [first_table(sql) for sql in reached] == case.cost


@pytest.mark.parametrize("revision", WIRES, ids=str)
@pytest.mark.parametrize(
    "tool", [pytest.param("nope", id="unknown"), pytest.param(7, id="no-name")]
)
def test_a_tool_that_does_not_exist_costs_its_row(
    mcp: McpClient, revision: Revision, tool: Any
) -> None:
    with record_driver_statements() as reached:
        assert "error" in mcp.with_revision(revision).call(tool).json
    assert [first_table(sql) for sql in reached] == [AUTHENTICATE, AUDIT]


@pytest.mark.parametrize("revision", WIRES, ids=str)
def test_arguments_that_do_not_fit_cost_no_more_than_those_that_do(
    mcp: McpClient, revision: Revision
) -> None:
    with record_driver_statements() as reached:
        assert mcp.with_revision(revision).call("echo", {"other": 1}).result["isError"]
    assert [first_table(sql) for sql in reached] == [AUTHENTICATE, AUDIT]


@pytest.mark.parametrize("revision", WIRES, ids=str)
@pytest.mark.parametrize("how", ["not_found", "integration", "raises"])
def test_a_tool_that_fails_costs_no_more_than_one_that_does_not(
    mcp: McpClient, revision: Revision, how: str
) -> None:
    with record_driver_statements() as reached:
        assert mcp.with_revision(revision).call("fail", {"how": how}).result["isError"]
    assert [first_table(sql) for sql in reached] == [AUTHENTICATE, AUDIT]


@pytest.fixture
def vendor(grant: Grant, settings: Any) -> Iterator[site.Site]:
    """A vendor that the organization is connected to."""
    with help_desk.open_desk(settings) as opened:
        help_desk.connect(grant)
        yield opened


@pytest.mark.parametrize("revision", WIRES, ids=str)
@pytest.mark.parametrize(
    ("tool", "order"),
    [
        pytest.param("desk.get_ticket", [CREDENTIAL, AUDIT], id="read"),
        # What changes something is on record before the vendor hears of it.
        pytest.param("desk.open_ticket", [AUDIT, CREDENTIAL, FINISH], id="write"),
        pytest.param("desk.idle", [AUDIT], id="asks-nothing"),
    ],
)
def test_a_call_to_a_vendor_adds_one_look_at_the_credential(
    mcp: McpClient, vendor: site.Site, revision: Revision, tool: str, order: list[str]
) -> None:
    vendor.script(site.saying("done"))
    with record_driver_statements() as reached:
        assert mcp.with_revision(revision).call(tool).facts == "done"
    assert [first_table(sql) for sql in reached] == [AUTHENTICATE, SWITCHES, *order]
