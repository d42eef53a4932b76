"""The arguments of a tool from the signature of its function; no Django.

    ZoneName = Annotated[str, Keywords(maxLength=100, description="Such as Europe/Berlin")]

    def time_in(context: ToolContext, zone: ZoneName, style: Literal["long", "short"] = "long")

Every parameter but the first is an argument. One without a default is required. A default is the
`default` of its schema, and None (`Label | None = None`) means that the schema has none. A trailing
underscore is no part of a name: `from_` is the argument `from`. Where the default is an instance of
a dataclass, each of its fields is an argument instead.

| annotation                     | schema                                                   |
|--------------------------------|----------------------------------------------------------|
| str, int, float, bool          | string, integer, number, boolean                         |
| Literal["a", "b"]              | enum                                                     |
| an Enum, or it and a Literal   | enum of the values; the function gets members            |
| tuple[X, ...] of an enum       | that of X, or an array of it; the function gets a tuple  |
| list[X], Mapping[str, X]       | array with items of X; object, whose members `Keywords`  |
|                                | describe                                                 |
| a TypedDict                    | object with these properties and no others               |
| Annotated[X, Keywords(...)]    | that of X, and the keywords in their order               |

Values are validated against the schema before, and not here. An argument has the type of its
annotation: it is a member of its Enum, and 5 where 5.0 was sent for an integer. Items of lists and
members of objects are passed as they were sent, so they cannot be annotated with an Enum.
"""

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from enum import Enum
from functools import reduce
from operator import or_
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Final,
    Literal,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from tools_registry.api.offers import Arguments, Run, Schema
from tools_registry.api.results import Json, Result

TYPES: Final = {str: "string", int: "integer", float: "number", bool: "boolean"}
NAMED: Final = frozenset({inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY})
MUTABLE: Final = (list, dict, set)
KEYWORDS: Final = frozenset(
    {
        *("title", "description", "enum", "format", "pattern", "minLength", "maxLength"),
        *("minimum", "maximum", "minItems", "maxItems", "uniqueItems"),
        *("propertyNames", "additionalProperties", "minProperties", "maxProperties"),
        "x-mcp-header",
    }
)


class Keywords:
    """Keywords of JSON Schema 2020-12 for the type that is annotated with them."""

    __slots__ = ("schema",)

    def __init__(self, **keywords: Json) -> None:
        if unknown := keywords.keys() - KEYWORDS:
            raise TypeError(f"no keywords of an argument: {', '.join(sorted(unknown))}")
        self.schema: Schema = keywords


@dataclass(frozen=True, slots=True)
class _Argument:
    """Where the value of an argument goes, and what makes the annotated type of it."""

    parameter: str
    member: str
    convert: Callable[[Json], Any] | None


@dataclass(frozen=True, slots=True)
class Signature:
    """What a function takes: the properties of its input schema, and those that are required."""

    function: Callable[..., Result] = field(repr=False)
    properties: Mapping[str, Schema]
    required: Sequence[str]
    # Those whose value is passed on as another one, or under another name.
    _arguments: Mapping[str, _Argument] = field(repr=False)
    _groups: Mapping[str, Any] = field(repr=False)

    @property
    def input_schema(self) -> Schema:
        return _object_schema(self.properties, self.required)

    @property
    def defaults(self) -> Arguments:
        """The values of arguments that are left out, but for those that have none."""
        found = self.properties.items()
        return {name: schema["default"] for name, schema in found if "default" in schema}

    @property
    def run(self) -> Run:
        """What is called with validated arguments by name: the function, if they are its own."""
        return self._run if self._arguments else self.function

    def _run(self, context: Any, /, **arguments: Json) -> Result:
        return self.function(context, **self._read(arguments))

    def _read(self, arguments: Arguments) -> dict[str, Any]:
        values: dict[str, Any] = {}
        members: dict[str, dict[str, Any]] = {}
        for name, value in arguments.items():
            argument = self._arguments.get(name)
            if argument is None:
                values[name] = value
                continue
            read = value if argument.convert is None else argument.convert(value)
            if argument.member:
                members.setdefault(argument.parameter, {})[argument.member] = read
            else:
                values[argument.parameter] = read
        return values | {name: replace(self._groups[name], **of) for name, of in members.items()}


def read_signature(function: Callable[..., Result]) -> Signature:
    """Returns what a function takes. Raises TypeError for what cannot be an argument."""
    _, *parameters = inspect.signature(function).parameters.values()
    hints = get_type_hints(function, include_extras=True)
    properties: dict[str, Schema] = {}
    required: list[str] = []
    arguments: dict[str, _Argument] = {}
    groups: dict[str, Any] = {}

    def add(parameter: str, member: str, hint: Any, default: Any) -> None:
        name = (member or parameter).rstrip("_")
        if name in properties:
            raise TypeError(f"two arguments of {function.__name__} are called {name}")
        try:
            properties[name] = _argument_schema(hint, default)
        except TypeError as error:
            raise TypeError(f"argument {name} of {function.__name__}: {error}") from None
        if default is inspect.Parameter.empty:
            required.append(name)
        convert = _find_conversion(hint)
        if member or convert is not None or name != parameter:
            arguments[name] = _Argument(parameter, member, convert)

    for one in parameters:
        if one.kind not in NAMED:
            raise TypeError(f"argument {one} of {function.__name__} cannot be passed by name")
        if is_dataclass(one.default):
            groups[one.name] = one.default
            members = get_type_hints(type(one.default), include_extras=True)
            for each in fields(one.default):
                add(one.name, each.name, members[each.name], getattr(one.default, each.name))
        else:
            add(one.name, "", hints.get(one.name), one.default)
    return Signature(function, properties, required, arguments, groups)


def _argument_schema(hint: Any, default: Any) -> Schema:
    schema = _to_schema(hint)
    if default is inspect.Parameter.empty and NoneType in _alternatives(hint):
        raise TypeError("an argument that may be None is one that may be left out: write `= None`")
    if default is None or default is inspect.Parameter.empty:
        return schema
    if isinstance(default, MUTABLE):
        raise TypeError("all calls would share its default: write `= None` or a tuple")
    first = default[0] if isinstance(default, tuple) else default
    value = first.value if isinstance(first, Enum) else first
    ends = {name: schema[name] for name in ("description",) if name in schema}
    return {**{name: schema[name] for name in schema if name not in ends}, "default": value, **ends}


def _object_schema(properties: Mapping[str, Schema], required: Sequence[str]) -> dict[str, Json]:
    schema: dict[str, Json] = {"type": "object", "properties": dict(properties)}
    if required:
        schema["required"] = list(required)
    return {**schema, "additionalProperties": False}


def _to_schema(hint: Any) -> dict[str, Json]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        keywords = [one.schema for one in parts[1:] if isinstance(one, Keywords)]
        return reduce(or_, keywords, _to_schema(parts[0]))
    if origin in {Union, UnionType}:
        first, *others = (_to_schema(one) for one in parts if one is not NoneType)
        return reduce(_join_enums, others, first)
    if origin is Literal:
        return _enum_schema(parts)
    if origin in {tuple, list, Sequence}:
        return _list_schema(origin, parts[0])
    if origin in {dict, Mapping}:
        return {"type": "object"}
    return _plain_schema(hint)


def _list_schema(origin: Any, part: Any) -> dict[str, Json]:
    if origin is not tuple:
        return {"type": "array", "items": _inner_schema(part)}
    choice: dict[str, Any] = _to_schema(part)
    limits = {"minItems": 1, "maxItems": len(choice["enum"])}
    return {"anyOf": [choice, {"type": "array", "items": choice, **limits}]}


def _plain_schema(hint: Any) -> dict[str, Json]:
    if hint is Any:
        return {}
    if is_typeddict(hint):
        members = get_type_hints(hint, include_extras=True)
        required = [name for name in members if name in hint.__required_keys__]
        return _object_schema({name: _inner_schema(one) for name, one in members.items()}, required)
    if _is_enum(hint):
        return _enum_schema([member.value for member in hint])
    if hint not in TYPES:
        raise TypeError(f"an argument cannot have the type {hint}")
    return {"type": TYPES[hint]}


def _inner_schema(hint: Any) -> dict[str, Json]:
    """Returns the schema of items or of a member, which are not converted."""
    if any(_is_enum(one) for one in _alternatives(hint)):
        raise TypeError(f"only an argument itself can be one of {hint}: write a Literal")
    return _to_schema(hint)


def _enum_schema(values: Sequence[Any]) -> dict[str, Json]:
    types = {type(value) for value in values}
    if len(types) > 1 or not types <= TYPES.keys():
        raise TypeError("values to choose from are all texts, or all numbers of one type")
    return {"type": TYPES[types.pop()], "enum": [*values]}


def _join_enums(first: Schema, other: Schema) -> dict[str, Json]:
    if not {"enum"} <= first.keys() & other.keys() or first["type"] != other["type"]:
        raise TypeError("of several types, each has to be an Enum or a Literal of the same type")
    return {**first, "enum": [*first["enum"], *other["enum"]]}


def _find_conversion(hint: Any) -> Callable[[Json], Any] | None:
    """What makes the annotated type of a value: a member of an Enum; an integer of 5.0."""
    types = list(_alternatives(hint))
    several = next((one for one in types if get_origin(one) is tuple), None)
    if several is not None:
        read = _find_conversion(get_args(several)[0]) or (lambda value: value)
        return lambda value: tuple(map(read, value if isinstance(value, list) else [value]))
    members = {one.value: one for each in types if _is_enum(each) for one in each}
    if members:
        return lambda value: members.get(value, value)
    return int if int in types else None


def _alternatives(hint: Any) -> Iterator[Any]:
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        yield from _alternatives(parts[0])
    elif origin in {Union, UnionType}:
        for part in parts:
            yield from _alternatives(part)
    elif origin is Literal:
        yield from map(type, parts)
    else:
        yield hint


def _is_enum(hint: Any) -> bool:
    return isinstance(hint, type) and issubclass(hint, Enum)
