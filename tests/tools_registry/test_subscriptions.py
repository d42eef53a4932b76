"""subscriptions/listen: who hears what, and for how long."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import AsyncExitStack
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from django.utils import timezone

from audit.models import ActionExecution
from mcp_protocol.revisions import HANDSHAKE, Revision
from oauth import credentials
from oauth.grants import connections
from oauth.models import AccessToken, Authorization, Client
from tests.drivers import grants
from tests.drivers.asgi import Wire, application, exchange, open_request, scope_of
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.subscription_client import (
    ID,
    MODERN,
    TOOLS,
    OpenSubscription,
    listening,
    request_of,
)
from tests.tools_registry.test_asgi_process import wait_until
from tests.tools_registry.test_asgi_streams import request_of as call_of
from tools_registry.endpoint.asgi import McpApplication, Timeouts
from tools_registry.endpoint.streams import listen_streams as listens
from workspace import changes
from workspace.models import Membership, Organization, User

pytestmark = pytest.mark.usefixtures("lab", "file_notices")

CHANGED = ("acknowledged", "list_changed")
ENDED = ("acknowledged", "ended")


@pytest.fixture
def file_notices(settings: Any, tmp_path: Path) -> None:
    """Notices through a file: the test's transaction is never committed, which others wait for."""
    settings.HALO_NOTICES = str(tmp_path / "notices")


@pytest.fixture
def app() -> Iterator[McpApplication]:
    with application() as app:
        yield app


def publish(grant: Grant) -> None:
    changes.publish([grant.organization.pk])


def enable(grant: Grant, *actions: str) -> Callable[[], None]:
    def act() -> None:
        grant.connect("crm", enabled=actions)
        publish(grant)

    return act


def run(scene: Callable[[], Awaitable[None]]) -> None:
    async def whole() -> None:
        await scene()

    asyncio.run(whole())


@pytest.mark.parametrize("request_id", [7, "seven", "7", 0])
def test_the_acknowledgement_comes_first_and_names_the_request(
    app: McpApplication, mcp: McpClient, request_id: object
) -> None:
    async def scene() -> None:
        async with listening(app, mcp, request_id=request_id) as subscription:
            (event,) = subscription.wire.reply.events
            assert event["params"]["_meta"] == {ID: request_id}
            assert event["params"]["notifications"] == {"toolsListChanged": True}
            assert subscription.wire.headers["content-type"] == "text/event-stream"

    run(scene)


@pytest.mark.parametrize(
    ("asked", "honoured"),
    [
        ({}, {}),
        ({"toolsListChanged": False}, {}),
        ({"promptsListChanged": True, "resourcesListChanged": True}, {}),
        ({"resourceSubscriptions": ["docs://scopes"]}, {}),
        ({"toolsListChanged": True, "promptsListChanged": True, "new": 1}, TOOLS),
    ],
)
def test_only_what_can_change_here_is_acknowledged(
    app: McpApplication, mcp: McpClient, asked: Any, honoured: Any
) -> None:
    async def scene() -> None:
        async with listening(app, mcp, asked) as subscription:
            (event,) = subscription.wire.reply.events
            assert event["params"]["notifications"] == honoured

    run(scene)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        (None, "notifications"),
        ([], "notifications"),
        ("toolsListChanged", "notifications"),
        ({"toolsListChanged": "yes"}, "notifications.toolsListChanged"),
        ({"promptsListChanged": 1}, "notifications.promptsListChanged"),
        ({"resourceSubscriptions": "docs://x"}, "notifications.resourceSubscriptions"),
        ({"resourceSubscriptions": [1]}, "notifications.resourceSubscriptions"),
    ],
)
def test_a_filter_that_is_none_is_refused(
    app: McpApplication, mcp: McpClient, asked: object, field: str
) -> None:
    headers, body = request_of(mcp, asked)
    reply = exchange(app, scope_of("POST", headers.items()), [body]).reply
    assert (reply.status, reply.code) == (200, -32602)
    assert reply.error["data"]["field"] == field
    assert ActionExecution.objects.get().method == "subscriptions/listen"


def test_without_a_filter_it_is_refused(mcp: McpClient) -> None:
    reply = mcp.with_revision(MODERN).asking_for_events().request("subscriptions/listen", {})
    assert (reply.code, reply.error["data"]["field"]) == (-32602, "notifications")


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_earlier_revisions_do_not_know_it(mcp: McpClient, revision: Revision) -> None:
    client = mcp.with_revision(revision).asking_for_events()
    assert client.request("subscriptions/listen", {"notifications": {}}).code == -32601


def test_a_switch_that_shows_or_hides_a_tool_is_published(
    app: McpApplication, mcp: McpClient, grant: Grant
) -> None:
    async def scene() -> None:
        async with listening(app, mcp, request_id="s") as subscription:
            await subscription.run_and_commit(enable(grant, "find_contact"))
            await subscription.receives(*CHANGED)
            await subscription.run_and_commit(enable(grant))
            await subscription.receives(*CHANGED, "list_changed")
            ids = {event["params"]["_meta"][ID] for event in subscription.wire.reply.events}
            assert ids == {"s"}

    run(scene)


async def received_nothing(subscription: OpenSubscription) -> None:
    """The same notice has woken this stream, and it has looked."""
    await asyncio.to_thread(wait_until, lambda: not subscription.app._quiet._unfinished)
    await asyncio.sleep(0.05)  # no event: time in which a message could come that is not to
    assert subscription.received_methods == ["acknowledged"]


def test_what_this_token_does_not_see_is_not_reported(
    app: McpApplication, mcp: McpClient, grant: Grant
) -> None:
    narrow = mcp.holding(grant.token("docs:read"))

    async def scene() -> None:
        async with listening(app, mcp) as wide, listening(app, narrow) as subscription:
            await wide.run_and_commit(enable(grant, "find_contact"))
            await wide.receives(*CHANGED)
            await received_nothing(subscription)

    run(scene)


def test_a_change_of_another_organization_is_not_published(
    app: McpApplication, mcp: McpClient
) -> None:
    other = grants.make_grant()
    theirs = McpClient(other.token())

    async def scene() -> None:
        async with listening(app, theirs) as witness, listening(app, mcp) as subscription:
            await subscription.run_and_commit(enable(other, "find_contact"))
            await witness.receives(*CHANGED)
            await received_nothing(subscription)

    run(scene)


def test_nothing_is_shown_that_was_not_asked_for(
    app: McpApplication, mcp: McpClient, grant: Grant
) -> None:
    async def scene() -> None:
        async with listening(app, mcp) as witness, listening(app, mcp, {}) as subscription:
            await subscription.run_and_commit(enable(grant, "find_contact"))
            await witness.receives(*CHANGED)
            await received_nothing(subscription)

    run(scene)


def test_scopes_taken_from_the_connection_are_published(
    app: McpApplication, mcp: McpClient, grant: Grant
) -> None:
    Authorization.objects.filter(pk=grant.authorization.pk).update(scope="docs:read setup:read")

    def narrow() -> None:
        connections.narrow(grant.user, grant.authorization.pk, ["docs:read"], address="127.0.0.1")

    async def scene() -> None:
        async with listening(app, mcp) as subscription:
            await subscription.run_and_commit(narrow)
            await subscription.receives(*CHANGED)

    run(scene)


def _flag_off(grant: Grant) -> None:
    grant.switch_off("mcp_server")


def _suspend_organization(grant: Grant) -> None:
    Organization.objects.filter(pk=grant.organization.pk).update(suspended_at=timezone.now())


def _delete_membership(grant: Grant) -> None:
    Membership.objects.filter(pk=grant.membership.pk).delete()


def _inactive(grant: Grant) -> None:
    User.objects.filter(pk=grant.user.pk).update(is_active=False)


def _disable_client(grant: Grant) -> None:
    Client.objects.filter(pk=grant.client.pk).update(disabled_at=timezone.now())


def _revoke_grant(grant: Grant) -> None:
    grant.revoke()


def _expire_tokens(_grant: Grant) -> None:
    AccessToken.objects.update(expires=timezone.now() - timedelta(seconds=1))


ENDINGS = [
    _flag_off,
    _suspend_organization,
    _delete_membership,
    _inactive,
    _disable_client,
    _revoke_grant,
    _expire_tokens,
]


@pytest.mark.parametrize("end", ENDINGS, ids=lambda end: str(end.__name__))
def test_a_stream_whose_right_is_gone_ends_with_its_result_at_the_next_notice(
    app: McpApplication, mcp: McpClient, grant: Grant, end: Callable[[Grant], None]
) -> None:
    async def scene() -> Wire:
        async with listening(app, mcp, request_id="last") as subscription:
            await subscription.run_and_commit(lambda: (end(grant), publish(grant)))
            await subscription.receives(*ENDED)
        return subscription.wire

    response = asyncio.run(scene()).reply.events[-1]
    assert response["id"] == "last"
    assert response["result"]["resultType"] == "complete"
    assert response["result"]["_meta"][ID] == "last"


def test_without_any_notice_the_right_is_asked_for_again_from_time_to_time(
    app: McpApplication, mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listens, "CHECK_SECONDS", 0.05)

    async def scene() -> None:
        async with listening(app, mcp) as subscription:
            await subscription.run_and_commit(lambda: _expire_tokens(grant))
            await subscription.receives(*ENDED)

    run(scene)


def test_a_database_that_does_not_answer_ends_no_stream_and_tells_it_nothing(
    app: McpApplication, mcp: McpClient, grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    recheck, asked = credentials.recheck, threading.Event()

    def down(*_given: object) -> None:
        asked.set()
        raise OperationalError("gone away")

    async def scene() -> None:
        async with listening(app, mcp) as subscription:
            monkeypatch.setattr(credentials, "recheck", down)
            # The check that the stream begins with may still run; the next one follows it.
            for act in (lambda: publish(grant), enable(grant, "find_contact")):
                asked.clear()
                await subscription.run_and_commit(act)
                assert await asyncio.to_thread(asked.wait, 20)
            assert subscription.received_methods == ["acknowledged"]
            monkeypatch.setattr(credentials, "recheck", recheck)
            await subscription.run_and_commit(lambda: publish(grant))
            await subscription.receives(*CHANGED)

    run(scene)


def test_a_connection_holds_so_many_streams_and_gets_a_place_back(
    app: McpApplication, mcp: McpClient, settings: Any
) -> None:
    settings.HALO_LISTENS_PER_CONNECTION = 2

    async def scene() -> None:
        async with listening(app, mcp):
            async with listening(app, mcp), listening(app, mcp) as third:
                assert third.wire.status == 429
                assert third.wire.headers["retry-after"] == "30"
                assert third.wire.headers["x-ratelimit-limit"] == "2"
                assert third.wire.headers["x-ratelimit-remaining"] == "0"
                assert int(third.wire.headers["x-ratelimit-reset"]) > 0
                assert third.wire.reply.error["data"]["reason"] == "rate_limited"
            async with listening(app, mcp) as again:
                assert again.received_methods == ["acknowledged"]

    run(scene)
    assert listens.OPEN.is_idle
    assert ActionExecution.objects.get().outcome == "rate_limited"


def test_all_connections_of_a_person_hold_four_times_as_many_streams(
    app: McpApplication, mcp: McpClient, grant: Grant, settings: Any
) -> None:
    settings.HALO_LISTENS_PER_CONNECTION = 1
    connections = [mcp.holding(grant.another().token()) for _ in range(6)]

    async def scene() -> None:
        async with AsyncExitStack() as stack:
            opened = [await stack.enter_async_context(listening(app, one)) for one in connections]
            assert [one.wire.status for one in opened] == [200] * 4 + [429] * 2

    run(scene)
    assert listens.OPEN.is_idle


@pytest.mark.parametrize("accept", ["application/json", "*/*", None])
def test_a_client_that_reads_no_events_gets_a_message(mcp: McpClient, accept: str | None) -> None:
    client = mcp.with_revision(MODERN)
    params = {"notifications": TOOLS}
    reply = client.request("subscriptions/listen", params, headers={"Accept": accept})
    assert (reply.status, reply.code) == (406, -32600)
    assert "text/event-stream" in reply.error["message"]
    assert listens.OPEN.is_idle


def test_a_server_that_stops_ends_what_is_open_and_what_still_comes(
    app: McpApplication, mcp: McpClient
) -> None:
    async def scene() -> None:
        async with listening(app, mcp) as first:
            app.end()
            await first.receives(*ENDED)
            async with listening(app, mcp) as second:
                await second.receives(*ENDED)

    run(scene)


def test_long_calls_do_not_hold_up_who_listens(
    app: McpApplication, mcp: McpClient, grant: Grant, tmp_path: Path
) -> None:
    scope, body = call_of(mcp, "wait", {"file": str(tmp_path / "go")}, {"progressToken": "p"})

    async def scene() -> None:
        async with open_request(app, scope, body) as call, listening(app, mcp) as subscription:
            await call.wait_until(lambda: b"notifications/progress" in call.body)
            await subscription.run_and_commit(enable(grant, "find_contact"))
            await subscription.receives(*CHANGED)
            await asyncio.to_thread((tmp_path / "go").touch)

    run(scene)


def test_a_silent_stream_is_kept_open_with_comments(mcp: McpClient) -> None:
    async def scene(app: McpApplication) -> None:
        async with listening(app, mcp) as subscription:
            await subscription.wire.wait_until(
                lambda: subscription.wire.body.count(b": keep-alive\n\n") >= 2
            )
            assert subscription.received_methods == ["acknowledged"]

    with application(Timeouts(keep_alive=0.02)) as app:
        asyncio.run(scene(app))


def test_discovery_promises_it_and_the_handshake_does_not(mcp: McpClient) -> None:
    discovered = mcp.with_revision(MODERN).request("server/discover").result["capabilities"]
    assert discovered["tools"] == {"listChanged": True}
    initialized = mcp.request("initialize").result["capabilities"]
    assert initialized["tools"] == {"listChanged": False}
