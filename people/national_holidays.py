"""The public holidays of countries and their regions, from the tables of python-holidays."""

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from threading import Lock
from typing import Final

from django.utils.translation import gettext as _

LANGUAGE: Final = "en_US"
# No table has holidays of a later year.
LAST_YEAR: Final = 2100
# Recording warnings replaces a function of the whole process.
_RECORDING: Final = Lock()


class UnknownRegion(Exception):
    """There is no table for this country or region."""


@dataclass(frozen=True, slots=True)
class NationalHoliday:
    """A day on which a country or region does not work, or works half."""

    date: date
    name: str
    is_half_day: bool


def list_regions(country_code: str) -> Sequence[str]:
    """Returns the codes of a country's regions, ISO 3166-2 without the country.

    Raises UnknownRegion for a country that has no table.
    """
    import holidays  # noqa: PLC0415  hundreds of modules, for admins who fill a calendar

    found = holidays.list_supported_countries().get(country_code)
    if found is None:
        raise UnknownRegion
    return found


def list_holidays(
    country_code: str, region: str, years: Iterable[int]
) -> Sequence[NationalHoliday]:
    """Returns the holidays of a country, or of one of its regions, in the order of their days.

    Those that are moved from a weekend are in the list on both days. Names are in English where
    the table has it, else in the country's language. Raises UnknownRegion.
    """
    return _read_table(country_code, region, years)[0]


def list_gaps(country_code: str, region: str, years: Sequence[int]) -> Sequence[str]:
    """Returns sentences about what is unknown: years without a holiday, and the table's warnings.

    Raises UnknownRegion.
    """
    found, warned = _read_table(country_code, region, years)
    known = {one.date.year for one in found}
    unknown = [_("No holidays are known for %d.") % year for year in years if year not in known]
    return [*unknown, *warned]


def _read_table(
    country_code: str, region: str, years: Iterable[int]
) -> tuple[Sequence[NationalHoliday], Sequence[str]]:
    """The holidays in the order of their days, and what the library warns of."""
    import holidays  # noqa: PLC0415  as above
    from holidays.constants import HALF_DAY, PUBLIC  # noqa: PLC0415  as above

    if region and region not in list_regions(country_code):
        raise UnknownRegion
    try:
        table = holidays.country_holidays(country_code)
    except NotImplementedError:
        raise UnknownRegion from None
    language = LANGUAGE if LANGUAGE in table.supported_languages else table.default_language
    with _RECORDING, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        names = {
            category: holidays.country_holidays(
                country_code,
                subdiv=region or None,
                years=years,
                language=language,
                categories=(category,),
            )
            for category in (HALF_DAY, PUBLIC)
            if category in table.supported_categories
        }
    found = {
        day: NationalHoliday(day, name, is_half_day=category == HALF_DAY)
        # A whole holiday takes the place of a half one on the same day.
        for category, of_category in names.items()
        for day, name in of_category.items()
    }
    messages = dict.fromkeys(
        str(one.message) for one in warned if issubclass(one.category, UserWarning)
    )
    return [found[day] for day in sorted(found)], list(messages)
