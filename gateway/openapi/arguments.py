"""Parameters and body of an operation as one arguments object without collisions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from gateway.openapi import bodies, names, parameters, security
from gateway.openapi.bodies import BodyContent
from gateway.openapi.parameters import DeclaredParameter
from gateway.openapi.references import Unmappable
from gateway.openapi.schemas.definitions import Definitions
from gateway.openapi.schemas.dialect import Schema, Translation
from gateway.openapi.schemas.text import plain, with_sentence
from gateway.openapi.security import Alternatives
from gateway.openapi.shapes import BodyField, Json, OperationBody, Parameter, Style
from gateway.openapi.wire.names import is_rewriting

_WHOLE: Final = "body"
_STEPS_OF_AN_ARGUMENT: Final = 5
_STYLES: Final[Mapping[str, Style]] = {
    "form": "form", "spaceDelimited": "spaceDelimited", "pipeDelimited": "pipeDelimited",
    "deepObject": "deepObject",
}  # fmt: skip


@dataclass(slots=True)
class Arguments:
    """What becomes of the parameters and the body of one operation.

    `properties` are the schema of each argument. `together` are arguments of an optional body that
    are required as soon as it has one of `together_with`.
    """

    properties: dict[str, Schema] = field(default_factory=dict)
    required: list[str] = field(default_factory=list)
    parameters: list[Parameter] = field(default_factory=list)
    body: OperationBody | None = None
    together: list[str] = field(default_factory=list)
    together_with: list[str] = field(default_factory=list)
    values: Schema = False
    security: Alternatives = ()
    idempotency_header: str = ""
    may_be_empty: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Object:
    """The fields of a body, before they have names as arguments."""

    properties: Mapping[str, Schema]
    required: Sequence[str]
    values: Schema


def read(
    definitions: Definitions, pass_: Translation, declared: Sequence[DeclaredParameter],
    content: BodyContent | None, sets: Alternatives,
) -> Arguments:  # fmt: skip
    """Returns the arguments of an operation. Raises Unmappable."""
    made = Arguments(security=sets)
    kept = [one for one in declared if one.place not in {"formData", _WHOLE}]
    kept = _take_credentials(made, _take_idempotency(made, kept))
    shape = _object_of(definitions, pass_, content) if content else None
    fields = _visible_fields(made, content, shape, pass_)
    number = len(declared) + len(shape.properties if shape else ())
    definitions.document.work.spend(number * (_STEPS_OF_AN_ARGUMENT + sum(map(len, made.security))))
    wanted = [(one.place, one.name) for one in kept if one.fixed is None]
    wanted += [(_WHOLE, name) for name in fields]
    if content and shape is None:
        wanted.append((_WHOLE, _WHOLE))
    chosen = names.argument_names(wanted)
    for one in kept:
        _add_parameter(made, one, chosen.get((one.place, one.name), ""), pass_)
    if content and shape is None:
        _add_whole(made, content, chosen[_WHOLE, _WHOLE], pass_)
    elif content and shape:
        _add_fields(made, definitions, content, shape, {
            name: chosen[_WHOLE, name] for name in fields
        })  # fmt: skip
    _note_renamed(pass_, chosen)
    return made


def _note_renamed(pass_: Translation, chosen: Mapping[tuple[str, str], str]) -> None:
    pass_.notes += [
        f"The argument {argument!r} is {name[:80]!r} in the {place}."
        for (place, name), argument in chosen.items()
        if argument != name
    ]


def _take_idempotency(
    made: Arguments, declared: Sequence[DeclaredParameter]
) -> list[DeclaredParameter]:
    for one in declared:
        if parameters.is_idempotency(one):
            made.idempotency_header = one.name
    return [one for one in declared if not parameters.is_idempotency(one)]


def _take_credentials(
    made: Arguments, declared: Sequence[DeclaredParameter]
) -> list[DeclaredParameter]:
    kept = []
    for one in declared:
        if one.fixed is None and security.is_credential(one.place, one.name, made.security):
            made.security = security.with_credential(
                made.security, one.place, one.name, required=one.required
            )
        else:
            kept.append(one)
    return kept


def _visible_fields(
    made: Arguments, content: BodyContent | None, shape: _Object | None, pass_: Translation
) -> list[str]:
    """The fields that are arguments: not credentials of a form, or what changes the method."""
    if shape is None or content is None:
        return []
    visible = []
    for name in shape.properties:
        if is_rewriting(content.kind if content.kind == "json" else "form", name):
            pass_.notes.append(f"The field {name[:80]!r} changes the request; it is no argument.")
            continue
        is_form = content.kind in {"form", "multipart"}
        if is_form and security.is_credential(_WHOLE, name, made.security):
            made.security = security.with_credential(
                made.security, _WHOLE, name, required=name in shape.required
            )
        else:
            visible.append(name)
    return visible


def _add_parameter(
    made: Arguments, one: DeclaredParameter, argument: str, pass_: Translation
) -> None:
    place: Any = one.place
    made.parameters.append(
        Parameter(
            argument=argument,
            name=one.name,
            place=place,
            style=one.style,
            explode=one.explode,
            required=one.required,
            allow_reserved=one.allow_reserved,
            media_type=one.media_type,
            fixed=one.fixed,
        )
    )
    if one.fixed is None:
        made.properties[argument] = _add_description(pass_.schema(one.schema), one.description)
        if one.required:
            made.required.append(argument)
        if one.may_be_empty:
            made.may_be_empty.append(argument)


def _add_description(schema: Schema, description: Json) -> Schema:
    if not isinstance(schema, Mapping):
        schema = {} if schema else {"not": {}}
    text = plain(description)
    return {**schema, "description": text} if text else dict(schema)


def _add_whole(made: Arguments, content: BodyContent, argument: str, pass_: Translation) -> None:
    match content.kind:
        case "text":
            made.properties[argument] = _add_description({"type": "string"}, content.description)
        case "binary":
            text = with_sentence(plain(content.description), bodies.IN_BASE64)
            made.properties[argument] = {**bodies.BYTES, "description": text}
        case _:
            schema = pass_.schema(content.schema)
            made.properties[argument] = _add_description(schema, content.description)
    if content.required:
        made.required.append(argument)
    made.body = OperationBody(
        kind=content.kind,
        media_type=content.media_type,
        argument=argument,
        required=content.required,
    )


def _object_of(
    definitions: Definitions, pass_: Translation, content: BodyContent
) -> _Object | None:
    """The fields of an object body; None for one that is an argument as a whole."""
    if content.fields:
        files = {one.name for one in content.fields if bodies.is_file(one.schema)}
        properties = {
            one.name: dict(bodies.FILE)
            if one.name in files
            else _add_description(pass_.schema(one.schema), one.description)
            for one in content.fields
        }
        return _Object(properties, [one.name for one in content.fields if one.required], False)
    if content.kind in {"text", "binary"}:
        return None
    translated = pass_.schema(content.schema)
    flat = definitions.merge_schema(translated)
    types = flat.get("type", "object")
    is_object = types == "object" or "object" in types
    values = flat.get("additionalProperties", False)
    if flat.get("unions") or not is_object:
        return None
    if not flat.get("properties"):
        is_empty = content.kind in {"form", "multipart"} and not values
        return _Object({}, (), False) if is_empty else None
    return _Object(flat["properties"], flat.get("required", ()), values)


def _add_fields(
    made: Arguments, definitions: Definitions, content: BodyContent, shape: _Object,
    chosen: Mapping[str, str],
) -> None:  # fmt: skip
    raw: dict[str, Json] = {one.name: one for one in content.fields}
    if not raw:
        raw = dict(bodies.raw_properties(definitions.document, content.schema))
    fields = [
        _field(definitions, content, name, argument, raw.get(name))
        for name, argument in chosen.items()
    ]
    required = [chosen[name] for name in shape.required if name in chosen]
    for one in fields:
        is_list = one.is_file and _is_list(definitions, shape.properties[one.name])
        file: Schema = {"type": "array", "items": bodies.FILE} if is_list else bodies.FILE
        schema = file if one.is_file else shape.properties[one.name]
        made.properties[one.argument] = schema
    made.values = shape.values
    if content.required:
        made.required += required
    elif required:
        made.together, made.together_with = required, list(chosen.values())
    if not fields and not made.security and not shape.values and content.kind != "json":
        return
    made.body = OperationBody(
        kind=content.kind,
        media_type=content.media_type,
        fields=tuple(fields),
        open_fields=shape.values is not False,
        required=content.required,
    )


def _is_list(definitions: Definitions, schema: Schema) -> bool:
    return bool(definitions.merge_schema(schema).get("type") == "array")


def _field(
    definitions: Definitions, content: BodyContent, name: str, argument: str, raw: Json
) -> BodyField:
    if isinstance(raw, DeclaredParameter):
        file = content.kind == "multipart" and bodies.is_file(raw.schema)
        return BodyField(
            argument=argument, name=name, style=raw.style, explode=raw.explode, is_file=file
        )
    if content.kind == "json":
        return BodyField(argument=argument, name=name)
    try:
        schema = definitions.document.resolve(raw)
        items = schema.get("items") if isinstance(schema, Mapping) else None
        items = definitions.document.resolve(items)
    except Unmappable:
        schema = items = None
    is_file = content.kind == "multipart" and (bodies.is_file(schema) or bodies.is_file(items))
    encoding = content.encoding.get(name)
    encoding = encoding if isinstance(encoding, Mapping) else {}
    style = _STYLES.get(str(encoding.get("style")))
    explode = encoding.get("explode")
    content_type = str(encoding.get("contentType", "")).partition(",")[0].strip()
    if not content_type and not style and not is_file and "explode" not in encoding:
        # Without a style, an object is JSON text (OpenAPI 3.0.4, "Encoding Object").
        is_list = isinstance(schema, Mapping) and schema.get("type") == "array"
        content_type = "application/json" if _is_object(items if is_list else schema) else ""
    return BodyField(
        argument=argument,
        name=name,
        style=style or "form",
        explode=explode if isinstance(explode, bool) else style in {None, "form", "deepObject"},
        content_type=content_type,
        is_file=is_file,
    )


def _is_object(schema: Json) -> bool:
    return isinstance(schema, Mapping) and (
        schema.get("type") == "object" or "properties" in schema or "allOf" in schema
    )
