"""Compiled schemas are kept within a number of bytes, and an organization's within a share."""

from typing import Any

import pytest

from tools_registry.api import schemas
from tools_registry.api.schemas import validator_of


def schema_with(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}}


@pytest.fixture
def small_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for about 25 schemas, 12 of them of one organization."""
    monkeypatch.setattr(schemas, "_kept", schemas._SchemaCache())
    monkeypatch.setattr(schemas, "MAX_KEPT_BYTES", 32_000)
    monkeypatch.setattr(schemas, "MAX_BYTES_OF_OWNER", 16_000)


@pytest.mark.usefixtures("small_cache")
def test_many_schemas_of_one_organization_leave_those_of_others_in_place() -> None:
    ours, others = validator_of(schema_with("a")), validator_of(schema_with("a"), "first")
    for index in range(200):
        validator_of(schema_with(f"name{index}"), "second")
    assert validator_of(schema_with("a")) is ours
    assert validator_of(schema_with("a"), "first") is others
    latest = validator_of(schema_with("name199"), "second")
    assert validator_of(schema_with("name199"), "second") is latest


@pytest.mark.usefixtures("small_cache")
def test_the_schema_that_was_used_longest_ago_is_compiled_again() -> None:
    first = [validator_of(schema_with("a"), owner) for owner in ("x", "y")]
    for index in range(200):
        validator_of(schema_with("a"), f"owner{index}")
        assert validator_of(schema_with("a"), "y") is first[1]
    assert validator_of(schema_with("a"), "x") is not first[0]


@pytest.mark.usefixtures("small_cache")
def test_a_schema_larger_than_a_share_is_used_and_not_kept() -> None:
    large = {"required": [f"name{index}" for index in range(500)]}
    assert not validator_of(large, "first").is_valid({})
    assert validator_of(large, "first") is not validator_of(large, "first")
