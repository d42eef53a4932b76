"""Asking with real processes: questions of one answered at another, over real sockets."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.elicitation_client import EVERYTHING, accept, start_session
from tests.drivers.fixture_server import Laboratory, second_server
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import McpClient, Reply, http_transport
from tools_registry.endpoint.streams.conversation import CHECK_SECONDS

pytestmark = pytest.mark.process

NEWEST, MODERN = Revision.V2025_11_25, Revision.V2026_07_28
# Less than a process waits before it looks by itself: what comes in time came by a notice.
PROMPT = CHECK_SECONDS / 2
SECONDS = 20
OUTCOMES = """
from audit.models import ActionExecution
rows = ActionExecution.objects.filter(organization_id={organization!r}, tool={tool!r})
print(" ".join(rows.order_by("id").values_list("outcome", flat=True)))
"""


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    return laboratory.with_account()


@pytest.fixture(scope="module")
def other(running: Laboratory, second_laboratory: Laboratory) -> Laboratory:
    """Another server process on the same database, with the same account."""
    return replace(second_laboratory, account=running.account)


@pytest.fixture
def client(running: Laboratory) -> McpClient:
    return start_session(
        McpClient(running.token, transport=http_transport(running.server.mcp_url)), NEWEST
    )


def client_of_other(client: McpClient, other: Laboratory) -> McpClient:
    return client.with_transport(http_transport(other.server.mcp_url))


class EventAnswer:
    """The events of one answer, as they come, without progress that says how long it waits."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.iter_lines()

    def __iter__(self) -> "EventAnswer":
        return self

    def __next__(self) -> Any:
        return next(event for event in map(_event, self._lines) if event and not _waits(event))


def _event(line: str) -> Any:
    return json.loads(line.removeprefix("data: ")) if line.startswith("data: ") else None


def _waits(event: Any) -> bool:
    message = event.get("params", {}).get("message", "")
    return isinstance(message, str) and message.startswith("Waiting for an answer: ")


@contextmanager
def calling(
    where: Laboratory, client: McpClient, tool: str, arguments: Any = None
) -> Iterator[EventAnswer]:
    """A call whose answer is still coming; leaving the block hangs up."""
    params = {"name": tool, "arguments": arguments or {}, "_meta": {"progressToken": "p"}}
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    given = {**client._usual_headers(), **client.headers}
    headers = {key: value for key, value in given.items() if value and key != "Host"}
    url = where.server.mcp_url
    with httpx2.stream("POST", url, headers=headers, json=message, timeout=PROMPT) as response:
        yield EventAnswer(response)


def answer(client: McpClient, request: Any, result: Any) -> Reply:
    return client.send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def outcomes(where: Laboratory, tool: str) -> list[str]:
    code = OUTCOMES.format(organization=where.account.organization, tool=tool)
    return where.evaluate(code).split()


def test_a_question_of_one_process_is_answered_at_another(
    running: Laboratory, other: Laboratory, client: McpClient
) -> None:
    with calling(running, client, "greet", {"word": "Hi"}) as events:
        request = next(events)
        assert request["method"] == "elicitation/create"
        assert answer(client_of_other(client, other), request, accept(name="Ada")).status == 202
        response = next(events)
    assert "Hi, Ada" in response["result"]["content"][0]["text"]


def test_a_session_of_one_process_counts_at_another(
    running: Laboratory, other: Laboratory, client: McpClient
) -> None:
    with calling(other, client, "greet") as events:
        request = next(events)
        assert answer(client, request, {"action": "decline"}).status == 202
        assert next(events)["result"]["isError"] is True
    assert running.server.url != other.server.url


def test_a_client_that_hangs_up_while_it_is_asked_leaves_a_finished_row(
    running: Laboratory, client: McpClient
) -> None:
    with calling(running, client, "publish") as events:
        next(events)
    expected = ["input_required", "cancelled"]
    deadline = time.monotonic() + SECONDS
    while outcomes(running, "publish")[-2:] != expected:
        assert time.monotonic() < deadline, "it did not happen"


@pytest.mark.parametrize("at", ["the same process", "another process"])
def test_a_cancelled_call_stops_at_its_next_step_and_answers_nothing(
    running: Laboratory, other: Laboratory, client: McpClient, tmp_path: Path, at: str
) -> None:
    awaited = tmp_path / "go"
    canceller = client if at == "the same process" else client_of_other(client, other)
    with calling(running, client, "write_slowly", {"file": str(awaited)}) as events:
        next(events)
        assert begun_mark(awaited).exists()
        stranger = replace(client, headers={"Accept": client.headers["Accept"]})
        for wrong in (
            stranger.notify("notifications/cancelled", {"requestId": 9}),
            canceller.notify("notifications/cancelled", {"requestId": "9"}),
            canceller.notify("notifications/cancelled", {"requestId": 8}),
            canceller.notify("notifications/cancelled", {"requestId": None}),
            canceller.notify("notifications/cancelled"),
        ):
            assert wrong.status == 202
        assert outcomes(running, "write_slowly")[-1] == "started"
        assert canceller.notify("notifications/cancelled", {"requestId": 9}).status == 202
        assert list(events) == []
    assert outcomes(running, "write_slowly")[-1] == "cancelled"


def test_a_call_that_is_cancelled_while_it_asks_asks_no_more(
    running: Laboratory, other: Laboratory, client: McpClient
) -> None:
    with calling(running, client, "two_rounds") as events:
        next(events)
        client_of_other(client, other).notify("notifications/cancelled", {"requestId": 9})
        assert list(events) == []
    assert outcomes(running, "two_rounds") == ["input_required", "cancelled"]


@dataclass(frozen=True)
class AskingShutdown:
    """A server process that has ended, and what it had asked its clients before."""

    account: Laboratory
    params: dict[str, Any]
    first: Any
    session: McpClient
    request: Any
    response: Any


@pytest.fixture(scope="module")
def shutdown(laboratory: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> AskingShutdown:
    """It stops while one client is between two rounds, and another waits for its person."""
    own = laboratory.with_account()
    key = "io.modelcontextprotocol/clientCapabilities"
    params = {"name": "publish", "arguments": {}, "_meta": {key: EVERYTHING}}
    with second_server(own, tmp_path_factory.mktemp("stopping")) as stopping:
        transport = http_transport(stopping.server.mcp_url)
        first = McpClient(own.token, MODERN, transport).request("tools/call", params).result
        session = start_session(McpClient(own.token, transport=transport), NEWEST)
        with calling(stopping, session, "greet") as events:
            request = next(events)
            stopping.server.process.terminate()
            response = next(events)
        stopping.server.process.wait(SECONDS)
    return AskingShutdown(own, params, first, session, request, response)


def test_rounds_of_the_newest_revision_go_to_any_process_and_outlive_them(
    shutdown: AskingShutdown,
) -> None:
    url = shutdown.account.server.mcp_url
    client = McpClient(shutdown.account.token, MODERN, http_transport(url))
    state = shutdown.first["requestState"]
    given = {"inputResponses": {"sure": accept(sure=True)}, "requestState": state}
    last = client.request("tools/call", {**shutdown.params, **given})
    assert last.facts == {"published": "", "sure": True}
    assert client.request("tools/call", {**shutdown.params, **given}).code == -32602


def test_a_server_that_stops_while_it_waits_for_a_person_says_so(shutdown: AskingShutdown) -> None:
    assert "Try again." in shutdown.response["result"]["content"][0]["text"]
    elsewhere = shutdown.session.with_transport(http_transport(shutdown.account.server.mcp_url))
    assert answer(elsewhere, shutdown.request, accept(name="Ada")).status == 202
    assert outcomes(shutdown.account, "greet") == ["input_required", "tool_error"]
