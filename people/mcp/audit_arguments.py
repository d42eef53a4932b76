"""What the audit row of a call keeps of its arguments: which records and days, and no free text.

Words that were searched for, bodies and tokens name people or are personal data themselves.
"""

from collections.abc import Mapping
from typing import Any, Final

from people import access

NOT_KEPT: Final = "[not kept]"
KEPT: Final = frozenset(
    {
        *("kind", "status", "from", "to", "year", "limit", "sort", "updated_since", "is_current"),
        *("reports", "levels", "employment", "employed_on", "on", "taken_below", "group_by"),
        *("joined_from", "joined_to", "left_from", "left_to"),
    }
)
# Parameters of an operation are in groups; a body is none of them.
GROUPS: Final = frozenset({"args", "pathParams", "query"})
MAX_MEMBERS: Final = 40
MAX_CHARACTERS: Final = 64


def redact_arguments(_tool: Any, given: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the arguments of a call with the values that may be kept."""
    return _redact_members(given)


def _redact_members(given: Mapping[str, Any]) -> dict[str, Any]:
    return {
        name[:MAX_CHARACTERS]: _redact_value(name, given[name])
        for name in list(given)[:MAX_MEMBERS]
    }


def _redact_value(name: str, value: Any) -> Any:
    if name in GROUPS and isinstance(value, dict):
        return _redact_members(value)
    if name == "body" and isinstance(value, dict):
        return [one[:MAX_CHARACTERS] for one in list(value)[:MAX_MEMBERS]]
    if name.endswith("_id"):
        is_kept = isinstance(value, str) and access.ID.fullmatch(value) is not None
    else:
        is_kept = name in KEPT and len(str(value)) <= MAX_CHARACTERS
    return value if is_kept else NOT_KEPT
