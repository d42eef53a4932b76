"""The parameters of an operation as path, query, headers and cookies of a request."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Final
from urllib.parse import quote

from foundation.outbound.request import VALUE
from gateway.openapi.shapes import OpenApiOperation, Parameter
from gateway.openapi.wire.names import FIXED, NamesOnWire, owner_of
from gateway.openapi.wire.values import (
    InvalidArgument,
    Json,
    Pair,
    Spelling,
    flat,
    json_text,
    quote_query,
    quote_reserved,
    refuse_separator,
    text_of,
)

TEMPLATE: Final = re.compile(r"\{([^{}]*)\}")
CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# What the text of a path may hold besides unreserved characters (RFC 3986 section 3.3).
PATH_TEXT: Final = "/:@!$&'()*+,;=%~"
# The same within one value that allows reserved characters, without what separates values. Not the
# percent sign either: a value must not be able to write an encoded dot or slash.
RESERVED_IN_SEGMENT: Final = ":@!$&'()*+"
DOTS: Final = frozenset({".", ".."})


@dataclass(slots=True)
class ParameterParts:
    """The parts of a request that parameters are written to, and the names in all of it."""

    names: NamesOnWire
    path: dict[str, str] = field(default_factory=dict)
    query: list[Pair] = field(default_factory=list)
    headers: list[Pair] = field(default_factory=list)
    cookies: list[Pair] = field(default_factory=list)


def write(
    parameters: Sequence[Parameter], arguments: Mapping[str, Json], names: NamesOnWire
) -> ParameterParts:
    """Returns the parameters that have a value. Raises InvalidArgument."""
    parts = ParameterParts(names)
    for parameter in parameters:
        value = arguments.get(parameter.argument) if parameter.argument else parameter.fixed
        if value is None:
            _require_optional(parameter, arguments)
            continue
        names.write(parameter.place, parameter.name, owner_of(parameter.argument))
        match parameter.place:
            case "path":
                parts.path[parameter.name] = _path_text(parameter, value, names)
            case "query":
                parts.query += _query_pairs(parameter, value, names)
            case "header":
                parts.headers += _header(parameter, value)
            case "cookie":
                parts.cookies += _cookie_pairs(parameter, value, names)
    return parts


def target(operation: OpenApiOperation, parts: ParameterParts) -> str:
    """Returns path and query of the request. Raises InvalidArgument for a value that is missing.

    The text of the template is the document's; what a value adds to it stays within its segment.
    """
    literals = TEMPLATE.split(operation.path)
    path = quote(literals[0], safe=PATH_TEXT)
    for name, literal in zip(literals[1::2], literals[2::2], strict=True):
        if name not in parts.path:
            raise InvalidArgument(name, "is required")
        path += parts.path[name] + quote(literal, safe=PATH_TEXT)
    for name, _value in operation.fixed_query:
        parts.names.write("query", name, FIXED)
    fixed = [(quote_query(name), quote_query(value)) for name, value in operation.fixed_query]
    query = "&".join(f"{name}={value}" for name, value in [*fixed, *parts.query])
    return f"/{path.removeprefix('/')}{'?' if query else ''}{query}"


def _require_optional(parameter: Parameter, arguments: Mapping[str, Json]) -> None:
    """Null is not sent; a required parameter may be null outside the path, as its schema says."""
    is_given = parameter.argument in arguments
    if parameter.place == "path" or (parameter.required and parameter.argument and not is_given):
        raise InvalidArgument(parameter.argument, "is required")


def _path_text(parameter: Parameter, value: Json, names: NamesOnWire) -> str:
    texts = [text_of(parameter.argument, item) for item in _items(parameter, value)]
    for text in texts:
        if CONTROL.search(text):
            raise InvalidArgument(parameter.argument, "has a control character")
        if _has_dot_segment(text):
            raise InvalidArgument(parameter.argument, "has a dot segment")
    if not any(texts):
        raise InvalidArgument(parameter.argument, "is empty")
    if parameter.style == "matrix" and parameter.explode and isinstance(value, Mapping):
        for key in value:
            names.write_free("path", key, parameter.argument)
    return _expand_value(parameter, value)


def _has_dot_segment(text: str) -> bool:
    """Whether a server may find a dot segment in a value (RFC 3986 section 5.2.4).

    Some decode a slash before they remove dot segments, and some leave out what follows a semicolon
    in a segment (section 3.3), which a proxy may have decoded. Since no value is a dot or two, no
    segment is, whatever the template has around the value.
    """
    return not DOTS.isdisjoint(part.partition(";")[0] for part in re.split(r"[/\\]", text))


def _items(parameter: Parameter, value: Json) -> list[Json]:
    if parameter.media_type or not isinstance(value, list | Mapping):
        return [_content(parameter, value)]
    return list(flat(value))


def _expand_value(parameter: Parameter, value: Json) -> str:
    """The expansion of RFC 6570 sections 3.2.2 (simple), 3.2.5 (label) and 3.2.7 (matrix)."""
    name = _quote_segment(parameter, parameter.name)
    is_object = isinstance(value, Mapping) and not parameter.media_type
    is_list = isinstance(value, list) and not parameter.media_type
    texts = (text_of(parameter.argument, item) for item in _items(parameter, value))
    items = [_quote_segment(parameter, text) for text in texts]
    if parameter.style == "label" and parameter.explode and (is_object or is_list):
        items = [item.replace(".", "%2E") for item in items]
    if is_object and parameter.explode:
        items = [f"{key}={item}" for key, item in zip(items[::2], items[1::2], strict=True)]
    match parameter.style:
        case "label":
            return "." + (".".join(items) if parameter.explode else ",".join(items))
        case "matrix" if is_object and parameter.explode:
            return "".join(f";{item}" for item in items)
        case "matrix" if is_list and parameter.explode:
            return "".join(f";{name}={item}" for item in items)
        case "matrix":
            return f";{name}={','.join(items)}"
    return ",".join(items)


def _quote_segment(parameter: Parameter, text: str) -> str:
    if not parameter.allow_reserved:
        return quote_query(text)
    return quote(text, safe=RESERVED_IN_SEGMENT)


def _query_pairs(parameter: Parameter, value: Json, names: NamesOnWire) -> list[Pair]:
    encode = quote_reserved if parameter.allow_reserved else quote_query
    spelling = Spelling(
        field=parameter.argument,
        name=parameter.name,
        style=parameter.style,
        explode=parameter.explode,
        write_free=partial(names.write_free, "query"),
        encode=encode,
    )
    return spelling.pairs(_content(parameter, value))


def _cookie_pairs(parameter: Parameter, value: Json, names: NamesOnWire) -> list[Pair]:
    spelling = Spelling(
        field=parameter.argument,
        name=parameter.name,
        style=parameter.style,
        explode=parameter.explode,
        write_free=partial(names.write_free, "cookie"),
    )
    return spelling.pairs(_content(parameter, value))


def _header(parameter: Parameter, value: Json) -> Iterator[Pair]:
    """One header field; header values have no percent-encoding (OpenAPI 3.1.1, Appendix D)."""
    content = _content(parameter, value)
    if isinstance(content, list | Mapping):
        texts = [text_of(parameter.argument, item) for item in flat(content)]
        if not texts:
            return
        text = _joined_header(parameter, texts, is_object=isinstance(content, Mapping))
    else:
        text = text_of(parameter.argument, content)
    if not VALUE.fullmatch(text):
        reason = "may have visible ASCII characters only, and spaces between them"
        raise InvalidArgument(parameter.argument, reason)
    yield parameter.name, text


def _joined_header(parameter: Parameter, texts: list[str], *, is_object: bool) -> str:
    refuse_separator(parameter.argument, texts, ",")
    if not (is_object and parameter.explode):
        return ",".join(texts)
    refuse_separator(parameter.argument, texts[::2], "=")
    return ",".join(f"{key}={item}" for key, item in zip(texts[::2], texts[1::2], strict=True))


def _content(parameter: Parameter, value: Json) -> Json:
    """The value, or its text if the parameter has a media type: as it is for text, else JSON."""
    if not parameter.media_type:
        return value
    if parameter.media_type.startswith("text/"):
        return text_of(parameter.argument, value)
    return json_text(parameter.argument, value, ascii_only=parameter.place == "header")
