"""The view for servers without ASGI: the same answers and rows, and streams that come at once."""

import json
from collections.abc import Mapping
from io import BytesIO
from typing import Any

import pytest
from django.http import UnreadablePostError
from django.test import Client as DjangoClient
from django.test import RequestFactory

from foundation import limits
from mcp_protocol.revisions import Revision
from tests.drivers.elicitation_client import outcomes, start_session
from tests.drivers.grants import Grant
from tests.drivers.mcp import PATH, McpClient, Reply, send_in_process
from tests.drivers.statements import (
    AUDIT,
    AUTHENTICATE,
    FINISH,
    SWITCHES,
    first_table,
    record_driver_statements,
)
from tests.drivers.subscription_client import MODERN, TOOLS, check_events
from tools_registry.endpoint.streams import listen_streams as listens
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.endpoint.wsgi_view import mcp as mcp_view

pytestmark = pytest.mark.usefixtures("lab")


def send_through_wsgi(method: str, headers: Mapping[str, str], body: bytes) -> Reply:
    """Through Django's test client: URL table, middleware and view."""
    rest = {name: value for name, value in headers.items() if name != "Content-Type"}
    # Given as it stands in the environment: the client leaves it out of an empty body.
    environment: dict[str, Any] = {"CONTENT_TYPE": headers.get("Content-Type", "")}
    response = DjangoClient().generic(method, PATH, body, headers=rest, **environment)
    lowered = {name.lower(): value for name, value in response.headers.items()}
    return Reply(response.status_code, lowered, response.content)


@pytest.fixture
def client(mcp: McpClient) -> McpClient:
    return mcp.with_transport(send_through_wsgi)


@pytest.mark.parametrize(
    ("method", "token", "status"),
    [("GET", "good", 200), ("POST", None, 401), ("DELETE", "good", 405), ("OPTIONS", None, 204)],
)
def test_both_edges_answer_alike(
    mcp: McpClient, method: str, token: str | None, status: int
) -> None:
    asking = mcp if token else mcp.holding(None)
    replies = [
        asking.with_transport(each).http(method) for each in (send_through_wsgi, send_in_process)
    ]
    assert [reply.status for reply in replies] == [status, status]
    bodies = [_remove_numbers(reply) for reply in replies]
    assert bodies[0] == bodies[1]


def _remove_numbers(reply: Reply) -> bytes:
    return reply.body.replace(reply.headers["x-request-id"].encode(), b"")


def test_a_body_one_byte_too_large_is_refused(client: McpClient, settings: Any) -> None:
    ping = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    settings.HALO_MAX_BODY_BYTES = len(ping)
    assert client.send(ping).status == 200
    assert client.http("POST", ping + b" ").status == 413


@pytest.fixture
def _counters_elsewhere(settings: Any) -> None:
    """In PostgreSQL the limits cost one statement more, and in Redis and memory none."""
    settings.HALO_LIMIT_STORE = "memory"
    limits.reset_store()


READ = [AUTHENTICATE, SWITCHES, AUDIT]


@pytest.mark.usefixtures("_counters_elsewhere")
@pytest.mark.parametrize("revision", [Revision.V2025_11_25, Revision.V2026_07_28], ids=str)
@pytest.mark.parametrize(
    ("tool", "cost"),
    [("crm.find_contact", READ), ("crm.create_deal", [*READ, FINISH])],
    ids=["read", "write"],
)
def test_a_call_costs_as_many_statements_as_ahead_of_django(
    client: McpClient, grant: Grant, revision: Revision, tool: str, cost: list[str]
) -> None:
    grant.connect("crm", enabled=("find_contact", "create_deal"))
    with record_driver_statements() as reached:
        assert client.with_revision(revision).call(tool).result["isError"] is False
    assert [first_table(sql) for sql in reached] == cost


def test_the_list_is_the_same(mcp: McpClient) -> None:
    lists = [mcp.with_transport(each).tool_names() for each in (send_through_wsgi, send_in_process)]
    assert lists[0] == lists[1]


def test_both_edges_send_the_same_events(mcp: McpClient) -> None:
    streams = [
        mcp.asking_for_events()
        .with_transport(each)
        .call("count_up", {"to": 2}, meta={"progressToken": "p"})
        for each in (send_through_wsgi, send_in_process)
    ]
    assert streams[0].headers["content-type"] == "text/event-stream"
    assert streams[0].body == streams[1].body


def test_behind_django_nobody_can_be_asked_in_the_middle_of_a_call(client: McpClient) -> None:
    reply = start_session(client, Revision.V2025_11_25).call("greet")
    cannot = "This tool needs your input, and this client or call does not support that."
    assert cannot in json.dumps(reply.json)
    assert outcomes() == ["input_required"]


def test_behind_django_a_stream_ends_where_it_began(client: McpClient) -> None:
    listener = client.with_revision(MODERN).asking_for_events()
    reply = listener.request("subscriptions/listen", {"notifications": TOOLS})
    assert check_events(reply.events) == ["acknowledged", "ended"]
    assert listens.OPEN.is_idle


def test_behind_django_too_nobody_is_answered_who_went_away() -> None:
    class BrokenBody(BytesIO):
        def read(self, _size: int | None = None) -> bytes:
            raise UnreadablePostError("connection reset")

    request = RequestFactory().post("/api/mcp", b"{}", content_type="application/json")
    request._stream = BrokenBody()
    assert mcp_view(request, WORKSPACE_SURFACE).status_code == 400
