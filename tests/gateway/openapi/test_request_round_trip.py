"""For made-up operations and arguments, the one request reads back as the same arguments."""

import json
import re
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterator
from email.parser import BytesParser
from email.policy import HTTP
from functools import cache, partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import unquote, unquote_plus

import httpx2
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foundation import outbound
from gateway.openapi.shapes import (
    BodyField,
    OpenApiOperation,
    OperationBody,
    Parameter,
    UpstreamRequest,
)
from gateway.openapi.wire import build
from gateway.openapi.wire.values import text_of
from tests.drivers import style_decoder
from tests.drivers.gateway_operations import operation
from tools_registry.api.declared_members import fold_name

NAMES = ["id", "filter[id]", "$top", "T<", "a b", "x&y=z", "å", "100%", "a.b-c_d~", "q?#/"]
STYLES = {
    "path": ["simple", "label", "matrix"],
    "query": ["form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"],
    "header": ["simple"],
    "cookie": ["form"],
}
Case = tuple[OpenApiOperation, dict[str, Any]]

anything = st.text(st.characters(exclude_categories=["Cs"]))
printable = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(
    lambda text: not {".", ".."} & set(re.split(r"[/\\]", text))
)
visible = st.from_regex(r"[!-+\--<>-~]{1,20}", fullmatch=True)
numbers = (
    st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)
)  # fmt: skip
TEXTS = {"path": printable, "query": anything, "header": visible, "cookie": anything}
values = st.recursive(
    st.none() | anything | numbers,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(anything, inner, max_size=3),
    max_leaves=8,
)


@cache
def scalars(place: str, style: str) -> st.SearchStrategy[Any]:
    separator = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}.get(style)
    texts = TEXTS[place]
    if separator:
        texts = texts.filter(lambda text: separator not in text)
    return texts | numbers


@cache
def keys(place: str, style: str) -> st.SearchStrategy[str]:
    """Keys of objects, which differ from the names of parameters by how they begin."""
    if place == "header":
        return visible
    if style == "deepObject":
        return st.from_regex(r"[a-z $&.å]{1,8}", fullmatch=True)
    if style in {"spaceDelimited", "pipeDelimited", "tabDelimited"}:
        return st.from_regex(r"key[a-z&=,å]{0,8}", fullmatch=True)
    return TEXTS[place].map(lambda text: f"key {text}")


def objects(
    names: st.SearchStrategy[str], values: st.SearchStrategy[Any], **size: int
) -> st.SearchStrategy[dict[str, Any]]:
    """Objects whose keys differ in any case: others are refused, as two names of one parameter."""
    made = st.dictionaries(names, values, **size)
    return made.filter(lambda each: len({fold_name(key) for key in each}) == len(each))


@cache
def members(place: str, style: str) -> st.SearchStrategy[Any]:
    """A value that the style can write."""
    scalar = scalars(place, style)
    if style == "deepObject":
        named = partial(objects, keys(place, style), min_size=1, max_size=3)
        inner = scalar | st.lists(scalar, min_size=1, max_size=3)
        nested = named(inner) | st.lists(named(scalar), min_size=2, max_size=3)
        return named(inner | nested)
    return (
        scalar
        | st.lists(scalar, min_size=1, max_size=4)
        | objects(keys(place, style), scalar, min_size=1, max_size=4)
    )


@cache
def flat_members(style: str) -> st.SearchStrategy[Any]:
    """What a field of a form holds without a style for objects."""
    return members("query", style).filter(lambda value: not isinstance(value, dict))


@st.composite
def parameters(draw: st.DrawFn) -> list[tuple[Parameter, Any]]:
    """Parameters of unique names, one that spreads its keys at most, and a value for each."""
    drawn, spread = [], False
    for number, name in enumerate(draw(st.lists(st.sampled_from(NAMES), unique=True))):
        place = draw(st.sampled_from(list(STYLES)))
        style = draw(st.sampled_from(STYLES[place]))
        explode = draw(st.booleans()) or style == "deepObject"
        value = draw(members(place, style))
        spreads = explode and isinstance(value, dict) and place in {"query", "cookie"}
        if spreads and style != "deepObject":
            if spread:
                continue
            spread = True
        own = f"X-{number}" if place == "header" else name
        facts: Any = {"place": place, "style": style, "explode": explode}
        drawn.append((Parameter(argument=f"p{number}", name=own, **facts), value))
    return drawn


@st.composite
def bodies(draw: st.DrawFn) -> tuple[OperationBody | None, dict[str, Any]]:
    """A body of some kind, and its arguments."""
    kind = draw(st.sampled_from(["none", "json", "fields", "form", "multipart", "text", "binary"]))
    if kind == "none":
        return None, {}
    if kind == "json":
        whole = OperationBody(kind="json", media_type="application/x+json", argument="body")
        return whole, {"body": draw(values)}
    if kind in {"text", "binary"}:
        facts: Any = {"kind": kind, "media_type": f"{kind}/x", "argument": "body"}
        data = draw(anything) if kind == "text" else b64encode(draw(st.binary())).decode()
        return OperationBody(**facts), {"body": data}
    names = draw(st.lists(st.sampled_from(NAMES), unique=True, min_size=1, max_size=4))
    if kind == "fields":
        plain = [BodyField(argument=f"f{number}", name=name) for number, name in enumerate(names)]
        json_body = OperationBody(kind="json", media_type="application/json", fields=plain)
        return json_body, {field.argument: draw(values) for field in plain}
    return draw(forms(kind, names))


@st.composite
def forms(draw: st.DrawFn, kind: Any, names: list[str]) -> tuple[OperationBody, dict[str, Any]]:
    fields, arguments = [], {}
    for number, name in enumerate(names):
        is_file = kind == "multipart" and draw(st.booleans())
        styles = ["form"] if kind == "multipart" else ["form", "deepObject", "spaceDelimited"]
        style: Any = draw(st.sampled_from(styles))
        explode = draw(st.booleans()) or style == "deepObject" or kind == "multipart"
        value = draw(members("query", style) if style == "deepObject" else flat_members(style))
        if is_file:
            value = {"name": "a b.bin", "base64": b64encode(draw(st.binary())).decode()}
        facts: Any = {"style": style, "explode": explode, "is_file": is_file}
        fields.append(BodyField(argument=f"f{number}", name=name, **facts))
        arguments[f"f{number}"] = value
    media_type = (
        "multipart/form-data" if kind == "multipart" else "application/x-www-form-urlencoded"
    )
    return OperationBody(kind=kind, media_type=media_type, fields=fields), arguments


@st.composite
def cases(draw: st.DrawFn) -> Case:
    drawn = draw(parameters())
    body, arguments = draw(bodies())
    in_path = [one.name for one, _ in drawn if one.place == "path"]
    made = operation(
        method=draw(st.sampled_from(["GET", "post", "PUT", "patch", "DELETE"])),
        path="/base" + "".join(f"/{{{name}}}" for name in in_path),
        parameters=[one for one, _ in drawn],
        body=body,
    )
    return made, arguments | {one.argument: value for one, value in drawn}


def is_same(read: Any, value: Any) -> bool:
    """Whether what was read, with every scalar as text, is the value."""
    if isinstance(value, dict):
        return list(read) == list(value) and all(is_same(read[key], value[key]) for key in value)
    if isinstance(value, list):
        return len(read) == len(value) and all(map(is_same, read, value))
    if isinstance(value, bool) or not isinstance(value, float):
        return bool(read == (str(value).lower() if isinstance(value, bool) else str(value)))
    return float(read) == value and "e" not in read.lower()


def read_parameter(parameter: Parameter, value: Any, request: UpstreamRequest, place: int) -> Any:
    kind = type(value) if isinstance(value, dict | list) else str
    headers = dict(request.headers)
    match parameter.place:
        case "path":
            segment = request.target.partition("?")[0].split("/")[2 + place]
            return style_decoder.from_segment(parameter, kind, segment)
        case "query":
            pairs = style_decoder.query_of(request.target)
            return style_decoder.from_pairs(parameter, kind, pairs)
        case "cookie":
            split = (one.partition("=") for one in headers["Cookie"].split("; "))
            cookies = [(unquote(name), value) for name, _, value in split]
            return style_decoder.from_pairs(parameter, kind, cookies)
    return style_decoder.from_header(parameter, kind, headers[parameter.name])


def assert_body(body: OperationBody, arguments: dict[str, Any], request: UpstreamRequest) -> None:
    data = request.body or b""
    if body.kind == "json":
        whole = {field.name: arguments[field.argument] for field in body.fields}
        assert json.loads(data) == (arguments["body"] if body.argument else whole)
    elif body.kind == "text":
        assert data.decode() == arguments["body"]
    elif body.kind == "binary":
        assert b64encode(data).decode() == arguments["body"]
    elif body.kind == "form":
        split = (pair.partition("=") for pair in data.decode().split("&"))
        pairs = [(unquote_plus(name), value) for name, _, value in split]
        for field in body.fields:
            value = arguments[field.argument]
            kind = type(value) if isinstance(value, dict | list) else str
            assert is_same(style_decoder.from_pairs(field, kind, pairs, unquote_plus), value)
    else:
        assert read_parts(request) == expected_parts(body, arguments)


def read_parts(request: UpstreamRequest) -> list[bytes]:
    """The contents of the parts, in their order."""
    head = f"Content-Type: {dict(request.headers)['Content-Type']}\r\n\r\n".encode()
    boundary = head.strip().rpartition(b"=")[2]
    message = BytesParser(policy=HTTP).parsebytes(head + (request.body or b""))
    assert message.is_multipart()
    # Python's parser reads lines; the bytes between the boundaries are those that were sent.
    split = (request.body or b"").split(b"--" + boundary)[1:-1]
    return [part.partition(b"\r\n\r\n")[2].removesuffix(b"\r\n") for part in split]


def expected_parts(body: OperationBody, arguments: dict[str, Any]) -> list[bytes]:
    items = [(field, item) for field in body.fields for item in _items(arguments[field.argument])]
    return [content_of(field, item) for field, item in items]


def _items(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def content_of(field: BodyField, item: Any) -> bytes:
    if field.is_file:
        return b64decode(item["base64"])
    if isinstance(item, bool):
        return str(item).lower().encode()
    return (text_of("", item) if isinstance(item, float) else str(item)).encode()


@settings(max_examples=30, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_a_request_reads_back_as_the_arguments_that_it_was_made_of(case: Case) -> None:
    made, arguments = case

    request = build(made, arguments)

    assert re.fullmatch(r"/[!-~]*", request.target)
    in_path = [one.name for one in made.parameters if one.place == "path"]
    for parameter in made.parameters:
        value = arguments[parameter.argument]
        place = in_path.index(parameter.name) if parameter.place == "path" else 0
        read = read_parameter(parameter, value, request, place)
        assert is_same(read, value), (parameter, value, request)
    if made.body is not None:
        assert_body(made.body, arguments, request)
    assert request.method == made.method.upper()


class Echo(BaseHTTPRequestHandler):
    """Answers with the request as it arrived: method, target, headers and the body as base64."""

    def _answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        arrived = [self.command, self.path, self.headers.items(), b64encode(body).decode()]
        data = json.dumps(arrived).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815  names of the base class

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the base class's name
        """Log nothing."""


@pytest.fixture(scope="module")
def echo_url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Echo) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


# One for all requests: to make one reads the certificates of the system.
CLIENT = httpx2.Client(trust_env=False, verify=False)


def send_by_httpx(request: UpstreamRequest, url: str) -> bytes:
    target = f"{url}{request.target}"
    headers = list(request.headers)
    return CLIENT.request(request.method, target, headers=headers, content=request.body).content


def send_by_outbound(request: UpstreamRequest, url: str) -> bytes:
    policy = outbound.Policy(
        https_only=False,
        allowed_private_hosts=frozenset({"127.0.0.1"}),
        allowed_ports=frozenset({int(url.rpartition(":")[2])}),
    )
    target = f"{url}{request.target}"
    headers = dict(request.headers)
    return outbound.fetch(
        request.method, target, headers=headers, body=request.body, policy=policy
    ).body


@pytest.mark.parametrize("send", [send_by_outbound, send_by_httpx])
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow])
@given(case=cases())
def test_a_request_arrives_as_it_was_built(
    echo_url: str, send: Callable[[UpstreamRequest, str], bytes], case: Case
) -> None:
    request = build(*case)

    method, target, headers, body = json.loads(send(request, echo_url))

    assert (method, target) == (request.method, request.target)
    assert b64decode(body) == (request.body or b"")
    arrived = {name.lower(): value for name, value in headers}
    for name, value in request.headers:
        assert arrived[name.lower()] == value
