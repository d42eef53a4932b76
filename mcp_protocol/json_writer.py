"""Serializes JSON for clients: as compact bytes, or indented for a model to read."""

import json
import math

import orjson

from foundation.db.storable import LONE_SURROGATE, escape_characters, leaves


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
