"""How long a fetched document counts (RFC 9111)."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oauth.clients.cimd import freshness

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
FLOOR, CAP = 60, 86_400
HOUR = 3600


def seconds(**headers: str) -> float:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return freshness.lifetime(named, now=NOW).total_seconds()


@pytest.mark.parametrize(
    ("cache_control", "expected"),
    [
        ("max-age=600", 600),
        ("public, max-age=600", 600),
        ("Public,MAX-AGE=600", 600),
        ("max-age = 600", 600),
        ('max-age="600"', 600),
        ("max-age=0600", 600),
        ("max-age=600, s-maxage=900", 900),
        ("s-maxage=0, max-age=600", FLOOR),
        ("max-age=600, max-age=900", 600),
        ("max-age=0", FLOOR),
        ("max-age=59", FLOOR),
        ("max-age=61", 61),
        ("max-age=86399", 86_399),
        ("max-age=31536000", CAP),
        ("max-age=" + "9" * 5000, CAP),
        ("no-store", FLOOR),
        ("no-cache", FLOOR),
        ("private, max-age=600", FLOOR),
        ("no-store, max-age=600", FLOOR),
        ("max-age", FLOOR),
        ("max-age=", FLOOR),
        ("max-age=soon", FLOOR),
        ("max-age=-600", FLOOR),
        ("max-age=6e2", FLOOR),
        ("max-age=600.5", FLOOR),
        ("must-revalidate", HOUR),
        ("x-max-age=600", HOUR),
        ("", HOUR),
    ],
)
def test_cache_control_says_how_long_within_a_minute_and_a_day(
    cache_control: str, expected: int
) -> None:
    assert seconds(cache_control=cache_control) == expected


def test_an_hour_is_assumed_where_nothing_is_said() -> None:
    assert seconds() == HOUR


@pytest.mark.parametrize(
    ("age", "expected"),
    [("100", 500), ("0", 600), ("700", FLOOR), ("", 600), ("old", 600), ("-5", 600)],
)
def test_the_time_a_document_lay_in_a_cache_is_taken_off(age: str, expected: int) -> None:
    assert seconds(cache_control="max-age=600", age=age) == expected


@pytest.mark.parametrize(
    ("expires", "expected"),
    [
        ("Sat, 21 Nov 2026 12:10:00 GMT", 600),
        ("Saturday, 21-Nov-26 12:10:00 GMT", 600),
        ("Sat, 21 Nov 2026 12:10:00 -0000", 600),
        ("Sat, 21 Nov 2026 11:00:00 GMT", FLOOR),
        ("Mon, 21 Nov 2033 12:00:00 GMT", CAP),
        ("0", FLOOR),
        ("-1", FLOOR),
        ("", FLOOR),
        ("tomorrow", FLOOR),
        ("Sat, 21 Nov 99999 12:10:00 GMT", FLOOR),
        ("Sat, 21 Nov 99999999999999999999 12:10:00 GMT", FLOOR),
    ],
)
def test_expires_counts_where_cache_control_gives_no_age(expires: str, expected: int) -> None:
    assert seconds(expires=expires) == expected
    assert seconds(expires=expires, cache_control="max-age=120") == 120


def test_expires_is_read_by_the_clock_that_wrote_it() -> None:
    assert (
        seconds(expires="Sat, 21 Nov 2026 10:10:00 GMT", date="Sat, 21 Nov 2026 10:00:00 GMT")
        == 600
    )
    assert seconds(expires="Sat, 21 Nov 2026 12:10:00 GMT", date="some day") == 600


HEADER = st.text(st.characters(max_codepoint=255), max_size=60)
DIRECTIVE = st.sampled_from(["max-age", "s-maxage", "no-store", "private", "x"])
MANY = st.lists(st.builds(lambda name, value: f"{name}={value}", DIRECTIVE, HEADER)).map(",".join)
DAY = st.sampled_from(
    ["Sat, 21 Nov 2026 12:10:00 ", "1 Jan 0001 00:00:00 ", "31 Dec 9999 23:59:59 "]
)
DATE = HEADER | st.builds(str.__add__, DAY, HEADER | st.from_regex(r"[+-][0-9]{4,9}"))


@settings(deadline=None)
@given(cache_control=MANY | HEADER, expires=DATE, date=DATE, age=HEADER)
def test_whatever_is_sent_the_answer_lies_between_floor_and_cap(
    cache_control: str, expires: str, date: str, age: str
) -> None:
    headers = {"cache-control": cache_control, "expires": expires, "date": date, "age": age}
    assert timedelta(seconds=FLOOR) <= freshness.lifetime(headers, now=NOW) <= timedelta(days=1)
