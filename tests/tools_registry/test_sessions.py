"""`Mcp-Session-Id`: what it remembers, whose it is, and that nothing depends on it."""

import json
import time
from dataclasses import replace
from typing import Any

import pytest
import time_machine

from audit.models import ActionExecution
from foundation import sealed_text
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision
from tests.drivers import grants
from tests.drivers.elicitation_client import EVERYTHING, SESSION, start_session
from tests.drivers.mcp import CLIENT, McpClient, Reply
from tools_registry.endpoint import sessions
from tools_registry.models import SessionLevel
from tools_registry.tasks import prune_asking

pytestmark = pytest.mark.usefixtures("lab")

NEWEST = Revision.V2025_11_25
DAY = 86_400


def initialize(client: McpClient, revision: Revision, capabilities: Any = EVERYTHING) -> Reply:
    params = {
        "protocolVersion": revision.value,
        "capabilities": capabilities,
        "clientInfo": CLIENT,
    }
    return client.with_revision(revision).request("initialize", params)


def remembered_facts(session: str) -> dict[str, Any]:
    """What the server wrote into an id; only it can read it."""
    opened: dict[str, Any] = json.loads(sealed_text.unseal(session, context=sessions.CONTEXT))
    return opened


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_an_id_is_minted_at_every_revision_with_a_handshake(
    mcp: McpClient, revision: Revision
) -> None:
    reply = initialize(mcp, revision)
    assert reply.result["protocolVersion"] == revision
    assert SESSION.lower() in reply.headers


def test_an_id_is_visible_ascii_and_differs_each_time(mcp: McpClient) -> None:
    ids = {initialize(mcp, NEWEST).headers[SESSION.lower()] for _ in range(3)}
    assert len(ids) == 3
    for session in ids:
        assert all(0x21 <= ord(character) <= 0x7E for character in session)


def test_a_bare_handshake_and_every_other_method_gets_none(mcp: McpClient) -> None:
    for revision in REVISIONS:
        client = start_session(mcp, NEWEST).with_revision(revision)
        for method in ("initialize", "ping", "tools/list", "server/discover"):
            assert SESSION.lower() not in client.request(method).headers


def test_an_id_stays_small_whatever_a_client_declares(mcp: McpClient) -> None:
    flood = {"elicitation": {"form": {"x": "y" * 9999}, "z": {}}, "a" * 9999: {}, "roots": 7}
    session = initialize(mcp, NEWEST, flood).headers[SESSION.lower()]
    assert len(session) < sessions.MAX_CHARACTERS / 2
    assert remembered_facts(session)["capabilities"] == {"elicitation": {"form": {}}}


def test_a_second_handshake_declares_again_whatever_id_comes_with_it(mcp: McpClient) -> None:
    session = initialize(mcp, NEWEST).headers[SESSION.lower()]
    again = replace(mcp, headers={SESSION: session})
    newer = initialize(again, NEWEST, {"roots": {}}).headers[SESSION.lower()]
    assert remembered_facts(newer)["capabilities"] == {"roots": {}}


@pytest.mark.parametrize("session", ["", "x", "garbage", "=" * 40, "A" * 9000, "\xe9", "a, b"])
def test_garbage_is_passed_over(mcp: McpClient, session: str) -> None:
    client = replace(mcp.with_revision(NEWEST), headers={SESSION: session})
    assert client.request("ping").result == {}
    assert client.call("echo", {"value": 1}).facts == 1


def usable(client: McpClient, session: str | None) -> bool:
    """Whether a session counts: only its own client can set a level for it."""
    SessionLevel.objects.all().delete()
    given = replace(client, headers={SESSION: session})
    reply = given.request("logging/setLevel", {"level": "info"})
    assert reply.result == {}
    return SessionLevel.objects.exists()


def test_an_id_counts_for_its_own_connection_and_revision_until_it_is_over(mcp: McpClient) -> None:
    session = initialize(mcp, NEWEST).headers[SESSION.lower()]
    own = mcp.with_revision(NEWEST)
    assert usable(own, session)
    assert not usable(own, None)
    assert not usable(own, session[:-1])
    assert not usable(own.holding(grants.make_grant().token()), session)
    assert not usable(mcp.with_revision(Revision.V2025_06_18), session)
    seconds = sessions.LIFETIME.total_seconds()
    with time_machine.travel(time.time() + 1800):
        assert usable(own, session)
    monthly = sealed_text.seal(
        json.dumps(remembered_facts(session) | {"ends": time.time() - 1}).encode(),
        context=sessions.CONTEXT,
    )
    assert not usable(own, monthly)
    assert seconds <= 30 * DAY


def test_an_id_of_another_version_of_this_server_is_passed_over(mcp: McpClient) -> None:
    session = initialize(mcp, NEWEST).headers[SESSION.lower()]
    other = json.dumps(remembered_facts(session) | {"more": 1}).encode()
    assert not usable(mcp.with_revision(NEWEST), sealed_text.seal(other, context=sessions.CONTEXT))


def test_a_session_is_not_ended_by_its_client(mcp: McpClient) -> None:
    assert start_session(mcp, NEWEST).http("DELETE").status == 405


def silent(client: McpClient, revision: Revision) -> McpClient:
    """A client in a session that never names its revision again, as those of 2024-11-05."""
    session = start_session(client, revision)
    return replace(session, headers={**session.headers, "MCP-Protocol-Version": None})


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_a_session_speaks_its_revision_where_a_request_does_not_say(
    mcp: McpClient, revision: Revision
) -> None:
    loud, quiet = start_session(mcp, revision), silent(mcp, revision)
    for method in ("tools/list", "resources/list", "prompts/list"):
        assert quiet.request(method).result == loud.request(method).result
    for tool in ("echo", "no_such_tool"):
        assert quiet.call(tool, {"value": 1}).json == loud.call(tool, {"value": 1}).json
    assert ActionExecution.objects.latest("id").revision == revision


def test_a_client_of_2024_11_05_is_sent_what_it_knows(mcp: McpClient) -> None:
    for tool in silent(mcp, Revision.V2024_11_05).request("tools/list").result["tools"]:
        assert set(tool) == {"name", "description", "inputSchema"}


def test_a_session_without_batches_has_none_where_a_request_does_not_say(mcp: McpClient) -> None:
    batch = [{"jsonrpc": "2.0", "id": 1, "method": "ping"}]
    sizes = {at: silent(mcp, at).send(batch).status for at in HANDSHAKE}
    assert [at for at, status in sizes.items() if status == 200] == [Revision.V2025_03_26]


def test_what_a_request_says_counts_before_its_session_does(mcp: McpClient) -> None:
    session = start_session(mcp, Revision.V2024_11_05)
    newer = replace(session.with_revision(NEWEST), headers=session.headers)
    assert (
        newer.request("tools/list").result == mcp.with_revision(NEWEST).request("tools/list").result
    )


def test_an_id_that_does_not_count_leaves_the_revision_that_is_assumed(mcp: McpClient) -> None:
    usual = mcp.with_revision(Revision.V2025_03_26)
    stranger = silent(usual.holding(grants.make_grant(scope="docs:read").token()), NEWEST)
    borrowed = replace(usual, headers=stranger.headers)
    for client in (borrowed, replace(usual, headers={SESSION: "garbage"})):
        assert client.request("tools/list").result == usual.request("tools/list").result
        assert client.send([{"jsonrpc": "2.0", "id": 1, "method": "ping"}]).status == 200


def received_levels(client: McpClient) -> list[str]:
    """The levels of the messages that a call sends, without being asked for more."""
    reply = client.call("count_up", {"to": 1})
    if reply.headers["content-type"] == "application/json":
        return []
    return [event["params"]["level"] for event in reply.events if "method" in event]


def test_a_session_hears_from_the_level_that_was_set_for_it(mcp: McpClient) -> None:
    client = start_session(mcp, NEWEST)
    assert received_levels(client) == []
    reply = client.request("logging/setLevel", {"level": "warning"})
    assert reply.result == {}
    # Some clients go on with the id that they were first given, others take the new one.
    newer = replace(client, headers={**client.headers, SESSION: reply.headers[SESSION.lower()]})
    assert received_levels(client) == received_levels(newer) == ["warning"]
    newer.request("logging/setLevel", {"level": "debug"})
    assert received_levels(client) == received_levels(newer) == ["debug", "warning"]
    assert received_levels(start_session(mcp, NEWEST)) == []


def test_a_level_that_does_not_exist_changes_nothing(mcp: McpClient) -> None:
    client = start_session(mcp, NEWEST)
    reply = client.request("logging/setLevel", {"level": "loud"})
    assert reply.code == -32602
    assert SESSION.lower() not in reply.headers
    assert not SessionLevel.objects.exists()


def test_levels_of_old_sessions_are_cleaned_up(mcp: McpClient) -> None:
    start_session(mcp, NEWEST).request("logging/setLevel", {"level": "info"})
    assert prune_asking() == 0
    with time_machine.travel(time.time() + 31 * DAY):
        assert prune_asking() == 1


def test_an_authorization_keeps_the_levels_of_its_newest_sessions_alone(mcp: McpClient) -> None:
    other = start_session(mcp.holding(grants.make_grant().token()), NEWEST)
    other.request("logging/setLevel", {"level": "error"})
    clients = [start_session(mcp, NEWEST) for _ in range(sessions.MAX_LEVELS + 2)]
    for client in clients:
        client.request("logging/setLevel", {"level": "info"})
    assert SessionLevel.objects.count() == sessions.MAX_LEVELS + 1
    assert received_levels(clients[0]) == received_levels(clients[1]) == []
    assert received_levels(clients[2]) == received_levels(clients[-1]) == ["warning"]
    assert SessionLevel.objects.filter(level="error").exists()
    # One more word of the same session takes no other's place.
    clients[2].request("logging/setLevel", {"level": "debug"})
    assert received_levels(clients[3]) == ["warning"]
