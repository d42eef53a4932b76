"""Strict JSON: what is refused and what is let through."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_protocol import strict_json
from mcp_protocol.errors import PARSE_ERROR, ProtocolError
from mcp_protocol.strict_json import parse
from tests.drivers.json_values import JSON_VALUES

ONE_MIB = 2**20
# Larger than any message of a real client.
PADDING = b" " * 16_384

LONE_SURROGATE = re.compile("[\ud800-\udfff]")

TEXTS = st.sampled_from(['"a"', '"b"', '":"', '"a:b"', '"\\u003a"', '"\\u0061"', '"é"'])
# JSON as text, in which objects hold equal keys now and then.
WRITTEN = st.recursive(
    TEXTS | st.sampled_from(["1", "-2.5", "null"]),
    lambda inner: (
        st.lists(inner, max_size=3).map(lambda values: f"[{','.join(values)}]")
        | st.lists(st.tuples(TEXTS, inner), max_size=3).map(
            lambda pairs: "{" + ",".join(map(":".join, pairs)) + "}"
        )
    ),
    max_leaves=12,
)


def refusal_of(body: bytes) -> str:
    with pytest.raises(ProtocolError) as caught:
        parse(body)
    assert caught.value.code == PARSE_ERROR
    return str(caught.value)


def outcome(body: bytes) -> object:
    """Return what a body reads as, or the refusal itself."""
    try:
        return parse(body)
    except ProtocolError as error:
        return error


def is_refused(result: object) -> bool:
    return isinstance(result, ProtocolError) and result.code == PARSE_ERROR


def nested_arrays(depth: int) -> bytes:
    return b"[" * depth + b"]" * depth


REFUSED = [
    pytest.param(b"{", "(line 1, column", id="I01-open-brace"),
    pytest.param(b"", "empty", id="I01-empty"),
    pytest.param(b" \r\n\t ", "empty", id="I01-blank"),
    pytest.param(b"nul", "(line 1, column", id="I01-nul"),
    pytest.param(b"{} {}", "(line 1, column", id="I01-two-documents"),
    pytest.param(b'"\xff"', "not UTF-8 (byte 1)", id="I02-invalid-utf-8"),
    pytest.param('{"a":1}'.encode("utf-16"), "not UTF-8", id="I02-utf-16"),
    pytest.param('{"a":1}'.encode("utf-16-le"), "(line 1, column", id="I02-utf-16-no-mark"),
    pytest.param(b"\xef\xbb\xbf{}", "byte order mark", id="I02-byte-order-mark"),
    pytest.param(b'"\xed\xa0\x80"', "not UTF-8", id="I02-surrogate-in-utf-8"),
    pytest.param(b'"\xc0\x80"', "not UTF-8", id="I02-overlong-nul"),
    pytest.param(b'{"x":NaN}', "NaN is not JSON", id="I04-nan"),
    pytest.param(b"[Infinity]", "Infinity is not JSON", id="I04-infinity"),
    pytest.param(b"[-Infinity]", "-Infinity is not JSON", id="I04-minus-infinity"),
    pytest.param(b"[1e999]", "too large", id="I04-1e999"),
    pytest.param(b"[-1e999]", "too large", id="I04-minus-1e999"),
    pytest.param(b'{"method":"a","method":"b"}', 'duplicate key "method"', id="I05-method"),
    pytest.param(
        b'{"params":{"name":"a","name":"b"}}', 'duplicate key "name"', id="I05-inner-name"
    ),
    pytest.param(
        b'{"p":[{"a":{"amount":1,"amount":1}}]}', 'duplicate key "amount"', id="I05-equal-values"
    ),
    pytest.param(b'{"\\u0061":1,"a":2}', 'duplicate key "a"', id="I05-escaped-spelling"),
    pytest.param(b'{"a" :1,"b":"\\":","a":2}', 'duplicate key "a"', id="I05-next-to-colons"),
    pytest.param(b'{"a":":","b":"::","a":1}', 'duplicate key "a"', id="I05-colons-in-texts"),
    pytest.param(b'{"a":1,"a":"\\u003a"}', 'duplicate key "a"', id="I05-escaped-colon"),
    pytest.param(b"[" + b"1" * 101 + b"]", "more than 100 digits", id="long-integer"),
    pytest.param(b"[-" + b"1" * 101 + b"]", "more than 100 digits", id="long-negative-integer"),
    pytest.param(b"[" + b"1" * 5_000 + b"]", "more than 100 digits", id="very-long-integer"),
    pytest.param(b"[01]", "(line 1, column", id="leading-zero"),
    pytest.param(b"[1.]", "(line 1, column", id="no-fraction"),
    pytest.param(b"[+1]", "(line 1, column", id="plus-sign"),
    pytest.param(b"['a']", "(line 1, column", id="single-quotes"),
    pytest.param(b"[1,]", "(line 1, column", id="trailing-comma"),
    pytest.param(b"[1]//", "(line 1, column", id="comment"),
    pytest.param(b'"a\nb"', "(line 1, column", id="raw-line-break"),
    pytest.param(b'"\\x41"', "(line 1, column", id="unknown-escape"),
    pytest.param(b"[]\x00", "(line 1, column", id="trailing-nul"),
    pytest.param(b"\xc2\xa0[]", "(line 1, column", id="no-break-space"),
]


@pytest.mark.parametrize(("body", "why"), REFUSED)
def test_what_parsers_disagree_about_is_refused_in_plain_words(body: bytes, why: str) -> None:
    assert why in refusal_of(body)


@pytest.mark.parametrize(("body", "_why"), REFUSED)
def test_a_large_body_is_refused_for_the_same_faults(body: bytes, _why: str) -> None:
    assert refusal_of(body + PADDING).startswith("Parse error: ")


def test_a_refusal_is_a_parse_error_without_an_id_to_answer_under() -> None:
    with pytest.raises(ProtocolError) as caught:
        parse(b"{")
    assert caught.value.data is None
    assert str(caught.value).startswith("Parse error: ")


def test_sixty_four_levels_are_read_and_sixty_five_are_not() -> None:
    assert parse(nested_arrays(64)) == json.loads(nested_arrays(64))
    assert "more than 64 levels" in refusal_of(nested_arrays(65))
    assert "more than 64 levels" in refusal_of(b'{"a":' * 65 + b"1" + b"}" * 65)
    assert "more than 64 levels" in refusal_of(b'{"a":1,"b":' + nested_arrays(64) + b"}")


def test_many_shallow_brackets_are_not_depth() -> None:
    flat = b"[" + b"[[]]," * 500 + b'"' + b"[" * 500 + b'"]'
    assert parse(flat) == json.loads(flat)


@pytest.mark.parametrize(
    "body",
    [
        b"[" * ONE_MIB,
        b'{"a":' * (ONE_MIB // 5),
        b"[" * 5_000,
        b'{"a":' * 3_000,
        nested_arrays(5_000),
        nested_arrays(400_000),
        b'["\\ud800",' + b"[" * ONE_MIB,
    ],
    ids=["arrays", "objects", "few-arrays", "few-objects", "closed", "closed-large", "surrogate"],
)
def test_a_tower_of_brackets_is_refused_and_never_a_recursion_error(body: bytes) -> None:
    assert refusal_of(body).startswith("Parse error: ")


@pytest.mark.parametrize(
    "body",
    [b"[" + b"0," * 500_000, b'["\\ud800",' + b"0," * 500_000, b"[" * ONE_MIB],
    ids=["unfinished", "unfinished-with-surrogate", "brackets"],
)
def test_a_large_malformed_body_of_many_values_never_reaches_the_decoder(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(strict_json, "_DECODER", None)
    assert refusal_of(body).startswith("Parse error: ")


def test_twenty_thousand_values_are_read_and_one_more_is_not() -> None:
    # The array is a value too.
    most = strict_json.MAX_VALUES - 1
    assert parse(b"[" + b",".join([b"0"] * most) + b"]") == [0] * most
    assert "more than 20000 values" in refusal_of(b"[" + b",".join([b"0"] * (most + 1)) + b"]")


@pytest.mark.parametrize(
    "body",
    [
        b"[" + b"0," * 500_000 + b"0]",
        b"[" + b'{"a":1},' * 120_000 + b"0]",
        b"[" + b'"",' * 340_000 + b"0]",
        b"{" + b'"a":{},' * 140_000 + b'"b":0}',
        b"[" * ONE_MIB,
        b"," + b'"' * (ONE_MIB - 1),
        b'["\\ud800",' + b"[" * ONE_MIB,
    ],
    ids=["numbers", "objects", "texts", "keys", "brackets", "quotes", "surrogate"],
)
def test_a_million_small_values_are_refused_before_one_of_them_is_built(
    body: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    if body.startswith(b","):
        body += b"," * strict_json.MAX_VALUES
    monkeypatch.setattr(strict_json, "_DECODER", None)
    assert "more than 20000 values" in refusal_of(body)


@pytest.mark.parametrize(
    "text",
    [
        "a, [b], {c}: ",
        '{"a": "b", "c": [1, 2]}, ',
        "\\",
        '\\"',
        "\n\t",
        "1234567890" * 3,
        "\N{GRINNING FACE}, é: ",
    ],
    ids=["prose", "json", "backslashes", "quotes", "lines", "digits", "letters"],
)
def test_one_long_text_is_one_value_whatever_it_says(text: str) -> None:
    value = {"a": text * (200_000 // len(text)), "b": {"a": text}}
    assert parse(json.dumps(value).encode()) == value
    assert parse(json.dumps(value, ensure_ascii=False).encode()) == value


def test_equal_keys_of_a_large_body_are_refused_by_name() -> None:
    texts = b'"' + b"a: b, " * 10_000 + b'"'
    assert 'a duplicate key "c"' in refusal_of(b'{"a":' + texts + b',"b":{"c":1,"c":2}}')
    assert parse(b'{"a":' + texts + b',"b":{"c":1,"d":2}}') is not None


KEYS = st.sampled_from(["a", "b", "c:", '"', "\\", "\ud800", "1" * 20])
OBJECTS = st.recursive(
    st.just(0) | st.text('a:"\\,{[', max_size=4),
    lambda inner: st.lists(st.tuples(KEYS, inner), max_size=3) | st.tuples(inner, inner),
    max_leaves=8,
)


def to_json(value: Any) -> str:
    """JSON of a value in which a list is an object's pairs, and a tuple an array."""
    if isinstance(value, list):
        return "{" + ",".join(f"{json.dumps(key)}:{to_json(item)}" for key, item in value) + "}"
    if isinstance(value, tuple):
        return "[" + ",".join(map(to_json, value)) + "]"
    return json.dumps(value)


def has_equal_keys(value: Any) -> bool:
    if isinstance(value, list):
        keys = [key for key, _ in value]
        return len(set(keys)) < len(keys) or any(has_equal_keys(item) for _, item in value)
    return isinstance(value, tuple) and any(map(has_equal_keys, value))


@settings(deadline=None)
@given(OBJECTS)
def test_i05_equal_keys_are_refused_wherever_they_stand_and_nothing_else_is(value: Any) -> None:
    body = to_json(value).encode()
    for size in (body, body + PADDING):
        assert is_refused(outcome(size)) is has_equal_keys(value)


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b" \t\r\n[] ", []),
        (b"null", None),
        (b"-0", 0),
        (b"1.0", 1.0),
        (b"1e-999", 0.0),
        (b"9" * 100, int("9" * 100)),
        (b"-" + b"9" * 100, -int("9" * 100)),
        (b'"\\u0000"', "\x00"),
        (b'"\\ud800"', "\ud800"),
        (b'"\\ud83d\\ude00"', "\N{GRINNING FACE}"),
        (b'"\\\\ud800"', "\\ud800"),
        (b'{"a":{"a":1},"A":2}', {"a": {"a": 1}, "A": 2}),
    ],
    ids=[
        "spaces",
        "null",
        "minus-zero",
        "float",
        "underflow",
        "hundred-digits",
        "minus-hundred-digits",
        "J07-nul",
        "J07-lone-surrogate",
        "pair",
        "escaped-backslash",
        "same-key-in-other-object",
    ],
)
def test_what_json_allows_is_read_at_any_size(body: bytes, value: object) -> None:
    assert parse(body) == value
    assert parse(body + PADDING) == value


@settings(deadline=None)
@given(value=JSON_VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 1]))
def test_every_document_reads_as_the_standard_library_reads_it(
    value: Any, *, ascii_only: bool, indent: int | None
) -> None:
    text = json.dumps(value, ensure_ascii=ascii_only, indent=indent)
    body = text.encode("utf-8", "surrogatepass")
    # Raw surrogates are not UTF-8; escaped ones are ordinary JSON.
    if not ascii_only and LONE_SURROGATE.search(text):
        assert is_refused(outcome(body))
    else:
        assert parse(body) == json.loads(body)
        assert parse(body + PADDING) == json.loads(body)


@settings(deadline=None)
@given(st.text(alphabet='{}[]",:\\/ue0x1.-+NaInfty dD8\n\x00\x7f\ud800é', max_size=60))
def test_any_bytes_are_read_like_the_standard_library_or_refused(text: str) -> None:
    body = text.encode("utf-8", "surrogatepass")
    result = outcome(body)
    assert is_refused(result) or result == json.loads(body)
    assert is_refused(result) == is_refused(outcome(body + PADDING))


@settings(deadline=None)
@given(st.binary(max_size=200))
def test_random_bytes_raise_nothing_but_a_parse_error(body: bytes) -> None:
    result = outcome(body)
    assert is_refused(result) or result == json.loads(body)


@pytest.mark.parametrize(
    "body",
    [
        b'"' * ONE_MIB,
        b'"' + b"\\" * ONE_MIB,
        b'["' + rb"\"" * (ONE_MIB // 2) + b'"]',
        b'"' + b"[" * ONE_MIB,
        b"1" * ONE_MIB,
        b"0." + b"1" * ONE_MIB,
        b"1e" + b"9" * ONE_MIB,
        b"[" * 64 + b"]" * ONE_MIB,
        b"\n" * ONE_MIB + b"}",
        b'{"a":' + b" " * ONE_MIB,
    ],
    ids=[
        "quotes",
        "backslashes",
        "escaped-quotes",
        "unfinished-string",
        "integer",
        "fraction",
        "exponent",
        "closing-brackets",
        "line-breaks",
        "spaces",
    ],
)
def test_a_megabyte_of_one_character_is_read_like_the_standard_library_or_refused(
    body: bytes,
) -> None:
    result = outcome(body)
    assert is_refused(result) or result == json.loads(body)


def test_duplicate_keys_among_many_are_named() -> None:
    members = b",".join(b'"k%d":0' % number for number in range(10_000))
    assert "duplicate key" in refusal_of(b"{" + members + b',"k7":1}')
    assert len(parse(b"{" + members + b"}")) == 10_000  # type: ignore[arg-type]  it is an object


@given(WRITTEN)
def test_equal_keys_are_found_and_nothing_else_is_taken_for_them(text: str) -> None:
    equal: list[bool] = []
    json.loads(text, object_pairs_hook=lambda pairs: equal.append(len(dict(pairs)) < len(pairs)))
    if any(equal):
        assert "duplicate key" in refusal_of(text.encode())
    else:
        assert parse(text.encode()) == json.loads(text)
