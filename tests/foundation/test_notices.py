"""Notices: who waits wakes, whoever posted, and nobody holds a thread meanwhile."""

import asyncio
import os
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

from foundation import notices
from foundation.notices import Board, Ear, Listener, build_carrier

# Redis tells every notice to everybody, whatever its database: other test processes post as well.
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
def carrier(request: pytest.FixtureRequest, settings: Any, tmp_path: Path) -> None:
    """Each way that notices can take, as far as its server is here."""
    name: str = request.param
    names = {"file": str(tmp_path / "notices"), "redis": os.environ.get("REDIS_URL", "")}
    settings.HALO_NOTICES = names.get(name, name)
    if not settings.HALO_NOTICES:
        pytest.skip("no REDIS_URL to test against")


@asynccontextmanager
async def listening() -> AsyncIterator[tuple[Board, Listener]]:
    board = Board()
    with board.listener() as listener:
        yield board, listener
    board.close()


async def settled(listener: Listener, topics: frozenset[str]) -> None:
    """Past what a new listener wakes for anyway: its new topics, and the carrier's start."""
    await asyncio.wait_for(listener.wait(topics, LONG), LONG)
    await asyncio.wait_for(listener.wait(topics, LONG), LONG)


def post(topic: str) -> None:
    """From a thread that ends with its connection."""
    notices.post(topic)
    connections.close_all()


async def woke(listener: Listener, act: Callable[[], object], patience: float = LONG) -> bool:
    waiting = asyncio.ensure_future(listener.wait(TOPIC, patience))
    await asyncio.sleep(0)
    began = asyncio.get_running_loop().time()
    await asyncio.to_thread(act)
    await waiting
    # Whoever is not woken takes all of the patience, however long the act took.
    return asyncio.get_running_loop().time() - began < 0.9 * patience


def test_a_notice_wakes_who_waits_for_it() -> None:
    async def scene() -> bool:
        async with listening() as (_, listener):
            await settled(listener, TOPIC)
            return await woke(listener, partial(post, ONE))

    assert asyncio.run(scene())


def test_a_notice_on_another_topic_wakes_nobody() -> None:
    async def scene() -> bool:
        async with listening() as (_, listener):
            await settled(listener, TOPIC)
            return await woke(listener, partial(post, TWO), patience=1)

    assert not asyncio.run(scene())


def test_a_notice_between_two_waits_is_not_missed() -> None:
    async def scene() -> None:
        async with listening() as (board, listener):
            await settled(listener, TOPIC)
            with board.listener() as witness:
                await witness.wait(TOPIC, LONG)
                await asyncio.to_thread(post, ONE)
                await asyncio.wait_for(witness.wait(TOPIC, LONG), LONG)
            await asyncio.wait_for(listener.wait(TOPIC, LONG), LONG / 4)

    asyncio.run(scene())


def test_an_ear_hears_its_topic_and_not_that_something_may_have_been_missed() -> None:
    async def scene() -> list[int]:
        heard: list[int] = []
        async with listening() as (board, listener):
            await settled(listener, TOPIC)
            ear = Ear(board, ONE, lambda: heard.append(1))
            board._ring(None)
            board._ring(TWO)
            before = len(heard)
            await listener.wait(TOPIC, LONG)  # which has rung with the rest
            await woke(listener, partial(post, ONE))
            ear.leave()
            board._ring(ONE)
            return [before, len(heard)]

    assert asyncio.run(scene()) == [0, 1]


def test_of_two_ears_on_one_topic_neither_hears_it() -> None:
    async def scene() -> list[str]:
        heard: list[str] = []
        async with listening() as (board, _listener):
            one = Ear(board, "cancel:1", lambda: heard.append("one"))
            other = Ear(board, "cancel:1", lambda: heard.append("other"))
            board._ring("cancel:1")
            other.leave()
            board._ring("cancel:1")
            one.leave()
        return heard

    assert asyncio.run(scene()) == ["one"]


def test_another_process_is_heard(settings: Any) -> None:
    code = (
        "import django; django.setup()\n"
        "from foundation.notices import build_carrier\n"
        f"build_carrier({settings.HALO_NOTICES!r}).send({ONE!r})\n"
    )
    env = os.environ | {"DJANGO_SETTINGS_MODULE": "halo_mcp.settings"}
    url = settings.DATABASES["default"]
    if url["ENGINE"].endswith("postgresql"):
        name = f"{url['USER']}@{url['HOST']}:{url['PORT']}/{url['NAME']}"
        env["DATABASE_URL"] = f"postgres://{name}"

    def send() -> None:
        subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=env, check=True, timeout=60)

    async def scene() -> bool:
        async with listening() as (_, listener):
            await settled(listener, TOPIC)
            return await woke(listener, send)

    assert asyncio.run(scene())


def test_nothing_is_told_before_the_commit_and_nothing_of_a_rollback() -> None:
    heard: list[str | None] = []
    ready, stopping = threading.Event(), threading.Event()

    def deliver(topic: str | None) -> None:
        heard.append(topic)
        ready.set()

    from django.conf import settings  # noqa: PLC0415  as the fixture has set it

    receive = build_carrier(settings.HALO_NOTICES).receive
    thread = threading.Thread(target=receive, args=(deliver, stopping))
    thread.start()
    assert ready.wait(LONG)
    with transaction.atomic():
        notices.post(f"kept:1.{OWN}")
        transaction.set_rollback(True)
    notices.post(f"kept:2.{OWN}")
    ready.clear()
    assert heard == [None, f"kept:2.{OWN}"] or ready.wait(LONG)
    stopping.set()
    thread.join(LONG)
    assert heard == [None, f"kept:2.{OWN}"]


def test_a_silent_wait_ends_by_itself() -> None:
    async def scene() -> None:
        async with listening() as (_, listener):
            await settled(listener, TOPIC)
            await asyncio.wait_for(listener.wait(TOPIC, 0.05), LONG)

    asyncio.run(scene())


def test_a_thousand_waiters_take_one_thread() -> None:
    async def scene() -> int:
        # By name, not by number: those of other tests may still be ending.
        before = set(threading.enumerate())
        async with listening() as (board, _):
            waiting = [asyncio.ensure_future(_wait(board)) for _ in range(1000)]
            await asyncio.sleep(0.1)
            threads = len(set(threading.enumerate()) - before)
            for one in waiting:
                one.cancel()
            return threads

    async def _wait(board: Board) -> None:
        with board.listener() as listener:
            while True:
                await listener.wait(TOPIC, LONG)

    assert asyncio.run(scene()) == 1


@pytest.mark.parametrize("topic", ["", "x" * 201, "t\u00f6pic"])
def test_a_topic_is_short_and_plain(topic: str) -> None:
    with pytest.raises(ValueError, match="ASCII"):
        notices.post(topic)
