"""Texts in the form of a date that name no day of the calendar, such as 2027-02-29."""

import re
from datetime import date
from typing import Final

# The date of a date, or of an RFC 3339 time.
DAY: Final = re.compile(r"\s*([0-9]{4}-[0-9]{2}-[0-9]{2})(?![0-9])")


def missing_day_message(text: object) -> str:
    """Returns "2027-02-29 does not exist." for such a text; an empty text for every other value."""
    found = DAY.match(text) if isinstance(text, str) else None
    if found is None:
        return ""
    try:
        date.fromisoformat(found[1])
    except ValueError:
        return f"{found[1]} does not exist."
    return ""
