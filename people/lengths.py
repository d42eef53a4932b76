"""How long a request for time off is: the working time of its days."""

from datetime import date

from people import calendars, working_time
from people.calendars import Holidays
from people.employment_history import EmploymentHistory, find_history
from people.models import HolidayTreatment, TimeOff
from people.working_time import NOTHING, Amount


def amount(
    row: TimeOff,
    start: date,
    end: date,
    *,
    history: EmploymentHistory | None = None,
    holidays: Holidays | None = None,
) -> Amount:
    """Returns the working time that a request takes between two days, both included.

    Each day counts by the working pattern and the holiday calendar that the person has on it. The
    employment and the holidays are read unless they are given.
    """
    history = history or find_history(row.person)
    counted = row.category.public_holidays == HolidayTreatment.INCLUDE
    first, last = max(start, row.start_date), min(end, row.end_date)
    if holidays is None and not counted:
        holidays = calendars.find_holidays_of([history], first, last)[row.person_id]
    free = {} if counted or holidays is None else holidays
    parts = [
        working_time.amount(
            working_time.week_of(terms.working_pattern),
            free,
            begins,
            ends,
            is_from_half_day=row.is_from_half_day and begins == row.start_date,
            is_to_half_day=row.is_to_half_day and ends == row.end_date,
        )
        for terms, begins, ends in history.divide(first, last)
    ]
    return Amount(sum((one.days for one in parts), NOTHING), sum(one.minutes for one in parts))
