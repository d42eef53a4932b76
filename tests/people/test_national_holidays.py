"""Public holidays of countries and regions, as the library has them; days are from calendars."""

from datetime import date
from typing import Any

import pytest

from people import national_holidays
from people.national_holidays import NationalHoliday, UnknownRegion


def days(country_code: str, region: str, year: int) -> list[str]:
    found = national_holidays.list_holidays(country_code, region, [year])
    return [f"{one.date:%m-%d}" for one in found]


def test_a_region_has_holidays_that_its_country_has_not() -> None:
    # Women's Day in Berlin. In Bavaria Epiphany, All Saints' Day, and Corpus Christi, which is 60
    # days after Easter, 28 March.
    country, berlin, bavaria = (set(days("DE", region, 2027)) for region in ("", "BE", "BY"))
    assert berlin - country == {"03-08"}
    assert bavaria - country >= {"01-06", "05-27", "11-01"}
    assert "05-17" in country  # Whit Monday, 50 days after Easter


def test_a_holiday_on_a_weekend_has_its_substitute() -> None:
    # 25 and 26 December 2027 are Saturday and Sunday: in New Zealand Monday and Tuesday are free.
    assert {"12-25", "12-26", "12-27", "12-28"} <= set(days("NZ", "AUK", 2027))
    assert "12-27" not in days("DE", "BE", 2027)


def test_half_holidays_are_marked_and_names_are_english_whatever_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("LANGUAGE", "de")
    found = {one.date: one for one in national_holidays.list_holidays("IS", "", [2026])}
    eve = date(2026, 12, 24)
    assert found[eve] == NationalHoliday(eve, "Christmas Eve (from 1pm)", is_half_day=True)
    christmas = found[date(2026, 12, 25)]
    assert (christmas.name, christmas.is_half_day) == ("Christmas Day", False)
    (unity,) = (
        one for one in national_holidays.list_holidays("DE", "", [2026]) if one.date.month == 10
    )
    assert unity.name == "German Unity Day"


@pytest.mark.parametrize("place", [("XX", ""), ("", ""), ("DE", "Bayern"), ("", "BE")])
def test_a_place_without_a_table_is_unknown(place: Any) -> None:
    with pytest.raises(UnknownRegion):
        national_holidays.list_holidays(*place, [2026])
