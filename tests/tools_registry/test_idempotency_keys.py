"""A `tools/call` with an idempotency key is carried out once (docs/mcp-endpoint.md)."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError
from django.utils import timezone

from approvals.models import ApprovalRequest
from audit.models import ActionExecution
from foundation import journal
from mcp_protocol.revisions import Revision
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient, Reply
from tests.drivers.reviewed_project import open_reviewed_project
from tests.tools_registry.test_outcomes_of_writes import fail
from tools_registry import registry
from tools_registry.api import Arguments, Facts, IntegrationFailure, ToolContext, Toolset
from tools_registry.models import RepeatableCall
from tools_registry.pipeline import calls, idempotency
from tools_registry.pipeline.invocation import FinalOutcome, PreparedCall
from tools_registry.tasks import prune_repeatable_calls

pytestmark = pytest.mark.django_db(transaction=True)

TIMEOUT = 20
KEY = "a key of one intent"
SHOP = Toolset(scope="docs:read", title="Shop")
ITEM: dict[str, Any] = {
    "type": "object",
    "properties": {"item": {"type": "string"}},
    "additionalProperties": False,
}
orders: list[str] = []
failures: list[Exception] = []
begun, released = threading.Event(), threading.Event()


@SHOP.tool(title="Order", description="Changes something.", input_schema=ITEM, mutates=True)
def place_order(_context: ToolContext, arguments: Arguments) -> Facts:
    orders.append(arguments.get("item", ""))
    if failures:
        raise failures.pop()
    return Facts({"order": len(orders)})


@SHOP.tool(title="Wait", description="Waits for a test.", input_schema=ITEM, mutates=True)
def order_slowly(_context: ToolContext, arguments: Arguments) -> Facts:
    orders.append(arguments.get("item", ""))
    begun.set()
    assert released.wait(TIMEOUT)
    return Facts({"order": len(orders)})


@SHOP.tool(title="Orders", description="Reads.", input_schema=ITEM)
def count_orders(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts(len(orders))


@pytest.fixture
def actions_grant() -> Grant:
    return grants.make_grant("actions:*")


@pytest.fixture
def client(actions_grant: Grant) -> Iterator[McpClient]:
    orders.clear()
    failures.clear()
    begun.clear()
    released.clear()
    with registry.including(SHOP):
        yield McpClient(actions_grant.token())
    released.set()


def order(
    client: McpClient, item: str = "book", key: Any = KEY, tool: str = "place_order"
) -> Reply:
    return client.call(tool, {"item": item}, meta={"idempotency_key": key})


@pytest.mark.parametrize("revision", [Revision.V2025_03_26, Revision.V2026_07_28])
def test_a_call_with_a_known_key_gets_the_first_result(
    client: McpClient, revision: Revision
) -> None:
    client = client.with_revision(revision)
    first, second = order(client), order(client)
    assert first.result["content"] == second.result["content"]
    assert "repeated" not in first.result.get("_meta", {})
    assert second.result["_meta"]["repeated"] is True
    assert orders == ["book"]
    rows = ActionExecution.objects.filter(tool="place_order").order_by("pk")
    assert [(row.outcome, row.detail) for row in rows] == [
        ("success", ""),
        ("success", idempotency.NOTE),
    ]


def test_a_key_belongs_to_its_caller_and_tool(client: McpClient, actions_grant: Grant) -> None:
    order(client)
    order(client.holding(grants.make_grant("actions:*").token()))
    released.set()
    order(client, tool="order_slowly")
    assert len(orders) == 3
    order(client.holding(actions_grant.token()))
    assert len(orders) == 3


def test_a_new_key_is_another_call(client: McpClient) -> None:
    assert order(client).facts == {"order": 1}
    assert order(client, key="another").facts == {"order": 2}


def test_a_key_with_other_arguments_is_an_error(client: McpClient) -> None:
    order(client)
    reply = order(client, item="lamp")
    assert reply.code == -32602
    assert reply.error["data"]["field"] == "idempotency_key"
    assert orders == ["book"]


def test_while_the_first_call_runs_a_repeat_is_asked_to_wait(client: McpClient) -> None:
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(order, client, tool="order_slowly")
        assert begun.wait(TIMEOUT)
        repeat = order(client, tool="order_slowly")
        released.set()
        assert first.result(TIMEOUT).facts == {"order": 1}
    assert (repeat.status, repeat.headers["retry-after"]) == (409, "1")
    assert repeat.error["data"] == {"reason": "call_in_progress", "layer": "idempotency"}
    assert repeat.json["id"] == 1
    assert order(client, tool="order_slowly").facts == {"order": 1}
    assert orders == ["book"]


def test_calls_at_once_with_one_key_are_one_execution(client: McpClient) -> None:
    released.set()
    with ThreadPoolExecutor(8) as pool:
        replies = [*pool.map(lambda _: order(client), range(8))]
    assert orders == ["book"]
    assert {reply.status for reply in replies} <= {200, 409}
    assert {reply.status for reply in replies} >= {200}


def test_a_call_whose_process_was_killed_is_not_made_again(
    client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        # It is not there any more when the outcome is known.
        patched.setattr(idempotency, "store", lambda *_outcome: None)
        order(client)
    assert order(client).status == 409
    RepeatableCall.objects.update(created_at=timezone.now() - timedelta(hours=1))
    reply = order(client)
    assert reply.status == 200
    assert "The outcome is unknown" in reply.error["message"]
    assert orders == ["book"]


def test_the_first_failure_is_repeated_too(client: McpClient) -> None:
    failures.append(IntegrationFailure("The API answered 500.", upstream_status=500))
    first, second = order(client), order(client)
    assert first.error == second.error
    assert orders == ["book"]


def test_a_call_that_was_not_carried_out_is_made_with_its_key(
    client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr(calls, "FRESH_SECONDS", 0)
        patched.setattr(calls, "_check_again", mock.Mock(side_effect=OperationalError("lost")))
        assert order(client).status == 503
    assert orders == []
    assert order(client).facts == {"order": 1}


def test_a_call_that_is_refused_when_it_is_checked_again_leaves_its_key_new(
    actions_grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = idempotency.begin

    def begin_before_the_rule_changes(call: PreparedCall) -> PreparedCall | FinalOutcome:
        step = begin(call)
        allowing.delete()
        return step

    with open_reviewed_project(actions_grant) as project:
        allowing = project.rule("*", "allow")
        meta = {"idempotency_key": KEY}
        with monkeypatch.context() as patched:
            patched.setattr(calls, "FRESH_SECONDS", 0)
            patched.setattr(idempotency, "begin", begin_before_the_rule_changes)
            patched.setattr("approvals.requests.MAX_OPEN_REQUESTS", 0)
            refused = project.mcp.call("create_user", {"name": "Ada"}, meta=meta)
        assert "waiting for approval" in str(refused.error)
        assert not project.executed
        assert not RepeatableCall.objects.exists()
        again = project.mcp.call("create_user", {"name": "Ada"}, meta=meta)
        assert again.facts["status"] == "PENDING_APPROVAL"


def test_a_call_that_is_not_recorded_as_begun_leaves_its_key_new(
    client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        fail(patched, "INSERT", times=float("inf"))
        assert order(client).status == 503
    assert orders == []
    assert order(client).facts == {"order": 1}


def test_a_tool_that_reads_ignores_the_key(client: McpClient) -> None:
    assert order(client, tool="count_orders").facts == 0
    order(client)
    assert order(client, tool="count_orders").facts == 1


@pytest.mark.parametrize("key", ["", "k" * 201, 7, None, ["a"]])
def test_a_key_has_to_be_a_text_of_some_length(client: McpClient, key: Any) -> None:
    reply = order(client, key=key)
    assert (reply.code, reply.error["data"]["field"]) == (-32602, "idempotency_key")
    assert orders == []


def test_a_key_is_kept_for_a_day(client: McpClient) -> None:
    order(client)
    assert prune_repeatable_calls() == 0
    RepeatableCall.objects.update(created_at=timezone.now() - timedelta(days=1, minutes=1))
    assert prune_repeatable_calls() == 1
    assert order(client).facts == {"order": 2}


def test_the_first_result_is_stored_sealed(client: McpClient) -> None:
    order(client)
    row = RepeatableCall.objects.get()
    assert b"order" not in bytes(row.sealed_outcome)
    assert KEY not in row.key


def test_of_a_large_result_is_kept_that_there_was_one(
    client: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(idempotency, "MAX_KEPT", 5)
    assert order(client).facts == {"order": 1}
    (block,) = order(client).result["content"]
    assert block["text"] == idempotency.NOT_KEPT
    assert orders == ["book"]


def test_the_first_result_survives_the_database(
    client: McpClient, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    settings.HALO_DATA_DIR = tmp_path
    monkeypatch.setattr(journal, "PAUSES", (0.0,))

    def refuse(_entry: Any) -> None:
        raise OperationalError("the connection is lost")

    with monkeypatch.context() as patched:
        patched.setitem(journal._writes, idempotency.FIRST_OUTCOME, refuse)
        assert order(client).facts == {"order": 1}
    assert order(client).status == 409
    journal.replay()
    assert order(client).facts == {"order": 1}
    assert orders == ["book"]


def test_the_result_of_an_approved_call_is_kept_with_its_key(actions_grant: Grant) -> None:
    with open_reviewed_project(actions_grant) as project:
        meta = {"idempotency_key": KEY}

        def call() -> Reply:
            return project.mcp.call("create_user", {"name": "Ada"}, meta=meta)

        key = call().facts["requestId"]
        project.owner().post(f"/requests/{key}/approve")
        first = call()
        assert first.result["content"][0]["text"] == "made Ada"
        # Without the key, the request would not answer any more.
        ApprovalRequest.objects.update(ended_at=timezone.now() - timedelta(hours=1))
        assert call().json == first.json
        assert ApprovalRequest.objects.count() == 1
        assert project.executed == [{"name": "Ada"}]
