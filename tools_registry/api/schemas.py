"""Compiled JSON Schemas (2020-12).

`jsonschema-rs` validates in under a microsecond, matches patterns in linear time and is given a
retriever that refuses, so that no schema can make this process fetch something. Compiled schemas
are kept within a number of bytes, and those of an organization within a share of it.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from typing import Any, Final, NoReturn

import jsonschema_rs
import orjson

from foundation import patterns, schema_work
from foundation.schema_work import WorkCounter

MAX_KEPT_BYTES: Final = 256 * 1_048_576
MAX_BYTES_OF_OWNER: Final = 32 * 1_048_576
# A compiled schema takes about so many times the bytes of its text, without its patterns.
_BYTES_FOR_A_BYTE: Final = 20
_MAX_KEYS: Final = 4_096
# For one value, each about a tenth of a second: evaluations of a schema, and characters that are
# matched with a pattern.
MAX_EVALUATIONS: Final = 5_000_000
MAX_MATCHED: Final = 50_000_000
# With so few at each place, a request (20,000 values, a megabyte) is never too much.
_FEW_SCHEMAS: Final = 250
_FEW_PATTERNS: Final = 25


class ValueTooLarge(ValueError):
    """A value is too large for the number of alternatives or patterns of its schema."""

    def __init__(self) -> None:
        super().__init__("too many or too long for the alternatives and patterns of the schema")


@dataclass(frozen=True, slots=True)
class _Bounded:
    """A validator with many alternatives or patterns, which refuses what would take too long."""

    validator: Any
    most: schema_work.Most

    def is_valid(self, value: Any) -> bool:
        """Raises ValueTooLarge."""
        self._check(value)
        return bool(self.validator.is_valid(value))

    def iter_errors(self, value: Any) -> Any:
        """Raises ValueTooLarge."""
        self._check(value)
        return self.validator.iter_errors(value)

    def _check(self, value: Any) -> None:
        number, length = _size(value)
        most = self.most
        if number * most.schemas > MAX_EVALUATIONS or length * most.patterns > MAX_MATCHED:
            raise ValueTooLarge


def _size(value: Any) -> tuple[int, int]:
    """The number of values and names in a value, and the characters of all texts."""
    number = length = 0
    left = [value]
    while left:
        one = left.pop()
        number += 1
        if isinstance(one, str):
            length += len(one)
        elif isinstance(one, Mapping):
            left += one
            left += one.values()
        elif isinstance(one, list | tuple):
            left += one
    return number, length


def validator_of(schema: Mapping[str, Any], owner: str = "") -> Any:
    """A compiled validator, which takes from the share of an owner; the product has none.

    Raises ValueError for a schema that is none or points elsewhere, PatternsTooLarge for patterns
    that cost too much.
    """
    text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    return _kept.get(_SchemaKey(owner, sha256(text).digest()), text)


def validator_of_tool(tool: Any) -> Any:
    """The validator of a tool's arguments, as `validator_of`; its schema is read once."""
    validator = _kept.find(_key_of_tool(tool))
    if validator is None:
        return validator_of(tool.argument_schema or tool.input_schema, tool.owner)
    return validator


def form_validator_of(schema: Mapping[str, Any]) -> Any:
    """As `validator_of`, for what a person fills in: `format` counts there (client/elicitation)."""
    return _compiled_form(orjson.dumps(schema, option=orjson.OPT_SORT_KEYS))


def compile_once(schema: Mapping[str, Any], work: WorkCounter | None = None) -> Any:
    """As `validator_of`, for a schema that a client sends: nothing of it is kept.

    `work` counts the steps of several schemas together.
    """
    patterns.count_bytes(schema)
    return _compile(schema, work)


@lru_cache(maxsize=_MAX_KEYS)
def explains_errors(tool: Any) -> bool:
    """Returns whether the validator of a tool may collect what is wrong with arguments."""
    return not schema_work.repeats(tool.argument_schema or tool.input_schema)


def _compile(
    schema: Any, work: WorkCounter | None = None, *, validate_formats: bool | None = None
) -> Any:
    most = schema_work.check(schema, work)
    # The engine without backtracking: a pattern that needs some (look-around, back-references)
    # does not compile, so none can be made to run for minutes.
    validator = jsonschema_rs.Draft202012Validator(
        schema,
        retriever=_refuse,
        pattern_options=patterns.options(),
        validate_formats=validate_formats,
    )
    if most.schemas <= _FEW_SCHEMAS and most.patterns <= _FEW_PATTERNS:
        return validator
    return _Bounded(validator, most)


@dataclass(frozen=True, slots=True)
class _SchemaKey:
    owner: str
    digest: bytes


@lru_cache(maxsize=_MAX_KEYS)
def _key_of_tool(tool: Any) -> _SchemaKey:
    schema = tool.argument_schema or tool.input_schema
    text = orjson.dumps(schema, option=orjson.OPT_SORT_KEYS)
    return _SchemaKey(tool.owner, sha256(text).digest())


@lru_cache(maxsize=256)
def _compiled_form(schema: bytes) -> Any:
    form = orjson.loads(schema)
    patterns.count_bytes(form)
    return _compile(form, validate_formats=True)


@dataclass(slots=True)
class _SchemaCache:
    """The compiled schemas of this process; the one that was used longest ago goes first."""

    _found: OrderedDict[_SchemaKey, tuple[Any, int]] = field(default_factory=OrderedDict)
    _bytes: Counter[str] = field(default_factory=Counter)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def get(self, key: _SchemaKey, text: bytes) -> Any:
        if (validator := self.find(key)) is not None:
            return validator
        schema = orjson.loads(text)
        size = len(text) * _BYTES_FOR_A_BYTE + patterns.count_bytes(schema)
        validator = _compile(schema)
        self._add(key, validator, size)
        return validator

    def find(self, key: _SchemaKey) -> Any:
        with self._lock:
            found = self._found.get(key)
            if found is None:
                return None
            self._found.move_to_end(key)
            return found[0]

    def _add(self, key: _SchemaKey, validator: Any, size: int) -> None:
        share = MAX_BYTES_OF_OWNER if key.owner else MAX_KEPT_BYTES
        with self._lock:
            if key in self._found or size > share:
                return
            self._found[key] = validator, size
            self._bytes[key.owner] += size
            if self._bytes[key.owner] > share:
                self._drop([one for one in self._found if one.owner == key.owner], key.owner, share)
            if self._bytes.total() > MAX_KEPT_BYTES:
                self._drop(list(self._found), None, MAX_KEPT_BYTES)

    def _drop(self, oldest: list[_SchemaKey], owner: str | None, limit: int) -> None:
        for key in oldest:
            if (self._bytes.total() if owner is None else self._bytes[owner]) <= limit:
                return
            _, size = self._found.pop(key)
            self._bytes[key.owner] -= size
            if not self._bytes[key.owner]:
                del self._bytes[key.owner]


_kept: Final = _SchemaCache()


def _refuse(uri: str) -> NoReturn:
    raise ValueError(f"a schema may not refer to {uri}")
