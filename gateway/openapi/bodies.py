"""Reads the body of a request: which of its types is sent, and what its schema is."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from gateway.openapi.parameters import DeclaredParameter
from gateway.openapi.references import OpenApiDocument, Unmappable
from gateway.openapi.shapes import TEXT_IN_RANGE, BodyKind, Json

JSON: Final = "application/json"
FORM: Final = "application/x-www-form-urlencoded"
MULTIPART: Final = "multipart/form-data"
# The best known first. A JSON Patch is a list of steps, which models write less reliably.
_RANKS: Final[Sequence[BodyKind]] = ("json", "form", "multipart", "text", "binary")
_TEXT: Final = {"application/xml", "application/graphql", "application/yaml", "application/x-yaml",
                "application/x-ndjson", "application/jsonl", "application/sql",
                "application/javascript"}  # fmt: skip
_STEPS_OF_A_PROPERTY: Final = 3
OCTETS: Final = "application/octet-stream"
_JSON_LIKE: Final = {JSON, "text/json", *TEXT_IN_RANGE}
IN_BASE64: Final = "The content in base64."
FILE: Final[Mapping[str, Json]] = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "description": "File name"},
        "type": {"type": "string", "description": "Media type"},
        "base64": {"type": "string", "description": "Content in base64"},
    },
    "required": ["base64"],
    "additionalProperties": False,
}
BYTES: Final[Mapping[str, Json]] = {
    "type": "string", "contentEncoding": "base64", "description": IN_BASE64,
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class BodyContent:
    """The body that is sent. `fields` are the form parameters of 2.0, instead of a schema."""

    kind: BodyKind
    media_type: str
    schema: Json
    required: bool
    description: Json = None
    encoding: Mapping[str, Json] = field(default_factory=dict)
    fields: Sequence[DeclaredParameter] = ()


def read(
    document: OpenApiDocument, operation: Mapping[str, Json], declared: Sequence[DeclaredParameter],
    notes: list[str],
) -> BodyContent | None:  # fmt: skip
    """Returns the body of an operation, or None. Raises Unmappable."""
    if document.version == "2.0":
        return _read_swagger_body(document, operation, declared)
    raw = document.resolve(operation.get("requestBody"))
    if raw is None:
        return None
    content = raw.get("content") if isinstance(raw, Mapping) else None
    if not isinstance(content, Mapping):
        raise Unmappable("Its request body has no content.")
    if not content:
        return None
    media_type = _choose_media_type(content)
    if len(content) > 1:
        notes.append(f"Of the types of its body, {media_type[:80]} is sent.")
    inner = document.resolve(content[media_type])
    if not isinstance(inner, Mapping):
        raise Unmappable("The content of its request body is not an object.")
    encoding = inner.get("encoding")
    schema = inner.get("schema", {})
    kind, named = _body_encoding(document, media_type, schema)
    return BodyContent(
        kind=kind,
        media_type=named,
        schema=schema,
        required=raw.get("required") is True,
        description=raw.get("description"),
        encoding=encoding if isinstance(encoding, Mapping) else {},
    )


def kind_of(media_type: str) -> BodyKind:
    """Returns how a body of a media type is written."""
    plain = media_type.partition(";")[0].strip().lower()
    if plain in _JSON_LIKE or plain.endswith("+json"):
        return "json"
    if plain == FORM:
        return "form"
    if plain.startswith("multipart/"):
        return "multipart"
    is_text = plain.startswith("text/") or plain.endswith(("+xml", "+yaml")) or plain in _TEXT
    return "text" if is_text else "binary"


def _choose_media_type(types: Mapping[str, Json] | Sequence[str]) -> str:
    """The exact JSON, then any other JSON, form, multipart, text, bytes; equals as listed."""
    return min(types, key=_rank)


def _rank(media_type: str) -> tuple[int, int]:
    plain = media_type.partition(";")[0].strip().lower()
    if "merge-patch" in plain:
        return 0, 2
    return _RANKS.index(kind_of(plain)), (
        {JSON: 0, "*/*": 1, "application/*": 1, "application/json-patch+json": 9}.get(plain, 3)
    )


def _body_encoding(
    document: OpenApiDocument, media_type: str, schema: Json
) -> tuple[BodyKind, str]:
    """How a body is written, and as which type. Raises Unmappable.

    In a range of all types, text and files are sent as they are given, and all else as JSON. The
    range stays where the schema takes text and more: the value decides then.
    """
    if any(character in media_type for character in "\r\n\0"):
        raise Unmappable("The media type of its body has control characters.")
    media_type = media_type.strip()
    if media_type.lower() not in TEXT_IN_RANGE:
        return kind_of(media_type), media_type
    target = document.resolve(schema)
    declared = target.get("type", []) if isinstance(target, Mapping) else []
    types = {str(one) for one in (declared if isinstance(declared, list) else [declared])}
    if is_file(target):
        return "binary", OCTETS
    if types and types <= {"string", "null"}:
        return "text", TEXT_IN_RANGE[media_type.lower()]
    return "json", JSON if types and "string" not in types else media_type


def _read_swagger_body(
    document: OpenApiDocument, operation: Mapping[str, Json], declared: Sequence[DeclaredParameter]
) -> BodyContent | None:
    listed = operation.get("consumes", document.root.get("consumes"))
    types = [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []
    fields = [one for one in declared if one.place == "formData"]
    if fields:
        has_file = any(is_file(one.schema) for one in fields)
        is_form = FORM in types or MULTIPART not in types
        return BodyContent(
            kind="form" if is_form and not has_file else "multipart",
            media_type=FORM if is_form and not has_file else MULTIPART,
            schema={},
            required=any(one.required for one in fields),
            fields=fields,
        )
    for one in declared:
        if one.place == "body":
            kind, media_type = _body_encoding(
                document, _choose_media_type(types or [JSON]), one.schema
            )
            return BodyContent(
                kind=kind,
                media_type=media_type,
                schema=one.schema,
                required=one.required,
                description=one.description,
            )
    return None


def is_file(schema: Json) -> bool:
    """Returns whether a schema is a file: `file` of 2.0, `binary` of 3.0, a media type of 3.1."""
    if not isinstance(schema, Mapping):
        return False
    if schema.get("type") == "file" or schema.get("format") == "binary":
        return True
    is_text = str(schema.get("contentMediaType", "text/")).startswith(("text/", JSON))
    return not is_text and "contentEncoding" not in schema


def raw_properties(document: OpenApiDocument, schema: Json) -> Iterator[tuple[str, Json]]:
    """Returns the properties of an untranslated object schema with its `$ref` and `allOf`.

    Raises Unmappable.
    """
    seen: set[str] = set()
    left: list[Json] = [schema]
    while left:
        one = left.pop()
        if not isinstance(one, Mapping):
            continue
        reference = one.get("$ref")
        if isinstance(reference, str) and reference not in seen:
            seen.add(reference)
            left.append(document.value_at(reference))
        if isinstance(one.get("allOf"), list):
            left += reversed(one["allOf"])
        document.work.spend(1)
        if isinstance(one.get("properties"), Mapping):
            document.work.spend(_STEPS_OF_A_PROPERTY * len(one["properties"]))
            yield from one["properties"].items()
