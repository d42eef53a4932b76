"""Reads the parameters of an operation: place, style and schema, with each version's defaults."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from gateway.openapi.references import OpenApiDocument, Unmappable
from gateway.openapi.shapes import Json, Style
from gateway.openapi.wire.names import is_rewriting

# Set by the gateway or by HTTP itself (OpenAPI 3.1.1, "Parameter Object", names the first three).
_NEVER: Final = {
    "accept", "content-type", "authorization", "host", "content-length", "transfer-encoding",
    "connection", "cookie", "forwarded", "x-forwarded-for", "x-forwarded-host",
    "x-forwarded-proto", "x-real-ip", "te", "trailer", "upgrade", "keep-alive",
    "proxy-authorization",
}  # fmt: skip
_IDEMPOTENCY: Final = {"idempotency-key", "x-idempotency-key", "idempotence-key"}
_STYLES: Final[Mapping[str, tuple[Style, ...]]] = {
    "path": ("simple", "label", "matrix"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "deepObject"),
    "header": ("simple",),
    "cookie": ("form",),
}
_COLLECTIONS: Final[Mapping[str, Style]] = {
    "csv": "form", "ssv": "spaceDelimited", "tsv": "tabDelimited", "pipes": "pipeDelimited",
}  # fmt: skip
TEMPLATE: Final = re.compile(r"\{([^{}]*)\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredParameter:
    """One parameter as the document has it; `place` may be "formData" or "body" in 2.0."""

    name: str
    place: str
    schema: Json
    required: bool = False
    style: Style = "form"
    explode: bool = True
    allow_reserved: bool = False
    media_type: str = ""
    description: Json = None
    fixed: Json = None
    may_be_empty: bool = False


def read(
    document: OpenApiDocument, path: str, item: Mapping[str, Json], operation: Mapping[str, Json],
    notes: list[str],
) -> list[DeclaredParameter]:  # fmt: skip
    """Returns the parameters of path and operation. Raises Unmappable."""
    found: dict[tuple[str, str], DeclaredParameter] = {}
    for owner in (item, operation):
        listed = owner.get("parameters", [])
        if not isinstance(listed, list):
            raise Unmappable("Its parameters are not a list.")
        for raw in listed:
            one = _read_parameter(document, raw, notes)
            key = one.name.lower() if one.place == "header" else one.name
            found[one.place, key] = one
    return [*_undeclared_parameters(path, found, notes), *_usable_parameters(path, found, notes)]


def remove_fixed(
    declared: Sequence[DeclaredParameter], fixed_query: Mapping[str, str], notes: list[str]
) -> list[DeclaredParameter]:
    """Returns the parameters that the query in the path of an operation does not have already."""
    kept = []
    for one in declared:
        if one.place == "query" and one.name in fixed_query:
            notes.append(f"The path has a value for the parameter {one.name[:80]!r}.")
        else:
            kept.append(one)
    return kept


def _usable_parameters(
    path: str, found: Mapping[tuple[str, str], DeclaredParameter], notes: list[str]
) -> Iterator[DeclaredParameter]:
    names = set(TEMPLATE.findall(path))
    for one in found.values():
        if one.place == "path" and one.name not in names:
            notes.append(f"The path has no place for the parameter {one.name[:80]!r}.")
        elif is_rewriting(one.place, one.name):
            notes.append(f"The parameter {one.name[:80]!r} changes the request; it is no argument.")
        elif one.place == "header":
            if (header := _header(one, notes)) is not None:
                yield header
        else:
            yield one


def _undeclared_parameters(
    path: str, found: Mapping[tuple[str, str], DeclaredParameter], notes: list[str]
) -> Iterator[DeclaredParameter]:
    for name in dict.fromkeys(TEMPLATE.findall(path)):
        if not name:
            raise Unmappable("Its path has a parameter without a name.")
        if ("path", name) not in found:
            notes.append(f"The path parameter {name[:80]!r} is not declared; it takes text.")
            yield DeclaredParameter(
                name=name, place="path", schema={"type": "string"}, required=True,
                style="simple", explode=False,
            )  # fmt: skip


def _header(one: DeclaredParameter, notes: list[str]) -> DeclaredParameter | None:
    """A header that always has one value is sent without being an argument."""
    name = one.name.lower()
    value = _only_value(one)
    if name in _NEVER and not (name == "accept" and value is not None):
        notes.append(f"The header {one.name[:80]!r} is not an argument.")
        return None
    if value is not None and (one.required or name == "accept"):
        notes.append(f"The header {one.name[:80]!r} is sent as {str(value)[:80]!r}.")
        return replace(one, fixed=value)
    return one


def _only_value(one: DeclaredParameter) -> Json:
    if not isinstance(one.schema, Mapping):
        return None
    choices = one.schema.get("enum")
    if isinstance(choices, list) and len(choices) == 1:
        value: Json = choices[0]
    else:
        value = one.schema.get("default", one.schema.get("const"))
    return value if isinstance(value, str | int | float) else None


def is_idempotency(one: DeclaredParameter) -> bool:
    """Returns whether a parameter is the header of an idempotency key, which the gateway sends."""
    return one.place == "header" and one.name.lower() in _IDEMPOTENCY


def _read_parameter(document: OpenApiDocument, raw: Json, notes: list[str]) -> DeclaredParameter:
    raw = document.resolve(raw)
    if not isinstance(raw, Mapping):
        raise Unmappable("One of its parameters is not an object.")
    name, place = raw.get("name"), str(raw.get("in"))
    if not isinstance(name, str) or not name:
        raise Unmappable("One of its parameters has no name.")
    if document.version == "2.0":
        return _read_swagger_parameter(raw, name, place)
    if place not in _STYLES:
        raise Unmappable(f"Its parameter {name[:80]!r} is in {str(place)[:40]!r}.")
    schema, media_type = raw.get("schema"), ""
    content = raw.get("content")
    if isinstance(content, Mapping) and content and schema is None:
        media_type = next(iter(content))
        inner = content[media_type]
        schema = inner.get("schema") if isinstance(inner, Mapping) else None
    if schema is None:
        notes.append(f"The parameter {name[:80]!r} has no schema; it takes any value.")
        schema = {} if media_type else {"type": "string"}
    style = raw.get("style", _STYLES[place][0])
    if style not in _STYLES[place]:
        notes.append(f"The parameter {name[:80]!r} cannot have the style {str(style)[:40]!r}.")
        style = _STYLES[place][0]
    explode = raw.get("explode")
    return DeclaredParameter(
        name=name,
        place=place,
        schema=schema,
        required=raw.get("required") is True or place == "path",
        style=style,
        explode=explode if isinstance(explode, bool) else style in {"form", "deepObject"},
        allow_reserved=raw.get("allowReserved") is True,
        media_type=media_type,
        description=raw.get("description"),
        may_be_empty=raw.get("allowEmptyValue") is True,
    )


def _read_swagger_parameter(raw: Mapping[str, Json], name: str, place: str) -> DeclaredParameter:
    if place not in {*_STYLES, "formData", "body"} or place == "cookie":
        raise Unmappable(f"Its parameter {name[:80]!r} is in {str(place)[:40]!r}.")
    collection = raw.get("collectionFormat", "csv")
    style = _COLLECTIONS.get(str(collection), "form")
    if place in {"path", "header"} and style == "form":
        style = "simple"
    inner = {key: value for key, value in raw.items() if key not in {"required", "in", "name"}}
    is_array = raw.get("type") == "array"
    return DeclaredParameter(
        name=name,
        place=place,
        schema=raw.get("schema", {}) if place == "body" else inner,
        required=raw.get("required") is True or place == "path",
        style=style,
        explode=(collection == "multi" if is_array else style == "form"),
        description=raw.get("description"),
        may_be_empty=raw.get("allowEmptyValue") is True,
    )
