"""JSON as text: parses what others have written, and serializes what clients and models read.

Requests of clients are parsed by `mcp_protocol/strict_json.py`.
"""

import json
import math
import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

import orjson

from foundation.db.storable import LONE_SURROGATE, escape_characters, leaves

# Clients hold numbers as IEEE 754 doubles and write whole ones of at most this size as they came
# (RFC 7493 section 2.2).
MAX_SAFE_INTEGER: Final = 2**53 - 1
# More digits than any double is written with; longer ones are not calculated with.
MAX_DIGITS: Final = 100
# What every number has that a client might round, with 0 for each digit and point: more than 15
# digits, or a large exponent. A search for bytes takes a tenth of the time of an expression.
_SHAPES: Final = bytes.maketrans(b"123456789.E+", b"0000000000e-")
_PERHAPS_ROUNDED: Final = (b"0" * 16, b"e000", b"e-000")
# The same where a number can begin: most ids have such digits, and are text.
_LONG_NUMBER: Final = re.compile(r"(?:^|[\s:,\[])-?(?:[\d.]{16}|[\d.]+[eE][+-]?\d{3})", re.ASCII)


def parse(text: str | bytes) -> Any:
    """Returns the value of a JSON text.

    Raises ValueError for what is none, as NaN and Infinity (RFC 8259 section 6), for a number that
    is too large for a float, which Python reads as infinite, and for text that is nested too
    deeply.
    """
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite)
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None


class ClientDecoder(json.JSONDecoder):
    """Decodes JSON for clients: a number that they would round is its digits, as text.

    Those are whole numbers beyond 53 bits, numbers too large or too small for a double, and
    fractions with more digits than a double keeps. `has_digits` says whether there was one.
    """

    def __init__(self) -> None:
        super().__init__(
            parse_int=self._integer, parse_float=self._fraction, parse_constant=_refuse
        )
        self.has_digits = False

    def _integer(self, digits: str) -> int | str:
        if len(digits) <= MAX_DIGITS and abs(number := int(digits)) <= MAX_SAFE_INTEGER:
            return number
        self.has_digits = True
        return digits

    def _fraction(self, digits: str) -> float | str:
        if len(digits) <= MAX_DIGITS and _is_kept(digits, number := float(digits)):
            return number
        self.has_digits = True
        return digits


def may_be_rounded(text: str) -> bool:
    """Returns whether a JSON text may have a number that clients would round; quick."""
    shape = text.encode(errors="replace").translate(_SHAPES)
    if not any(part in shape for part in _PERHAPS_ROUNDED):
        return False
    return _LONG_NUMBER.search(text) is not None


def parse_for_clients(text: str) -> tuple[Any, bool]:
    """Returns the value of a JSON text as `ClientDecoder` decodes it, and whether it has digits.

    Raises ValueError for what is no JSON, and for text that is nested too deeply.
    """
    # As `decoder_for_clients`; every call of a tool comes here.
    decoder = ClientDecoder() if may_be_rounded(text) else _PLAIN
    try:
        value = decoder.decode(text)
    except RecursionError:
        raise ValueError("The JSON is nested too deeply.") from None
    return value, isinstance(decoder, ClientDecoder) and decoder.has_digits


def decoder_for_clients(text: str) -> json.JSONDecoder:
    """Returns a decoder that decodes a JSON text as `ClientDecoder` does: a quick one if it can."""
    return ClientDecoder() if may_be_rounded(text) else _PLAIN


def has_digits(decoder: json.JSONDecoder) -> bool:
    """Returns whether a decoder for clients has decoded a number that they would round."""
    return isinstance(decoder, ClientDecoder) and decoder.has_digits


def _is_kept(digits: str, number: float) -> bool:
    """Whether a double is written again as the number it was read from.

    Some languages write all of its 17 digits, others the fewest that name it.
    """
    if not math.isfinite(number):
        return False
    try:
        exact = Decimal(digits)
    except InvalidOperation:  # an exponent that no Decimal has
        return False
    return exact in (Decimal(repr(number)), Decimal(f"{number:.17g}"))


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON.")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError("A number is too large.")
    return number


# Finds where values end, and calculates with no number.
SCANNER: Final = json.JSONDecoder(parse_int=str, parse_float=str, parse_constant=_refuse)
_PLAIN: Final = json.JSONDecoder(parse_constant=_refuse)


class SerializedJson:
    """A JSON value that is serialized already; `dumps` inserts it into a larger one unchanged."""

    __slots__ = ("fragment", "json")

    def __init__(self, value: object) -> None:
        self.json = dumps(value)
        self.fragment = orjson.Fragment(self.json)


def _to_fragment(value: object) -> orjson.Fragment:
    if isinstance(value, SerializedJson):
        return value.fragment
    raise TypeError(f"{type(value).__name__} is not JSON.")


def _read_back(value: object) -> object:
    if isinstance(value, SerializedJson):
        return json.loads(value.json)
    raise TypeError(f"{type(value).__name__} is not JSON.")


def dumps(value: object) -> bytes:
    """Returns a JSON value as compact UTF-8; lone surrogates are escaped as text.

    NaN and Infinity become null. Raises TypeError for other types.
    """
    try:
        return orjson.dumps(value, default=_to_fragment)
    except TypeError:
        # orjson refuses integers beyond 64 bits and lone surrogates.
        return _dumps_with_json(value, indent=None).encode()


def dumps_indented(value: object) -> str:
    """Returns a JSON value with an indent of two spaces, as text for a model to read.

    Raises ValueError for NaN and Infinity, TypeError for other types. Source: transport document,
    tools/call ("JSON-stringified with 2-space indent").
    """
    try:
        text = orjson.dumps(value, option=orjson.OPT_INDENT_2).decode()
    except TypeError:
        return _dumps_with_json(value, indent=2)
    # orjson silently converts NaN to null.
    if "null" in text and any(_is_not_finite(leaf) for leaf in leaves(value)):
        raise ValueError("NaN and Infinity are not JSON.")
    return text


def _is_not_finite(leaf: object) -> bool:
    return isinstance(leaf, float) and not math.isfinite(leaf)


def _dumps_with_json(value: object, indent: int | None) -> str:
    return json.dumps(
        escape_characters(value, LONE_SURROGATE),
        ensure_ascii=False,
        allow_nan=False,
        default=_read_back,
        indent=indent,
        separators=(",", ":") if indent is None else None,
    )
