"""Threads of jobs: how many, whose, and what is left when one ends."""

import threading
from collections.abc import Iterator

import pytest

from foundation.concurrency import job_threads
from foundation.concurrency.job_threads import OF_ORGANIZATION, THREADS, NoJobThread

TIMEOUT = 20


@pytest.fixture
def released() -> Iterator[threading.Event]:
    """What the jobs of a test wait for."""
    event = threading.Event()
    yield event
    event.set()
    assert job_threads.wait_until_idle(TIMEOUT)


def start(released: threading.Event, person: str, organization: str) -> None:
    with job_threads.reserve(person, organization) as thread:
        thread.start(lambda: released.wait(TIMEOUT))


def test_a_person_has_one_job_and_another_person_another(released: threading.Event) -> None:
    start(released, "ada", "acme")
    with pytest.raises(NoJobThread, match="you started is still running"):
        start(released, "ada", "other")
    start(released, "bob", "acme")
    released.set()
    assert job_threads.wait_until_idle(TIMEOUT)
    start(released, "ada", "acme")


def test_an_organization_leaves_threads_to_the_others(released: threading.Event) -> None:
    for number in range(OF_ORGANIZATION):
        start(released, f"person {number}", "acme")
    with pytest.raises(NoJobThread, match="in your organization"):
        start(released, "one more", "acme")
    start(released, "one more", "other")


def test_once_half_is_in_use_an_organization_has_one(released: threading.Event) -> None:
    for number in range(THREADS // 2):
        start(released, f"person {number}", f"organization {number}")
    start(released, "ada", "acme")
    with pytest.raises(NoJobThread, match="in your organization"):
        start(released, "bob", "acme")


def test_no_job_waits_for_a_thread(released: threading.Event) -> None:
    for number in range(THREADS):
        start(released, f"person {number}", f"organization {number}")
    with pytest.raises(NoJobThread, match="busy"):
        start(released, "one more", "another")
    assert not job_threads.wait_until_idle(0)


def test_a_thread_that_is_not_used_is_given_back(released: threading.Event) -> None:
    with job_threads.reserve("ada", "acme"):
        pass
    start(released, "ada", "acme")


def test_a_job_that_fails_gives_its_thread_back(released: threading.Event) -> None:
    def fail() -> None:
        raise SystemExit

    with job_threads.reserve("ada", "acme") as thread:
        thread.start(fail)
    assert job_threads.wait_until_idle(TIMEOUT)
    start(released, "ada", "acme")


def test_a_machine_without_threads_refuses_a_job(
    released: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(NoJobThread, match="busy"):
            start(released, "ada", "acme")
    start(released, "ada", "acme")
