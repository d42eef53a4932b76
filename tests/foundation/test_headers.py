"""Header fields that are sent several times."""

from foundation.headers import combine_repeated


def test_values_of_one_name_are_joined_in_their_order() -> None:
    fields = [("x-forwarded-for", "192.0.2.1"), ("host", "a"), ("x-forwarded-for", "192.0.2.2, b")]
    assert combine_repeated(fields) == {"x-forwarded-for": "192.0.2.1, 192.0.2.2, b", "host": "a"}
    assert combine_repeated(fields, ",")["x-forwarded-for"] == "192.0.2.1,192.0.2.2, b"


def test_cookies_are_joined_by_a_semicolon() -> None:
    fields = [("cookie", "a=1"), ("cookie", "b=2"), ("x", "1"), ("x", "")]
    assert combine_repeated(fields) == {"cookie": "a=1; b=2", "x": "1, "}


def test_fields_with_different_names_stay_as_they_are() -> None:
    assert combine_repeated([("a", "1,2"), ("b", "")]) == {"a": "1,2", "b": ""}
    assert combine_repeated([]) == {}
