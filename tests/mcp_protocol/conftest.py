"""The published schema of each revision, as a judge of what goes out."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator, Draft202012Validator

from mcp_protocol.revisions import Revision

SCHEMAS = Path(__file__).parents[1] / "fixtures" / "mcp-schema"

Conforms = Callable[[object, Revision, str], None]


@cache
def _schema(revision: Revision) -> dict[str, Any]:
    schema: dict[str, Any] = json.loads((SCHEMAS / f"{revision}.json").read_text("utf-8"))
    return schema


def _assert_conforms(value: object, revision: Revision, definition: str) -> None:
    schema = _schema(revision)
    names = "definitions" if "definitions" in schema else "$defs"
    validator = Draft7Validator if names == "definitions" else Draft202012Validator
    # A misspelt definition would otherwise judge nothing.
    assert definition in schema[names]
    rule = {"$ref": f"#/{names}/{definition}", names: schema[names]}
    # Through the wire's own text, so that what is judged is what a client reads.
    validator(rule).validate(json.loads(json.dumps(value)))


@pytest.fixture(scope="session")
def conforms() -> Conforms:
    return _assert_conforms
