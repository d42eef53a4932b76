"""The raw ASGI edge: bodies that are too large, too slow, cut off or lie about their length."""

import json
from typing import Any

import pytest

from audit.models import ActionExecution
from tests.drivers.asgi import Wire, application, exchange, scope_of
from tests.drivers.mcp import HOST, McpClient
from tools_registry.endpoint import asgi as edge
from tools_registry.endpoint.asgi import Timeouts

CAP = 1_048_576
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
IMPATIENT = Timeouts(body=0.05, keep_alive=15)


def post(client: McpClient, *extra: tuple[str, str]) -> dict[str, Any]:
    headers = [
        ("Host", HOST),
        ("Content-Type", "application/json"),
        ("Authorization", f"Bearer {client.token}"),
    ]
    return scope_of("POST", [*headers, *extra])


def send_chunks(scope: dict[str, Any], *chunks: bytes, ends: str = "whole") -> Wire:
    with application(IMPATIENT) as app:
        return exchange(app, scope, chunks or (b"",), ends=ends)


def test_a_body_in_pieces_is_one_body(mcp: McpClient) -> None:
    wire = send_chunks(post(mcp), PING[:10], b"", PING[10:])
    assert wire.reply.result == {}


def test_i23_a_body_that_never_ends_is_cut_at_the_cap_and_not_read_on(mcp: McpClient) -> None:
    chunk = b" " * 65_536
    wire = send_chunks(post(mcp), *[chunk] * 100, ends="never")
    assert (wire.status, wire.headers["connection"]) == (413, "close")
    # The rest is discarded, until the client leaves.
    assert wire.taken > CAP // len(chunk)
    assert wire.reply.code == -32600


def test_i23_a_body_announced_as_too_large_is_refused_before_it_comes(mcp: McpClient) -> None:
    wire = send_chunks(post(mcp, ("Content-Length", str(CAP + 1))), ends="never")
    assert wire.status == 413
    assert wire.headers["connection"] == "close"


@pytest.mark.parametrize("length", ["5", "-1", "x", "", "9" * 5000, "\xb2", "0" * 30 + "5"])
def test_i23_a_content_length_that_lies_changes_nothing_but_its_own_answer(
    mcp: McpClient, length: str
) -> None:
    wire = send_chunks(post(mcp, ("Content-Length", length)), PING)
    assert wire.status == (413 if length == "9" * 5000 else 200)


def test_u01_a_body_that_dawdles_is_given_up(mcp: McpClient) -> None:
    wire = send_chunks(post(mcp, ("Content-Length", "40")), PING[:10], ends="never")
    assert (wire.status, wire.headers["connection"]) == (408, "close")
    assert wire.reply.error["message"] == "The request body did not arrive in time."
    assert not ActionExecution.objects.exists()


def test_who_goes_away_before_the_body_is_whole_is_not_answered(mcp: McpClient) -> None:
    wire = send_chunks(post(mcp), PING[:10], ends="gone")
    assert (wire.status, wire.body) == (0, b"")
    assert not ActionExecution.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["GET", "HEAD", "OPTIONS", "DELETE"])
def test_a_body_that_cannot_matter_is_not_waited_for(
    method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a busy machine the answer takes long enough to look whether the client has left.
    monkeypatch.setattr(edge, "WATCHES_AFTER", 60)
    scope = scope_of(method, [("Host", HOST), ("Content-Length", "100")])
    wire = send_chunks(scope, b"x", ends="never")
    assert wire.taken == 0
    assert wire.status in {200, 204, 401, 405}


def test_every_answer_says_how_long_it_is(mcp: McpClient) -> None:
    wire = send_chunks(post(mcp), PING)
    assert wire.headers["content-length"] == str(len(wire.body))
    assert "connection" not in wire.headers


def test_a_socket_without_an_address_is_served_too(mcp: McpClient) -> None:
    scope = post(mcp) | {"client": None}
    assert send_chunks(scope, json.dumps([]).encode()).status == 400
    assert ActionExecution.objects.get().address == "unknown"


def test_the_threads_see_the_database_the_request_came_for(mcp: McpClient) -> None:
    call = {"name": "setup_get_jwt_sample", "arguments": {}}
    message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
    assert send_chunks(post(mcp), json.dumps(message).encode()).reply.facts["algorithm"] == "HS256"
    assert ActionExecution.objects.get().outcome == "success"
