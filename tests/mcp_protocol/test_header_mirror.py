"""Headers that mirror the body at 2026-07-28: their codec, and the comparison."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mcp_protocol.envelope import JsonRpcRequest
from mcp_protocol.errors import HEADER_MISMATCH, ProtocolError
from mcp_protocol.headers import (
    HeaderLookup,
    check_mirror,
    check_param_headers,
    decode_header_value,
    encode_header_value,
    param_headers,
)
from mcp_protocol.revisions import Revision

VERSION = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": VERSION}

# The specification's own table (streamable-http, Value Encoding).
PRINTED = [
    ("us-west1", "us-west1"),
    ("Hello, 世界", "=?base64?SGVsbG8sIOS4lueVjA==?="),
    (" padded ", "=?base64?IHBhZGRlZCA=?="),
    ("line1\nline2", "=?base64?bGluZTEKbGluZTI=?="),
    ("=?base64?literal?=", "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="),
]

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "limit": {"type": "integer", "x-mcp-header": "Limit"},
        "dry": {"type": "boolean", "x-mcp-header": "Dry-Run"},
        "where": {
            "type": "object",
            "properties": {"zone": {"type": "string", "x-mcp-header": "Zone"}},
        },
        "query": {"type": "string"},
    },
}


def lookup(headers: Mapping[str, str]) -> HeaderLookup:
    folded = {name.lower(): value for name, value in headers.items()}
    return lambda name: folded.get(name.lower())


def call(name: object = "search_docs") -> JsonRpcRequest:
    return JsonRpcRequest(1, "tools/call", {"name": name, "arguments": {}, "_meta": META})


def mirrored_headers(**changed: str | None) -> HeaderLookup:
    headers: dict[str, str | None] = {
        "MCP-Protocol-Version": VERSION,
        "Mcp-Method": "tools/call",
        "Mcp-Name": "search_docs",
    }
    headers.update({name.replace("_", "-"): value for name, value in changed.items()})
    return lookup({name: value for name, value in headers.items() if value is not None})


def assert_mismatch(error: ProtocolError) -> None:
    assert error.code == HEADER_MISMATCH
    assert error.status(Revision.V2026_07_28) == 400


@pytest.mark.parametrize(("text", "value"), PRINTED)
def test_values_are_written_and_read_as_the_specification_prints_them(
    text: str, value: str
) -> None:
    assert encode_header_value(text) == value
    assert decode_header_value(value) == text


@settings(deadline=None)
@given(st.text())
def test_every_text_survives_the_way_through_a_header(text: str) -> None:
    value = encode_header_value(text)
    assert decode_header_value(value) == text
    assert decode_header_value(f" \t{value} ") == text


@settings(deadline=None)
@given(st.text())
def test_an_encoded_value_is_always_safe_to_send(text: str) -> None:
    value = encode_header_value(text)
    assert value == value.strip()
    assert all(" " <= character <= "~" or character == "\t" for character in value)


@pytest.mark.parametrize("text", ["=?base64?=", "=?base64??=", "=?BASE64?YQ==?=", "=?base64?YQ=="])
def test_what_only_resembles_the_sentinel_still_comes_back_as_itself(text: str) -> None:
    assert decode_header_value(encode_header_value(text)) == text


@pytest.mark.parametrize("text", ["", "a", "a b\tc", "=?base64?YQ==", "YQ==?=", "~!"])
def test_what_is_safe_as_it_is_is_sent_as_it_is(text: str) -> None:
    assert encode_header_value(text) == text


@pytest.mark.parametrize(
    "value",
    [
        pytest.param("=?base64?!!!?=", id="I19-not-base64"),
        pytest.param("=?base64?YQ?=", id="I19-no-padding"),
        pytest.param("=?base64?YQ==YQ==?=", id="I19-two-values"),
        pytest.param("=?base64?Y Q==?=", id="I19-space-inside"),
        pytest.param("=?base64?YQ-_?=", id="I19-url-alphabet"),
        pytest.param("=?base64?/w==?=", id="I19-not-utf-8"),
        pytest.param("=?base64?7aCA?=", id="I19-surrogate"),
        pytest.param("=?base64?é?=", id="I19-not-ascii-inside"),
        pytest.param("caf\xe9", id="I19-raw-latin-1"),
        pytest.param("a\r\nX: y", id="I19-line-break"),
        pytest.param("a\x00b", id="I19-nul"),
    ],
)
def test_a_value_that_cannot_be_read_is_a_mismatch(value: str) -> None:
    with pytest.raises(ProtocolError) as caught:
        decode_header_value(value)
    assert_mismatch(caught.value)


@settings(deadline=None)
@given(st.text())
def test_reading_any_value_gives_text_or_a_mismatch(value: str) -> None:
    try:
        decode_header_value(value)
    except ProtocolError as error:
        assert_mismatch(error)


def test_headers_that_repeat_the_body_pass() -> None:
    check_mirror(mirrored_headers(), call())
    check_mirror(mirrored_headers(Mcp_Name="=?base64?c2VhcmNoX2RvY3M=?="), call())


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param({"Mcp_Method": "tools/list"}, id="I19-method-differs"),
        pytest.param({"Mcp_Method": "Tools/Call"}, id="I19-method-in-capitals"),
        pytest.param({"Mcp_Method": None}, id="I19-method-missing"),
        pytest.param({"Mcp_Name": "read_doc"}, id="I19-name-differs"),
        pytest.param({"Mcp_Name": "Search_docs"}, id="I19-name-in-capitals"),
        pytest.param({"Mcp_Name": None}, id="I19-name-missing"),
        pytest.param({"Mcp_Name": ""}, id="I19-name-empty"),
        pytest.param({"Mcp_Name": "=?base64?!!!?="}, id="I19-bad-base64"),
        pytest.param({"Mcp_Name": "=?base64?cmVhZF9kb2M=?="}, id="I19-encoded-name-differs"),
    ],
)
def test_headers_that_differ_from_the_body_are_a_mismatch(changed: dict[str, str | None]) -> None:
    with pytest.raises(ProtocolError) as caught:
        check_mirror(mirrored_headers(**changed), call())
    assert_mismatch(caught.value)


@pytest.mark.parametrize(
    ("method", "member"),
    [("tools/call", "name"), ("prompts/get", "name"), ("resources/read", "uri")],
)
def test_the_name_header_repeats_the_member_of_its_method(method: str, member: str) -> None:
    request = JsonRpcRequest(1, method, {member: "halo://guide/é", "_meta": META})
    name = encode_header_value("halo://guide/é")
    check_mirror(mirrored_headers(Mcp_Method=method, Mcp_Name=name), request)
    with pytest.raises(ProtocolError):
        check_mirror(mirrored_headers(Mcp_Method=method, Mcp_Name="halo://guide/e"), request)


def test_other_methods_need_no_name() -> None:
    request = JsonRpcRequest(1, "tools/list", {"_meta": META, "name": "ignored"})
    check_mirror(mirrored_headers(Mcp_Method="tools/list", Mcp_Name=None), request)


@pytest.mark.parametrize("name", [None, 5, ["search_docs"]], ids=["J01-missing", "J01-5", "list"])
def test_a_name_that_is_no_text_is_left_for_the_method_to_refuse(name: object) -> None:
    check_mirror(mirrored_headers(), call(name))


def test_annotations_are_found_along_properties_alone() -> None:
    found = {param.header: param.path for param in param_headers(SCHEMA)}
    assert found == {
        "Mcp-Param-Region": ("region",),
        "Mcp-Param-Limit": ("limit",),
        "Mcp-Param-Dry-Run": ("dry",),
        "Mcp-Param-Zone": ("where", "zone"),
    }


@pytest.mark.parametrize(
    "schema",
    [
        {"x-mcp-header": "Root"},
        {"properties": {"a": {"items": {"x-mcp-header": "A"}}}},
        {"properties": {"a": {"anyOf": [{"x-mcp-header": "A"}]}}},
        {"allOf": [{"properties": {"a": {"x-mcp-header": "A"}}}]},
        {"properties": {"a": {"x-mcp-header": ""}}},
        {"properties": {"a": {"x-mcp-header": "A\r\nB"}}},
        {"properties": {"a": {"x-mcp-header": "A:B"}}},
        {"properties": {"a": {"x-mcp-header": 5}}},
        {"properties": {"a": True}},
        {"properties": []},
    ],
    ids=[
        "root",
        "items",
        "anyOf",
        "allOf",
        "empty",
        "line-break",
        "colon",
        "number",
        "boolean-schema",
        "no-object",
    ],
)
def test_an_annotation_anywhere_else_or_of_another_form_is_ignored(schema: dict[str, Any]) -> None:
    assert list(param_headers(schema)) == []


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({}, {}),
        ({"query": "x"}, {}),
        ({"region": None}, {}),
        ({"region": ["a"]}, {}),
        ({"region": "us-west1"}, {"Mcp-Param-Region": "us-west1"}),
        ({"region": "us-west1"}, {"mcp-param-region": "us-west1"}),
        ({"region": "Zürich"}, {"Mcp-Param-Region": "=?base64?WsO8cmljaA==?="}),
        ({"region": ""}, {"Mcp-Param-Region": ""}),
        ({"limit": 42}, {"Mcp-Param-Limit": "42"}),
        ({"limit": 42}, {"Mcp-Param-Limit": "42.0"}),
        ({"limit": 42.0}, {"Mcp-Param-Limit": "42"}),
        ({"limit": -7}, {"Mcp-Param-Limit": "-7"}),
        ({"limit": 2**53 - 1}, {"Mcp-Param-Limit": "9007199254740991"}),
        ({"limit": 1 - 2**53}, {"Mcp-Param-Limit": "-9007199254740991"}),
        ({"dry": True}, {"Mcp-Param-Dry-Run": "true"}),
        ({"dry": False}, {"Mcp-Param-Dry-Run": "false"}),
        ({"where": {"zone": "a"}}, {"Mcp-Param-Zone": "a"}),
        ({"where": "nowhere"}, {}),
        ({}, {"Mcp-Param-Unrelated": "x"}),
    ],
)
def test_arguments_that_stand_in_their_headers_pass(
    arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    check_param_headers(lookup(headers), arguments, param_headers(SCHEMA))


@pytest.mark.parametrize(
    ("arguments", "headers"),
    [
        ({"region": "us-west1"}, {}),
        ({"region": "us-west1"}, {"Mcp-Param-Region": "us-east1"}),
        ({"region": "us-west1"}, {"Mcp-Param-Region": "US-WEST1"}),
        ({"region": "x"}, {"Mcp-Param-Region": "=?base64?!?="}),
        ({"region": "x"}, {"Mcp-Param-Region": "x\x7f"}),
        ({}, {"Mcp-Param-Region": "us-east1"}),
        ({"region": None}, {"Mcp-Param-Region": "us-east1"}),
        ({"region": ["a"]}, {"Mcp-Param-Region": "a"}),
        ({"limit": 42}, {"Mcp-Param-Limit": "43"}),
        ({"limit": 42}, {"Mcp-Param-Limit": "0x2a"}),
        ({"limit": 42}, {"Mcp-Param-Limit": "NaN"}),
        ({"limit": 2**53}, {"Mcp-Param-Limit": str(2**53 + 1)}),
        ({"limit": 2**53}, {"Mcp-Param-Limit": str(2**53)}),
        ({"limit": -(2**53)}, {"Mcp-Param-Limit": str(-(2**53))}),
        ({"limit": 1e300}, {"Mcp-Param-Limit": "1e300"}),
        ({"limit": 1.5}, {"Mcp-Param-Limit": "1.5"}),
        ({"limit": 1}, {"Mcp-Param-Limit": "true"}),
        ({"dry": True}, {"Mcp-Param-Dry-Run": "True"}),
        ({"dry": True}, {"Mcp-Param-Dry-Run": "1"}),
        ({"where": {"zone": "a"}}, {"Mcp-Param-Zone": "b"}),
    ],
)
def test_arguments_that_differ_from_their_headers_are_a_mismatch(
    arguments: dict[str, Any], headers: dict[str, str]
) -> None:
    with pytest.raises(ProtocolError) as caught:
        check_param_headers(lookup(headers), arguments, param_headers(SCHEMA))
    assert_mismatch(caught.value)
