"""What an answer is good for: the question as it was put, for its time, and not without end."""

import asyncio
from typing import Any

import pytest
import time_machine
from django.db import OperationalError

from mcp_protocol.revisions import Revision
from oauth.models import AccessToken
from tests.drivers.asgi import Wire
from tests.drivers.elicitation_client import (
    EVERYTHING,
    ElicitationClient,
    accept,
    facts,
    outcomes,
    requests_on,
    response,
)
from tests.drivers.elicitation_tools import PRICES
from tests.drivers.mcp import McpClient, Reply
from tools_registry.endpoint import elicitation_store
from tools_registry.endpoint.streams import conversation
from tools_registry.models import Question
from tools_registry.pipeline import calls

pytestmark = pytest.mark.usefixtures("lab")

CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
YES = {"sure": accept(sure=True)}


@pytest.fixture
def dearer(monkeypatch: pytest.MonkeyPatch) -> Any:
    return lambda: monkeypatch.setattr("tests.drivers.elicitation_tools.PRICES", [*PRICES, 1000])


def ask(client: McpClient, tool: str, **more: Any) -> Reply:
    params = {"name": tool, "arguments": {}, "_meta": {CAPABILITIES: EVERYTHING}}
    return client.with_revision(Revision.V2026_07_28).request("tools/call", {**params, **more})


def again(client: McpClient, tool: str, before: Reply, answers: dict[str, Any]) -> Reply:
    state = before.result["requestState"]
    return ask(client, tool, inputResponses=answers, requestState=state)


def test_a_yes_to_one_question_is_no_yes_to_another(mcp: McpClient, dearer: Any) -> None:
    first = ask(mcp, "pay")
    dearer()
    second = again(mcp, "pay", first, YES)
    (request,) = second.result["inputRequests"].values()
    assert request["params"]["message"].startswith("Pay 1000 euros?\n")
    assert again(mcp, "pay", second, YES).facts == {"paid": 1000}


def test_a_yes_on_a_stream_is_no_yes_to_another_question(
    elicitation_client: ElicitationClient, dearer: Any
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("pay") as wire:
            (first,) = await requests_on(wire)
            dearer()
            await elicitation_client.answer(first, YES["sure"])
            await wire.wait_until(lambda: wire.body.count(b"elicitation/create") == 2)
            second = (await requests_on(wire))[-1]
            assert second["params"]["message"].startswith("Pay 1000 euros?\n")
            await elicitation_client.answer(second, YES["sure"])
        return wire

    assert facts(asyncio.run(script())) == {"paid": 1000}


def test_an_answer_does_not_get_younger_by_being_carried_along(
    mcp: McpClient, settings: Any
) -> None:
    settings.HALO_ACCESS_TOKEN_SECONDS = 100_000
    with time_machine.travel("2026-03-01T12:00:00Z", tick=False) as clock:
        reply = ask(mcp, "two_rounds")
        reply = again(mcp, "two_rounds", reply, {"first": accept(name="Ada")})
        clock.shift(500)
        reply = again(mcp, "two_rounds", reply, {})
        clock.shift(101)
        late = again(mcp, "two_rounds", reply, {"second": accept(colour="blue")})
    assert late.error["code"] == -32602


def test_only_so_many_questions_of_a_client_wait(elicitation_client: ElicitationClient) -> None:
    async def script() -> Wire:
        principal = elicitation_client.client.token
        assert principal
        async with elicitation_client.call("greet") as wire:
            await requests_on(wire)
            await elicitation_client.see(more_of_the_same)
            async with elicitation_client.call("greet") as other:
                await other.wait_until(lambda: b"isError" in other.body)
                assert b"too many unanswered questions" in other.body
            wire.gone.set()
        return wire

    asyncio.run(script())


def more_of_the_same() -> None:
    one = Question.objects.get()
    elicitation_store.put(one.authorization_id, elicitation_store.MAX_OPEN - 1)  # type: ignore[arg-type]  # its text


def test_a_database_that_is_away_for_a_moment_ends_no_question(
    elicitation_client: ElicitationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    collect, failed = elicitation_store.collect, []

    def flaky(ids: Any) -> Any:
        if not failed:
            failed.append(1)
            raise OperationalError("away")
        return collect(ids)

    monkeypatch.setattr(conversation, "CHECK_SECONDS", 0.05)
    monkeypatch.setattr(elicitation_store, "collect", flaky)

    async def script() -> Wire:
        async with elicitation_client.call("greet") as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.answer(request, accept(name="Ada"))
        return wire

    assert facts(asyncio.run(script())) == {"greeting": "Hello, Ada"}
    assert failed


def test_a_call_that_starts_late_is_asked_at_every_gate_again(
    elicitation_client: ElicitationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(calls, "FRESH_SECONDS", 0)
    recheck = conversation.credentials.recheck

    def delete_and_recheck(*given: Any) -> Any:
        AccessToken.objects.all().delete()
        return recheck(*given)

    monkeypatch.setattr(conversation.credentials, "recheck", delete_and_recheck)

    async def script() -> Wire:
        async with elicitation_client.call(
            "count_up", {"to": 1}, meta={"progressToken": "p"}
        ) as wire:
            pass
        return wire

    answer = response(asyncio.run(script()))
    assert "no longer valid" in str(answer)
    assert outcomes() == ["refused"]
