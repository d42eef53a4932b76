"""A change of a request for time off as the person reads it who approves it.

The record in words: who, which days, how long, which category, what becomes of what, and what is
left of each allowance that changes.
"""

from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from typing import Any, Final, TypeAlias

from foundation.text.folding import remove_invisible
from people import allowances, balances, days, disclosure, leave_years
from people.api.operation import CheckedCall
from people.balances import CategoryBalance
from people.leave_years import LeaveYear
from people.mcp.projections import redact
from people.models import CategoryKind, Person, TimeOff, TimeOffCategory

BALANCE_SCOPE: Final = "time_off:read"
MAX_SHOWN: Final = 200
# By leave year and category.
Allowances: TypeAlias = Mapping[tuple[LeaveYear, str], CategoryBalance]


def find_request(call: CheckedCall, key: object) -> TimeOff:
    """Returns a request with its category. Raises RecordNotFound."""
    return call.row(TimeOff, key, "category", "person__organization")


def read_allowances(call: CheckedCall, rows: Sequence[TimeOff]) -> Allowances:
    """Returns the allowances of one person in the leave years of requests, and in the present one.

    What is left of a closed year is carried over.
    There are none for a key that may not read balances.
    """
    if BALANCE_SCOPE not in call.key.scopes:
        return {}
    settings = leave_years.find_settings(call.organization_id)
    related = ("working_pattern", "organization")
    person = call.row(Person, rows[0].person_id, *related)
    dates = sorted(day for row in rows for day in (row.start_date, row.end_date))
    if dates[0] < (today := days.today(person.organization)):
        dates.append(today)
    years = dict.fromkeys(leave_years.find_year(settings, day) for day in dates)
    return {
        (year, one.category.pk): one
        for year in years
        for one in disclosure.limit_balance(balances.balance(person, year.starts_on)).categories
    }


def describe(
    old: TimeOff | None, new: TimeOff, current: Allowances, changed: Allowances
) -> list[str]:
    """Returns the lines; without an old request, the new one is made.

    `current` are those without the change, `changed` those with it.
    """
    parts: Mapping[str, Callable[[TimeOff], str]] = {
        "Days": _days_in_words,
        "Length": lambda row: _count_days(row.amount_days),
        "Category": _category_in_words,
        "Status": lambda row: row.status,
    }
    lines = []
    for title, read in parts.items():
        before, after = read(old or new), read(new)
        lines.append(f"{title}: {after if before == after else f'{before} becomes {after}'}")
    return [*lines, *_describe_allowances(current, changed), *_describe_past(new)]


def format_value(value: Any) -> str:
    """Returns a value on one line, so that no text of a record looks like another field."""
    if isinstance(value, bool):
        return "yes" if value else "no"
    text = "nothing" if value is None else " ".join(remove_invisible(str(value)).split())
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."


def _days_in_words(row: TimeOff) -> str:
    words = f"{row.start_date:%A %Y-%m-%d}"
    if row.end_date != row.start_date:
        words = f"{words} to {row.end_date:%A %Y-%m-%d}"
    halves = {"first": row.is_from_half_day, "last": row.is_to_half_day}
    return "".join(
        (words, *(f", half of the {one} day" for one, is_half in halves.items() if is_half))
    )


def _count_days(number: Decimal) -> str:
    return f"{float(number):g} {'day' if number == 1 else 'days'}"


def _category_in_words(row: TimeOff) -> str:
    """The name if the organization allows it; else what the category is."""
    category = row.category
    organization_id = category.organization_id
    policies = allowances.list_policies(organization_id, [category])[category.pk]
    base = allowances.find_days_a_year(category, policies, row.start_date)
    allowance = _count_days(base)
    words = {
        CategoryKind.SICKNESS: "sickness",
        CategoryKind.OTHER: "taken from no allowance",
        CategoryKind.ALLOWANCE: f"taken from an allowance of {allowance}",
    }[category.kind]
    name = _name_of(category)
    return f"{name}, {words}" if name else words


def _name_of(category: TimeOffCategory) -> str:
    is_named = category.name_for_ai == category.name
    return format_value(redact(category.name)) if is_named else ""


def _describe_allowances(before: Allowances, after: Allowances) -> Sequence[str]:
    """What is left of each allowance that changes."""
    if not after:
        return ()
    lines = []
    for (year, key), new in after.items():
        old = before.get((year, key))
        if old is None or old.remaining == new.remaining:
            continue
        name = _name_of(new.category) or f"the allowance of {_count_days(new.base_allowance)}"
        line = (
            f"Left of {name}, {year.starts_on} to {year.ends_on}: {float(old.remaining):g} of "
            f"{_count_days(old.allowance + old.adjustment)} now, {float(new.remaining):g} "
            "afterwards. Pending requests are subtracted."
        )
        lines.append(f"{line} More is taken than there is." if new.remaining < 0 else line)
    return lines or ["No allowance changes."]


def _describe_past(row: TimeOff) -> Sequence[str]:
    organization = row.person.organization
    today = days.today(organization)
    year = leave_years.find_year(leave_years.find_settings(organization.pk), today)
    if row.end_date < year.starts_on:
        return ("These days are in a leave year that has ended.",)
    return ("The last of these days is in the past.",) if row.end_date < today else ()
