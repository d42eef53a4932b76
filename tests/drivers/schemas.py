"""The published schema of each revision, as a judge of what a client reads."""

import json
from collections.abc import Collection
from functools import cache
from pathlib import Path
from typing import Any

from jsonschema_rs import Draft7Validator, Draft202012Validator

from mcp_protocol.revisions import Revision

SCHEMAS = Path(__file__).parents[1] / "fixtures" / "mcp-schema"


def conforms(value: object, revision: Revision, definition: str) -> None:
    """Raise ValidationError unless a JSON value is what the revision calls `definition`."""
    _judge(revision, definition).validate(value)


def conforms_to_one(value: object, revision: Revision, definitions: Collection[str]) -> None:
    """Raise ValidationError unless a JSON value is one of what the revision calls so."""
    assert definitions
    if not any(_judge(revision, definition).is_valid(value) for definition in definitions):
        conforms(value, revision, min(definitions))


@cache
def _judge(revision: Revision, definition: str) -> Any:
    schema = _schema(revision)
    names, validator = (
        ("definitions", Draft7Validator)
        if "definitions" in schema
        else ("$defs", Draft202012Validator)
    )
    # A misspelt definition would otherwise judge nothing.
    assert definition in schema[names]
    rule = {"$ref": f"#/{names}/{definition}", names: schema[names]}
    return validator(rule, validate_formats=True)


@cache
def definition_of(method: str, revision: Revision) -> str:
    """The definition of the notification or request of a method."""
    definitions = _definitions(revision)
    const = {"const": method}
    (name,) = (
        name
        for name, rule in definitions.items()
        if const.items() <= rule.get("properties", {}).get("method", {}).items()
    )
    return name


def _definitions(revision: Revision) -> dict[str, Any]:
    schema = _schema(revision)
    found: dict[str, Any] = schema.get("definitions") or schema["$defs"]
    return found


@cache
def _schema(revision: Revision) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{revision}.json").read_text("utf-8"))
    return schema
