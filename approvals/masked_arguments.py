"""Arguments as people are shown them: with the texts of secrets masked, and nothing else changed.

A secret is what the schema of a tool declares as one: by its format or as write-only, with every
text inside of it, or by a name that the schema has. A name that a caller has chosen masks nothing,
so that no requester can hide a value by its name. The rules of the surface find the schema
(`surface_rules`).
"""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, Final

from approvals.models import ApprovalRequest
from approvals.surface_rules import find_rules
from foundation import masking
from tools_registry.api import Tool, secret_members
from tools_registry.api.declared_members import SchemaPlace
from tools_registry.api.model_arguments import ANY, read_arguments

MASK: Final = "*** (text, {count} characters)"
# Longer texts could say anything: nobody approves what they cannot read.
MAX_MASKED: Final = 200
MAX_ALL_MASKED: Final = 1_000
# A text that looks as another value does: an id "007" is sent as text.
LIKE_ANOTHER_TYPE: Final = re.compile(r"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null")
UNDECLARED: Final = "  (a name that is not in the API's description)"


@dataclass(slots=True)
class MaskedArguments:
    """The arguments of a request with secrets masked.

    `undeclared` are the JSON Pointers (RFC 6901) of members whose names the schema does not have,
    and `unreadable` those of secrets that are too long, by themselves or together with those before
    them, to be approved without being read. `masked` is how many characters are masked. Without a
    schema the tool has gone, and every text is masked.
    """

    values: dict[str, Any] = field(default_factory=dict)
    undeclared: set[str] = field(default_factory=set)
    unreadable: set[str] = field(default_factory=set)
    masked: int = 0
    has_schema: bool = True

    def is_declared(self, name: str) -> bool:
        return _child_pointer("", name) not in self.undeclared

    def text(self, name: str) -> str:
        """Returns the value of an argument as text, with undeclared names marked.

        A text that reads like a number, a boolean or null is in quotation marks.
        """
        value = self.values[name]
        if isinstance(value, str) and not LIKE_ANOTHER_TYPE.fullmatch(value):
            return value
        return "\n".join(self._lines(value, _child_pointer("", name)))

    def line(self, name: str) -> str:
        """Returns the value of an argument as JSON on one line: numbers as numbers."""
        lines = self._lines(self.values[name], _child_pointer("", name))
        return " ".join(line.strip() for line in lines)

    def full_text(self) -> str:
        """Returns all arguments as JSON, with every character beyond ASCII escaped."""
        return "\n".join(self._lines(self.values, ""))

    def _lines(self, value: Any, pointer: str) -> Iterator[str]:
        if isinstance(value, Mapping) and value:
            yield "{"
            for index, (name, item) in enumerate(value.items()):
                below = _child_pointer(pointer, name)
                mark = UNDECLARED if below in self.undeclared else ""
                comma = "," if index < len(value) - 1 else ""
                yield from _indent_lines(
                    f"{json.dumps(name)}{mark}: ", self._lines(item, below), comma
                )
            yield "}"
        elif isinstance(value, list) and value:
            yield "["
            for index, item in enumerate(value):
                comma = "," if index < len(value) - 1 else ""
                yield from _indent_lines(
                    "", self._lines(item, _child_pointer(pointer, str(index))), comma
                )
            yield "]"
        else:
            yield json.dumps(value)


def mask_request(request: ApprovalRequest) -> MaskedArguments:
    """Returns the arguments of a request as an approver reads them."""
    return mask(request.arguments, find_rules(request).find_schema(request))


def mask(arguments: Mapping[str, Any], schema: Mapping[str, Any] | None) -> MaskedArguments:
    """Returns arguments with the secret ones replaced.

    Without a schema every text counts as a secret: the tool has gone, and nothing can be approved.
    """
    return _mask_at_place(arguments, None if schema is None else SchemaPlace.from_schema(schema))


def _mask_at_place(arguments: Mapping[str, Any], place: SchemaPlace | None) -> MaskedArguments:
    made = MaskedArguments(has_schema=place is not None)
    made.values = _members(made, arguments, place, "")
    return made


def mask_for_audit(tool: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what an audit row keeps of the arguments of a tool: as rules read them, and masked.

    Without a tool there is no schema, and every text is masked.
    """
    if not isinstance(tool, Tool):
        return _mask_at_place(arguments, None).values
    place = _place_of(tool)
    return _mask_at_place(read_arguments(place, arguments, ANY, tool.owner), place).values


@lru_cache(maxsize=256)
def _place_of(tool: Tool) -> SchemaPlace:
    return SchemaPlace.from_schema(tool.argument_schema or tool.input_schema)


def masked_result(request: ApprovalRequest) -> Any:
    """Returns the result of a request without the secrets of its arguments, which it may repeat.

    Without a schema every text of the arguments counts as a secret, as in `mask`.
    """
    schema = find_rules(request).find_schema(request)
    arguments = request.arguments
    found = secret_members.find_secrets(schema, arguments) if schema else _texts(arguments)
    # In all texts at once: there may be thousands of them, and of secrets.
    replaced = masking.replace_in_texts(list(_texts(request.result)), found)
    return _with_texts(request.result, iter(replaced))


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping | list):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _with_texts(value: Any, texts: Iterator[str]) -> Any:
    """The value with other texts, in the order of `_texts`."""
    if isinstance(value, Mapping):
        return {name: _with_texts(item, texts) for name, item in value.items()}
    if isinstance(value, list):
        return [_with_texts(item, texts) for item in value]
    return next(texts) if isinstance(value, str) else value


def _members(
    made: MaskedArguments,
    value: Mapping[str, Any],
    place: SchemaPlace | None,
    pointer: str,
    *,
    is_inside: bool = False,
) -> dict[str, Any]:
    """`is_inside` if the object is declared as a secret."""
    declared = None if place is None else place.names
    shown = {}
    for name, item in value.items():
        below = _child_pointer(pointer, name)
        is_declared = declared is None or name in declared
        if not is_declared:
            made.undeclared.add(below)
        inner = None if place is None else place.member(name)
        named = name if is_declared else ""
        shown[name] = _value(made, item, inner, below, name=named, is_inside=is_inside)
    return shown


def _value(
    made: MaskedArguments,
    value: Any,
    place: SchemaPlace | None,
    pointer: str,
    *,
    name: str,
    is_inside: bool,
) -> Any:
    """The value; `name` is that of its member if it is declared."""
    is_inside = is_inside or place is None or secret_members.is_secret(place, value)
    if isinstance(value, Mapping):
        return _members(made, value, place, pointer, is_inside=is_inside)
    if isinstance(value, list):
        return [
            _value(
                made,
                item,
                place and place.item(index),
                _child_pointer(pointer, str(index)),
                name=name,
                is_inside=is_inside,
            )
            for index, item in enumerate(value)
        ]
    text = secret_members.text_of_secret(value, has_schema=place is not None)
    if text is not None and (is_inside or secret_members.is_secret_name(name)):
        made.masked += len(text)
        is_too_long = len(text) > MAX_MASKED or made.masked > MAX_ALL_MASKED
        # Without a schema, what is too long need not be a secret, and is not executed anyway.
        if is_too_long and made.has_schema:
            made.unreadable.add(pointer)
        return MASK.format(count=len(text))
    return value


def _child_pointer(pointer: str, name: str) -> str:
    return f"{pointer}/{name.replace('~', '~0').replace('/', '~1')}"


def _indent_lines(beginning: str, lines: Iterator[str], end: str) -> Iterator[str]:
    *first, last = lines
    for index, line in enumerate((*first, f"{last}{end}")):
        yield f"  {beginning if not index else ''}{line}"
