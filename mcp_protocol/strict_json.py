"""JSON read strictly and written safely.

Two parsers that disagree about one body are a way around a gate: a proxy may check the first of
two equal keys and the server obey the last. So whatever RFC 8259 leaves to the parser is refused.
"""

import json
import math
import re
from collections import Counter
from typing import Any, Final, NoReturn, TypeAlias

import orjson

from foundation.storable import LONE_SURROGATE, leaves, members, spelled_out
from mcp_protocol.errors import PARSE_ERROR, ProtocolError, shown

JsonObject: TypeAlias = dict[str, Any]

MAX_DEPTH: Final = 64
# Far above any real figure, and below the 308 digits at which arithmetic with floats overflows.
MAX_INTEGER_DIGITS: Final = 100

# Above this size a malformed body is turned away by the fast parser, several times cheaper.
_LARGE_BYTES: Final = 16_384
_NESTING: Final = (dict, list)
_SURROGATE_ESCAPE: Final = re.compile(rb"\\u[dD][89a-fA-F][0-9a-fA-F]{2}")


def _refused(why: str) -> ProtocolError:
    return ProtocolError(PARSE_ERROR, f"Parse error: {why}")


def _malformed(error: json.JSONDecodeError) -> ProtocolError:
    return _refused(f"{error.msg} (line {error.lineno}, column {error.colno}).")


def _distinct(pairs: list[tuple[str, Any]]) -> JsonObject:
    members = dict(pairs)
    if len(members) != len(pairs):
        key = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise _refused(f"duplicate key {shown(key)}.")
    return members


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_INTEGER_DIGITS:
        raise _refused(f"an integer has more than {MAX_INTEGER_DIGITS} digits.")
    return int(digits)


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise _refused("a number is too large to represent.")
    return number


def _no_constant(name: str) -> NoReturn:
    raise _refused(f"{name} is not JSON.")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_distinct,
    parse_int=_integer,
    parse_float=_finite,
    parse_constant=_no_constant,
)


def parse(body: bytes) -> object:
    """Parse a request body as JSON, refusing everything that two parsers might read differently.

    Refused: anything but UTF-8, a byte order mark, NaN, Infinity and overflowing numbers, equal
    keys in one object, nesting beyond 64 levels, integers beyond 100 digits. Escaped NUL and lone
    surrogates are let through; see `foundation/storable.py`.
    Raises ProtocolError PARSE_ERROR. Source: RFC 8259, sections 4, 6, 8.1 and 9.
    """
    text = _text(body)
    if len(body) > _LARGE_BYTES:
        _vet_quickly(body)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _malformed(error) from None
    except RecursionError:
        # CPython's scanner guards its own stack; nothing this deep could pass the check below.
        raise _too_deep() from None
    if text.count("[") + text.count("{") > MAX_DEPTH:
        _check_depth(value)
    return value


def _text(body: bytes) -> str:
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _refused(f"the body is not UTF-8 (byte {error.start}).") from None
    if not text or text.isspace():
        raise _refused("the body is empty.")
    if text.startswith("\ufeff"):
        raise _refused("the body begins with a byte order mark.")
    return text


def _vet_quickly(body: bytes) -> None:
    # The fast parser knows no lone surrogates. Other hex digits in their place leave the grammar
    # as it is, also where the match is an escaped backslash followed by plain text.
    try:
        orjson.loads(_SURROGATE_ESCAPE.sub(rb"\\u0020", body))
    except orjson.JSONDecodeError as error:
        raise _malformed(error) from None


def _check_depth(value: object) -> None:
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for outer in level for inner in members(outer) if type(inner) in _NESTING]
        if not level:
            return
    raise _too_deep()


def _too_deep() -> ProtocolError:
    return _refused(f"the body is nested more than {MAX_DEPTH} levels deep.")


def dumps(value: object) -> bytes:
    """Write a JSON value as compact UTF-8; lone surrogates are spelled out as text.

    NaN and Infinity become null. Raises TypeError for what JSON cannot hold.
    """
    try:
        return orjson.dumps(value)
    except TypeError:
        # The fast writer stops at 64-bit integers and lone surrogates.
        return _dumped(value, indent=None).encode()


def indented(value: object) -> str:
    """Write a JSON value with an indent of two spaces, as text for a model to read.

    Raises ValueError for NaN and Infinity, TypeError for what JSON cannot hold.
    Source: transport document, tools/call ("JSON-stringified with 2-space indent").
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return _dumped(value, indent=2)
    # The fast writer turns NaN into null without a word.
    if "null" in text and any(_is_not_finite(leaf) for leaf in leaves(value)):
        raise ValueError("NaN and Infinity are not JSON.")
    return text


def _is_not_finite(leaf: object) -> bool:
    return isinstance(leaf, float) and not math.isfinite(leaf)


def _dumped(value: object, indent: int | None) -> str:
    return json.dumps(
        spelled_out(value, LONE_SURROGATE),
        ensure_ascii=False,
        allow_nan=False,
        indent=indent,
        separators=(",", ":") if indent is None else None,
    )
