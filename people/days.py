"""The days that HR records may name."""

from datetime import date
from typing import Final

from django.utils.translation import gettext as _

FIRST_DAY: Final = date(1970, 1, 1)
LAST_DAY: Final = date(2999, 12, 31)


def bounds_message(day: date) -> str:
    """Returns what is wrong with a day before FIRST_DAY or after LAST_DAY; else an empty text."""
    if FIRST_DAY <= day <= LAST_DAY:
        return ""
    return _("The day must be from %(first)s to %(last)s.") % {"first": FIRST_DAY, "last": LAST_DAY}
