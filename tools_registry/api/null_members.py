"""Null for an optional member is the member left out, unless its schema takes null.

Models write null for what they leave out.
"""

from collections.abc import Mapping
from typing import Any, Final

from tools_registry.api.offers import Schema
from tools_registry.api.schemas import validator_of

DEFINITIONS: Final = "#/$defs/"


def leave_out_nulls(schema: Schema, value: Any, owner: str = "") -> Any:
    """Returns a value without such nulls, at every level that properties and items reach.

    Raises ValueError for a part of the schema that does not compile.
    """
    return _Nulls(schema, owner).leave_out(schema, value)


class _Nulls:
    """What the parts of one schema say of null; each part is compiled once."""

    def __init__(self, schema: Schema, owner: str) -> None:
        self._definitions = schema.get("$defs", {})
        self._owner = owner
        self._takes_null: dict[int, bool] = {}

    def leave_out(self, schema: Any, value: Any) -> Any:
        if not isinstance(schema, Mapping):
            return value
        schema = self._resolve(schema)
        if isinstance(value, list):
            return [self.leave_out(schema.get("items"), item) for item in value]
        if not isinstance(value, Mapping):
            return value
        properties, others = schema.get("properties", {}), schema.get("additionalProperties")
        required = schema.get("required", ())
        return {
            name: self.leave_out(properties.get(name, others), member)
            for name, member in value.items()
            if member is not None
            or name in required
            or self._can_be_null(properties.get(name, others))
        }

    def _resolve(self, schema: Schema) -> Schema:
        """The definition that a schema refers to; references that follow another are not read."""
        reference = schema.get("$ref")
        if isinstance(reference, str) and reference.startswith(DEFINITIONS):
            found = self._definitions.get(reference.removeprefix(DEFINITIONS))
            return found if isinstance(found, Mapping) else schema
        return schema

    def _can_be_null(self, part: Any) -> bool:
        if not isinstance(part, Mapping):
            # True takes everything; a member that is not allowed is an error of its own.
            return True
        if id(part) not in self._takes_null:
            whole = {"$defs": self._definitions, **part}
            self._takes_null[id(part)] = validator_of(whole, self._owner).is_valid(None)
        return self._takes_null[id(part)]
