"""Arguments in the form that both databases give back, so that their digest is that of the row.

`jsonb` of PostgreSQL orders the members of objects, and writes large numbers without an exponent:
what is built from arguments before they are stored would differ from what is built from the row.
"""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any


def as_stored(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Returns arguments with their members in order of their names, in each object."""
    return {name: _value(arguments[name]) for name in sorted(arguments)}


def _value(value: Any) -> Any:
    if isinstance(value, Mapping):
        return as_stored(value)
    if isinstance(value, list | tuple):
        return [_value(item) for item in value]
    if isinstance(value, float):
        exact = Decimal(repr(value))
        if exact.as_tuple().exponent > 0:  # type: ignore[operator]  # a number of JSON is finite
            return int(exact)
        return value or 0.0  # PostgreSQL has no negative zero
    return value
