"""The form of a tool: a field for each property of its input schema, and the arguments in a POST.

Values are parsed here and validated by the pipeline only: what cannot be parsed is sent as text,
which the schema refuses with the name of the field.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import orjson
from django.http import QueryDict
from django.utils.translation import gettext as _

from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError
from tools_registry.api import Arguments, Schema, ToolFailure

# Of the name of an argument, in the form: no argument can be mistaken for another part of it.
PREFIX: Final = "arg."
CURSOR: Final = "cursor"
LONG_TEXT: Final = 500
ACRONYMS: Final = frozenset({"id", "url", "mrr", "arr"})
NUMBERS: Final = {
    "integer": (re.compile(r"[+-]?[0-9]{1,15}"), int),
    "number": (re.compile(r"[+-]?[0-9]{1,15}(\.[0-9]{1,6})?"), float),
}
Values = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SelectOption:
    """An option of a select; `value` is its place among the values of the schema."""

    value: str
    text: str
    selected: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFormField:
    """A field with what was entered. `control` is select, checkbox, number, text, area or json."""

    name: str
    control: str
    schema: Schema
    required: bool
    value: str
    error: str = ""

    @property
    def id(self) -> str:
        return f"arg-{self.name}"

    @property
    def input_name(self) -> str:
        return PREFIX + self.name

    @property
    def label(self) -> str:
        return to_label(self.name)

    @property
    def help(self) -> str:
        parts = [str(self.schema.get("description", "")).rstrip("."), self._limits()]
        return " ".join(f"{part}." for part in parts if part)

    @property
    def options(self) -> list[SelectOption]:
        """The values of an enum, after an empty one where none has to be chosen."""
        values = [str(_plain(one)) for one in self.schema["enum"]]
        found = [SelectOption(one, one.replace("_", " "), one == self.value) for one in values]
        if "default" in self.schema:
            return found
        text = _("Choose one") if self.required else _("Not set")
        return [SelectOption("", text, not self.value), *found]

    @property
    def step(self) -> str:
        return "1" if self.schema.get("type") == "integer" else "any"

    def _limits(self) -> str:
        low, high = self.schema.get("minimum"), self.schema.get("maximum")
        if self.control == "json":
            return _("As JSON")
        if self.control != "number" or low is None or high is None:
            return ""
        return _("From %(low)s to %(high)s") % {"low": f"{low:,}", "high": f"{high:,}"}


@dataclass(frozen=True, slots=True)
class ToolForm:
    """The fields of a tool in the order of its schema, without the cursor."""

    fields: Sequence[ToolFormField]

    @property
    def has_errors(self) -> bool:
        return any(field.error for field in self.fields)

    def hidden_inputs(self) -> list[tuple[str, str]]:
        """What was entered, for the form that asks for the next page."""
        given = [one for one in self.fields if one.value]
        return [
            (one.input_name, one.value)
            for one in given
            if one.control != "checkbox" or one.value == "true"
        ]


def build_form(
    schema: Schema, posted: QueryDict | None = None, failure: ToolFailure | None = None
) -> ToolForm:
    """Returns the form of an input schema: with its defaults, or with what was posted.

    A failure that names an argument is the error of its field.
    """
    entered = _defaults(schema) if posted is None else _read_posted(schema, posted)
    required = schema.get("required", ())
    place, text = _error(schema, failure, entered)
    return ToolForm(
        [
            ToolFormField(
                name=name,
                control=_control(part),
                schema=part,
                required=name in required,
                value=entered.get(name, ""),
                error=text if name == place else "",
            )
            for name, part in schema.get("properties", {}).items()
            if name != CURSOR
        ]
    )


def arguments(schema: Schema, posted: QueryDict) -> Arguments:
    """Returns the arguments in a POST, without empty ones and without those that are a default."""
    entered = _read_posted(schema, posted)
    required = schema.get("required", ())
    found: dict[str, Any] = {}
    for name, part in schema.get("properties", {}).items():
        if name not in entered:
            continue
        value = _parse_value(part, entered[name])
        # A box that is not checked means no argument, if the argument has no default.
        default = _plain(part.get("default", False if _control(part) == "checkbox" else None))
        if name in required or value != default:
            found[name] = value
    return found


def to_label(name: str) -> str:
    """The name of an argument or of a member of a result as a label."""
    words = [word.upper() if word in ACRONYMS else word for word in name.split("_")]
    text = " ".join(words).strip()
    return text[:1].upper() + text[1:]


def _defaults(schema: Schema) -> Values:
    return {
        name: _format_value(part["default"])
        for name, part in schema.get("properties", {}).items()
        if "default" in part
    }


def _read_posted(schema: Schema, posted: QueryDict) -> Values:
    """The text of each field that is not empty; a checkbox is true or false."""
    entered: dict[str, str] = {}
    for name, part in schema.get("properties", {}).items():
        value = posted.get(PREFIX + name, "")
        if _control(part) == "checkbox":
            entered[name] = "true" if value else "false"
        elif value.strip():
            entered[name] = value.strip()
    return entered


def _control(part: Schema) -> str:
    if "enum" in part:
        return "select"
    match part.get("type"):
        case "boolean":
            return "checkbox"
        case "integer" | "number":
            return "number"
        case "string":
            return "area" if part.get("maxLength", 0) > LONG_TEXT else "text"
    return "json"


def _parse_value(part: Schema, text: str) -> Any:
    match _control(part):
        case "select":
            values = {str(_plain(one)): _plain(one) for one in part["enum"]}
            return values.get(text, text)
        case "checkbox":
            return text == "true"
        case "number":
            pattern, read = NUMBERS[part["type"]]
            return read(text) if pattern.fullmatch(text) else text
        case "json":
            try:
                return strict_json.parse(text.encode())
            except ProtocolError:
                return text
    return text


def _plain(value: Any) -> Any:
    return value.value if isinstance(value, Enum) else value


def _format_value(value: Any) -> str:
    plain = _plain(value)
    return plain if isinstance(plain, str) else orjson.dumps(plain).decode()


def _error(schema: Schema, failure: ToolFailure | None, entered: Values) -> tuple[str, str]:
    """The argument that a failure names, and what is wrong with it."""
    if failure is None or not failure.field:
        return "", ""
    name = failure.field.partition(".")[0]
    if name in schema.get("required", ()) and name not in entered:
        return name, _("This field is required.")
    text = failure.reason or failure.message
    return name, text[:1].upper() + text[1:]
