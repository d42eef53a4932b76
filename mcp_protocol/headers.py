"""Request headers that mirror the body at 2026-07-28, and the codec of their values.

An intermediary routes by the headers and the server uses the body, so the two must agree. Source:
MCP 2026-07-28, basic/transports/streamable-http, Request Metadata.
"""

import base64
import binascii
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias

from mcp_protocol.envelope import JsonRpcRequest
from mcp_protocol.errors import ProtocolError, header_mismatch

HeaderLookup: TypeAlias = Callable[[str], str | None]

VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
PARAM_HEADER_PREFIX: Final = "Mcp-Param-"
ANNOTATION: Final = "x-mcp-header"

# The member of params that `Mcp-Name` repeats (Standard Request Headers).
_NAME_SOURCE: Final[Mapping[str, str]] = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
}

# The same of the extension Tasks. Clients have to send it, and many do not yet: an absent one is
# accepted, since the name routes and decides nothing (SEP-2663, Streamable HTTP: Routing Headers).
_OPTIONAL_NAME_SOURCE: Final[Mapping[str, str]] = dict.fromkeys(
    ("tasks/get", "tasks/update", "tasks/cancel"), "taskId"
)

# The types that a header can represent (Value Encoding, type conversion); null counts as absent.
_MIRRORED_TYPES: Final = (str, int, float)
# Above it, a client that uses doubles writes another number (server/tools, x-mcp-header).
_BEYOND_SAFE: Final = 2**53

_SENTINEL: Final = re.compile(r"=\?base64\?(.*)\?=")
# RFC 9110, section 5.5: visible ASCII, with spaces and tabs only between it.
_PLAIN: Final = re.compile(r"(?:[\x21-\x7e](?:[\x20-\x7e\t]*[\x21-\x7e])?)?")
# RFC 9110, section 5.6.2.
_TOKEN: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_DECIMAL: Final = re.compile(r"-?[0-9]{1,40}(?:\.[0-9]{1,40})?")


def encode_header_value(text: str) -> str:
    """Encodes text as a header value: plain if it is safe, else base64 of its UTF-8.

    Raises UnicodeEncodeError for lone surrogates. Source: Value Encoding.
    """
    looks_encoded = text.startswith("=?base64?") and text.endswith("?=")
    if _PLAIN.fullmatch(text) and not looks_encoded:
        return text
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def decode_header_value(value: str) -> str:
    """Decodes a header value of `encode_header_value`, ignoring spaces around it.

    Raises ProtocolError HEADER_MISMATCH (400) for bad base64, text that is not UTF-8 and characters
    that no header may hold. Source: Value Encoding.
    """
    plain = value.strip(" \t")
    encoded = _SENTINEL.fullmatch(plain)
    if encoded:
        return _decode_base64(encoded[1])
    if not _PLAIN.fullmatch(plain):
        raise header_mismatch("a value contains characters that must be encoded.")
    return plain


def _decode_base64(encoded: str) -> str:
    try:
        return base64.b64decode(encoded, validate=True).decode("utf-8")
    except (binascii.Error, ValueError):
        raise header_mismatch("a value is not base64 of UTF-8 text.") from None


def check_mirror(headers: HeaderLookup, request: JsonRpcRequest) -> None:
    """Checks that method and name are the same in the headers and the body.

    For requests at 2026-07-28, whose version `negotiation.negotiate` has compared; the caller looks
    header names up case-insensitively. Raises ProtocolError HEADER_MISMATCH (400). Source: Server
    Validation.
    """
    if _require_header(headers, METHOD_HEADER) != request.method:
        raise _differs(METHOD_HEADER)
    optional = _OPTIONAL_NAME_SOURCE.get(request.method)
    if optional is not None and headers(NAME_HEADER) is None:
        return
    name = request.params.get(optional or _NAME_SOURCE.get(request.method, ""))
    # The method refuses a name that is no string: there is nothing to compare.
    if isinstance(name, str) and decode_header_value(_require_header(headers, NAME_HEADER)) != name:
        raise _differs(NAME_HEADER)


def _require_header(headers: HeaderLookup, header: str) -> str:
    value = headers(header)
    if value is None:
        raise header_mismatch(f"the {header} header is missing.")
    return value


@dataclass(frozen=True, slots=True)
class ParamHeader:
    """A tool parameter that is mirrored into a header: the header's name and the path of keys."""

    header: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HeaderAnnotation:
    """A property of a schema with a header annotation: its path of keys, and its own schema."""

    path: tuple[str, ...]
    schema: Mapping[str, Any]

    @property
    def name(self) -> object:
        return self.schema[ANNOTATION]

    @property
    def is_token(self) -> bool:
        """Returns whether the name can be the end of a header's name (RFC 9110, section 5.6.2)."""
        return isinstance(self.name, str) and _TOKEN.fullmatch(self.name) is not None


def find_annotations(input_schema: Mapping[str, Any]) -> Iterator[HeaderAnnotation]:
    """Yields the `x-mcp-header` annotations that are reached through `properties` keys only."""
    waiting: list[tuple[tuple[str, ...], Mapping[str, Any]]] = [((), input_schema)]
    while waiting:
        path, schema = waiting.pop()
        if path and ANNOTATION in schema:
            yield HeaderAnnotation(path, schema)
        waiting.extend(((*path, key), inner) for key, inner in _subschemas(schema))


def param_headers(input_schema: Mapping[str, Any]) -> Iterator[ParamHeader]:
    """Returns the parameters that are mirrored into headers.

    Annotations elsewhere, or with a value that is no header token, are invalid and ignored. Source:
    MCP 2026-07-28, server/tools, x-mcp-header.
    """
    for one in find_annotations(input_schema):
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
    """Checks that each annotated argument, and no other, is in its `Mcp-Param-*` header.

    Raises ProtocolError HEADER_MISMATCH (400). Source: Server Behavior for Custom Headers.
    """
    for param in params:
        _check_param(headers(param.header), _value_at(arguments, param.path), param.header)


def _check_param(value: str | None, argument: object, header: str) -> None:
    if not isinstance(argument, _MIRRORED_TYPES):
        # A conforming client omits the header. This check prevents routing by a value that the tool
        # never receives. The schema validates the argument itself.
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
    """Returns whether every client writes this value the same: a string or a safe integer."""
    if isinstance(argument, str):
        return True
    return abs(argument) < _BEYOND_SAFE and argument == int(argument)


def _says(text: str, argument: object) -> bool:
    if isinstance(argument, bool):
        return text == ("true" if argument else "false")
    if isinstance(argument, int | float):
        # As numbers, so that 42.0 and 42 are equal (Server Validation).
        return _DECIMAL.fullmatch(text) is not None and Decimal(text) == argument
    return text == argument


def _differs(header: str) -> ProtocolError:
    return header_mismatch(f"the {header} header differs from the body.")
