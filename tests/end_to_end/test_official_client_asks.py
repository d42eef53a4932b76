"""The official Python client is asked by the real server, at both eras of the protocol."""

import asyncio
from contextlib import AbstractAsyncContextManager
from typing import Any

import httpx2
import pytest
from mcp import Client, types
from mcp.client.streamable_http import streamable_http_client

from tests.drivers.fixture_server import Laboratory

pytestmark = pytest.mark.process

MODES = ["legacy", "2026-07-28", "auto"]


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    return laboratory.with_account()


class AskedPerson:
    """Who sits at the client: answers forms as configured, and remembers what was asked."""

    def __init__(self, *answers: types.ElicitResult) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    async def elicit(self, _context: Any, params: types.ElicitRequestParams) -> types.ElicitResult:
        self.asked.append(params.message)
        return self.answers.pop(0)


async def sample(_context: Any, _params: Any) -> types.CreateMessageResult:
    text = types.TextContent(type="text", text="Paris")
    return types.CreateMessageResult(role="assistant", content=text, model="m")


def connect(
    running: Laboratory, http: httpx2.AsyncClient, mode: str, **callbacks: Any
) -> AbstractAsyncContextManager[Client]:
    transport = streamable_http_client(running.server.mcp_url, http_client=http)
    return Client(transport, mode=mode, **callbacks)


def call_tool(running: Laboratory, mode: str, tool: str, **callbacks: Any) -> Any:
    async def session() -> Any:
        headers = {"Authorization": f"Bearer {running.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            connect(running, http, mode, **callbacks) as client,
        ):
            return await client.call_tool(tool, {})

    return asyncio.run(session())


def accept(**content: Any) -> types.ElicitResult:
    return types.ElicitResult(action="accept", content=content)


@pytest.mark.parametrize("mode", MODES)
def test_the_person_fills_in_one_form_after_another(running: Laboratory, mode: str) -> None:
    person = AskedPerson(accept(name="Ada"), accept(colour="blue"))
    result = call_tool(running, mode, "two_rounds", elicitation_callback=person.elicit)
    assert not result.is_error
    questions = [text.partition("\n\nAnswer within ")[0] for text in person.asked]
    assert questions == ["Your name?", "Your colour, Ada?"]
    assert '"colour": "blue"' in result.content[0].text


@pytest.mark.parametrize("mode", MODES)
def test_the_person_declines_a_change(running: Laboratory, mode: str) -> None:
    person = AskedPerson(types.ElicitResult(action="decline"))
    result = call_tool(running, mode, "publish", elicitation_callback=person.elicit)
    assert result.is_error
    assert "declined" in result.content[0].text


@pytest.mark.parametrize("mode", MODES)
def test_the_client_s_model_is_asked(running: Laboratory, mode: str) -> None:
    result = call_tool(running, mode, "ask_model", sampling_callback=sample)
    assert result.content[0].text == '"Paris"'


def test_a_client_without_a_person_is_shown_that_it_cannot_be_asked(running: Laboratory) -> None:
    result = call_tool(running, "legacy", "publish")
    assert result.is_error
    assert "needs your input" in result.content[0].text


# The newest revision has no such request; the earlier ones do.
@pytest.mark.filterwarnings("ignore::mcp.shared.exceptions.MCPDeprecationWarning")
def test_a_log_level_holds_for_a_client_that_keeps_its_first_session_id(
    running: Laboratory,
) -> None:
    received: list[str] = []

    async def listen(params: types.LoggingMessageNotificationParams) -> None:
        received.append(params.level)

    async def session() -> None:
        headers = {"Authorization": f"Bearer {running.token}"}
        async with (
            httpx2.AsyncClient(headers=headers, timeout=30) as http,
            connect(running, http, "legacy", logging_callback=listen) as client,
        ):
            await client.set_logging_level("warning")
            await client.call_tool("count_up", {"to": 2})

    asyncio.run(session())
    assert received == ["warning", "warning"]
