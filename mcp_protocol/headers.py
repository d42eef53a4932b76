"""Request headers that mirror the body at 2026-07-28, and the codec of their values.

An intermediary routes on the headers and the server obeys the body, so the two must agree.
Source: MCP 2026-07-28, basic/transports/streamable-http, Request Metadata.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from mcp_protocol import meta_keys
from mcp_protocol.envelope import Request
from mcp_protocol.errors import ProtocolError, header_mismatch

HeaderLookup: TypeAlias = Callable[[str], str | None]

VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
PARAM_HEADER_PREFIX: Final = "Mcp-Param-"
ANNOTATION: Final = "x-mcp-header"

# Which member of params `Mcp-Name` repeats (Standard Request Headers).
_NAME_SOURCE: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}

# What a client can spell in a header (Value Encoding, type conversion); null counts as absent.
_MIRRORED_TYPES: Final = (str, int, float)
# Beyond it a client that counts in doubles spells another number (server/tools, x-mcp-header).
_BEYOND_SAFE: Final = 2**53

_SENTINEL: Final = re.compile(r"=\?base64\?(.*)\?=")
# RFC 9110, section 5.5: visible ASCII, with spaces and tabs only between it.
_PLAIN: Final = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")
# RFC 9110, section 5.6.2.
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?")


def encode_header_value(text: str) -> str:
    """Write text as a header value: plain where it is safe, else base64 of its UTF-8.

    Raises UnicodeEncodeError for lone surrogates. Source: Value Encoding.
    """
    looks_encoded = text.startswith("=?base64?") and text.endswith("?=")
    if _PLAIN.fullmatch(text) and not looks_encoded:
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def decode_header_value(value: str) -> str:
    """Read a header value written by `encode_header_value`, spaces around it ignored.

    Raises ProtocolError HEADER_MISMATCH (400) for bad base64, text that is not UTF-8 and
    characters that no header may hold. Source: Value Encoding.
    """
    plain = value.strip(" \t")
    encoded = _SENTINEL.fullmatch(plain)
    if encoded:
        return _decoded(encoded[1])
    if not _PLAIN.fullmatch(plain):
        raise header_mismatch("a value holds characters that must be encoded.")
    return plain


def _decoded(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise header_mismatch("a value is not base64 of UTF-8 text.") from None


def check_mirror(headers: HeaderLookup, request: Request) -> None:
    """Check that version, method and name stand in the headers as they do in the body.

    For requests at 2026-07-28; header names are looked up case-insensitively by the caller.
    Raises ProtocolError HEADER_MISMATCH (400). Source: Server Validation.
    """
    declared = _value_at(request.params, (meta_keys.META, meta_keys.PROTOCOL_VERSION))
    _check_equal(headers, VERSION_HEADER, declared)
    _check_equal(headers, METHOD_HEADER, request.method)
    name = request.params.get(_NAME_SOURCE.get(request.method, ""))
    # A name that is no string is refused as such by its method: there is nothing to compare.
    if isinstance(name, str) and decode_header_value(_required(headers, NAME_HEADER)) != name:
        raise _differs(NAME_HEADER)


def _check_equal(headers: HeaderLookup, header: str, expected: object) -> None:
    if _required(headers, header) != expected:
        raise _differs(header)


def _required(headers: HeaderLookup, header: str) -> str:
    value = headers(header)
    if value is None:
        raise header_mismatch(f"the {header} header is missing.")
    return value


@dataclass(frozen=True, slots=True)
class ParamHeader:
    """A tool parameter mirrored into a header: the header's full name and the path of keys."""

    header: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Annotated:
    """A property of a schema that asks for a header: its path of keys, and its own schema."""

    path: tuple[str, ...]
    schema: Mapping[str, Any]

    @property
    def name(self) -> object:
        return self.schema[ANNOTATION]

    @property
    def is_token(self) -> bool:
        """Whether the name can be the end of a header's name (RFC 9110, section 5.6.2)."""
        return isinstance(self.name, str) and _TOKEN.fullmatch(self.name) is not None


def annotated(input_schema: Mapping[str, Any]) -> Iterator[Annotated]:
    """Find the `x-mcp-header` annotations reached through nothing but `properties` keys."""
    waiting: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), input_schema)]
    while waiting:
        path, schema = waiting.pop()
        if path and ANNOTATION in schema:
            yield Annotated(path, schema)
        waiting.extend(((*path, key), inner) for key, inner in _subschemas(schema))


def param_headers(input_schema: Mapping[str, Any]) -> Iterator[ParamHeader]:
    """Find the parameters that are mirrored into headers.

    Annotations elsewhere, or with a value that is no header token, are invalid and ignored.
    Source: MCP 2026-07-28, server/tools, x-mcp-header.
    """
    for one in annotated(input_schema):
        if one.is_token:
            yield ParamHeader(f"{PARAM_HEADER_PREFIX}{one.name}", one.path)


def _subschemas(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    properties = schema.get("properties")
    if isinstance(properties, Mapping):
        for key, inner in properties.items():
            if isinstance(inner, Mapping):
                yield key, inner


def check_param_headers(
    headers: HeaderLookup,
    arguments: Mapping[str, Any],
    params: Iterable[ParamHeader],
) -> None:
    """Check that each annotated argument stands in its `Mcp-Param-*` header, and no other does.

    Raises ProtocolError HEADER_MISMATCH (400). Source: Server Behavior for Custom Headers.
    """
    for param in params:
        _check_param(headers(param.header), _value_at(arguments, param.path), param.header)


def _check_param(value: str | None, argument: object, header: str) -> None:
    if not isinstance(argument, _MIRRORED_TYPES):
        # A conforming client leaves the header out; one that routes on a value the tool
        # never sees is what the whole check is against. The schema judges the argument itself.
        if value is not None:
            raise _differs(header)
        return
    if value is None:
        raise header_mismatch(f"the {header} header is missing.")
    if not _is_spelled_alike(argument):
        raise header_mismatch(f"the {header} header cannot carry this number.")
    if not _says(decode_header_value(value), argument):
        raise _differs(header)


def _value_at(arguments: Mapping[str, Any], path: tuple[str, ...]) -> object:
    value: object = arguments
    for key in path:
        if not isinstance(value, Mapping):
            return None
        value = value.get(key)
    return value


def _is_spelled_alike(argument: str | float) -> bool:
    """Whether every client writes this value as the same text: a string or a safe integer."""
    if isinstance(argument, str):
        return True
    return abs(argument) < _BEYOND_SAFE and argument == int(argument)


def _says(text: str, argument: object) -> bool:
    if isinstance(argument, bool):
        return text == ("true" if argument else "false")
    if isinstance(argument, int | float):
        # Numerically, so that 42.0 and 42 are equal (Server Validation).
        return _DECIMAL.fullmatch(text) is not None and Decimal(text) == argument
    return text == argument


def _differs(header: str) -> ProtocolError:
    return header_mismatch(f"the {header} header differs from the body.")
