"""Parses JSON strictly.

Two parsers that disagree about one body can bypass a check: a proxy may check the first of two
equal keys and the server use the last. So this parser refuses whatever RFC 8259 leaves to the
parser.
"""

import json
import math
from collections import Counter
from itertools import accumulate
from typing import Any, Final, NoReturn, TypeAlias

from mcp_protocol.errors import PARSE_ERROR, ProtocolError, quote_text

JsonObject: TypeAlias = dict[str, Any]

MAX_DEPTH: Final = 64
# More digits than real numbers have, fewer than the 308 at which floats overflow.
MAX_INTEGER_DIGITS: Final = 100
# The cost of a body depends on the objects made of it: half a million zeros are 1 MB too.
MAX_VALUES: Final = 20_000

_LEVELS: Final = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NOT_BRACKETS: Final = bytes(set(range(256)) - set(_LEVELS))


def parse(body: bytes, max_values: int = MAX_VALUES) -> object:
    """Parses a request body as JSON; refuses everything that two parsers might read differently.

    Refused: anything but UTF-8, a byte order mark, NaN, Infinity and overflowing numbers, equal
    keys in one object, nesting beyond 64 levels, integers beyond 100 digits, more than `max_values`
    values. Escaped NUL and lone surrogates are accepted; see `foundation/db/storable.py`. Raises
    ProtocolError PARSE_ERROR. Source: RFC 8259, sections 4, 6, 8.1 and 9.
    """
    _check_size(body, max_values)
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _parse_error(f"the body is not UTF-8 (byte {error.start}).") from None
    if not text or text.isspace():
        raise _parse_error("the body is empty.")
    if text.startswith("\ufeff"):
        raise _parse_error("the body begins with a byte order mark.")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise _parse_error(f"{error.msg} (line {error.lineno}, column {error.colno}).") from None


def _check_size(body: bytes, max_values: int) -> None:
    """Refuses too many values and too deep nesting before the decoder creates any object."""
    nesting = body.count(b"[") + body.count(b"{")
    if nesting <= MAX_DEPTH and nesting + body.count(b",") < max_values:
        return  # even if no bracket and no comma is part of a string
    if b"\\" in body:
        # Replaced by text of the same length, which is twice as fast.
        body = body.replace(rb"\\", b"..").replace(rb"\"", b"..")
    # Each value can have a key, and a string has two quotes.
    has_too_many = body.count(b'"') > 4 * max_values
    bare = b"" if has_too_many else b"".join(body.split(b'"')[::2])  # without strings
    # Each value but the first comes after one of these.
    if has_too_many or sum(map(bare.count, (b",", b"[", b"{"))) >= max_values:
        raise _parse_error(f"the body contains more than {max_values} values.")
    brackets = bare.translate(None, _NOT_BRACKETS)
    if max(accumulate(map(_LEVELS.__getitem__, brackets)), default=0) > MAX_DEPTH:
        raise _parse_error(f"the body is nested more than {MAX_DEPTH} levels deep.")


def _distinct(pairs: list[tuple[str, Any]]) -> JsonObject:
    if len(members := dict(pairs)) != len(pairs):
        key = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise _parse_error(f"an object contains a duplicate key {quote_text(key)}.")
    return members


def _integer(digits: str) -> int:
    if len(digits.lstrip("-")) > MAX_INTEGER_DIGITS:
        raise _parse_error(f"an integer has more than {MAX_INTEGER_DIGITS} digits.")
    return int(digits)


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise _parse_error("a number is too large to represent.")
    return number


def _literal(name: str) -> NoReturn:
    raise _parse_error(f"{name} is not JSON.")


def _parse_error(why: str) -> ProtocolError:
    return ProtocolError(PARSE_ERROR, f"Parse error: {why}")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_integer, parse_float=_finite, parse_constant=_literal
)
