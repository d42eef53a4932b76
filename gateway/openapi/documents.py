"""Parses the text of an OpenAPI document, JSON or YAML, into JSON values."""

import json
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from gateway.openapi import yaml_values
from gateway.openapi.shapes import Json

VERSIONS: Final = ("2.0", "3.0", "3.1", "3.2")
_MAX_DIGITS: Final = 100


class InvalidDocument(ValueError):
    """A text that is no OpenAPI document; its sentence is shown to the person who imports it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DocumentLimits:
    """What a document may cost: its size before it is parsed, then nesting and number of values.

    `max_values` counts an alias of YAML as often as what it stands for.
    """

    max_bytes: int = 16 * 1024 * 1024
    max_depth: int = 150
    max_values: int = 3_000_000


def parse(text: str | bytes, *, limits: DocumentLimits | None = None) -> Mapping[str, Json]:
    """Returns the document as JSON values. Raises InvalidDocument for everything that is none."""
    limits = limits or DocumentLimits()
    if len(text) > limits.max_bytes:
        raise InvalidDocument(f"The document is larger than {limits.max_bytes:,} bytes.")
    decoded = _decode_text(text) if isinstance(text, bytes) else text.removeprefix("\ufeff")
    if len(decoded.encode(errors="replace")) > limits.max_bytes:
        raise InvalidDocument(f"The document is larger than {limits.max_bytes:,} bytes.")
    value = _values(decoded, limits)
    _check(value, limits)
    if not isinstance(value, Mapping):
        raise InvalidDocument("The document is not an object.")
    version_of(value)
    return value


def version_of(document: Mapping[str, Json]) -> str:
    """Returns "2.0", "3.0", "3.1" or "3.2". Raises InvalidDocument for any other version."""
    declared = document.get("swagger") if "swagger" in document else document.get("openapi")
    if declared is None:
        raise InvalidDocument('The document has neither "openapi" nor "swagger" at its top level.')
    text = str(declared) if isinstance(declared, str | int | float) else ""
    version = ".".join(text.split(".")[:2])
    family = VERSIONS[:1] if "swagger" in document else VERSIONS[1:]
    if version not in family:
        raise InvalidDocument(
            f"The document declares the version {text[:20]!r}; 2.0, 3.0, 3.1 and 3.2 are supported."
        )
    return version


def _decode_text(data: bytes) -> str:
    """RFC 8259 section 8.1 has UTF-8 only; YAML 1.2.2 section 5.2 also UTF-16 with its mark."""
    is_wide = data.startswith((b"\xff\xfe", b"\xfe\xff"))
    try:
        return data.decode("utf-16" if is_wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidDocument(
            f"The document is not text in UTF-8 (byte {error.start:,})."
        ) from None


def _values(text: str, limits: DocumentLimits) -> Json:
    if text.lstrip()[:1] not in {"{", "["}:
        return _yaml(text, limits)
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as failed:
        # Flow style of YAML begins with a brace, too.
        try:
            return _yaml(text, limits)
        except InvalidDocument:
            raise InvalidDocument(
                f"The document is not valid JSON: {failed.msg} "
                f"(line {failed.lineno}, column {failed.colno})."
            ) from None
    except RecursionError:
        raise _too_deep(limits) from None


def _yaml(text: str, limits: DocumentLimits) -> Json:
    try:
        return yaml_values.parse(text, max_depth=limits.max_depth, max_values=limits.max_values)
    except yaml_values.InvalidYaml as error:
        raise InvalidDocument(str(error)) from None


def _check(value: Json, limits: DocumentLimits) -> None:
    """Bounds nesting and number of values, and refuses text that PostgreSQL cannot store."""
    level = [value]
    count = 0
    for _ in range(limits.max_depth):
        following: list[Json] = []
        for one in level:
            if type(one) is dict:
                for key in one:
                    _check_text(key)
                following += one.values()
            elif type(one) is list:
                following += one
            elif type(one) is str:
                _check_text(one)
        count += len(level)
        if count + len(following) > limits.max_values:
            raise InvalidDocument(f"The document has more than {limits.max_values:,} values.")
        level = following
        if not level:
            return
    raise _too_deep(limits)


def _check_text(text: str) -> None:
    if text.isascii():
        if "\0" in text:
            raise InvalidDocument("The document contains a NUL character.")
    elif "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise InvalidDocument("The document contains a NUL character or half a surrogate pair.")


def _too_deep(limits: DocumentLimits) -> InvalidDocument:
    return InvalidDocument(f"The document is nested more than {limits.max_depth} levels deep.")


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        key = Counter(name for name, _ in pairs).most_common(1)[0][0]
        raise InvalidDocument(f"The document has the key {key[:80]!r} twice in one object.")
    return made


def _integer(digits: str) -> int | float:
    if len(digits) > _MAX_DIGITS:
        raise InvalidDocument(f"The document has a number of more than {_MAX_DIGITS} digits.")
    return yaml_values.storable(int(digits))


def _finite(digits: str) -> float:
    if math.isinf(number := float(digits)):
        raise InvalidDocument("The document has a number that is too large.")
    return number


def _literal(name: str) -> NoReturn:
    raise InvalidDocument(f"The document contains {name}, which is not JSON.")


_DECODER: Final = json.JSONDecoder(
    object_pairs_hook=_distinct, parse_int=_integer, parse_float=_finite, parse_constant=_literal
)
