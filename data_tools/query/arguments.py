"""Types of the arguments that data tools share; those of a period and of a page come together."""

from dataclasses import dataclass
from typing import Annotated, Final, Literal, TypeAlias

from tools_registry.api import Json, Keywords

# Arguments that say how much of the answer is sent, and not what it is about.
PRESENTATION: Final = frozenset({"page_size", "cursor", "response_format"})
# Arguments that the envelope shows as `period`.
TIME: Final = frozenset({"period", "from", "to"})


def text(longest: int, description: str = "") -> Keywords:
    """Text of at most so many characters. Empty text counts as a missing argument."""
    limits: dict[str, Json] = {"maxLength": longest}
    return Keywords(**limits, description=description) if description else Keywords(**limits)


def one_of(*values: str, description: str = "") -> Keywords:
    """One of these values: the keys of a table, or choices in this order."""
    choices: dict[str, Json] = {"enum": list(values)}
    return Keywords(**choices, description=description) if description else Keywords(**choices)


def number_limits(lowest: float, highest: float) -> Keywords:
    """A number from the lowest to the highest."""
    return Keywords(minimum=lowest, maximum=highest)


Name: TypeAlias = Annotated[str, text(100)]
Query: TypeAlias = Annotated[
    str, text(200, "All of these words; quotes for a phrase"), Keywords(minLength=1)
]
UserName: TypeAlias = Annotated[str, text(254, "Id, external id, e-mail or name")]
CompanyName: TypeAlias = Annotated[str, text(254, "Id, domain or name")]
AgentName: TypeAlias = Annotated[str, text(254, "AI agent: id or name")]
Detail: TypeAlias = Literal["concise", "detailed"]
PageSize: TypeAlias = Annotated[int, number_limits(1, 50)]
PeriodName: TypeAlias = Literal[
    "today",
    "yesterday",
    "last_7_days",
    "last_14_days",
    "last_30_days",
    "last_60_days",
    "last_90_days",
    "last_180_days",
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
]


@dataclass(frozen=True, slots=True)
class TimeRange:
    """The arguments of a period; the default of `period` is the period without any of them."""

    period: PeriodName
    from_: (
        Annotated[str, text(40, "Date, RFC 3339 time, or days from today such as -30d")] | None
    ) = None
    to: Annotated[str, text(40, "As from; a date is included")] | None = None


@dataclass(frozen=True, slots=True)
class Page:
    """The arguments of a list that continues."""

    page_size: PageSize = 10
    cursor: Annotated[str, text(1024)] | None = None


ALL_TIME: Final = TimeRange("all_time")
LAST_7_DAYS: Final = TimeRange("last_7_days")
LAST_30_DAYS: Final = TimeRange("last_30_days")
PAGE: Final = Page()
PAGE_OF_MESSAGES: Final = Page(page_size=30)
