"""Everything that a request counts for is counted with one question to Redis."""

import os
from typing import Any

import pytest

from foundation import limits
from foundation.limits import Limit
from mcp_protocol.revisions import Revision
from tests.drivers import redis_monitor
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tools_registry.models import ActionToggle
from workspace.models import Organization

pytestmark = [
    pytest.mark.usefixtures("lab"),
    pytest.mark.skipif(
        not os.environ.get("REDIS_URL"), reason="REDIS_URL names no Redis to count in"
    ),
]
WIRES = [Revision.V2025_11_25, Revision.V2026_07_28]


@pytest.fixture
def client(mcp: McpClient, grant: Grant, settings: Any) -> McpClient:
    """A client whose server has the script in place, so that what is counted is the usual call."""
    settings.HALO_LIMIT_STORE = os.environ["REDIS_URL"]
    limits.reset_store()
    grant.connect("crm", enabled=("find_contact", "create_deal"))
    assert find(mcp).status == 200
    return mcp


def find(client: McpClient) -> Reply:
    return client.call("crm.find_contact")


def buckets_of(sent: list[list[str]]) -> list[int]:
    """How many buckets each command charges; every command is the script."""
    assert {words[0].upper() for words in sent} <= {"EVALSHA"}, sent
    return [int(words[2]) for words in sent]


def cap_organization() -> None:
    Organization.objects.update(calls_per_minute=5)


@pytest.mark.parametrize("revision", WIRES, ids=str)
def test_a_call_is_counted_with_one_question(client: McpClient, revision: Revision) -> None:
    with redis_monitor.commands() as sent:
        assert find(client.with_revision(revision)).facts == {"contact": "c1"}
    assert buckets_of(sent) == [3]


@pytest.mark.parametrize("revision", WIRES, ids=str)
def test_the_cap_of_an_organization_is_counted_with_the_same_question(
    client: McpClient, revision: Revision
) -> None:
    cap_organization()
    with redis_monitor.commands() as sent:
        assert find(client.with_revision(revision)).facts == {"contact": "c1"}
    assert buckets_of(sent) == [4]


def test_a_change_asks_no_more_than_a_look(client: McpClient) -> None:
    cap_organization()
    with redis_monitor.commands() as sent:
        assert client.call("crm.create_deal").facts == {"deal": "d1"}
    assert buckets_of(sent) == [4]


@pytest.mark.parametrize("revision", WIRES, ids=str)
def test_a_list_is_counted_with_one_question(client: McpClient, revision: Revision) -> None:
    cap_organization()
    with redis_monitor.commands() as sent:
        assert client.with_revision(revision).tool_names()
    assert buckets_of(sent) == [3]


def test_the_cap_of_an_action_is_counted_behind_the_gate_alone(client: McpClient) -> None:
    # It is known only once the gate has been asked, and a call that the gate refuses costs none.
    ActionToggle.objects.update(calls_per_minute=5)
    with redis_monitor.commands() as sent:
        assert find(client).facts == {"contact": "c1"}
    assert buckets_of(sent) == [3, 1]


def test_a_call_that_the_gate_refuses_is_counted_once(client: McpClient, grant: Grant) -> None:
    grant.connect("crm")
    with redis_monitor.commands() as sent:
        assert find(client).error["data"]["reason"] == "agent_disabled"
    assert buckets_of(sent) == [3]


def test_a_refusal_that_is_known_already_asks_for_the_address_alone(
    client: McpClient, settings: Any
) -> None:
    settings.HALO_RATE_TOOLS_CALL = Limit(1, 60)
    assert [find(client).status for _ in range(2)] == [200, 429]
    with redis_monitor.commands() as sent:
        assert find(client).status == 429
    assert buckets_of(sent) == [1]


def test_who_is_no_caller_is_counted_with_one_question(client: McpClient) -> None:
    with redis_monitor.commands() as sent:
        assert client.holding(None).call("crm.find_contact").status == 401
    assert buckets_of(sent) == [1]
