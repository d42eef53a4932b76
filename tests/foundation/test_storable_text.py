"""Text that databases refuse is found, and spelled out so that a row can be written."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.db.storable import (
    LONE_SURROGATE,
    escape_characters,
    escape_unstorable,
    has_unstorable_text,
)

ANY_TEXT = st.text(st.characters(exclude_categories=[]))
JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)
STORABLE_TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"a": "x\x00y"}, {"a": "x\\u0000y"}),
        (["\ud800", {"\udfff": 1}], ["\\ud800", {"\\udfff": 1}]),
        ("\N{GRINNING FACE}", "\N{GRINNING FACE}"),
        ({"a": [1, None, True, 2.5, "ok"]}, {"a": [1, None, True, 2.5, "ok"]}),
        (10**30, 10**30),
        ("\\u0000", "\\u0000"),
    ],
    ids=["J07-nul", "J07-surrogates", "astral", "ordinary", "big-integer", "literal-backslash"],
)
def test_unstorable_text_is_found_and_spelled_out(value: object, expected: object) -> None:
    assert escape_unstorable(value) == expected
    assert has_unstorable_text(value) is (value != expected)


@settings(deadline=None)
@given(JSON_VALUES)
def test_after_escaping_nothing_unstorable_is_left(value: object) -> None:
    assert not has_unstorable_text(escape_unstorable(value))


@settings(deadline=None)
@given(st.lists(STORABLE_TEXT) | st.dictionaries(STORABLE_TEXT, STORABLE_TEXT))
def test_escaping_leaves_storable_values_alone(value: object) -> None:
    assert not has_unstorable_text(value)
    assert escape_unstorable(value) == value


def test_a_pattern_says_which_characters_are_spelled_out() -> None:
    assert escape_characters(["\x00\ud800", ("\udfff",)], LONE_SURROGATE) == [
        "\x00\\ud800",
        ["\\udfff"],
    ]


def test_a_value_without_such_text_is_not_copied() -> None:
    value = {"a": ["storable"] * 3}
    assert escape_unstorable(value) is value
