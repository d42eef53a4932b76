"""The countries that records and reference data name, from the tables of Babel and phonenumbers."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

LOCALE: Final = "en"


@dataclass(frozen=True, slots=True)
class Country:
    """A country with its ISO 3166 code, the prefix of its telephone numbers and its currency."""

    country_code: str
    name: str
    phone_code: str
    currency_code: str
    currency: str

    @property
    def id(self) -> str:
        return id_of(self.country_code)


def id_of(country_code: str) -> str:
    """Returns the id of a country in the API."""
    return f"cty_{country_code.lower()}"


@cache
def list_all() -> Sequence[Country]:
    """Returns every country that has telephone numbers and a currency, by name."""
    from babel import Locale  # noqa: PLC0415  slow to import, and needed once
    from babel.numbers import get_territory_currencies  # noqa: PLC0415  the same
    from phonenumbers import COUNTRY_CODE_TO_REGION_CODE  # noqa: PLC0415  the same

    locale = Locale(LOCALE)
    prefixes = {
        code: f"+{prefix}"
        for prefix, codes in COUNTRY_CODE_TO_REGION_CODE.items()
        for code in codes
    }
    found = []
    for code in prefixes.keys() & locale.territories.keys():
        if currencies := get_territory_currencies(code):
            name, currency = locale.territories[code], currencies[0]
            found.append(Country(code, name, prefixes[code], currency, locale.currencies[currency]))
    return sorted(found, key=lambda country: country.name)


def choices() -> list[tuple[str, str]]:
    """Returns the countries as the choices of a field."""
    return [(country.country_code, country.name) for country in list_all()]
