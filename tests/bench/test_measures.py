"""What is made of the turns: ratios within a round, medians over rounds, and when it is noise."""

import math

import pytest

from bench import measures
from bench.measures import Round, Spread, Turn


def turn(rate: float, *, bad: int = 0, **cpu: float) -> Turn:
    times = {"seconds": 10.0, "p50": 1.0, "p99": 2.0}
    return Turn(answered=round(10 * rate), bad=bad, complaint="500 oh", cpu=cpu, **times)


def make_rounds(*rates: tuple[float, float, float]) -> list[Round]:
    """Rounds of the baseline's first turn, the other's, and the baseline's second."""
    return [
        {"ours": turn(first), "other": turn(other), "ours again": turn(second)}
        for first, other, second in rates
    ]


def test_a_ratio_is_taken_within_its_round_and_the_median_over_them() -> None:
    # The machine is twice as fast in the second round, and the ratio stays what it is.
    drifting = make_rounds((200, 100, 200), (400, 200, 400), (300, 100, 300))

    assert measures.rate_ratio(drifting, "ours", "other") == Spread(median=2.0, least=2.0, most=3.0)


def test_the_baseline_counts_with_both_its_turns() -> None:
    assert measures.rate_ratio(make_rounds((100, 100, 300)), "ours", "other").median == 2.0


def test_the_cpu_ratio_compares_all_process_groups_together() -> None:
    one = {
        "ours": turn(1, server=100, postgresql=50),
        "other": turn(1, server=250, postgresql=100, redis=25),
        "ours again": turn(1, server=200, postgresql=50),
    }

    assert measures.cpu_ratio([one], "ours", "other").median == pytest.approx(375 / 200)


def test_the_null_check_is_the_second_turn_through_the_first() -> None:
    check = measures.null_check(make_rounds((100, 1, 90), (100, 1, 104), (100, 1, 110)), "ours")

    assert check == Spread(median=1.04, least=0.9, most=1.1)
    assert check.is_quiet


@pytest.mark.parametrize(
    ("median", "quiet"), [(0.92, False), (0.93, True), (1.0, True), (1.07, True), (1.08, False)]
)
def test_a_run_is_too_noisy_outside_of_the_bounds(median: float, quiet: bool) -> None:  # noqa: FBT001  a column
    assert Spread(median, median, median).is_quiet is quiet


def test_the_others_change_places_between_two_turns_of_the_baseline() -> None:
    order: list[str] = []

    def drive(name: str) -> Turn:
        order.append(name)
        return turn(1)

    measures.play(["ours", "a", "b"], 3, drive)

    assert " ".join(order) == "ours a b ours ours b a ours ours a b ours"


def test_the_baseline_can_be_driven_alone() -> None:
    (one,) = measures.play(["ours"], 1, lambda _name: turn(5))

    assert list(one) == ["ours", "ours again"]


def test_medians_of_the_baseline_are_over_both_its_turns() -> None:
    one = make_rounds((1, 7, 2), (3, 7, 100))

    assert measures.median(one, "ours", "rate") == 2.5


def test_bad_replies_are_reported_with_what_they_were() -> None:
    spoiled = [{"ours": turn(1), "other": turn(1, bad=3)}]

    assert measures.complaints(spoiled) == ["other: 3 bad of 10: 500 oh"]


def test_a_server_that_answered_nothing_voids_the_run() -> None:
    silent = Turn(answered=0, bad=0, seconds=0, p50=0, p99=0)

    assert measures.complaints([{"ours": silent}]) == ["ours: 0 bad of 0: "]


def test_there_is_no_ratio_to_a_server_that_answered_nothing() -> None:
    assert math.isnan(measures.rate_ratio(make_rounds((100, 0, 100)), "ours", "other").median)
