"""Retries and the circuit breaker: what keeps one slow vendor from everybody else."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
import time_machine

from foundation.outbound import breaker, retry
from foundation.outbound.breaker import FAILURES, REST_SECONDS, Breakers
from tests.foundation.conftest import Clock

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("0", 0),
        ("17", 17),
        (" 17 ", 17),
        (format_datetime(NOW + timedelta(seconds=40), usegmt=True), 40),
        ("Sun, 01 Mar 2026 12:00:40 -0000", 40),
        (format_datetime(NOW - timedelta(days=1), usegmt=True), 0),
        ("", None),
        ("-3", None),
        ("1.5", None),
        ("soon", None),
        ("9" * 400, None),
        ("Mon, 99 Foo 99999 99:99:99 GMT", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_a_date(text: str, seconds: float | None) -> None:
    with time_machine.travel(NOW, tick=False):
        assert retry.retry_after({"retry-after": text}) == seconds


def test_no_retry_after_says_nothing() -> None:
    assert retry.retry_after({}) is None


def test_pauses_double_and_differ() -> None:
    first = {retry.backoff(1) for _ in range(20)}
    assert len(first) > 1
    assert max(first) < 2 * retry.FIRST_DELAY <= 4 * min(retry.backoff(3) for _ in range(20))


@pytest.fixture
def open_breakers(clock: Clock) -> Breakers:
    """One whose key "a" has just failed too often."""
    breakers = Breakers(clock)
    opened = [breakers.record_failure("a") for _ in range(FAILURES)]
    assert opened == [False] * (FAILURES - 1) + [True]
    return breakers


def test_a_key_rests_after_failures_in_a_row(open_breakers: Breakers) -> None:
    assert open_breakers.rest("a") == REST_SECONDS
    assert open_breakers.rest("b") == 0


def test_an_answer_in_between_restarts_the_count(clock: Clock) -> None:
    breakers = Breakers(clock)
    for _ in range(FAILURES - 1):
        breakers.record_failure("a")
    breakers.record_success("a")
    assert not breakers.record_failure("a")
    assert breakers.rest("a") == 0


def test_one_trial_is_let_through_after_the_rest(open_breakers: Breakers, clock: Clock) -> None:
    clock.pass_by(REST_SECONDS)
    assert [open_breakers.rest("a") for _ in range(3)] == [0, REST_SECONDS, REST_SECONDS]
    assert not open_breakers.record_failure("a")
    assert open_breakers.rest("a") == REST_SECONDS


def test_a_trial_that_is_answered_ends_it(open_breakers: Breakers, clock: Clock) -> None:
    clock.pass_by(REST_SECONDS)
    assert open_breakers.rest("a") == 0
    open_breakers.record_success("a")
    assert [open_breakers.rest("a") for _ in range(3)] == [0, 0, 0]


def test_a_trial_that_nobody_tells_the_end_of_blocks_nobody_for_ever(
    open_breakers: Breakers, clock: Clock
) -> None:
    clock.pass_by(REST_SECONDS)
    assert open_breakers.rest("a") == 0
    clock.pass_by(REST_SECONDS)
    assert open_breakers.rest("a") == 0


def test_keys_that_fail_are_kept_in_bounds(
    open_breakers: Breakers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(breaker, "MAX_KEYS", 3)
    for key in "bcd":
        open_breakers.record_failure(key)
    assert len(open_breakers._troubles) == 3
    assert open_breakers.rest("a") == 0
