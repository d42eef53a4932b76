"""Tasks are published by a thread of their own, which a silent broker holds and nobody else."""

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from foundation import queueing
from foundation.queueing import Publisher

SECONDS = 20


class Broker:
    """Holds what is published until it is released, or refuses it."""

    def __init__(self) -> None:
        self.published: list[tuple[str, tuple[str, ...]]] = []
        self.attempts = 0
        self.is_refusing = False
        self.released = threading.Event()
        self.released.set()

    def send_task(self, task: str, arguments: tuple[str, ...], **_options: Any) -> None:
        self.attempts += 1
        assert self.released.wait(SECONDS)
        if self.is_refusing:
            raise ConnectionRefusedError
        self.published.append((task, arguments))


@pytest.fixture
def broker(monkeypatch: pytest.MonkeyPatch) -> Iterator[Broker]:
    broker = Broker()
    monkeypatch.setattr(queueing, "import_module", lambda _name: SimpleNamespace(app=broker))
    yield broker
    broker.released.set()


def test_whoever_sends_a_task_does_not_wait_for_a_silent_broker(broker: Broker) -> None:
    publisher = Publisher()
    broker.released.clear()

    for number in range(3):
        publisher.add("mail", (str(number),))

    assert not publisher.wait_until_published(0)
    broker.released.set()
    assert publisher.wait_until_published(SECONDS)
    assert broker.published == [("mail", (str(number),)) for number in range(3)]


def test_tasks_beyond_the_bound_are_dropped(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queueing, "MAX_WAITING", 2)
    publisher = Publisher()
    broker.released.clear()

    # One is with the broker by then, or still waits.
    for _ in range(5):
        publisher.add("mail", ())

    broker.released.set()
    assert publisher.wait_until_published(SECONDS)
    assert 2 <= len(broker.published) <= 3


def test_after_a_failure_the_broker_is_left_alone_and_then_tried_again(
    broker: Broker, monkeypatch: pytest.MonkeyPatch
) -> None:
    publisher = Publisher()
    now = 1_000.0
    monkeypatch.setattr(publisher._outage, "_now", lambda: now)
    broker.is_refusing = True
    for _ in range(5):
        publisher.add("mail", ())
    assert publisher.wait_until_published(SECONDS)
    assert broker.attempts == 1

    broker.is_refusing = False
    now += 1.5
    publisher.add("mail", ("again",))
    assert publisher.wait_until_published(SECONDS)
    assert broker.published == [("mail", ("again",))]
