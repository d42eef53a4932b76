"""Asking with real processes: questions of one answered at another, over real sockets."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx2
import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.elicitation_client import EVERYTHING, accept, in_session
from tests.drivers.fixture_server import Laboratory, laboratory, second_server
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import McpClient, Reply, over_http
from tools_registry.endpoint.streams.conversation import CHECK_SECONDS

pytestmark = pytest.mark.process

NEWEST, MODERN = Revision.V2025_11_25, Revision.V2026_07_28
# Less than a process waits before it looks by itself: what comes in time came by a notice.
PROMPT = CHECK_SECONDS / 2
OUTCOMES = """
from audit.models import ActionExecution
rows = ActionExecution.objects.filter(tool={tool!r}).order_by("id")
print(" ".join(rows.values_list("outcome", flat=True)))
"""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    with laboratory(tmp_path_factory.mktemp("asking")) as started:
        yield started


@pytest.fixture(scope="module")
def other(running: Laboratory, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Laboratory]:
    """Another server process on the same database."""
    with second_server(running, tmp_path_factory.mktemp("second")) as started:
        yield started


@pytest.fixture
def client(running: Laboratory) -> McpClient:
    return in_session(McpClient(running.token, transport=over_http(running.server.mcp_url)), NEWEST)


def at_another(client: McpClient, other: Laboratory) -> McpClient:
    return client.through(over_http(other.server.mcp_url))


class Answer:
    """The events of one answer, as they come."""

    def __init__(self, response: httpx2.Response) -> None:
        self._lines = response.iter_lines()

    def __iter__(self) -> "Answer":
        return self

    def __next__(self) -> Any:
        line = next(line for line in self._lines if line.startswith("data: "))
        return json.loads(line.removeprefix("data: "))


@contextmanager
def calling(
    where: Laboratory, client: McpClient, tool: str, arguments: Any = None
) -> Iterator[Answer]:
    """A call whose answer is still coming; leaving the block hangs up."""
    params = {"name": tool, "arguments": arguments or {}, "_meta": {"progressToken": "p"}}
    message = {"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": params}
    given = {**client._usual_headers(), **client.headers}
    headers = {key: value for key, value in given.items() if value and key != "Host"}
    url = where.server.mcp_url
    with httpx2.stream("POST", url, headers=headers, json=message, timeout=PROMPT) as response:
        yield Answer(response)


def answer(client: McpClient, request: Any, result: Any) -> Reply:
    return client.send({"jsonrpc": "2.0", "id": request["id"], "result": result})


def outcomes(where: Laboratory, tool: str) -> list[str]:
    return where.evaluate(OUTCOMES.format(tool=tool)).split()


def test_a_question_of_one_process_is_answered_at_another(
    running: Laboratory, other: Laboratory, client: McpClient
) -> None:
    with calling(running, client, "greet", {"word": "Hi"}) as events:
        request = next(events)
        assert request["method"] == "elicitation/create"
        assert answer(at_another(client, other), request, accept(name="Ada")).status == 202
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
    deadline = time.monotonic() + 20
    while outcomes(running, "publish")[-2:] != expected:
        assert time.monotonic() < deadline, "it did not happen"


@pytest.mark.parametrize("at", ["the same process", "another process"])
def test_a_cancelled_call_stops_at_its_next_step_and_answers_nothing(
    running: Laboratory, other: Laboratory, client: McpClient, tmp_path: Path, at: str
) -> None:
    awaited = tmp_path / "go"
    canceller = client if at == "the same process" else at_another(client, other)
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
        at_another(client, other).notify("notifications/cancelled", {"requestId": 9})
        assert list(events) == []
    assert outcomes(running, "two_rounds") == ["input_required", "cancelled"]


def test_rounds_of_the_newest_revision_go_to_any_process_and_outlive_them(
    running: Laboratory, tmp_path: Path
) -> None:
    key = "io.modelcontextprotocol/clientCapabilities"
    params = {"name": "publish", "arguments": {}, "_meta": {key: EVERYTHING}}

    def at(where: Laboratory) -> McpClient:
        return McpClient(running.token, MODERN, over_http(where.server.mcp_url))

    with second_server(running, tmp_path) as short_lived:
        first = at(short_lived).request("tools/call", params).result
    given = {"inputResponses": {"sure": accept(sure=True)}, "requestState": first["requestState"]}
    last = at(running).request("tools/call", {**params, **given})
    assert last.facts == {"published": "", "sure": True}
    assert at(running).request("tools/call", {**params, **given}).code == -32602


def test_a_server_that_stops_while_it_waits_for_a_person_says_so(
    running: Laboratory, tmp_path: Path
) -> None:
    with second_server(running, tmp_path) as stopping:
        client = McpClient(running.token, transport=over_http(stopping.server.mcp_url))
        client = in_session(client, NEWEST)
        with calling(stopping, client, "greet") as events:
            request = next(events)
            stopping.server.process.terminate()
            response = next(events)
    assert "Try again." in response["result"]["content"][0]["text"]
    elsewhere = client.through(over_http(running.server.mcp_url))
    assert answer(elsewhere, request, accept(name="Ada")).status == 202
    assert outcomes(running, "greet")[-2:] == ["input_required", "tool_error"]
