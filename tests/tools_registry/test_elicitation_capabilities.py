"""Who is asked at handshake revisions, in which words, and who cannot be asked."""

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest

from foundation.ids import uuid7
from foundation.limits import Limit
from mcp_protocol.revisions import Revision
from tests.drivers.asgi import Wire
from tests.drivers.elicitation_client import (
    SAMPLED,
    SESSION,
    ElicitationClient,
    accept,
    facts,
    outcomes,
    requests_on,
    response,
    start_other_session,
)
from tests.drivers.mcp import McpClient
from tests.drivers.schemas import conforms
from tools_registry.endpoint import elicitation_store
from tools_registry.models import Question
from tools_registry.tasks import prune_asking

pytestmark = pytest.mark.usefixtures("lab")

FORMS = (Revision.V2025_06_18, Revision.V2025_11_25)
NEWEST = Revision.V2025_11_25
CANNOT = "This tool needs your input, and this client or call does not support that."


def test_titled_choices_are_serialized_as_the_revision_requires(
    elicitation_client: ElicitationClient,
) -> None:
    elicitation_client = start_other_session(elicitation_client, Revision.V2025_06_18)

    async def script() -> Wire:
        async with elicitation_client.call("choose") as wire:
            (request,) = await requests_on(wire)
            conforms(request, Revision.V2025_06_18, "ElicitRequest")
            assert request["params"] == {
                "message": "Which?\n\nAnswer within 10 minutes.",
                "requestedSchema": {
                    "type": "object",
                    "properties": {
                        "size": {
                            "type": "string",
                            "enum": ["s", "l"],
                            "enumNames": ["Small", "Large"],
                        },
                        "count": {"type": "integer", "minimum": 1},
                    },
                    "required": ["size", "count"],
                },
            }
            await elicitation_client.answer(request, accept(size="l", count=2))
        return wire

    assert facts(asyncio.run(script())) == {"size": "l", "count": 2}


def test_a_page_is_opened_by_clients_that_say_they_can(
    elicitation_client: ElicitationClient,
) -> None:
    elicitation_client = start_other_session(
        elicitation_client, NEWEST, {"elicitation": {"url": {}}}
    )

    async def script() -> Wire:
        async with elicitation_client.call("send_to_page") as wire:
            (request,) = await requests_on(wire)
            conforms(request["params"], NEWEST, "ElicitRequestURLParams")
            assert request["params"]["elicitationId"]
            await elicitation_client.answer(request, {"action": "accept"})
        return wire

    assert facts(asyncio.run(script())) == {"page": {"action": "accept"}}


def test_a_tool_learns_what_its_client_can_be_asked(elicitation_client: ElicitationClient) -> None:
    elicitation_client = start_other_session(elicitation_client, NEWEST, {"sampling": {}})

    async def script() -> Wire:
        async with elicitation_client.call("ask_as_it_can") as wire:
            (request,) = await requests_on(wire)
            conforms(request, NEWEST, "CreateMessageRequest")
            await elicitation_client.answer(request, SAMPLED)
        return wire

    assert facts(asyncio.run(script())) == {"model": SAMPLED}


def test_sampling_is_older_than_forms(elicitation_client: ElicitationClient) -> None:
    elicitation_client = start_other_session(elicitation_client, Revision.V2025_03_26)

    async def script() -> Wire:
        async with elicitation_client.call("ask_model") as wire:
            (request,) = await requests_on(wire)
            conforms(request, Revision.V2025_03_26, "CreateMessageRequest")
            await elicitation_client.answer(request, SAMPLED)
        return wire

    assert facts(asyncio.run(script())) == "Paris"


CANNOT_BE_ASKED = {
    "nothing declared": (NEWEST, {}, "greet", {}),
    "forms not declared": (NEWEST, {"elicitation": {"url": {}}}, "greet", {}),
    "pages not declared": (NEWEST, {"elicitation": {}}, "send_to_page", {}),
    "no session": (NEWEST, None, "greet", {SESSION: None}),
    "garbage for a session": (NEWEST, None, "greet", {SESSION: "garbage"}),
    "takes no events": (NEWEST, None, "greet", {"Accept": "application/json"}),
    "no forms yet": (Revision.V2025_03_26, None, "greet", {}),
    "no pages yet": (Revision.V2025_06_18, {"elicitation": {"url": {}}}, "send_to_page", {}),
    "no choice of several yet": (Revision.V2025_06_18, None, "choose_several", {}),
    "no sessions yet": (Revision.V2024_11_05, None, "ask_model", {}),
}


@pytest.mark.parametrize("why", CANNOT_BE_ASKED, ids=str)
def test_a_client_that_cannot_be_asked_gets_an_error_and_nothing_runs(
    elicitation_client: ElicitationClient, why: str
) -> None:
    revision, capabilities, tool, headers = CANNOT_BE_ASKED[why]
    elicitation_client = start_other_session(elicitation_client, revision, capabilities)
    elicitation_client.client = replace(
        elicitation_client.client, headers={**elicitation_client.client.headers, **headers}
    )

    async def script() -> Wire:
        async with elicitation_client.call(tool) as wire:
            pass
        return wire

    wire = asyncio.run(script())
    assert wire.headers["content-type"] == "application/json"
    assert CANNOT in json.dumps(wire.reply.json)
    assert outcomes() == ["input_required"]
    assert not Question.objects.exists()


def test_members_of_a_batch_cannot_ask(elicitation_client: ElicitationClient) -> None:
    client = start_other_session(elicitation_client, Revision.V2025_03_26).client
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "ask_model"}}
    reply = client.send([call])
    assert CANNOT in reply.json[0]["error"]["message"]


def test_a_question_that_no_client_knows_is_a_defect_of_the_tool(
    elicitation_client: ElicitationClient,
) -> None:
    async def script() -> Wire:
        async with elicitation_client.call("ask_nonsense") as wire:
            pass
        return wire

    assert "The tool failed." in json.dumps(asyncio.run(script()).reply.json)
    assert outcomes() == ["tool_error"]


def test_answers_are_charged_as_other_requests(
    elicitation_client: ElicitationClient, settings: Any
) -> None:
    settings.HALO_RATE_OTHER = Limit(1, 60)

    async def script() -> list[int]:
        return [await elicitation_client.post({"jsonrpc": "2.0", "id": "ask_x", "result": {}})]

    assert asyncio.run(script()) == [202]
    assert elicitation_client.client.request("ping").status == 429


@pytest.mark.django_db
def test_questions_that_nobody_answered_are_cleaned_up(settings: Any) -> None:
    settings.HALO_ASK_SECONDS = -1
    elicitation_store.put(uuid7(), 2)
    settings.HALO_ASK_SECONDS = 600
    elicitation_store.put(uuid7(), 1)
    assert prune_asking() == 2
    assert Question.objects.count() == 1


@pytest.mark.parametrize(
    ("method", "params", "answer"),
    [
        ("prompts/get", {"name": "plan"}, accept(topic="lunch")),
        ("resources/read", {"uri": "asking://secret"}, accept(word="lunch")),
    ],
)
def test_prompts_and_resources_ask_on_a_stream_of_their_own(
    elicitation_client: ElicitationClient, method: str, params: Any, answer: Any
) -> None:
    async def script() -> Wire:
        async with elicitation_client.request(method, params) as wire:
            (request,) = await requests_on(wire)
            await elicitation_client.answer(request, answer)
        return wire

    assert "lunch" in json.dumps(response(asyncio.run(script()))["result"])
    assert outcomes() == ["input_required", "success"]


@pytest.mark.parametrize(
    ("method", "params"),
    [("prompts/get", {"name": "plan"}), ("resources/read", {"uri": "asking://secret"})],
)
def test_prompts_and_resources_that_cannot_ask_say_so(
    mcp: McpClient, method: str, params: Any
) -> None:
    assert CANNOT in mcp.with_revision(NEWEST).request(method, params).error["message"]
    assert outcomes() == ["input_required"]
