"""Conditions of policy rules: comparisons of one argument, found by a JSON Pointer (RFC 6901).

A condition whose pointer leads nowhere, or to a value of another type than it compares with, does
not hold. Numbers are compared by value, and `5` is not `"5"`.
"""

import json
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from foundation import json_text
from foundation.db.storable import has_unstorable_text

MAX_POINTER: Final = 300
MAX_CONDITIONS: Final = 10
MISSING: Final = object()
INDEX: Final = re.compile(r"0|[1-9][0-9]{0,8}")  # RFC 6901, section 4
ESCAPE: Final = re.compile(r"~(?![01])")
LINE: Final = re.compile(r"(\S*)\s+(>=|<=|==|!=|>|<|in|prefix)\s+(\S.*)")
ORDERED: Final[Mapping[str, Callable[[Any, Any], bool]]] = {
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
OPERATORS: Final = (*ORDERED, "==", "!=", "in", "prefix")


class InvalidCondition(ValueError):
    """The condition cannot be compared with anything; the message is for who wrote it."""


@dataclass(frozen=True, slots=True)
class ArgumentCondition:
    """One comparison of the value at `pointer`."""

    pointer: str
    operator: str
    value: Any

    def as_json(self) -> dict[str, Any]:
        return {"pointer": self.pointer, "operator": self.operator, "value": self.value}

    def holds(self, arguments: Mapping[str, Any]) -> bool:
        found = value_at(arguments, self.pointer)
        if found is MISSING:
            return False
        if self.operator == "in":
            return any(_is_equal(found, one) for one in self.value)
        if _kind(found) != _kind(self.value):
            return False
        if self.operator in ORDERED:
            return ORDERED[self.operator](found, self.value)
        if self.operator == "prefix":
            return bool(found.startswith(self.value))
        return _is_equal(found, self.value) == (self.operator == "==")


def from_json(values: Any) -> ArgumentCondition:
    """Returns a condition that was entered as JSON. Raises InvalidCondition."""
    if not isinstance(values, Mapping) or set(values) != {"pointer", "operator", "value"}:
        raise InvalidCondition("A condition has a pointer, an operator and a value.")
    pointer, comparison, value = values["pointer"], values["operator"], values["value"]
    if not isinstance(pointer, str) or len(pointer) > MAX_POINTER or not _is_pointer(pointer):
        raise InvalidCondition("The pointer has to be a JSON Pointer such as /amount.")
    if comparison not in OPERATORS:
        raise InvalidCondition(f"The operator has to be one of {', '.join(OPERATORS)}.")
    if not _is_comparable(value):
        raise InvalidCondition("The value has to be a text, a number, true, false or null.")
    if comparison in ORDERED and _kind(value) != "number":
        raise InvalidCondition(f"{comparison} compares numbers.")
    if (comparison == "in") != isinstance(value, list):
        raise InvalidCondition(
            '“in” compares with a list such as ["a", "b"], and nothing else does.'
        )
    if comparison == "prefix" and not isinstance(value, str):
        raise InvalidCondition("prefix needs a text in quotes.")
    return ArgumentCondition(pointer, comparison, value)


def parse(text: str) -> list[ArgumentCondition]:
    """Returns the conditions of a text with one on each line, such as `/amount > 100`.

    Raises InvalidCondition.
    """
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > MAX_CONDITIONS:
        raise InvalidCondition(f"A rule has at most {MAX_CONDITIONS} conditions.")
    return [_parse_line(line) for line in lines]


def to_text(conditions: Any) -> str:
    """Returns stored conditions as the text that `parse` reads."""
    return "\n".join(
        f"{one['pointer']} {one['operator']} {json.dumps(one['value'], ensure_ascii=False)}"
        for one in conditions
    )


def value_at(document: Any, pointer: str) -> Any:
    """Returns the value that a JSON Pointer leads to, or MISSING."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if isinstance(document, Mapping):
            document = document.get(key, MISSING)
        elif isinstance(document, list) and INDEX.fullmatch(key) and int(key) < len(document):
            document = document[int(key)]
        else:
            return MISSING
    return document


def _parse_line(line: str) -> ArgumentCondition:
    found = LINE.fullmatch(line)
    if found is None:
        raise InvalidCondition(f"“{line[:60]}” is not a condition. Write it like /amount > 100.")
    pointer, comparison, text = found.groups()
    try:
        value = json_text.parse(text)
    except ValueError:
        raise InvalidCondition(
            f'“{text[:60]}” is no JSON value. Write text in quotes, like "eu".'
        ) from None
    return from_json({"pointer": pointer, "operator": comparison, "value": value})


def _is_comparable(value: Any) -> bool:
    """Whether a value is a scalar, or a list of them, that every database stores."""
    parts = value if isinstance(value, list) else [value]
    return not has_unstorable_text(parts) and all(
        part is None or isinstance(part, str | int | float) for part in parts
    )


def _is_pointer(text: str) -> bool:
    is_rooted = not text or text.startswith("/")
    return is_rooted and ESCAPE.search(text) is None and not has_unstorable_text(text)


def _is_equal(left: Any, right: Any) -> bool:
    if _kind(left) != _kind(right):
        return False
    return bool(left == right)


def _kind(value: Any) -> str:
    """The JSON type of a value; true is no number, as it is in Python."""
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    return type(value).__name__
