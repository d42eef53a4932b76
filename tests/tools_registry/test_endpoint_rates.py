"""Group T: how often a token and an address may ask."""

import time
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import ActionExecution, SecurityEvent
from foundation import ids, limits
from foundation.limits import Limit, charging
from foundation.limits.refusals import Refusals
from mcp_protocol.revisions import REVISIONS, Revision
from tests.drivers.asgi import application, exchange, scope_of
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import HOST, McpClient, Reply

MODERN = Revision.V2026_07_28
CAPS = {"tools/list": 60, "tools/call": 120, "ping": 60}
NOON = "2026-01-01T12:00:00Z"
UNIX_NOON = 1_767_268_800
CLIENT_INFO = {"name": "test", "version": "1"}


@pytest.fixture
def _memory(settings: Any) -> None:
    """Counters of this process, whose clock a test can set."""
    settings.HALO_LIMIT_STORE = "memory"
    limits.reset_store()


def ask(client: McpClient, method: str) -> Reply:
    params = {"name": "setup_get_jwt_sample"} if method == "tools/call" else None
    return client.request(method, params)


def spend(client: McpClient, method: str, times: int) -> None:
    for _ in range(times):
        assert ask(client, method).status == 200


def assert_refused(reply: Reply, code: int = -32002) -> dict[str, str]:
    assert (reply.status, reply.code) == (429, code)
    assert reply.error["data"] == {"reason": "rate_limited", "layer": "rate_limit"}
    names = ("limit", "remaining", "reset")
    message = {name: reply.headers[f"x-ratelimit-{name}"] for name in names}
    return {**message, "retry": reply.headers["retry-after"]}


@pytest.mark.usefixtures("_memory")
@pytest.mark.parametrize(("method", "cap"), CAPS.items())
def test_t01_one_more_than_the_cap_is_refused_and_names_when_to_come_back(
    mcp: McpClient, method: str, cap: int
) -> None:
    with time_machine.travel(NOON, tick=False):
        spend(mcp, method, cap)
        message = assert_refused(ask(mcp, method))
    assert (message["limit"], message["remaining"]) == (str(cap), "0")
    assert int(message["reset"]) == UNIX_NOON + int(message["retry"])
    assert 60 <= int(message["retry"]) <= 120


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_t01_the_code_is_that_of_the_revision(
    mcp: McpClient, settings: Any, revision: Revision
) -> None:
    settings.HALO_RATE_TOOLS_LIST = Limit(1, 60)
    client = mcp.with_revision(revision)
    spend(client, "tools/list", 1)
    assert_refused(ask(client, "tools/list"), -31002 if revision == MODERN else -32002)


def test_t01_a_malformed_message_is_refused_in_the_code_of_its_header(
    mcp: McpClient, settings: Any
) -> None:
    settings.HALO_RATE_OTHER = Limit(1, 60)
    client = mcp.with_revision(MODERN)
    assert client.send(b"{").status == 400
    assert_refused(client.send(b"{"), -31002)


def test_t01_the_three_buckets_are_independent(mcp: McpClient, settings: Any) -> None:
    for name in ("TOOLS_LIST", "TOOLS_CALL", "OTHER"):
        setattr(settings, f"HALO_RATE_{name}", Limit(1, 60))
    for method in CAPS:
        spend(mcp, method, 1)
    for method in CAPS:
        assert_refused(ask(mcp, method))


def session_around_a_call(client: McpClient) -> list[int]:
    """The statuses of a client that opens a session for each call, and lists the tools in it."""
    hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": CLIENT_INFO}
    return [
        client.request("initialize", hello).status,
        client.notify("notifications/initialized").status,
        client.http("GET", headers={"Accept": "text/event-stream"}).status,
        ask(client, "tools/call").status,
        ask(client, "tools/list").status,
        client.http("DELETE").status,
    ]


@pytest.mark.usefixtures("_memory")
def test_a_client_with_six_requests_for_each_call_makes_all_its_calls(
    mcp: McpClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Refusals are remembered by the clock that tests move, too.
    monkeypatch.setattr(charging, "_refusals", Refusals(now=time.time))
    client = mcp.with_revision(Revision.V2025_11_25)
    for second in range(0, 240, 40):
        # Forty sessions in twenty seconds of each forty: 60 calls a minute, in bursts.
        with time_machine.travel(UNIX_NOON + second, tick=False):
            for _ in range(40):
                assert session_around_a_call(client) == [200, 202, 405, 200, 200, 405]


@pytest.mark.usefixtures("_memory")
def test_a_client_with_a_session_for_each_call_is_refused_by_the_limit_of_calls(
    mcp: McpClient,
) -> None:
    client = mcp.with_revision(Revision.V2025_11_25)
    with time_machine.travel(NOON, tick=False):
        for _ in range(120):
            assert session_around_a_call(client) == [200, 202, 405, 200, 200, 405]
        assert assert_refused(ask(client, "tools/call"))["limit"] == "120"


@pytest.mark.usefixtures("_memory")
def test_calls_bring_a_bounded_number_of_other_messages_with_them(mcp: McpClient) -> None:
    with time_machine.travel(NOON, tick=False):
        spend(mcp, "tools/list", 60)
        spend(mcp, "tools/call", 20)
        # Two for each call beyond a quarter of the limit.
        spend(mcp, "tools/list", 2 * (20 - 15))
        assert assert_refused(ask(mcp, "tools/list"))["limit"] == "60"
        spend(mcp, "ping", 60)
        assert assert_refused(ask(mcp, "ping"))["limit"] == "60"
        assert mcp.request("resources/list").status == 429


@pytest.mark.usefixtures("_memory")
def test_the_limit_of_an_address_counts_every_message_around_a_call(
    mcp: McpClient, settings: Any
) -> None:
    settings.HALO_RATE_TOOLS_LIST, settings.HALO_RATE_IP = Limit(1, 60), Limit(12, 60)
    with time_machine.travel(NOON, tick=False):
        spend(mcp, "tools/call", 5)
        spend(mcp, "tools/list", 7)
        assert assert_refused(ask(mcp, "tools/list"))["limit"] == "12"


def test_t01_a_refused_call_is_recorded_without_its_arguments(
    mcp: McpClient, settings: Any
) -> None:
    settings.HALO_RATE_TOOLS_CALL = Limit(1, 60)
    spend(mcp, "tools/call", 1)
    mcp.call("search_docs", {"query": "x"})
    row = ActionExecution.objects.latest("id")
    assert (row.outcome, row.reason, row.layer) == ("rate_limited", "rate_limited", "rate_limit")
    assert (row.method, row.tool, row.arguments) == ("tools/call", "search_docs", {})


def test_unknown_tools_and_methods_are_no_free_probes(mcp: McpClient, settings: Any) -> None:
    settings.HALO_RATE_TOOLS_CALL = settings.HALO_RATE_OTHER = Limit(1, 60)
    assert mcp.call("nope").code == -32601
    assert_refused(mcp.call("nope"))
    assert mcp.request("nope").code == -32601
    assert_refused(mcp.request("nope"))


def test_an_organization_whose_flag_is_off_is_counted_all_the_same(
    mcp: McpClient, grant: Grant, settings: Any
) -> None:
    settings.HALO_RATE_OTHER = Limit(1, 60)
    grant.switch_off("mcp_server")
    assert mcp.request("ping").status == 403
    assert_refused(mcp.request("ping"))


def test_t02_a_refreshed_token_shares_the_budget_of_its_family(grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_OTHER = Limit(2, 60)
    spend(McpClient(grant.token()), "ping", 1)
    spend(McpClient(grant.token()), "ping", 1)
    assert_refused(ask(McpClient(grant.token()), "ping"))


def test_t02_all_connections_of_a_person_share_four_budgets(grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_OTHER = Limit(2, 60)
    clients = [McpClient(grant.another().token()) for _ in range(6)]
    for client in clients[:4]:
        spend(client, "ping", 2)
    for client in clients[4:]:
        assert_refused(ask(client, "ping"))
    assert ActionExecution.objects.latest("id").detail == "person"
    spend(McpClient(make_grant().token()), "ping", 2)


def test_t02_another_consent_has_a_budget_of_its_own(grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_OTHER = Limit(1, 60)
    spend(McpClient(grant.token()), "ping", 1)
    spend(McpClient(make_grant().token()), "ping", 1)


def test_t08_a_batch_is_charged_one_by_one(mcp: McpClient, settings: Any) -> None:
    settings.HALO_RATE_OTHER = Limit(3, 60)
    batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(5)]
    reply = mcp.send(batch)
    assert reply.status == 200
    assert ["result" in one for one in reply.json] == [True, True, True, False, False]
    assert reply.json[3]["error"]["data"]["reason"] == "rate_limited"
    assert ActionExecution.objects.filter(outcome="rate_limited").count() == 2


def test_t08_a_batch_of_100_counts_100(mcp: McpClient, settings: Any) -> None:
    settings.HALO_RATE_OTHER = Limit(100, 60)
    batch = [{"jsonrpc": "2.0", "id": number, "method": "ping"} for number in range(100)]
    assert all("result" in one for one in mcp.send(batch).json)
    assert_refused(mcp.request("ping"))


def test_t04_two_ipv4_callers_of_a_dual_stack_socket_are_two(grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_IP = Limit(1, 60)
    token = grant.token()
    assert from_address(token, "::ffff:198.51.100.7").status == 200
    assert from_address(token, "::ffff:198.51.100.8").status == 200
    assert_refused(from_address(token, "198.51.100.7"))


@pytest.mark.django_db
@pytest.mark.parametrize(
    "headers",
    [{}, {"Authorization": "Bearer nonsense"}, {"Origin": "https://evil.example"}],
    ids=["no-bearer", "bad-bearer", "evil-origin"],
)
def test_t07_an_address_that_asks_too_often_costs_no_statement(
    settings: Any, headers: dict[str, str]
) -> None:
    settings.HALO_RATE_IP = Limit(2, 60)
    stranger = McpClient(headers=headers)
    before = [stranger.request("ping").status for _ in range(3)]
    assert before[:2] in ([401, 401], [403, 403])
    assert before[2] == 429
    with CaptureQueriesContext(connection) as statements:
        assert_refused(stranger.request("ping"))
        assert_refused(stranger.with_revision(MODERN).request("tools/list"), -31002)
    assert len(statements) == 0
    kinds = set(SecurityEvent.objects.values_list("kind", flat=True))
    assert len(kinds) == 2
    assert "rate_limited" in kinds


def test_a_spent_token_that_goes_on_asking_uses_up_its_address(
    mcp: McpClient, settings: Any
) -> None:
    settings.HALO_RATE_OTHER, settings.HALO_RATE_IP = Limit(1, 60), Limit(4, 60)
    spend(mcp, "ping", 1)
    for _ in range(4):
        assert_refused(mcp.request("ping"))
    rows = ActionExecution.objects.count()
    with CaptureQueriesContext(connection) as statements:
        assert_refused(mcp.request("ping"))
    assert len(statements) == 0
    assert ActionExecution.objects.count() == rows


def from_address(token: str, address: str, forwarded: str | None = None) -> Reply:
    headers = [("Host", HOST), ("Authorization", f"Bearer {token}")]
    headers += [("Content-Type", "application/json")]
    headers += [("X-Forwarded-For", forwarded)] if forwarded is not None else []
    body = b'{"jsonrpc":"2.0","id":1,"method":"ping"}'
    with application() as app:
        return exchange(app, scope_of("POST", headers, client=(address, 1)), [body]).reply


@pytest.mark.parametrize(
    "forwarded",
    [
        *("1.2.3.4", "1.2.3.4, 5.6.7.8", "garbage", "::1", ",,,", "\xff", "1.2.3.4:99"),
        *("::ffff:1.2.3.4", "1.2.3.4, garbage", "fe80::1%lo", "9" * 5_000, "1.2.3.4," * 500),
    ],
)
def test_t04_a_forwarded_address_counts_only_from_a_trusted_proxy(
    grant: Grant, settings: Any, forwarded: str
) -> None:
    settings.HALO_RATE_IP = Limit(1, 60)
    token = grant.token()
    assert from_address(token, "198.51.100.7", forwarded).status == 200
    assert_refused(from_address(token, "198.51.100.7", "9.9.9.9"))


def test_t04_behind_a_trusted_proxy_each_client_has_its_own_bucket(
    grant: Grant, settings: Any
) -> None:
    settings.HALO_RATE_IP, settings.HALO_TRUSTED_PROXIES = Limit(1, 60), ["198.51.100.0/24"]
    token = grant.token()
    assert from_address(token, "198.51.100.7", "1.2.3.4").status == 200
    assert from_address(token, "198.51.100.7", "1.2.3.5").status == 200
    assert_refused(from_address(token, "198.51.100.7", "1.2.3.4"))
    assert set(ActionExecution.objects.values_list("address", flat=True)) == {"1.2.3.4"}


def test_t04_addresses_of_one_ipv6_network_are_one_caller(grant: Grant, settings: Any) -> None:
    settings.HALO_RATE_IP = Limit(1, 60)
    token = grant.token()
    assert from_address(token, "2001:db8::1").status == 200
    assert_refused(from_address(token, "2001:db8::ffff"))
    assert from_address(token, "2001:db8:0:1::1").status == 200


@pytest.mark.django_db
def test_unknown_tokens_of_one_network_are_one_row(settings: Any) -> None:
    settings.HALO_RATE_IP = Limit(100, 60)
    with time_machine.travel(NOON, tick=False):
        for _ in range(20):
            McpClient(ids.opaque("halo_at_")).request("ping")
    assert SecurityEvent.objects.get().count == 20
