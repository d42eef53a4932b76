"""The days that HR records may name, and which day it is for a person."""

from datetime import date
from typing import Final
from zoneinfo import ZoneInfo

from django.utils import timezone
from django.utils.translation import gettext as _

from people.models import ReferenceItem
from workspace.models import Organization

FIRST_DAY: Final = date(1970, 1, 1)
LAST_DAY: Final = date(2999, 12, 31)
FIRST_DAY_OF_BIRTH: Final = date(1900, 1, 1)


def bounds_message(day: date) -> str:
    """Returns what is wrong with a day before FIRST_DAY or after LAST_DAY; else an empty text."""
    if FIRST_DAY <= day <= LAST_DAY:
        return ""
    return _("The day must be from %(first)s to %(last)s.") % {"first": FIRST_DAY, "last": LAST_DAY}


def birth_message(day: date) -> str:
    """Returns what is wrong with a day before FIRST_DAY_OF_BIRTH or after today; else ""."""
    if day < FIRST_DAY_OF_BIRTH:
        return _("The day must be from %s on.") % FIRST_DAY_OF_BIRTH
    return _("The day is in the future.") if day > timezone.localdate() else ""


def get_zone(organization: Organization, work_place: ReferenceItem | None = None) -> ZoneInfo:
    """Returns the time zone of a work place; without one of its own, that of the organization."""
    own = work_place.time_zone if work_place else ""
    return ZoneInfo(own or organization.time_zone)


def today(organization: Organization, work_place: ReferenceItem | None = None) -> date:
    """Returns the present day of an organization, or of the people of a work place."""
    return timezone.localdate(timezone=get_zone(organization, work_place))
