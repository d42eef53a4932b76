"""Calls in the thread pool of the real server: many at once, and next to busy threads."""

import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.fixture_server import Laboratory
from tests.drivers.fixture_tools import begun_mark
from tests.drivers.mcp import McpClient, http_transport
from tests.tools_registry.test_asgi_process import Line, last_row, wait_until
from tests.tools_registry.test_cancelling_json import message, send_body
from tests.tools_registry.test_prepared_statements import CONNECT
from tools_registry.endpoint.asgi import CORE_OVERFLOW
from tools_registry.endpoint.streams.disconnects import WATCHES_AFTER

pytestmark = pytest.mark.process

MODERN = Revision.V2026_07_28
CORE_THREADS = 4  # the default
MAX_THREADS = CORE_THREADS + CORE_OVERFLOW
AT_ONCE, CLIENTS = 240, 24
COUNT = """
from collections import Counter
from audit.models import ActionExecution
rows = ActionExecution.objects.filter(organization_id={organization!r})
counts = Counter(rows.values_list("tool", "outcome"))
print(sorted([*key, count] for key, count in counts.items()))
"""
REVOKE = """
from oauth.models import Authorization
from django.utils import timezone
rows = Authorization.objects.filter(pk={authorization!r})
print(rows.update(revoked_at=timezone.now()))
"""


# How often it was refused to look a stranger up.
REFUSED = """
from audit.models import SecurityEvent
print(sum(SecurityEvent.objects.values_list("count", flat=True)))
"""


@pytest.fixture(scope="module")
def running(laboratory: Laboratory) -> Laboratory:
    own = laboratory.with_account()
    own.evaluate(CONNECT.format(organization=own.account.organization))
    return own


@pytest.fixture
def client(running: Laboratory) -> McpClient:
    return McpClient(running.token, transport=http_transport(running.server.mcp_url))


@contextmanager
def slow_calls(running: Laboratory, folder: Path, count: int) -> Iterator[None]:
    """Keep so many calls running until the block ends."""
    awaited = [folder / f"go-{number}" for number in range(count)]
    with ExitStack() as stack:
        lines = [stack.enter_context(call_waiting_tool(running, file)) for file in awaited]
        wait_until(lambda: all(begun_mark(file).exists() for file in awaited))
        yield
        for file in awaited:
            file.touch()
        for line in lines:
            line.read_until(b"}}")


def call_waiting_tool(running: Laboratory, awaited: Path) -> AbstractContextManager[Line]:
    """A call of a tool that changes something and waits for a file."""
    return send_body(running, MODERN, message(awaited, McpClient(running.token, MODERN)))


def test_a_quick_call_is_answered_while_every_core_thread_has_a_slow_one(
    running: Laboratory, client: McpClient, tmp_path: Path
) -> None:
    with slow_calls(running, tmp_path, CORE_THREADS):
        assert client.call("echo", {"value": "quick"}).facts == "quick"
        assert client.call("crm.create_deal").facts == {"deal": "d1"}


def test_a_call_whose_client_left_before_a_thread_was_free_does_nothing(
    running: Laboratory, tmp_path: Path
) -> None:
    late = tmp_path / "late"
    with slow_calls(running, tmp_path, MAX_THREADS):
        # When a server has read a request or seen that its client left cannot be seen from outside.
        with call_waiting_tool(running, late):
            time.sleep(2 * WATCHES_AFTER)
        time.sleep(2 * WATCHES_AFTER)
    wait_until(lambda: last_row(running, "write_slowly") == "cancelled cancelled")
    assert not begun_mark(late).exists()


def test_a_token_that_was_revoked_before_a_thread_was_free_is_refused(
    laboratory: Laboratory, tmp_path: Path
) -> None:
    late, short = tmp_path / "late", laboratory.with_account()
    with ExitStack() as stack:
        with slow_calls(short, tmp_path, MAX_THREADS):
            line = stack.enter_context(call_waiting_tool(short, late))
            revoke(short)
        assert b" 401 " in line.read_until(b"}}")
    assert not begun_mark(late).exists()


def test_many_calls_at_once_have_their_own_answers_and_their_own_records(
    running: Laboratory, client: McpClient
) -> None:
    before = count_rows(running)
    kinds: list[Callable[[int], Any]] = [
        lambda number: client.call("echo", {"value": number}).facts == number,
        lambda _: client.call("crm.find_contact").facts == {"contact": "c1"},
        lambda _: client.call("crm.create_deal").facts == {"deal": "d1"},
        lambda _: client.call("describe").facts == {"answer": 42},
        lambda _: client.call("crm.delete_contact").error["code"] == -32002,
        lambda _: "echo" in client.tool_names(),
    ]
    with ThreadPoolExecutor(CLIENTS) as pool:
        right = list(pool.map(lambda number: kinds[number % 6](number), range(AT_ONCE)))
    assert right == [True] * AT_ONCE
    new = {key: count - before.get(key, 0) for key, count in count_rows(running).items()}
    each = AT_ONCE // 6
    assert {key: count for key, count in new.items() if count} == {
        ("echo", "success"): each,
        ("crm.find_contact", "success"): each,
        ("crm.create_deal", "success"): each,
        ("describe", "success"): each,
        ("crm.delete_contact", "refused"): each,
    }


def revoke(running: Laboratory) -> None:
    code = REVOKE.format(authorization=running.account.authorization)
    assert int(running.evaluate(code)) == 1


def count_rows(running: Laboratory) -> dict[tuple[str, str], int]:
    """How many rows there are of each tool with each outcome."""
    code = COUNT.format(organization=running.account.organization)
    reported = eval(running.evaluate(code))  # noqa: S307  our own process wrote it
    return {(tool, outcome): count for tool, outcome, count in reported}


@pytest.mark.parametrize("size", [1000, 20_000, 900_000])
def test_a_body_of_any_size_that_is_taken_is_answered(size: int, client: McpClient) -> None:
    assert client.call("echo", {"value": "x" * size}).facts == "x" * size


def test_a_stranger_is_refused_and_counted(running: Laboratory) -> None:
    stranger = McpClient("halo_at_unknown", transport=http_transport(running.server.mcp_url))
    before = int(running.evaluate(REFUSED))
    assert {stranger.call("echo", {"value": 1}).status for _ in range(5)} == {401}
    assert int(running.evaluate(REFUSED)) >= before + 5


def test_who_is_revoked_is_refused_with_the_next_call(laboratory: Laboratory) -> None:
    short = laboratory.with_account()
    client = McpClient(short.token, transport=http_transport(short.server.mcp_url))
    assert client.call("echo", {"value": 1}).facts == 1
    revoke(short)
    assert client.call("echo", {"value": 1}).status == 401
