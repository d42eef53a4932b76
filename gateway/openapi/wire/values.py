"""JSON values as text of a request, percent-encoding, and the error for what cannot be sent."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, TypeAlias
from urllib.parse import quote, quote_plus

from tools_registry.api import ValidationFailure

Json: TypeAlias = Any
Encode: TypeAlias = Callable[[str], str]
Pair: TypeAlias = tuple[str, str]
# Given a name and the argument that writes it (`names.NamesOnWire`).
WriteName: TypeAlias = Callable[[str, str], None]

# Reserved characters that have a meaning of their own neither in a query string nor in the form
# that servers read it as (OpenAPI 3.1.1, allowReserved; RFC 3986 section 3.4). Not the semicolon,
# which separates parameters for some (HTML 4.01, B.2.2), nor the percent sign, although RFC 6570
# section 3.2.3 passes triples: `%75s` would reach the API as `us`, which no rule has compared.
RESERVED_IN_QUERY: Final = ":/?@!$'()*,="
# How the styles that are no RFC 6570 expansion separate the values of a list.
SEPARATORS: Final = {"spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
# What an error names that is about no single argument.
ALL: Final = "arguments"


class InvalidArgument(ValidationFailure):
    """An argument that the request cannot hold; `field` names it, `reason` says why."""

    def __init__(self, field: str, reason: str) -> None:
        subject = "The arguments" if field == ALL else f"The argument {field}"
        super().__init__(f"{subject} {reason}.", field=field, reason=reason)


def text_of(field: str, value: Json) -> str:
    """Returns a value as the text of a parameter; arrays and objects are JSON text.

    Raises InvalidArgument for a number that is none, or that is too long to be written.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, float):
        return _decimal(field, value)
    return json_text(field, value)


def json_text(field: str, value: Json, *, ascii_only: bool = False) -> str:
    """Returns compact JSON. Raises InvalidArgument for a number that JSON does not have."""
    try:
        return json.dumps(value, ensure_ascii=ascii_only, allow_nan=False, separators=(",", ":"))
    except ValueError:
        # Python writes no integer of more than 4,300 digits.
        raise InvalidArgument(field, "has a number that cannot be written") from None


def quote_query(text: str) -> str:
    """Returns text with everything encoded but unreserved characters (RFC 3986 section 2.3)."""
    return quote(text, safe="")


def quote_name(text: str) -> str:
    """Returns the name of a query parameter; OData's `$top` keeps its dollar sign."""
    return quote(text, safe="$")


def quote_reserved(text: str) -> str:
    """Returns text of a parameter that allows reserved characters."""
    return quote(text, safe=RESERVED_IN_QUERY)


def quote_form(text: str) -> str:
    """Returns text for a form, where a space is a plus sign (WHATWG URL section 5.2)."""
    return quote_plus(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spelling:
    """How the value of one parameter or field is written as `name=value` pairs.

    `field` is the argument, for errors. `name` and the values are encoded by `encode_name` and
    `encode`. Names that the keys of an object make are given to `write_free`. Source: OpenAPI
    3.1.1, Style Values and Style Examples.
    """

    field: str
    name: str
    style: str
    explode: bool
    write_free: WriteName
    encode: Encode = quote_query
    encode_name: Encode = quote_name

    def pairs(self, value: Json) -> list[Pair]:
        """Returns the pairs, none for an empty array or object. Raises InvalidArgument."""
        if self.style == "deepObject":
            return list(self._deep(self.name, value))
        if isinstance(value, Mapping) and self.explode:
            given = ((key, item) for key, item in value.items() if item is not None)
            return [(self._free_name(key), self._encode_value(item)) for key, item in given]
        name = self.encode_name(self.name)
        if isinstance(value, list) and self.explode:
            return [(name, self._encode_value(item)) for item in value if item is not None]
        if isinstance(value, list | Mapping):
            separated = list(flat(value))
            return [(name, self._join_items(separated))] if separated else []
        return [(name, self._encode_value(value))]

    def _encode_value(self, value: Json) -> str:
        return self.encode(text_of(self.field, value))

    def _join_items(self, items: list[Json]) -> str:
        separator = SEPARATORS.get(self.style)
        texts = [text_of(self.field, item) for item in items]
        if separator is None:
            return ",".join(self.encode(text).replace(",", "%2C") for text in texts)
        refuse_separator(self.field, texts, separator)
        return self.encode(separator).join(map(self.encode, texts))

    def _deep(self, name: str, value: Json) -> Iterator[Pair]:
        """`f[key]=1`, `f[key][inner]=1`, `f[]=1` and, for what has members itself, `f[0][key]=1`.

        OpenAPI leaves arrays and nesting undefined; this is how servers read them.
        """
        if isinstance(value, Mapping):
            for key, item in value.items():
                if not key or "[" in key or "]" in key:
                    raise InvalidArgument(self.field, "has a key that is empty or has a bracket")
                yield from self._deep(f"{name}[{key}]", item)
        elif isinstance(value, list):
            is_nested = any(isinstance(item, list | Mapping) for item in value)
            for index, item in enumerate(value):
                yield from self._deep(f"{name}[{index if is_nested else ''}]", item)
        elif value is not None:
            yield self._free_name(name), self._encode_value(value)

    def _free_name(self, name: str) -> str:
        self.write_free(name, self.field)
        return self.encode_name(name)


def flat(value: Json) -> Iterator[Json]:
    """Yields the items of an array, or the keys and values of an object in turn; null is left out.

    Source: RFC 6570 section 2.3, undefined values.
    """
    if not isinstance(value, Mapping):
        yield from (item for item in value if item is not None)
        return
    for key, item in value.items():
        if item is not None:
            yield key
            yield item


def refuse_separator(field: str, texts: list[str], separator: str) -> None:
    """Raises InvalidArgument for an item that would be read as two."""
    names = {" ": "a space", "|": "a pipe", "\t": "a tab", ",": "a comma", "=": "an equals sign"}
    if any(separator in text for text in texts):
        reason = f"has an item with {names[separator]}, which separates the items"
        raise InvalidArgument(field, reason)


def _decimal(field: str, value: float) -> str:
    """A number without an exponent: `1e+16` is no integer to most servers."""
    exact = Decimal(repr(value))
    if not exact.is_finite():
        raise InvalidArgument(field, "has a number that cannot be written")
    written = f"{exact:f}"
    return written.rstrip("0").rstrip(".") if "." in written else written
