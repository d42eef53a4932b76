"""YAML to JSON values from the events of PyYAML, with nesting and aliases bounded.

PyYAML's constructors follow YAML 1.1, where `on` is a boolean and `1:30` a number, recurse and
expand aliases without limit. OpenAPI allows the JSON schema of YAML 1.2 alone (OpenAPI 3.1.1,
section "Format"), so scalars are resolved here, by YAML 1.2.2 section 10.2. Next to `type: string`
a choice or a default is text, as it is written: 1.10 there is a version and no number.
"""

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import yaml

from gateway.openapi.shapes import Json

_LITERALS: Final[dict[str, Json]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
_INTEGER: Final = re.compile(r"[-+]?[0-9]{1,100}")
_FLOAT: Final = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]{1,3})?")
_TAGS: Final = "tag:yaml.org,2002:"
_MERGE: Final = "<<"
# What has the type of its schema, and what is a list of such values.
_OF_TYPE: Final = ("default", "const", "example")
_LISTS_OF_TYPE: Final = ("enum", "examples")
# The types whose values are written without quotes.
_UNQUOTED: Final = ("number", "integer", "boolean")


class InvalidYaml(ValueError):
    """A text that is not YAML, or uses what JSON cannot hold."""


@dataclass(slots=True)
class _Open:
    """A sequence or a mapping whose end has not come. `key` is the key that waits for its value.

    `written` are the texts of its scalars that are no text, by key or index.
    """

    made: Any
    anchor: str | None
    size: int = 1
    has_key: bool = False
    key: str = ""
    merges: list[Json] = field(default_factory=list)
    written: dict[Any, str] = field(default_factory=dict)


@dataclass(slots=True)
class _Builder:
    """Builds values from events without recursion.

    `anchors` has each value with its size and its text, `lists` the texts of each sequence with the
    sequence, by its identity, which is unique only as long as it lives.
    """

    max_depth: int
    max_values: int
    stack: list[_Open] = field(default_factory=list)
    anchors: dict[str, tuple[Json, int, str]] = field(default_factory=dict)
    lists: dict[int, tuple[Json, dict[Any, str]]] = field(default_factory=dict)
    result: Json = None
    total: int = 0

    def take(self, event: yaml.Event) -> None:
        if isinstance(event, yaml.ScalarEvent):
            is_key = bool(self.stack) and self._expects_key(self.stack[-1])
            value = event.value if is_key else _scalar(event)
            self._keep(event.anchor, value, 1, event.value)
            self._add(value, 1, event.value)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor not in self.anchors:
                raise InvalidYaml(f"The document has the alias *{event.anchor} inside itself.")
            self._add(*self.anchors[event.anchor])
        elif isinstance(event, yaml.CollectionStartEvent):
            self._start(event)
        elif isinstance(event, yaml.CollectionEndEvent):
            ended = self.stack.pop()
            _merge(ended)
            if isinstance(ended.made, list):
                self.lists[id(ended.made)] = ended.made, ended.written
            elif _is_text(ended.made.get("type")):
                self._write_as_text(ended)
            self._keep(ended.anchor, ended.made, ended.size)
            self._add(ended.made, ended.size)

    def _start(self, event: yaml.CollectionStartEvent) -> None:
        if len(self.stack) >= self.max_depth:
            raise InvalidYaml(f"The document is nested more than {self.max_depth} levels deep.")
        is_mapping = isinstance(event, yaml.MappingStartEvent)
        if event.tag not in {None, "!", _TAGS + ("map" if is_mapping else "seq")}:
            raise InvalidYaml(f"The document has the tag {event.tag[:80]!r}; JSON has none.")
        if self.stack and self._expects_key(self.stack[-1]):
            raise InvalidYaml(f"A key is not text{_place(event)}.")
        self.stack.append(_Open({} if is_mapping else [], event.anchor))

    def _expects_key(self, into: _Open) -> bool:
        return isinstance(into.made, dict) and not into.has_key

    def _write_as_text(self, schema: _Open) -> None:
        """Makes the choices and the default of a schema of text what is written; null stays."""
        made = schema.made
        for key in _OF_TYPE:
            if key in schema.written:
                made[key] = schema.written[key]
        for key in _LISTS_OF_TYPE:
            # Several schemas may have the list by an alias: it is not changed.
            values, written = self.lists.get(id(made.get(key)), ((), {}))
            if written:
                made[key] = [written.get(index, one) for index, one in enumerate(values)]

    def _keep(self, anchor: str | None, value: Json, size: int, text: str = "") -> None:
        if anchor is not None:
            self.anchors[anchor] = (value, size, text)

    def _add(self, value: Json, size: int, text: str = "") -> None:
        # An alias counts as often as what it stands for: a "billion laughs" ends here.
        self.total += 1
        if max(self.total, size) > self.max_values:
            raise InvalidYaml(f"The document has more than {self.max_values:,} values.")
        if not self.stack:
            self.result = value
            return
        into = self.stack[-1]
        into.size += size
        if into.size > self.max_values:  # before merge keys repeat what an alias stands for
            raise InvalidYaml(f"The document has more than {self.max_values:,} values.")
        if isinstance(value, bool | int | float):
            into.written[into.key if isinstance(into.made, dict) else len(into.made)] = text
        if isinstance(into.made, list):
            into.made.append(value)
        elif not into.has_key:
            if not isinstance(value, str):
                raise InvalidYaml("A key is not text.")
            if value in into.made:
                raise InvalidYaml(f"The document has the key {value[:80]!r} twice in one object.")
            into.key, into.has_key = value, True
        else:
            into.has_key = False
            if into.key == _MERGE:
                into.merges += value if isinstance(value, list) else [value]
            else:
                into.made[into.key] = value


def _is_text(kind: Json) -> bool:
    """Whether a `type` is that of text, with or without null."""
    if isinstance(kind, list):
        return "string" in kind and not any(one in kind for one in _UNQUOTED)
    return isinstance(kind, str) and kind == "string"


def _merge(ended: _Open) -> None:
    """The merge key `<<` of YAML 1.1, which published documents use: own keys win."""
    for other in ended.merges:
        if not isinstance(other, dict):
            raise InvalidYaml("The merge key << has a value that is no mapping.")
        for key, value in other.items():
            ended.made.setdefault(key, value)


def parse(text: str, *, max_depth: int, max_values: int) -> Json:
    """Returns the one document of a YAML text as JSON values. Raises InvalidYaml."""
    builder = _Builder(max_depth, max_values)
    documents = 0
    try:
        for event in _events(text):
            documents += isinstance(event, yaml.DocumentStartEvent)
            if documents > 1:
                raise InvalidYaml("The text has more than one YAML document.")
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        place = _place(error.problem_mark) if error.problem_mark else ""
        raise InvalidYaml(f"The document is not valid YAML: {error.problem}{place}.") from None
    except (yaml.YAMLError, UnicodeError, RecursionError):
        raise InvalidYaml("The document is not valid YAML.") from None
    return builder.result


def _events(text: str) -> Iterator[yaml.Event]:
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    return iter(yaml.parse(text, Loader=loader))


def _scalar(event: yaml.ScalarEvent) -> Json:
    tag = event.tag
    if tag is not None and tag != "!" and not tag.startswith(_TAGS):
        raise InvalidYaml(f"The document has the tag {tag[:80]!r}; JSON has none.")
    if tag == "!" or (tag is None and not event.implicit[0]):
        return event.value
    kind = (tag or "").removeprefix(_TAGS)
    if kind in {"str", "timestamp", "binary"}:
        return event.value
    if kind not in {"", "int", "float", "bool", "null"}:
        raise InvalidYaml(f"The document has the tag {(tag or '')[:80]!r}; JSON has none.")
    return _plain(event.value)


def _plain(text: str) -> Json:
    if text in _LITERALS:
        return _LITERALS[text]
    if text[0] not in "-+.0123456789":
        return text
    if _INTEGER.fullmatch(text):
        return storable(int(text))
    if _FLOAT.fullmatch(text) and not math.isinf(number := float(text)):
        return number
    return text


def storable(number: int) -> int | float:
    """Returns a number beyond 64 bits as a float: schemas are stored by orjson, which has none."""
    return number if -(2**63) <= number < 2**64 else float(number)


def _place(at: Any) -> str:
    """Line and column of a mark, or of the beginning of an event."""
    mark = getattr(at, "start_mark", at)
    return f" (line {mark.line + 1}, column {mark.column + 1})" if mark else ""
