"""A notification of any process wakes the subscribers in all; waiting needs no thread."""

import asyncio
import os
import queue
import subprocess
import sys
import threading
import uuid
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections, transaction

from foundation import pubsub
from foundation.pubsub import (
    ExclusiveSubscription,
    Subscription,
    Subscriptions,
    build_transport,
)

# Redis publishes to all of its databases, so notifications of other test processes arrive too.
OWN = uuid.uuid4().hex
ONE, TWO = f"tools:1.{OWN}", f"tools:2.{OWN}"
TOPIC, OTHER = frozenset({ONE}), frozenset({TWO})
LONG = 20.0
ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.django_db(transaction=True)


ON_POSTGRESQL = pytest.mark.skipif(
    connection.vendor != "postgresql", reason="the database of this run is not PostgreSQL"
)


@pytest.fixture(
    params=["file", "redis", pytest.param("postgresql", marks=ON_POSTGRESQL)], autouse=True
)
def transport(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> None:
    """Each transport whose server is available."""
    name: str = request.param
    names = {"file": str(tmp_path / "notices"), "redis": os.environ.get("REDIS_URL", "")}
    settings.HALO_NOTICES = names.get(name, name)
    if not settings.HALO_NOTICES:
        pytest.skip("no REDIS_URL to test against")


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Subscriptions, Subscription]]:
    subscriptions = Subscriptions()
    with subscriptions.subscription() as subscription:
        yield subscriptions, subscription
    subscriptions.close()


async def wait_until_settled(subscription: Subscription, topics: frozenset[str]) -> None:
    """Waits for what notifies every new subscription: its new topics, and the transport's start."""
    await asyncio.wait_for(subscription.wait(topics, LONG), LONG)
    await asyncio.wait_for(subscription.wait(topics, LONG), LONG)


def publish(topic: str) -> None:
    """Publishes from a thread, and closes its connections."""
    pubsub.publish(topic)
    connections.close_all()


async def woke(
    subscription: Subscription, action: Callable[[], object], seconds: float = LONG
) -> bool:
    waiting = asyncio.ensure_future(subscription.wait(TOPIC, seconds))
    await asyncio.sleep(0)
    began = asyncio.get_running_loop().time()
    await asyncio.to_thread(action)
    await waiting
    # Without a notification, waiting takes the whole timeout, however long the action took.
    return asyncio.get_running_loop().time() - began < 0.9 * seconds


def test_a_notification_wakes_its_subscriber() -> None:
    async def scene() -> bool:
        async with listening() as (_, subscription):
            await wait_until_settled(subscription, TOPIC)
            return await woke(subscription, partial(publish, ONE))

    assert asyncio.run(scene())


def test_a_notification_on_another_topic_wakes_nobody() -> None:
    async def scene() -> bool:
        async with listening() as (_, subscription):
            await wait_until_settled(subscription, TOPIC)
            return await woke(subscription, partial(publish, TWO), seconds=1)

    assert not asyncio.run(scene())


def test_a_notification_between_two_waits_is_not_missed() -> None:
    async def scene() -> None:
        async with listening() as (subscriptions, subscription):
            await wait_until_settled(subscription, TOPIC)
            with subscriptions.subscription() as witness:
                await witness.wait(TOPIC, LONG)
                await asyncio.to_thread(publish, ONE)
                await asyncio.wait_for(witness.wait(TOPIC, LONG), LONG)
            await asyncio.wait_for(subscription.wait(TOPIC, LONG), LONG / 4)

    asyncio.run(scene())


def test_an_exclusive_subscription_ignores_that_notifications_may_have_been_missed() -> None:
    async def scene() -> list[int]:
        woken: list[int] = []
        async with listening() as (subscriptions, subscription):
            await wait_until_settled(subscription, TOPIC)
            exclusive = ExclusiveSubscription(subscriptions, ONE, lambda: woken.append(1))
            subscriptions._notify(None)
            subscriptions._notify(TWO)
            before = len(woken)
            await subscription.wait(TOPIC, LONG)  # notified with the rest
            await woke(subscription, partial(publish, ONE))
            exclusive.close()
            subscriptions._notify(ONE)
            return [before, len(woken)]

    assert asyncio.run(scene()) == [0, 1]


def test_of_two_exclusive_subscriptions_to_one_topic_neither_wakes() -> None:
    async def scene() -> list[str]:
        woken: list[str] = []
        async with listening() as (subscriptions, _):
            one = ExclusiveSubscription(subscriptions, "cancel:1", lambda: woken.append("one"))
            other = ExclusiveSubscription(subscriptions, "cancel:1", lambda: woken.append("other"))
            subscriptions._notify("cancel:1")
            other.close()
            subscriptions._notify("cancel:1")
            one.close()
        return woken

    assert asyncio.run(scene()) == ["one"]


def test_a_notification_of_another_process_arrives(settings: Any) -> None:
    code = (
        "import django; django.setup()\n"
        "from foundation.pubsub import build_transport\n"
        f"build_transport({settings.HALO_NOTICES!r}).send({ONE!r})\n"
    )
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "halo_mcp.settings"}
    url = settings.DATABASES["default"]
    if url["ENGINE"].endswith("postgresql"):
        name = f"{url['USER']}@{url['HOST']}:{url['PORT']}/{url['NAME']}"
        env["DATABASE_URL"] = f"postgres://{name}"

    def send() -> None:
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True, timeout=60)

    async def scene() -> bool:
        async with listening() as (_, subscription):
            await wait_until_settled(subscription, TOPIC)
            # Far longer than a process takes to start on a busy machine.
            return await woke(subscription, send, seconds=100)

    assert asyncio.run(scene())


def test_nothing_is_published_before_the_commit_or_after_a_rollback() -> None:
    delivered: queue.Queue[str | None] = queue.Queue()
    stopping = threading.Event()

    def deliver(topic: str | None) -> None:
        if topic is None or topic.endswith(OWN):
            delivered.put(topic)

    from django.conf import settings  # noqa: PLC0415  as the fixture has set it

    receive = build_transport(settings.HALO_NOTICES).receive
    thread = threading.Thread(target=receive, args=(deliver, stopping))
    thread.start()
    assert delivered.get(timeout=LONG) is None
    with transaction.atomic():
        pubsub.publish(f"kept:1.{OWN}")
        transaction.set_rollback(True)
    pubsub.publish(f"kept:2.{OWN}")
    assert delivered.get(timeout=LONG) == f"kept:2.{OWN}"
    stopping.set()
    thread.join(LONG)
    assert delivered.empty()


def test_a_wait_without_a_notification_ends_after_its_timeout() -> None:
    async def scene() -> None:
        async with listening() as (_, subscription):
            await wait_until_settled(subscription, TOPIC)
            await asyncio.wait_for(subscription.wait(TOPIC, 0.05), LONG)

    asyncio.run(scene())


def test_a_thousand_subscribers_use_one_thread() -> None:
    async def scene() -> int:
        # By name, not by number: those of other tests may still be ending.
        before = set(threading.enumerate())
        async with listening() as (subscriptions, _):
            waiting = [asyncio.ensure_future(_wait(subscriptions)) for _ in range(1000)]
            await asyncio.sleep(0.1)  # no event: time in which more threads would start
            threads = len(set(threading.enumerate()) - before)
            for one in waiting:
                one.cancel()
            return threads

    async def _wait(subscriptions: Subscriptions) -> None:
        with subscriptions.subscription() as subscription:
            while True:
                await subscription.wait(TOPIC, LONG)

    assert asyncio.run(scene()) == 1


@pytest.mark.parametrize("topic", ["", "x" * 201, "t\u00f6pic"])
def test_a_topic_is_short_and_plain(topic: str) -> None:
    with pytest.raises(ValueError, match="ASCII"):
        pubsub.publish(topic)
