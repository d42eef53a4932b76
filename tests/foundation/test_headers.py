"""Header fields that are sent several times."""

from foundation.headers import joined


def test_values_of_one_name_are_joined_in_their_order() -> None:
    fields = [("x-forwarded-for", "192.0.2.1"), ("host", "a"), ("x-forwarded-for", "192.0.2.2, b")]
    assert joined(fields) == {"x-forwarded-for": "192.0.2.1, 192.0.2.2, b", "host": "a"}
    assert joined(fields, ",")["x-forwarded-for"] == "192.0.2.1,192.0.2.2, b"


def test_cookies_are_joined_by_a_semicolon() -> None:
    fields = [("cookie", "a=1"), ("cookie", "b=2"), ("x", "1"), ("x", "")]
    assert joined(fields) == {"cookie": "a=1; b=2", "x": "1, "}


def test_fields_with_different_names_stay_as_they_are() -> None:
    assert joined([("a", "1,2"), ("b", "")]) == {"a": "1,2", "b": ""}
    assert joined([]) == {}
