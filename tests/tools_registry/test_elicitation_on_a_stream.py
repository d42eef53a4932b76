"""Questions at handshake revisions: on the call's own stream, answered by another request."""

import asyncio
import gc
import json
from dataclasses import replace
from functools import partial
from typing import Any

import pytest

from audit.models import ActionExecution
from mcp_protocol.envelope import JsonRpcResponse
from mcp_protocol.revisions import Revision
from tests.drivers import grants
from tests.drivers.asgi import Wire
from tests.drivers.elicitation_client import (
    ROOTED,
    SAMPLED,
    ElicitationClient,
    accept,
    facts,
    outcomes,
    requests_on,
    response,
    start_other_session,
)
from tests.drivers.grants import Grant
from tests.drivers.mcp import events_in
from tests.drivers.schemas import conforms
from tools_registry.endpoint import elicitation_store
from tools_registry.endpoint.streams import conversation
from tools_registry.models import Question
from tools_registry.pipeline.invocation import Invocation

pytestmark = pytest.mark.usefixtures("lab")

FORMS = (Revision.V2025_06_18, Revision.V2025_11_25)


@pytest.mark.parametrize("revision", FORMS, ids=str)
def test_a_question_goes_out_on_the_stream_and_the_call_goes_on_with_the_answer(
    elicitation_client: ElicitationClient, revision: Revision
) -> None:
    elicitation_client = start_other_session(elicitation_client, revision)

    async def script() -> Wire:
        async with elicitation_client.call("greet", {"word": "Hi"}) as wire:
            (request,) = await requests_on(wire)
            conforms(request, revision, "JSONRPCRequest")
            conforms(request, revision, "ElicitRequest")
            assert request["params"]["message"] == "Who are you?\n\nAnswer within 10 minutes."
            assert await elicitation_client.see(outcomes) == ["input_required"]
            assert await elicitation_client.answer(request, accept(name="Ada")) == 202
        return wire

    wire = asyncio.run(script())
    assert (wire.status, wire.headers["content-type"]) == (200, "text/event-stream")
    assert facts(wire) == {"greeting": "Hi, Ada"}
    conforms(response(wire)["result"], revision, "CallToolResult")
    assert outcomes() == ["input_required", "success"]
    assert not Question.objects.exists()


def test_a_change_is_begun_again_in_each_round(elicitation_client: ElicitationClient) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("publish", {"what": "news"}) as wire:
            (request,) = await requests_on(wire)
            assert await elicitation_client.see(outcomes) == ["input_required"]
            await elicitation_client.answer(request, accept(sure=True))
        return wire

    assert facts(asyncio.run(script())) == {"published": "news", "sure": True}
    assert outcomes() == ["input_required", "success"]


def test_several_questions_wait_for_all_their_answers(
    elicitation_client: ElicitationClient,
) -> None:
    results = {
        "elicitation/create": accept(name="Ada"),
        "sampling/createMessage": SAMPLED,
        "roots/list": ROOTED,
    }

    async def script() -> Wire:
        async with elicitation_client.call("three_at_once") as wire:
            requests = await requests_on(wire, 3)
            assert len({request["id"] for request in requests}) == 3
            for request in requests:
                await elicitation_client.answer(request, results[request["method"]])
        return wire

    message = facts(asyncio.run(script()))
    answers = {"person": accept(name="Ada"), "model": SAMPLED, "roots": ROOTED}
    assert message == {"answers": answers, "state": {"asked": 3}}


def test_a_second_round_knows_the_answers_of_the_first(
    elicitation_client: ElicitationClient,
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("two_rounds") as wire:
            (first,) = await requests_on(wire)
            await elicitation_client.answer(first, accept(name="Ada"))
            second = (await requests_on(wire, 2))[1]
            assert second["params"]["message"].startswith("Your colour, Ada?\n")
            await elicitation_client.answer(second, accept(colour="blue"))
        return wire

    assert facts(asyncio.run(script())) == {"name": "Ada", "colour": "blue"}
    assert outcomes() == ["input_required", "input_required", "success"]


@pytest.mark.parametrize("action", ["decline", "cancel"])
def test_a_person_who_declines_ends_the_call(
    elicitation_client: ElicitationClient, action: str
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("publish") as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.answer(request, {"action": action})
        return wire

    result = response(asyncio.run(script()))["result"]
    assert result["isError"] is True
    assert "The person declined to answer." in result["content"][0]["text"]
    assert outcomes() == ["input_required", "cancelled"]
    assert ActionExecution.objects.latest("id").reason == "declined"


@pytest.mark.parametrize(
    "wrong",
    [
        12345,
        None,
        {},
        {"action": "accept"},
        accept(name=7),
        accept(colour="blue"),
        accept(name="a\x00b"),
        {"action": "accept", "content": "Ada"},
    ],
    ids=str,
)
def test_an_answer_that_does_not_fit_is_asked_for_again(
    elicitation_client: ElicitationClient, wrong: Any
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("greet") as wire:
            (first,) = await requests_on(wire)
            await elicitation_client.answer(first, wrong)
            second = (await requests_on(wire, 2))[1]
            assert second["id"] != first["id"]
            await elicitation_client.answer(second, accept(name="Ada"))
        return wire

    assert facts(asyncio.run(script())) == {"greeting": "Hello, Ada"}


def test_a_client_that_never_answers_sensibly_is_not_asked_for_ever(
    elicitation_client: ElicitationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "MAX_QUESTIONS", 2)

    async def script() -> Wire:
        async with elicitation_client.call("greet") as wire:
            for place in range(2):
                await elicitation_client.answer((await requests_on(wire, place + 1))[place], {})
        return wire

    assert "too many questions" in json.dumps(response(asyncio.run(script()))["result"])
    assert outcomes() == ["input_required"] * 3 + ["tool_error"]


def test_a_client_that_refuses_to_ask_ends_the_call(elicitation_client: ElicitationClient) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("publish") as wire:
            (request,) = await requests_on(wire)
            assert await elicitation_client.refuse(request) == 202
        return wire

    assert response(asyncio.run(script()))["result"]["isError"] is True
    assert outcomes() == ["input_required", "tool_error"]
    assert ActionExecution.objects.latest("id").reason == "not_answered"


def test_nobody_answers_for_another(elicitation_client: ElicitationClient) -> None:
    stranger = replace(elicitation_client.client, token=grants.make_grant().token())

    async def script() -> Wire:
        async with elicitation_client.call("greet") as wire:
            (request,) = await requests_on(wire)
            assert await elicitation_client.answer(request, accept(name="Mallory"), stranger) == 202
            assert (
                await elicitation_client.answer({"id": "ask_unknown"}, accept(name="Mallory"))
                == 202
            )
            assert await elicitation_client.answer({"id": 9}, accept(name="Mallory")) == 202
            assert await elicitation_client.answer(request, accept(name="Ada")) == 202
        return wire

    assert facts(asyncio.run(script())) == {"greeting": "Hello, Ada"}


def test_of_two_answers_the_first_counts(
    elicitation_client: ElicitationClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conversation, "CHECK_SECONDS", 0.3)

    async def script() -> Wire:
        async with elicitation_client.call("greet") as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.answer(request, accept(name="Ada"))
            await elicitation_client.answer(request, accept(name="Bob"))
        assert await elicitation_client.answer(request, accept(name="Late")) == 202
        return wire

    assert facts(asyncio.run(script())) == {"greeting": "Hello, Ada"}


def test_an_answer_that_is_too_large_is_refused_recorded_and_may_come_again(
    elicitation_client: ElicitationClient,
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("greet") as wire:
            (request,) = await requests_on(wire)
            large = {"jsonrpc": "2.0", "id": request["id"], "result": accept(name="x" * 300_000)}
            refused = await elicitation_client.send_refused(large)
            assert (refused.status, refused.code) == (413, -32600)
            assert refused.error["message"] == "The response exceeds 262144 bytes."
            assert await elicitation_client.answer(request, accept(name="Ada")) == 202
        return wire

    assert facts(asyncio.run(script())) == {"greeting": "Hello, Ada"}
    assert outcomes() == ["input_required", "protocol_error", "success"]


def test_a_call_that_waits_keeps_no_more_of_meta_than_it_needs(
    elicitation_client: ElicitationClient,
) -> None:
    def waiting() -> dict[int, Invocation]:
        return {id(one): one for one in gc.get_objects() if type(one) is Invocation}

    async def script() -> None:
        # Those of other tests, which nobody has come to collect yet, waited with other keys.
        earlier = waiting()
        async with elicitation_client.call(
            "greet", meta={"x": "y" * 1000, "progressToken": "p"}
        ) as wire:
            (request,) = await requests_on(wire)
            suspended = [one for key, one in waiting().items() if key not in earlier]
            assert suspended
            assert all(one.binding == {} for one in suspended)
            await elicitation_client.answer(request, accept(name="Ada"))

    asyncio.run(script())


def progress_of(wire: Wire) -> list[dict[str, Any]]:
    """What the stream of a call has said of its progress so far."""
    events = events_in(wire.body)
    return [one["params"] for one in events if one.get("method") == "notifications/progress"]


def test_a_call_that_waits_for_a_person_reports_progress_where_a_token_was_given(
    elicitation_client: ElicitationClient,
) -> None:
    """Clients give up on a call that is silent: 60 seconds are usual."""

    async def script() -> Wire:
        async with elicitation_client.call("greet", meta={"progressToken": "p"}) as wire:
            (request,) = await requests_on(wire)
            await wire.wait_until(lambda: len(progress_of(wire)) >= 3)
            await elicitation_client.answer(request, accept(name="Ada"))
        return wire

    wire = asyncio.run(script())
    reported = progress_of(wire)
    values = [one["progress"] for one in reported]
    assert values == sorted(set(values))
    assert reported[0]["progressToken"] == "p"
    assert reported[0]["message"] == "Waiting for an answer: 10 minutes left."
    assert facts(wire) == {"greeting": "Hello, Ada"}


def test_a_call_that_waits_without_a_token_reports_no_progress(
    elicitation_client: ElicitationClient,
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("greet") as wire:
            (request,) = await requests_on(wire)
            await asyncio.sleep(0.1)
            await elicitation_client.answer(request, accept(name="Ada"))
        return wire

    assert progress_of(asyncio.run(script())) == []


def test_nobody_waits_longer_than_the_time_that_a_person_may_take(
    elicitation_client: ElicitationClient, settings: Any
) -> None:
    async def script() -> Wire:
        settings.HALO_ASK_SECONDS = 0.05
        async with elicitation_client.call("publish") as wire:
            (request,) = await requests_on(wire)
        assert await elicitation_client.answer(request, accept(sure=True)) == 202
        return wire

    assert "not answered in time" in json.dumps(response(asyncio.run(script())))
    assert outcomes() == ["input_required", "tool_error"]


def test_a_client_that_leaves_while_it_is_asked_has_cancelled(
    elicitation_client: ElicitationClient,
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("publish") as wire:
            await requests_on(wire)
            wire.gone.set()
        return wire

    asyncio.run(script())
    assert outcomes() == ["input_required", "cancelled"]
    assert not Question.objects.exists()


def test_a_token_that_has_ended_meanwhile_runs_nothing(
    elicitation_client: ElicitationClient, grant: Grant
) -> None:
    def end_and_answer(question_id: str) -> None:
        grant.revoke()
        elicitation_store.deliver(
            grant.authorization.pk, JsonRpcResponse(question_id, accept(sure=True))
        )

    async def script() -> Wire:
        async with elicitation_client.call("publish") as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.see(partial(end_and_answer, request["id"]))
        return wire

    assert "no longer valid" in json.dumps(response(asyncio.run(script())))
    assert outcomes() == ["input_required", "tool_error"]


def test_a_call_whose_token_ends_while_it_waits_ends_without_an_answer(
    elicitation_client: ElicitationClient, grant: Grant
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("publish") as wire:
            await requests_on(wire)
            await elicitation_client.see(grant.revoke)
        return wire

    assert "no longer valid" in json.dumps(response(asyncio.run(script())))
    assert outcomes() == ["input_required", "tool_error"]
    assert not Question.objects.exists()


def test_the_gate_is_asked_again_before_the_call_goes_on(
    elicitation_client: ElicitationClient, grant: Grant
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("publish") as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.see(partial(grant.narrow, "setup:read"))
            await elicitation_client.answer(request, accept(sure=True))
        return wire

    assert response(asyncio.run(script()))["error"]["data"]["reason"] == "scope_denied"
    assert outcomes() == ["input_required", "refused"]


def test_what_a_streaming_tool_says_goes_out_around_its_question(
    elicitation_client: ElicitationClient,
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("report_and_ask", meta={"progressToken": "p"}) as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.answer(request, accept(name="Ada"))
        return wire

    wire = asyncio.run(script())
    own = [one for one in wire.reply.events if "Waiting for" not in json.dumps(one)]
    said = [event.get("method") for event in own]
    progress = "notifications/progress"
    assert said == [progress, "elicitation/create", progress, progress, None]
    assert facts(wire) == {"name": "Ada"}


def test_a_cancelled_call_stops_asking_and_answers_nothing(
    elicitation_client: ElicitationClient,
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("publish") as wire:
            (request,) = await requests_on(wire)
            # What a notice does that another process has posted.
            (topic,) = [
                name
                for name in elicitation_client.app._subscriptions._by_topic
                if name.startswith("cancel:")
            ]
            elicitation_client.app._subscriptions._notify(topic)
            await elicitation_client.answer(request, accept(sure=True))
        return wire

    wire = asyncio.run(script())
    assert [event["method"] for event in wire.reply.events] == ["elicitation/create"]
    assert outcomes() == ["input_required", "cancelled"]


def test_notifications_that_may_have_been_missed_cancel_nothing(
    elicitation_client: ElicitationClient,
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("greet") as wire:
            (request,) = await requests_on(wire)
            elicitation_client.app._subscriptions._notify(None)
            await elicitation_client.answer(request, accept(name="Ada"))
        return wire

    assert facts(asyncio.run(script())) == {"greeting": "Hello, Ada"}
