from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.limits import Bucket, Limit, Verdict
from foundation.limits.in_memory import MemoryStore
from foundation.limits.window import Window, WindowState, refusal

at_any_pace = settings(deadline=None)

MINUTE = 60_000


@pytest.mark.parametrize(
    ("text", "count", "seconds"),
    [("1/s", 1, 1), ("120/m", 120, 60), ("10/h", 10, 3600), ("1000000/d", 1_000_000, 86_400)],
)
def test_a_limit_is_read_and_written_alike(text: str, count: int, seconds: int) -> None:
    assert Limit.parse(text) == Limit(count, seconds)
    assert str(Limit.parse(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        *("", "120", "120/", "/m", "m/120", "120/mm", "120/w", "120/M", "120 / m", " 120/m"),
        *("0/m", "-1/m", "+1/m", "1.5/m", "0120/m", "120/m\n", "٣/m", "1000001/m"),
        "99999999999999999999/s",
    ],
)
def test_anything_else_is_no_limit(text: str) -> None:
    with pytest.raises(ValueError, match=r"^A limit is"):
        Limit.parse(text)


@pytest.mark.parametrize(("count", "seconds"), [(0, 60), (1, 0), (1, 31 * 86_400 + 1)])
def test_a_limit_out_of_bounds_is_refused(count: int, seconds: int) -> None:
    with pytest.raises(ValueError, match="in 1 to"):
        Limit(count, seconds)


@pytest.mark.parametrize("cost", [0, -1, 1_000_002])
def test_a_call_costs_something_within_bounds(cost: int) -> None:
    with pytest.raises(ValueError, match="costs 1 to"):
        Bucket("k", Limit(1, 1), cost)


def test_equal_keys_under_different_limits_are_different_buckets() -> None:
    digests = {Bucket("k", Limit.parse(text)).digest for text in ("1/s", "1/m", "2/m")}
    assert len(digests) == 3


def test_the_digest_takes_any_text_and_shows_none_of_it() -> None:
    limit = Limit(1, 1)
    keys = ["", "\x00", "\ud800", "\ud801", "203.0.113.9", "k" * 100_000]
    digests = {Bucket(key, limit).digest for key in keys}
    assert len(digests) == len(keys)
    assert {len(digest) for digest in digests} == {32}


def test_half_a_window_later_the_previous_window_weighs_half() -> None:
    bucket = Bucket("k", Limit(10, 60))
    state = WindowState(bucket, Window(MINUTE, previous=10, current=2, last=80_000), now=90_000)
    assert state.remaining == 3


def test_a_window_is_followed_by_the_next_and_by_a_new_one_a_span_after_the_last_charge() -> None:
    last = MINUTE + 30_000
    window = Window(started=MINUTE, previous=3, current=7, last=last)
    assert window.roll_to(MINUTE + 59_999, MINUTE) == window
    assert window.roll_to(MINUTE + 60_000, MINUTE) == Window(2 * MINUTE, 7, 0, last)
    assert window.roll_to(MINUTE + 89_999, MINUTE) == Window(2 * MINUTE, 7, 0, last)
    begun = MINUTE + 90_000
    assert window.roll_to(begun, MINUTE) == Window(begun, 0, 0, begun)


def test_a_clock_set_back_weighs_the_previous_window_once() -> None:
    bucket = Bucket("k", Limit(10, 60))
    state = WindowState(bucket, Window(MINUTE, previous=10, current=0, last=MINUTE), now=0)
    assert (state.elapsed_milliseconds, state.remaining) == (0, 0)


def test_a_cost_above_the_limit_never_fits() -> None:
    state = WindowState(Bucket("k", Limit(10, 60), cost=11), Window(0, 0, 0, 0), now=0)
    assert state.wait == MINUTE


def test_a_spent_bucket_names_the_moment_it_frees() -> None:
    # 10 calls in the window from 60 to 120 s: one of them has faded 6 s into the next.
    bucket = Bucket("k", Limit(10, 60))
    verdict = refusal(WindowState(bucket, Window(MINUTE, 0, 10, 70_000), now=70_500))
    assert verdict == Verdict(limit=10, remaining=0, reset_at=126, retry_after=56, bucket=bucket)


def test_a_refusal_says_in_headers_until_when() -> None:
    assert Verdict(10, 0, 126, 56, Bucket("k", Limit(10, 60))).headers() == {
        "X-RateLimit-Limit": "10",
        "X-RateLimit-Remaining": "0",
        "X-RateLimit-Reset": "126",
        "Retry-After": "56",
    }


def estimate(state: WindowState) -> Fraction:
    """The formula as the module states it, in exact fractions."""
    span = state.bucket.limit.milliseconds
    weight = Fraction(span - state.elapsed_milliseconds, span)
    return state.window.current + state.window.previous * weight


@st.composite
def states(draw: st.DrawFn) -> WindowState:
    limit = Limit(draw(st.integers(1, 50)), draw(st.integers(1, 60)))
    cost = draw(st.integers(1, limit.count))
    current = draw(st.integers(0, limit.count))
    previous = draw(st.integers(0, limit.count))
    elapsed = draw(st.integers(0, limit.milliseconds - 1))
    # With no charge in this window the last one was in the window before, less than a span ago.
    earliest = 0 if current else elapsed + 1 - limit.milliseconds
    last = MINUTE + draw(st.integers(earliest, elapsed if current else 0))
    window = Window(MINUTE, previous, current, last)
    return WindowState(Bucket("k", limit, cost), window, MINUTE + elapsed)


def later(state: WindowState, milliseconds: int) -> WindowState:
    now = state.now + milliseconds
    window = state.window.roll_to(now, state.bucket.limit.milliseconds)
    return WindowState(state.bucket, window, now)


@at_any_pace
@given(states())
def test_the_wait_is_exactly_as_long_as_needed(state: WindowState) -> None:
    room = state.bucket.limit.count - state.bucket.cost
    assert estimate(later(state, state.wait)) <= room
    if state.wait:
        assert estimate(later(state, state.wait - 1)) > room


@at_any_pace
@given(states(), st.integers(-100_000, 0))
def test_spec6_no_wait_exceeds_the_window_even_if_the_clock_is_set_back(
    state: WindowState, back: int
) -> None:
    earlier = WindowState(state.bucket, state.window, state.now + back)
    for each in (state, earlier):
        assert each.wait <= each.bucket.limit.milliseconds
        assert refusal(each).retry_after <= each.bucket.limit.seconds
        assert refusal(each).reset_at <= each.now // 1000 + each.bucket.limit.seconds + 1


@at_any_pace
@given(states())
def test_remaining_is_what_the_estimate_leaves_rounded_down(state: WindowState) -> None:
    left = state.bucket.limit.count - estimate(state)
    assert state.remaining == max(0, left.__floor__())


class Naive:
    """The documented rule, computed from the full list of calls instead of two counters."""

    def __init__(self, limit: Limit) -> None:
        self.limit = limit
        self.calls: list[tuple[int, int]] = []
        self.begun = 0

    def count(self, since: int, until: int) -> int:
        return sum(cost for moment, cost in self.calls if since <= moment < until)

    def allows(self, now: int, cost: int) -> bool:
        span = self.limit.milliseconds
        begun = self.begun
        if not self.calls or now - self.calls[-1][0] >= span:
            begun, self.calls = now, []
        elif now - begun >= span:
            begun += span
        faded = Fraction(begun + span - now, span) * self.count(begun - span, begun)
        allowed = faded + self.count(begun, now + 1) + cost <= self.limit.count
        if allowed:
            self.begun = begun
            self.calls.append((now, cost))
        return allowed


@at_any_pace
@given(
    limit=st.builds(Limit, st.integers(1, 12), st.integers(1, 5)),
    steps=st.lists(st.tuples(st.integers(0, 3000), st.integers(1, 4)), max_size=60),
)
def test_two_counters_decide_as_the_full_list_of_calls_would(
    limit: Limit, steps: list[tuple[int, int]]
) -> None:
    now = 1_767_268_800_000
    store, naive = MemoryStore(lambda: now / 1000), Naive(limit)
    for pause, cost in steps:
        now += pause
        reading = store.take([Bucket("k", limit, cost)])
        assert (reading is None) == naive.allows(now, cost)
        recent = naive.count(now - limit.milliseconds + 1, now + 1)
        assert recent < 2 * limit.count
