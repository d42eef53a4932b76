"""Parameters on the wire, as the style table of OpenAPI 3.1.1 has them, and what is refused."""

from typing import Any

import pytest

from gateway.openapi.shapes import OpenApiOperation, Place
from gateway.openapi.wire import ACCEPT, build, with_idempotency_key
from gateway.openapi.wire.values import InvalidArgument
from tests.drivers.gateway_operations import operation, parameter

ARRAY = ["blue", "black", "brown"]
OBJECT = {"R": 100, "G": 200, "B": 150}
# OpenAPI 3.1.1, Style Examples: style, explode, value, what is written.
STYLE_EXAMPLES = [
    ("matrix", False, "blue", ";color=blue"),
    ("matrix", False, ARRAY, ";color=blue,black,brown"),
    ("matrix", False, OBJECT, ";color=R,100,G,200,B,150"),
    ("matrix", True, "blue", ";color=blue"),
    ("matrix", True, ARRAY, ";color=blue;color=black;color=brown"),
    ("matrix", True, OBJECT, ";R=100;G=200;B=150"),
    ("label", False, "blue", ".blue"),
    ("label", False, ARRAY, ".blue,black,brown"),
    ("label", False, OBJECT, ".R,100,G,200,B,150"),
    ("label", True, "blue", ".blue"),
    ("label", True, ARRAY, ".blue.black.brown"),
    ("label", True, OBJECT, ".R=100.G=200.B=150"),
    # A dot within an item does not end it.
    ("label", True, ["a.b", 1.5], ".a%2Eb.1%2E5"),
    ("simple", False, "blue", "blue"),
    ("simple", False, ARRAY, "blue,black,brown"),
    ("simple", False, OBJECT, "R,100,G,200,B,150"),
    ("simple", True, "blue", "blue"),
    ("simple", True, ARRAY, "blue,black,brown"),
    ("simple", True, OBJECT, "R=100,G=200,B=150"),
    ("form", False, "", "?color="),
    ("form", False, "blue", "?color=blue"),
    ("form", False, ARRAY, "?color=blue,black,brown"),
    ("form", False, OBJECT, "?color=R,100,G,200,B,150"),
    ("form", True, "", "?color="),
    ("form", True, "blue", "?color=blue"),
    ("form", True, ARRAY, "?color=blue&color=black&color=brown"),
    ("form", True, OBJECT, "?R=100&G=200&B=150"),
    ("spaceDelimited", False, ARRAY, "?color=blue%20black%20brown"),
    ("spaceDelimited", False, OBJECT, "?color=R%20100%20G%20200%20B%20150"),
    ("pipeDelimited", False, ARRAY, "?color=blue%7Cblack%7Cbrown"),
    ("pipeDelimited", False, OBJECT, "?color=R%7C100%7CG%7C200%7CB%7C150"),
    ("deepObject", True, OBJECT, "?color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"),
    # OpenAPI 2.0, collectionFormat tsv.
    ("tabDelimited", False, ARRAY, "?color=blue%09black%09brown"),
]


def color(place: Place, **changes: Any) -> OpenApiOperation:
    path = "/colors/{color}" if place == "path" else "/colors"
    return operation(path=path, parameters=[parameter("color", place, **changes)])


def sent_text(place: Place, value: Any, **changes: Any) -> str:
    """What is sent for a parameter `color` with a value."""
    request = build(color(place, **changes), {"color": value})
    if place in {"path", "query"}:
        return request.target.removeprefix("/colors/").removeprefix("/colors")
    headers = dict(request.headers)
    return headers.get("Cookie" if place == "cookie" else "color", "")


def get_refusal(place: Place, value: Any, **changes: Any) -> str:
    """The reason why a value is refused."""
    with pytest.raises(InvalidArgument) as caught:
        sent_text(place, value, **changes)
    assert caught.value.field == "color"
    return caught.value.reason


@pytest.mark.parametrize(("style", "explode", "value", "expected"), STYLE_EXAMPLES)
def test_pitfall_12_every_style_is_written_as_the_specification_has_it(
    style: str, explode: object, value: Any, expected: str
) -> None:
    place: Place = "query" if expected.startswith("?") else "path"

    assert sent_text(place, value, style=style, explode=explode) == expected


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"eq": 1}, "?color[eq]=1"),
        ({"in": ["a", "b"]}, "?color[in][]=a&color[in][]=b"),
        (["a", "b"], "?color[]=a&color[]=b"),
        ({"a": {"b": True}}, "?color[a][b]=true"),
        ([{"price": 1}, {"price": 2}], "?color[0][price]=1&color[1][price]=2"),
        ({"a": None, "b": [], "c": {}}, ""),
        ("plain", "?color=plain"),
    ],
)
def test_pitfall_13_deep_objects_may_hold_arrays_and_objects(value: Any, expected: str) -> None:
    written = sent_text("query", value, style="deepObject", explode=True)

    assert written.replace("%5B", "[").replace("%5D", "]") == expected


@pytest.mark.parametrize(
    ("value", "in_path", "in_header", "in_cookie"),
    [
        (True, "true", "true", "color=true"),
        ([1, 2], "1,2", "1,2", "color=1; color=2"),
        ({"k": "v"}, "k,v", "k,v", "k=v"),
        ([1, None, 2.5], "1,2.5", "1,2.5", "color=1; color=2.5"),
        ({"k": {"deep": [None]}}, 'k,{"deep":[null]}', 'k,{"deep":[null]}', 'k={"deep":[null]}'),
        (2**70 + 1, "1180591620717411303425", "1180591620717411303425", None),
        ("9007199254740993", "9007199254740993", "9007199254740993", None),
        (1e16, "10000000000000000", "10000000000000000", None),
        (0.0000001, "0.0000001", "0.0000001", None),
        (5.0, "5", "5", "color=5"),
    ],
)
def test_pitfall_14_values_are_never_written_as_python_does(
    value: Any, in_path: str, in_header: str, in_cookie: str | None
) -> None:
    def plain(text: str) -> str:
        for code, character in (("%7B", "{"), ("%22", '"'), ("%3A", ":"), ("%5B", "[")):
            text = text.replace(code, character)
        return text.replace("%5D", "]").replace("%7D", "}")

    assert plain(sent_text("path", value)) == in_path
    assert sent_text("header", value) == in_header
    assert plain(sent_text("cookie", value)) == (in_cookie or f"color={in_path}")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("a/b", "a%2Fb"),
        ("?q", "%3Fq"),
        ("#x", "%23x"),
        ("%2e%2e", "%252e%252e"),
        ("..x", "..x"),
        ("å", "%C3%A5"),
        (";a=b", "%3Ba%3Db"),
    ],
)
def test_o07_a_path_value_is_one_encoded_segment(value: str, expected: str) -> None:
    assert sent_text("path", value) == expected


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("..", "has a dot segment"),
        (".", "has a dot segment"),
        ("../../admin", "has a dot segment"),
        ("a\\..\\b", "has a dot segment"),
        ("..;v=1", "has a dot segment"),
        ("a/.;/b", "has a dot segment"),
        ("", "is empty"),
        ([], "is empty"),
        ({}, "is empty"),
        (None, "is required"),
        ("a\r\nb", "has a control character"),
        ("a\x00", "has a control character"),
        (float("nan"), "has a number that cannot be written"),
        ([10**5000], "has a number that cannot be written"),
    ],
)
def test_o07_a_path_value_that_would_change_the_path_is_refused(value: Any, reason: str) -> None:
    assert get_refusal("path", value) == reason
    assert get_refusal("path", value, allow_reserved=True) == reason


def test_o07_no_segment_becomes_a_dot_segment_with_the_text_around_it() -> None:
    label = parameter("y", "path", style="label", allow_reserved=True)
    both = operation(path="/a/{x}{y}/b", parameters=[parameter("x", "path"), label])

    assert build(both, {"x": "1", "y": "%2e"}).target == "/a/1.%252e/b"
    for x, y in ((".", "a"), ("a", "."), ("a", ""), ("", "a"), ("a", ["", ""])):
        with pytest.raises(InvalidArgument):
            build(both, {"x": x, "y": y})


@pytest.mark.parametrize("value", ["a\r\nHost: evil", "a\nb", "a\x00b", "tab\x7f", "å", " a", "a "])
def test_o08_a_header_value_that_a_header_cannot_hold_is_refused(value: str) -> None:
    assert "visible ASCII" in get_refusal("header", value)


@pytest.mark.parametrize(
    ("place", "value", "changes", "reason"),
    [
        ("header", ["a,b"], {}, "has an item with a comma, which separates the items"),
        (
            "header",
            {"a=b": 1},
            {"explode": True},
            "has an item with an equals sign, which separates the items",
        ),
        (
            "query",
            ["a b"],
            {"style": "spaceDelimited", "explode": False},
            "has an item with a space, which separates the items",
        ),
        (
            "query",
            ["a|b"],
            {"style": "pipeDelimited", "explode": False},
            "has an item with a pipe, which separates the items",
        ),
        (
            "query",
            {"a]": 1},
            {"style": "deepObject", "explode": True},
            "has a key that is empty or has a bracket",
        ),
    ],
)
def test_a_value_that_would_be_read_as_another_is_refused(
    place: Place, value: Any, changes: dict[str, Any], reason: str
) -> None:
    assert get_refusal(place, value, **changes) == reason


def test_pitfall_16_an_optional_null_or_empty_array_is_not_sent() -> None:
    for place in ("query", "header", "cookie"):
        assert sent_text(place, None) == ""
        assert sent_text(place, []) == ""
        assert sent_text(place, None, required=True) == "", "its schema allows null"
    with pytest.raises(InvalidArgument, match="is required"):
        build(color("query", required=True), {})


def test_pitfall_17_18_fixed_headers_are_sent_and_one_accept_header() -> None:
    fixed = operation(
        parameters=[
            parameter("X-Version", "header", argument="", fixed="2026-01-01", required=True),
            parameter("accept", "header", argument="", fixed="application/vnd.v3+json"),
        ],
        idempotency_header="Idempotency-Key",
    )

    assert dict(build(operation(), {}).headers) == {"Accept": ACCEPT}
    assert with_idempotency_key(build(fixed, {}), fixed, "k1").headers == (
        ("X-Version", "2026-01-01"),
        ("accept", "application/vnd.v3+json"),
        ("Idempotency-Key", "k1"),
    )


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("query", "?color=%7B%22lat%22%3A1.5%2C%22q%22%3A%22%C3%A5%22%7D"),
        ("header", '{"lat":1.5,"q":"\\u00e5"}'),
        ("cookie", "color=%7B%22lat%22%3A1.5%2C%22q%22%3A%22%C3%A5%22%7D"),
        ("path", "%7B%22lat%22%3A1.5%2C%22q%22%3A%22%C3%A5%22%7D"),
    ],
)
def test_pitfall_19_a_parameter_with_content_is_json(place: Place, expected: str) -> None:
    value = {"lat": 1.5, "q": "å"}

    assert sent_text(place, value, media_type="application/json") == expected
    assert sent_text(place, "a b", media_type="text/plain") == sent_text(place, "a b")


def test_pitfall_5_9_names_stay_as_they_are_and_the_fixed_query_is_kept() -> None:
    named = operation(
        path="/a b/f",
        fixed_query=[("beta", "true"), ("v", "a&b")],
        parameters=[
            parameter("filter[id]", "query", argument="filter_id"),
            parameter("$top", "query", argument="top"),
            parameter("T<", "query", argument="T_2"),
        ],
    )

    assert build(named, {"top": 2, "filter_id": 1, "T_2": "x"}).target == (
        "/a%20b/f?beta=true&v=a%26b&filter%5Bid%5D=1&$top=2&T%3C=x"
    )


def test_reserved_characters_are_sent_as_they_are_where_the_document_allows_it() -> None:
    allowed = sent_text("query", "/a:b?c=d&e+f#g%41%", allow_reserved=True)

    assert allowed == "?color=/a:b?c=d%26e%2Bf%23g%2541%25"
    assert sent_text("query", ["a,b"], allow_reserved=True, explode=False) == "?color=a%2Cb"
    assert sent_text("path", "a:b,c/d", allow_reserved=True) == "a:b%2Cc%2Fd"


def test_what_no_request_can_hold_is_refused() -> None:
    open_query = operation(parameters=[parameter("q", "query")])
    nested: list[Any] = []
    for _ in range(100_000):
        nested = [nested]

    for arguments, field in (
        ({"q": "\ud800"}, "arguments"),
        ({"q": {"a": ["\udfff"]}}, "arguments"),
        ({"q": nested}, "arguments"),
        ({"other": 1}, "other"),
    ):
        with pytest.raises(InvalidArgument) as caught:
            build(open_query, arguments)
        assert caught.value.field == field
        assert caught.value.kind == "validation"
    with pytest.raises(InvalidArgument, match="is required"):
        build(operation(path="/{gone}"), {})
