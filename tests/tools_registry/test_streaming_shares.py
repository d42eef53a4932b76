"""Streaming calls of one tenant leave threads to the others, and to their own questions."""

from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.elicitation_client import accept, start_session
from tests.drivers.fixture_server import Laboratory
from tests.drivers.mcp import McpClient, http_transport
from tests.tools_registry.test_asgi_process import Line, call_of, last_row
from tests.tools_registry.test_elicitation_process import answer, calling
from tools_registry.endpoint.streams.conversation import RETRY_AFTER

pytestmark = pytest.mark.process

NEWEST = Revision.V2025_11_25
SHARE = 4  # a quarter of the threads that there are by default


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    return laboratory.with_account()


@pytest.fixture
def awaited_file(tmp_path: Path) -> Iterator[Path]:
    """What long calls wait for; it comes in the end at the latest."""
    yield tmp_path / "go"
    (tmp_path / "go").touch()


@pytest.fixture
def busy(running: Laboratory, awaited_file: Path) -> Iterator[list[Line]]:
    """As many calls on streams as one connection may have at a time."""
    with ExitStack() as stack:
        lines = [Line(running) for _ in range(SHARE)]
        for line in lines:
            stack.enter_context(closing(line.socket))
            line.write(*call_of(line, NEWEST, "wait", awaited_file))
            line.read_until(b"notifications/progress")
        yield lines
        awaited_file.touch()
        for line in lines:
            line.read_until(b'"id":9')


def client_of(running: Laboratory, token: str) -> McpClient:
    return start_session(McpClient(token, transport=http_transport(running.server.mcp_url)), NEWEST)


@pytest.mark.usefixtures("busy")
def test_one_call_more_is_refused_with_when_to_come_again_and_recorded(
    running: Laboratory, awaited_file: Path
) -> None:
    line = Line(running)
    with closing(line.socket):
        line.write(*call_of(line, NEWEST, "wait", awaited_file))
        answered = line.read_until(b"}}").lower()
    assert answered.startswith(b"http/1.1 429 ")
    assert f"retry-after: {RETRY_AFTER}\r\n".encode() in answered
    for name in ("limit", "remaining", "reset"):
        assert f"x-ratelimit-{name}: ".encode() in answered
    assert b'"reason":"rate_limited"' in answered
    assert last_row(running, "wait") == "rate_limited rate_limited"


@pytest.mark.usefixtures("busy")
def test_a_question_is_asked_while_all_places_are_taken_and_goes_on_once_one_is_free(
    running: Laboratory, awaited_file: Path
) -> None:
    client = client_of(running, running.token)
    with calling(running, client, "greet") as events:
        request = next(events)
        answer(client, request, accept(name="Ada"))
        assert client.request("ping").result == {}
        awaited_file.touch()
        response = next(events)
    assert "Hello, Ada" in response["result"]["content"][0]["text"]


@pytest.mark.usefixtures("busy")
def test_another_tenant_is_not_held_up(running: Laboratory) -> None:
    client = client_of(running, running.with_account().token)
    with calling(running, client, "greet") as events:
        answer(client, next(events), accept(name="Bob"))
        assert "Hello, Bob" in next(events)["result"]["content"][0]["text"]
    with calling(running, client, "count_up", {"to": 1}) as events:
        assert [event.get("method") for event in events] == ["notifications/progress", None]


def test_the_places_come_back(running: Laboratory, busy: list[Line], awaited_file: Path) -> None:
    awaited_file.touch()
    while busy:
        busy.pop().read_until(b'"id":9')  # its place came back before this was sent
    client = client_of(running, running.token)
    for _ in range(SHARE + 1):
        with calling(running, client, "count_up", {"to": 1}) as events:
            assert [event.get("id") for event in events] == [None, 9]
