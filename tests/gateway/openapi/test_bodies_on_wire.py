"""Bodies on the wire: JSON, forms, multipart, text and bytes."""

import json
from base64 import b64encode
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import HTTP
from typing import Any
from urllib.parse import parse_qsl

import pytest

from gateway.openapi.shapes import BodyField, OperationBody, UpstreamRequest
from gateway.openapi.wire import build
from gateway.openapi.wire.values import InvalidArgument
from tests.drivers.gateway_operations import operation, parameter

FORM = "application/x-www-form-urlencoded"
PNG = b"\x89PNG\r\n\x1a\n\x00\xff--\r\n"


def build_request(
    body: OperationBody, arguments: dict[str, Any], **options: Any
) -> UpstreamRequest:
    return build(operation(method="post", body=body), arguments, **options)


def content_type(request: UpstreamRequest) -> str:
    return dict(request.headers).get("Content-Type", "")


def parts(request: UpstreamRequest) -> list[EmailMessage]:
    """The parts of a multipart body, as Python's own parser reads them."""
    assert request.body is not None
    head = f"Content-Type: {content_type(request)}\r\n\r\n".encode()
    message = BytesParser(policy=HTTP).parsebytes(head + request.body)
    assert message.is_multipart()
    return list(message.iter_parts())


def get_refusal(body: OperationBody, arguments: dict[str, Any], **options: Any) -> tuple[str, str]:
    with pytest.raises(InvalidArgument) as caught:
        build_request(body, arguments, **options)
    return caught.value.field, caught.value.reason


def file(data: bytes, **facts: str) -> dict[str, str]:
    return {"base64": b64encode(data).decode(), **facts}


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ("hi", '"hi"'),
        ([1, "2"], '[1,"2"]'),
        ({"a": None}, '{"a":null}'),
        (None, "null"),
        (False, "false"),
        (2**63 + 1, "9223372036854775809"),
        ({"å": "\x00"}, '{"å":"\\u0000"}'),
    ],
)
def test_pitfall_22_a_whole_body_is_sent_unwrapped(value: Any, expected: str) -> None:
    whole = OperationBody(
        kind="json", media_type="application/json", argument="body", required=True
    )

    request = build_request(whole, {"body": value})

    assert request.body == expected.encode()
    assert content_type(request) == "application/json"


def test_pitfall_8_22_properties_are_sent_under_their_own_names() -> None:
    body = OperationBody(
        kind="json",
        media_type="application/merge-patch+json",
        fields=[
            BodyField(argument="id", name="id"),
            BodyField(argument="user_name", name="user.name"),
        ],
        open_fields=True,
    )
    patch = operation(
        method="patch",
        path="/u/{id}",
        body=body,
        parameters=[parameter("id", "path", argument="id__path")],
    )

    request = build(patch, {"id__path": 7, "id": 8, "user_name": None, "more": [1.5]})

    assert request.target == "/u/7"
    assert request.body == b'{"id":8,"user.name":null,"more":[1.5]}'
    assert content_type(request) == "application/merge-patch+json"
    one = build(patch, {"id__path": 7, "id": 8}, hidden_fields={"client_secret": "s"})
    assert one.body == b'{"id":8,"client_secret":"s"}'


def test_pitfall_23_form_fields_are_written_by_their_encoding() -> None:
    body = OperationBody(
        kind="form",
        media_type=FORM,
        fields=[
            BodyField(argument="name", name="name"),
            BodyField(argument="tags", name="tags"),
            BodyField(argument="ids", name="ids", explode=False),
            BodyField(argument="filter", name="filter", style="deepObject"),
            BodyField(argument="address", name="address"),
            BodyField(argument="places", name="places"),
            BodyField(argument="raw", name="raw", content_type="application/json"),
            BodyField(argument="gone", name="gone"),
        ],
    )
    arguments = {
        "name": "a b&c=å+",
        "tags": ["x", "y"],
        "ids": [1, 2],
        "filter": {"a": {"b": [True]}},
        "address": {"zip": "99999+1234"},
        "places": [{"n": 1}],
        "raw": "id",
        "gone": None,
    }

    request = build_request(body, arguments, hidden_fields={"token": "t"})

    assert request.body is not None
    assert parse_qsl(request.body.decode(), keep_blank_values=True) == [
        ("name", "a b&c=å+"),
        ("tags", "x"),
        ("tags", "y"),
        ("ids", "1,2"),
        ("filter[a][b][]", "true"),
        ("address", '{"zip":"99999+1234"}'),
        ("places", '{"n":1}'),
        ("raw", '"id"'),
        ("token", "t"),
    ]
    assert request.body.startswith(b"name=a+b%26c%3D%C3%A5%2B&")
    assert content_type(request) == FORM


def test_pitfall_24_multipart_parts_stand_in_the_order_of_the_document() -> None:
    body = OperationBody(
        kind="multipart",
        media_type="multipart/form-data",
        fields=[
            BodyField(argument="note", name="note"),
            BodyField(argument="meta", name="meta"),
            BodyField(argument="file", name="files[0]", is_file=True, content_type="image/*"),
            BodyField(argument="more", name="more", is_file=True, content_type="text/csv, */*"),
            BodyField(argument="tags", name="tags"),
            BodyField(argument="page", name="page", content_type="text/html"),
        ],
    )
    arguments = {
        "tags": [1, True],
        "more": [file(b"1"), file(b"2", type="text/plain; charset=utf-8", name="å.txt")],
        "file": file(PNG, name='a "b".png', type="image/png"),
        "meta": {"a": "å"},
        "note": "line\r\nå",
        "page": "<p>",
    }

    request = build_request(body, arguments)
    read = [
        (
            part.get_param("name", header="content-disposition"),
            part["content-type"],
            part.get_payload(decode=True),
        )
        for part in parts(request)
    ]

    assert read == [
        ("note", None, "line\r\nå".encode()),
        ("meta", "application/json", '{"a":"å"}'.encode()),
        ("files[0]", "image/png", PNG),
        ("more", "text/csv", b"1"),
        ("more", 'text/plain; charset="utf-8"', b"2"),
        ("tags", None, b"1"),
        ("tags", None, b"true"),
        ("page", "text/html", b"<p>"),
    ]
    assert b'; filename="a %22b%22.png"\r\n' in (request.body or b"")
    assert build_request(body, arguments) == request, "the same arguments are the same bytes"


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ("text", "is a file: an object with name, type and base64"),
        ({}, "has a file without base64 text"),
        ({"base64": "%%%"}, "is not valid base64"),
        ({"base64": "YQ"}, "is not valid base64"),
        (file(b"x" * 11), "is larger than a file may be"),
        (file(b"x", name="../x"), "has a file name with a path or control characters"),
        (file(b"x", name="a\r\nb"), "has a file name with a path or control characters"),
        (file(b"x", type="image"), "has a file type that is no media type"),
        (file(b"x", type="a/b\r\nX: y"), "has a file type with invalid characters"),
        ([file(b"12345678"), file(b"123")], "is larger than a file may be"),
    ],
)
def test_pitfall_24_a_file_that_cannot_be_sent_is_refused(value: Any, reason: str) -> None:
    field = BodyField(argument="file", name="file", is_file=True)
    body = OperationBody(kind="multipart", media_type="multipart/form-data", fields=[field])

    assert get_refusal(body, {"file": value}, max_upload_bytes=10) == ("file", reason)
    assert build_request(body, {"file": file(b"x" * 10)}, max_upload_bytes=10).body


def test_pitfall_26_text_and_bytes_are_never_json() -> None:
    xml = OperationBody(kind="text", media_type="application/xml", argument="body")
    latin = OperationBody(kind="text", media_type="text/plain; charset=iso-8859-1", argument="body")
    octets = OperationBody(kind="binary", media_type="application/octet-stream", argument="body")
    image = OperationBody(kind="binary", media_type="image/*", argument="body")

    assert build_request(xml, {"body": "<å/>"}).body == "<å/>".encode()
    assert content_type(build_request(xml, {"body": "<å/>"})) == "application/xml; charset=utf-8"
    assert build_request(latin, {"body": "å"}).body == b"\xe5"
    assert get_refusal(latin, {"body": "€"}) == (
        "body",
        "has characters that iso-8859-1 does not have",
    )
    assert build_request(octets, {"body": b64encode(PNG).decode()}).body == PNG
    assert content_type(build_request(image, {"body": file(PNG, type="image/png")})) == "image/png"
    assert content_type(build_request(image, {"body": file(PNG)})) == "application/octet-stream"
    assert get_refusal(octets, {"body": 5}) == ("body", "has a file without base64 text")


@pytest.mark.parametrize("method", ["get", "delete", "post"])
def test_pitfall_27_a_body_that_is_not_given_is_not_sent(method: str) -> None:
    fields = [BodyField(argument="a", name="a")]
    kinds = [("json", "application/json"), ("form", FORM), ("multipart", "multipart/form-data")]
    for kind, media_type in kinds:
        optional = OperationBody(kind=kind, media_type=media_type, fields=fields)  # type: ignore[arg-type]  parametrized
        required = OperationBody(kind=kind, media_type=media_type, fields=fields, required=True)  # type: ignore[arg-type]

        without = build(operation(method=method, body=optional), {})
        empty = build(operation(method=method, body=required), {})

        assert without.body is None
        assert content_type(without) == ""
        assert empty.body is not None
        assert content_type(empty).startswith(media_type)
    whole = OperationBody(kind="text", media_type="text/plain", argument="body")
    needed = OperationBody(kind="json", media_type="*/*", argument="body", required=True)
    assert build(operation(method=method, body=whole), {}).body is None
    assert get_refusal(needed, {}) == ("body", "is required")
    assert content_type(build_request(needed, {"body": 1})) == "application/json"


def test_a_whole_form_is_an_object_of_fields() -> None:
    body = OperationBody(
        kind="form",
        media_type=FORM,
        argument="body",
        fields=[BodyField(argument="body", name="a", style="deepObject")],
    )

    assert build_request(body, {"body": {"a": {"x": 1}, "b": [1, 2]}}).body == b"a%5Bx%5D=1&b=1&b=2"
    assert get_refusal(body, {"body": [1]}) == ("body", "must be an object")


def test_a_number_that_json_does_not_have_is_refused() -> None:
    whole = OperationBody(kind="json", media_type="application/json", argument="body")

    for value in (float("inf"), [float("nan")], [10**5000]):
        assert get_refusal(whole, {"body": value}) == (
            "body",
            "has a number that cannot be written",
        )
    exact = build_request(whole, {"body": {"a": 1e16, "b": 9007199254740993}}).body
    assert json.loads(exact or b"") == {"a": 1e16, "b": 9007199254740993}
