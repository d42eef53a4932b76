"""Schemas of the arguments that data tools share; each fragment is spread into `arguments`."""

from collections.abc import Mapping
from typing import Final, TypeAlias

from tools_registry.api import Json, Schema

Properties: TypeAlias = Mapping[str, Schema]

PERIODS: Final = (
    "today",
    "yesterday",
    "last_7_days",
    "last_30_days",
    "last_90_days",
    "last_365_days",
    "this_week",
    "last_week",
    "this_month",
    "last_month",
    "this_quarter",
    "last_quarter",
    "this_year",
    "last_year",
    "all_time",
)
ANY: Final = "any"
MAX_NAME: Final = 254
MAX_CURSOR: Final = 1024
# Arguments that say how much of the answer is sent, and not what it is about.
PRESENTATION: Final = frozenset({"page_size", "cursor", "response_format"})
# Arguments that the envelope shows as `period`.
TIME: Final = frozenset({"period", "from", "to"})


def text(description: str = "", *, longest: int = 200) -> Schema:
    """A schema for text. Empty text counts as a missing argument."""
    schema: dict[str, Json] = {"type": "string", "maxLength": longest}
    return {**schema, "description": description} if description else schema


def choice(*values: str, description: str = "") -> Schema:
    """A schema for one of these values; the first one is the default."""
    schema: dict[str, Json] = {"type": "string", "enum": list(values), "default": values[0]}
    return {**schema, "description": description} if description else schema


def optional_choice(*values: str, description: str = "") -> Schema:
    """A schema for one of these values, or none."""
    schema: dict[str, Json] = {"type": "string", "enum": list(values)}
    return {**schema, "description": description} if description else schema


def filter_choice(*values: str) -> Schema:
    """A schema for one of these values, or `any`: clients in strict mode have to choose one."""
    return optional_choice(*values, ANY)


def integer(lowest: int, highest: int, *, default: int | None = None) -> Schema:
    """A schema for a whole number."""
    schema: dict[str, Json] = {"type": "integer", "minimum": lowest, "maximum": highest}
    return schema if default is None else {**schema, "default": default}


def number(lowest: float, highest: float) -> Schema:
    """A schema for a number."""
    return {"type": "number", "minimum": lowest, "maximum": highest}


def time_of(default: str) -> Properties:
    """The arguments of a period; `default` is the period without any of them."""
    day = "Date, RFC 3339 time, or days from today such as -30d"
    return {
        "period": {"type": "string", "enum": list(PERIODS), "default": default},
        "from": text(day, longest=40),
        "to": text("As from; a date is included", longest=40),
    }


def page_of(default: int) -> Properties:
    """The arguments of a list that continues."""
    return {"page_size": integer(1, 50, default=default), "cursor": text(longest=MAX_CURSOR)}


QUERY: Final[Properties] = {
    "query": {**text("All of these words; quotes for a phrase"), "minLength": 2},
}
USER: Final[Properties] = {"user": text("Id, external id, e-mail or name", longest=MAX_NAME)}
COMPANY: Final[Properties] = {"company": text("Id, domain or name", longest=MAX_NAME)}
AGENT: Final[Properties] = {"agent": text("AI agent: id or name", longest=MAX_NAME)}
PAGE: Final[Properties] = page_of(10)
RANK: Final[Properties] = {"page_size": integer(1, 50, default=10)}
DETAIL: Final[Properties] = {"response_format": choice("concise", "detailed")}
