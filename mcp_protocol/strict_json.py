"""JSON read strictly and written safely.

Two parsers that disagree about one body are a way around a gate: a proxy may check the first of
two equal keys and the server obey the last. So whatever RFC 8259 leaves to the parser is refused.
"""

import json
import math
from collections import Counter
from collections.abc import Iterable
from typing import Any, Final, NoReturn, TypeAlias

import orjson

from foundation.storable import LONE_SURROGATE, leaves, spelled_out
from mcp_protocol.errors import PARSE_ERROR, ProtocolError, shown

JsonObject: TypeAlias = dict[str, Any]

MAX_DEPTH: Final = 64
# Far above any real figure, and below the 308 digits at which arithmetic with floats overflows.
MAX_INTEGER_DIGITS: Final = 100
# What a mebibyte costs is not its bytes but the objects made of it: a long text is one, half a
# million zeros are half a million. Nine hundred rows of twenty columns are below.
MAX_VALUES: Final = 20_000

# Above this size a malformed body is turned away by the fast parser, several times cheaper.
_LARGE_BYTES: Final = 16_384
_NESTING: Final = (dict, list)
# Each value can have a key, and a text has two quotes.
_MOST_QUOTES: Final = 4 * MAX_VALUES
# From so many digits on the fast parser may make a float of an integer.
_LONG: Final = b"0" * 19
_ALIKE: Final = bytes.maketrans(b"123456789", b"000000000")


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
    parse_int=_integer, parse_float=_finite, parse_constant=_no_constant
)
_NAMING_DECODER: Final = json.JSONDecoder(object_pairs_hook=_distinct)


def parse(body: bytes) -> object:
    """Parse a request body as JSON, refusing everything that two parsers might read differently.

    Refused: anything but UTF-8, a byte order mark, NaN, Infinity and overflowing numbers, equal
    keys in one object, nesting beyond 64 levels, integers beyond 100 digits, more than MAX_VALUES
    values. Escaped NUL and lone surrogates are let through; see `foundation/storable.py`.
    Raises ProtocolError PARSE_ERROR. Source: RFC 8259, sections 4, 6, 8.1 and 9.
    """
    is_plain = _is_plain(body)
    marks = body if is_plain else _counted(body)
    value = _decoded_exactly(body, _DECODER) if _has_long_number(marks) else _decoded(body)
    if is_plain and _is_all_there(body, value):
        return value
    keys = _keys([value], MAX_DEPTH + 1)
    # A colon follows each key, and else stands in texts alone: one too many, and a key is gone.
    if marks.count(b":") != keys and _bare(body).count(b":") != keys:
        raise _equal_keys(body)
    return value


def _is_plain(body: bytes) -> bool:
    """Whether a body is harmless by what can be counted without telling its texts apart."""
    return _marks(body) < MAX_VALUES and not _has_long_number(body)


def _is_all_there(body: bytes, value: object) -> bool:
    """Whether two counts show already what else is found by looking at every object.

    Without escapes texts are written as they were read, so that fewer colons mean a key that is
    gone, and as many mean none; and what opens so seldom is not nested deeper.
    """
    if len(body) > _LARGE_BYTES or b"\\" in body:
        return False
    if body.count(b"{") + body.count(b"[") > MAX_DEPTH:
        return False
    return body.count(b":") == orjson.dumps(value).count(b":")


def _has_long_number(marks: bytes) -> bool:
    return _LONG in marks.translate(_ALIKE)


def _marks(text: bytes) -> int:
    """Count what every value but the first comes behind; in JSON, or what is left without texts."""
    return text.count(b",") + text.count(b"[") + text.count(b"{")


def _counted(body: bytes) -> bytes:
    """The body without its texts. Raises ProtocolError where it holds too many values."""
    bare = _bare(body)
    if _marks(bare) >= MAX_VALUES:
        raise _too_many()
    return bare


def _bare(body: bytes) -> bytes:
    """A body without its texts, in a few passes that build no object of each.

    Right for JSON; other bodies are refused, whatever is left of them.
    """
    if b"\\" in body:
        # As long as before, which is done in place and twice as fast.
        body = body.replace(rb"\\", b"..").replace(rb"\"", b"..")
    if body.count(b'"') > _MOST_QUOTES:
        raise _too_many()
    return b"".join(body.split(b'"')[::2])


def _decoded(body: bytes) -> object:
    try:
        return orjson.loads(body)
    except orjson.JSONDecodeError as error:
        if len(body) > _LARGE_BYTES:
            _vet_quickly(body, error)
        return _decoded_exactly(body, _DECODER)


def _decoded_exactly(body: bytes, decoder: json.JSONDecoder) -> object:
    try:
        return decoder.decode(_text(body))
    except json.JSONDecodeError as error:
        raise _malformed(error) from None
    except RecursionError:
        # CPython's scanner guards its own stack; nothing this deep could pass the check of depth.
        raise _too_deep() from None


def _equal_keys(body: bytes) -> ProtocolError:
    # To name the key costs more than to refuse it.
    if len(body) <= _LARGE_BYTES:
        _decoded_exactly(body, _NAMING_DECODER)
    return _refused("an object holds two equal keys.")


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


def _vet_quickly(body: bytes, first: json.JSONDecodeError) -> None:
    """Refuse what only lone surrogates do not excuse: the fast parser does not know them."""
    if b"\\" not in body:
        raise _malformed(first) from None
    # Another hex digit in their place leaves the grammar as it is, also where it is an escaped
    # backslash that a plain text follows.
    try:
        orjson.loads(body.replace(rb"\ud", rb"\u0").replace(rb"\uD", rb"\u0"))
    except orjson.JSONDecodeError as error:
        raise _malformed(error) from None


def _keys(node: dict[str, object] | list[object], levels: int) -> int:
    """Count the keys of all objects in a container. Raises ProtocolError beyond so many levels."""
    if not levels:
        raise _too_deep()
    inside: Iterable[object] = node
    keys = 0
    if isinstance(node, dict):
        keys, inside = len(node), node.values()
    for inner in inside:
        if isinstance(inner, _NESTING):
            keys += _keys(inner, levels - 1)
    return keys


def _too_deep() -> ProtocolError:
    return _refused(f"the body is nested more than {MAX_DEPTH} levels deep.")


def _too_many() -> ProtocolError:
    return _refused(f"the body holds more than {MAX_VALUES} values.")


class Written:
    """A JSON value that is written already; a larger one takes it in as it stands."""

    __slots__ = ("fragment", "json")

    def __init__(self, value: object) -> None:
        self.json = dumps(value)
        self.fragment = orjson.Fragment(self.json)


def _inserted(value: object) -> orjson.Fragment:
    if isinstance(value, Written):
        return value.fragment
    raise TypeError(f"{type(value).__name__} is not JSON.")


def _read_back(value: object) -> object:
    if isinstance(value, Written):
        return json.loads(value.json)
    raise TypeError(f"{type(value).__name__} is not JSON.")


def dumps(value: object) -> bytes:
    """Write a JSON value as compact UTF-8; lone surrogates are spelled out as text.

    NaN and Infinity become null. Raises TypeError for what JSON cannot hold.
    """
    try:
        return orjson.dumps(value, default=_inserted)
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
        default=_read_back,
        indent=indent,
        separators=(",", ":") if indent is None else None,
    )
