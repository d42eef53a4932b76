"""Verbs, hosts, origins: everything about a request that is not its message."""

from typing import Any

import pytest
from django.db import InterfaceError, OperationalError

from audit.models import ActionExecution, SecurityEvent
from foundation.db.time_limit import TimeLimitExceeded
from foundation.limits import LimitStoreDown
from foundation.store_failures import MESSAGE
from oauth import credentials
from tests.drivers.asgi import application, exchange, scope_of
from tests.drivers.mcp import HOST, McpClient

PAGE = "https://inspector.example"
ALLOW = "GET, HEAD, POST, OPTIONS"


@pytest.fixture
def _page_allowed(settings: Any) -> None:
    settings.HALO_ALLOWED_ORIGINS = [PAGE]


@pytest.mark.django_db
@pytest.mark.parametrize("method", ["DELETE", "PUT", "PATCH", "TRACE", "BREW", "post"])
def test_i22_other_verbs_are_refused_with_those_that_are_not(method: str) -> None:
    reply = McpClient().http(method)
    assert (reply.status, reply.headers["allow"]) == (405, ALLOW)
    assert reply.code == -32600


def test_g08_a_client_that_wants_a_stream_from_get_may_not_have_one(mcp: McpClient) -> None:
    stream = {"Accept": "Text/Event-Stream"}
    assert mcp.http("GET", headers=stream).status == 405
    anonymous = mcp.holding(None).http("GET", headers=stream)
    assert (anonymous.status, anonymous.code) == (401, -32001)


def test_i22_head_tells_the_length_that_get_would_send(mcp: McpClient) -> None:
    head, get = mcp.http("HEAD"), mcp.http("GET")
    assert (head.status, head.body) == (200, b"")
    assert head.headers["content-length"] == get.headers["content-length"] == str(len(get.body))


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/event-stream"])
def test_head_without_a_token_is_challenged_and_get_is_the_descriptor(
    mcp: McpClient, accept: str | None
) -> None:
    sent = {} if accept is None else {"Accept": accept}
    for token in (None, "halo_at_x"):
        head = mcp.holding(token).http("HEAD", headers=sent)
        assert (head.status, head.body) == (401, b"")
        challenge = head.headers["www-authenticate"]
        assert 'resource_metadata="http://127.0.0.1:8000/.well-known/' in challenge
        assert 'scope="docs:read setup:read data:read"' in challenge
    if accept != "text/event-stream":
        assert mcp.http("HEAD", headers=sent).status == 200
        assert mcp.holding(None).http("GET", headers=sent).status == 200


def test_an_answer_without_content_has_no_length() -> None:
    reply = McpClient().http("OPTIONS")
    assert reply.status == 204
    assert "content-length" not in reply.headers


@pytest.mark.usefixtures("_page_allowed")
def test_options_asks_for_no_token_and_tells_an_allowed_page_what_it_may_send() -> None:
    reply = McpClient().http("OPTIONS", headers={"Origin": PAGE})
    assert reply.status == 204
    assert reply.headers["access-control-allow-origin"] == PAGE
    allowed = reply.headers["access-control-allow-headers"].split(", ")
    assert {"Authorization", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name"} <= set(allowed)
    assert "access-control-allow-credentials" not in reply.headers


@pytest.mark.usefixtures("_page_allowed")
def test_a_page_may_send_the_headers_of_arguments_and_no_others_that_it_makes_up() -> None:
    asked = "mcp-param-region, Mcp-Param-A.b,x-other,mcp-param-,mcp-param-a b, mcp-param-\xe9"
    sent = {"Origin": PAGE, "Access-Control-Request-Headers": asked}
    reply = McpClient().http("OPTIONS", headers=sent)
    allowed = reply.headers["access-control-allow-headers"].split(", ")
    assert [name for name in allowed if "param" in name.lower()] == [
        "mcp-param-region",
        "Mcp-Param-A.b",
    ]
    assert "x-other" not in allowed


@pytest.mark.usefixtures("_page_allowed")
@pytest.mark.parametrize("token", ["good", "bad"])
def test_every_answer_can_be_read_by_an_allowed_page(mcp: McpClient, token: str) -> None:
    client = mcp if token == "good" else mcp.holding("halo_at_x")
    reply = client.request("ping", headers={"Origin": PAGE})
    assert reply.headers["access-control-allow-origin"] == PAGE
    assert "WWW-Authenticate" in reply.headers["access-control-expose-headers"]
    assert "Origin" in reply.headers["vary"]


def test_a_program_sends_no_origin_and_is_sent_none(mcp: McpClient) -> None:
    reply = mcp.request("ping")
    assert "access-control-allow-origin" not in reply.headers
    assert "Origin" in reply.headers["vary"]


@pytest.mark.usefixtures("_page_allowed")
@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "null",
        "",
        f"{PAGE}.evil.example",
        f"{PAGE}/",
        "http://127.0.0.1",
        "http://127.0.0.1:8000.evil.example",
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["POST", "GET", "OPTIONS"])
def test_h10_pages_of_other_sites_are_refused_before_anything_runs(
    mcp: McpClient, origin: str, method: str
) -> None:
    reply = mcp.http(method, b'{"jsonrpc":"2.0"}', headers={"Origin": origin})
    assert reply.status == 403
    assert "access-control-allow-origin" not in reply.headers
    assert SecurityEvent.objects.get().kind == "origin_refused"
    assert not ActionExecution.objects.exists()


def test_a_page_of_this_very_deployment_may_ask(mcp: McpClient) -> None:
    assert mcp.request("ping", headers={"Origin": "http://127.0.0.1:8000"}).status == 200


@pytest.mark.parametrize(
    "host",
    ["evil.example:8000", "127.0.0.1.evil.example", "", "[", "127.0.0.1:x", "a b", "127.0.0.1, x"],
    ids=repr,
)
def test_h10_a_host_that_is_not_ours_is_misdirected(host: str) -> None:
    with application() as app:
        reply = exchange(app, scope_of("GET", [("Host", host)])).reply
    assert reply.status == 421


def test_h10_a_request_without_a_host_is_misdirected() -> None:
    with application() as app:
        assert exchange(app, scope_of("GET", [])).reply.status == 421


@pytest.mark.parametrize("host", [HOST, "localhost", "[::1]:8000", "LOCALHOST:1"])
def test_every_name_of_this_computer_is_ours(host: str) -> None:
    with application() as app:
        assert exchange(app, scope_of("GET", [("Host", host)])).reply.status == 200


def test_answers_are_never_stored_and_carry_the_number_to_quote(mcp: McpClient) -> None:
    first, second = mcp.request("ping"), mcp.request("ping")
    assert first.headers["cache-control"] == "no-store"
    assert first.headers["x-request-id"] != second.headers["x-request-id"]


@pytest.mark.parametrize("header", ["X-Request-Id", "x-request-id"])
def test_a_request_id_of_the_client_is_not_taken_over(mcp: McpClient, header: str) -> None:
    assert mcp.request("ping", headers={header: "mine"}).headers["x-request-id"] != "mine"


@pytest.mark.parametrize(
    "failure",
    [
        OperationalError("could not connect to 10.0.0.5"),
        InterfaceError("connection already closed"),
        LimitStoreDown("10.0.0.5"),
        TimeLimitExceeded(),
    ],
    ids=["database-down", "connection-lost", "limit-store-down", "database-slow"],
)
def test_an_outage_of_a_store_is_reported_as_one(
    monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    def fail(*_given: object) -> None:
        raise failure

    monkeypatch.setattr(credentials, "authenticate", fail)
    reply = McpClient("halo_at_x").request("ping", request_id="mine")
    assert (reply.status, reply.code) == (503, -32603)
    assert (reply.json["id"], reply.error["message"]) == ("mine", MESSAGE)
    assert reply.headers["retry-after"] == "1"


def test_a_failure_of_ours_is_reported_as_a_number_to_quote(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(*_given: object) -> None:
        raise RuntimeError("10.0.0.5")

    monkeypatch.setattr(credentials, "authenticate", fail)
    reply = McpClient("halo_at_x").request("ping")
    assert (reply.status, reply.code) == (500, -32603)
    number = reply.headers["x-request-id"]
    assert reply.error["message"] == f"Internal error. Quote {number} to your admin."
    assert "retry-after" not in reply.headers


EVENTS = "text/event-stream"


@pytest.mark.parametrize(
    ("accept", "status"),
    [
        (EVENTS, 405),
        (f"application/json, {EVENTS};q=0.5", 405),
        ("Text/Event-Stream; Q=1", 405),
        (f"{EVENTS};charset=utf-8 ; q=0.001", 405),
        (f"{EVENTS};q=0", 200),
        (f"application/json, {EVENTS} ; Q=0.000", 200),
        (f"x-{EVENTS}", 200),
        ("text/*", 200),
    ],
)
def test_a_media_type_of_no_weight_is_refused_by_who_names_it(
    mcp: McpClient, accept: str, status: int
) -> None:
    assert mcp.http("GET", headers={"Accept": accept}).status == status
