"""Threads of jobs: how many, whose, and what is left when one ends."""

import threading
from collections.abc import Iterator

import pytest

from foundation.concurrency import job_threads
from foundation.concurrency.job_threads import OF_ORGANIZATION, THREADS, NoJobThread

TIMEOUT = 20


@pytest.fixture
def release_event() -> Iterator[threading.Event]:
    """What the jobs of a test wait for."""
    event = threading.Event()
    yield event
    event.set()
    assert job_threads.wait_until_idle(TIMEOUT)


def start(released: threading.Event, person: str, organization: str) -> None:
    with job_threads.reserve(person, organization) as thread:
        thread.start(lambda: released.wait(TIMEOUT))


def test_a_person_has_one_job_and_another_person_another(release_event: threading.Event) -> None:
    start(release_event, "ada", "acme")
    with pytest.raises(NoJobThread, match="you started is still running"):
        start(release_event, "ada", "other")
    start(release_event, "bob", "acme")
    release_event.set()
    assert job_threads.wait_until_idle(TIMEOUT)
    start(release_event, "ada", "acme")


def test_an_organization_leaves_threads_to_the_others(release_event: threading.Event) -> None:
    for number in range(OF_ORGANIZATION):
        start(release_event, f"person {number}", "acme")
    with pytest.raises(NoJobThread, match="in your organization"):
        start(release_event, "one more", "acme")
    start(release_event, "one more", "other")


def test_once_half_is_in_use_an_organization_has_one(release_event: threading.Event) -> None:
    for number in range(THREADS // 2):
        start(release_event, f"person {number}", f"organization {number}")
    start(release_event, "ada", "acme")
    with pytest.raises(NoJobThread, match="in your organization"):
        start(release_event, "bob", "acme")


def test_no_job_waits_for_a_thread(release_event: threading.Event) -> None:
    for number in range(THREADS):
        start(release_event, f"person {number}", f"organization {number}")
    with pytest.raises(NoJobThread, match="busy"):
        start(release_event, "one more", "another")
    assert not job_threads.wait_until_idle(0)


def test_a_thread_that_is_not_used_is_given_back(release_event: threading.Event) -> None:
    with job_threads.reserve("ada", "acme"):
        pass
    start(release_event, "ada", "acme")


def test_a_job_that_fails_gives_its_thread_back(release_event: threading.Event) -> None:
    def fail() -> None:
        raise SystemExit

    with job_threads.reserve("ada", "acme") as thread:
        thread.start(fail)
    assert job_threads.wait_until_idle(TIMEOUT)
    start(release_event, "ada", "acme")


def test_a_machine_without_threads_refuses_a_job(
    release_event: threading.Event, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        with pytest.raises(NoJobThread, match="busy"):
            start(release_event, "ada", "acme")
    start(release_event, "ada", "acme")
