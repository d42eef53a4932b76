"""The reference part of docs/sdk-api.md, generated from the OpenAPI document."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

HEADING: Final = "## Reference"
# How the page names the callers of an operation, by the schemes that it accepts.
CALLERS: Final = {
    "WidgetKey": "widget key",
    "IdentityToken": "identity token",
    "ServerKey": "server key",
}
BOUNDS: Final = (("minLength", "maxLength"), ("minItems", "maxItems"), ("minimum", "maximum"))


def replace_section(page: str, document: Mapping[str, Any]) -> str:
    """Returns the page with its last section generated again."""
    written, _, _ = page.partition(HEADING)
    return f"{written}{HEADING}\n\n{reference(document)}"


def reference(document: Mapping[str, Any]) -> str:
    """Returns Markdown: each operation, then each object that the operations name."""
    schemas = document["components"]["schemas"]
    lines: list[str] = []
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            lines += _operation(f"{method.upper()} {path}", operation)
    for name, schema in schemas.items():
        if "properties" in schema:
            lines += _object(name, schema, schemas)
    return "\n".join(lines).rstrip() + "\n"


def _operation(title: str, operation: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"### {title}", "", operation["summary"], "")
    either = [
        " and ".join(CALLERS[scheme] for scheme in schemes)
        for schemes in operation.get("security", ())
    ]
    yield f"- Caller: {', or '.join(either) or 'anybody'}"
    for one in operation.get("parameters", ()):
        yield f"- `{one['name']}` in the {one['in']}: {one['description']}"
    if "requestBody" in operation:
        yield f"- Body: {_link(_content(operation['requestBody']))}"
    yield f"- Response: {_link(_content(operation['responses']['200']))}"
    yield ""


def _content(message: Mapping[str, Any]) -> Mapping[str, Any]:
    schema: Mapping[str, Any] = message["content"]["application/json"]["schema"]
    return schema


def _object(name: str, schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> Iterator[str]:
    yield from (f"### {name}", "", schema["description"], "")
    yield from ("| field | type | meaning |", "|---|---|---|")
    for field, one in schema["properties"].items():
        need = "Required." if field in schema.get("required", ()) else ""
        meaning = " ".join(filter(None, (one.get("description", ""), need)))
        yield f"| `{field}` | {_type(one, schemas)} | {meaning} |"
    yield ""


def remove_null(schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a schema without the null that an optional member may be (`contract.py`)."""
    if "anyOf" in schema:
        (schema,) = (one for one in schema["anyOf"] if one != {"type": "null"})
    if isinstance(schema.get("type"), list):
        (kind,) = (one for one in schema["type"] if one != "null")
        return {**schema, "type": kind}
    return schema


def _type(schema: Mapping[str, Any], schemas: Mapping[str, Any]) -> str:
    schema = remove_null(schema)
    found = schemas[_name(schema)] if _name(schema) else schema
    if "enum" in found:
        return ", ".join(f"`{one}`" for one in found["enum"])
    if found.get("type") == "array":
        items = found["items"]
        kind = _link(items) if _name(items) else _type(items, schemas)
        return f"{_bounds(found)} {kind}" if _bounds(found) else f"list of {kind}"
    return f"{found.get('format', found['type'])} {_bounds(found)}".rstrip()


def _bounds(schema: Mapping[str, Any]) -> str:
    """Returns the limits of a length, of a number of items, or of a number."""
    for least, most in BOUNDS:
        if most in schema:
            low = schema.get(least)
            return f"up to {schema[most]}" if low is None else f"{low} to {schema[most]}"
    return ""


def _link(schema: Mapping[str, Any]) -> str:
    return f"[{_name(schema)}](#{_name(schema).lower()})"


def _name(schema: Mapping[str, Any]) -> str:
    """Returns the name of the object that a schema refers to; empty for another schema."""
    refers = [schema, *schema.get("allOf", ())]
    return next((str(one["$ref"]).rpartition("/")[2] for one in refers if "$ref" in one), "")
