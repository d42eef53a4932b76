"""Requests that take more days than are left: refused, warned about or accepted, by policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from people import access, allowances, balances, days, leave_years
from people.changes import RefusedChange
from people.leave_years import LeaveYear
from people.models import LeavePolicy, OverdraftRule, Person, TimeOff


@dataclass(frozen=True, slots=True)
class Overdraft:
    """A leave year in which more days of a category are requested than there are."""

    year: LeaveYear
    days_over: Decimal

    @property
    def text(self) -> str:
        """In words, without the name of the category: AI clients are answered it too."""
        words = _(
            "This is more than is left of the allowance from %(first)s to %(last)s. Days too "
            "many: %(days)s."
        )
        days_over = f"{float(self.days_over):g}"
        return words % {"days": days_over, "first": self.year.starts_on, "last": self.year.ends_on}


def require_allowance(row: TimeOff, policy: LeavePolicy) -> None:
    """Raises RefusedChange if a saved request takes too many days, and its policy refuses that."""
    if policy.overdraft == OverdraftRule.REFUSED and (found := _list_overdrafts(row)):
        raise RefusedChange(found[0].text, "start_date")


def list_warnings(row: TimeOff, policy: LeavePolicy) -> Sequence[str]:
    """Returns what a saved request takes too much, unless its policy accepts that."""
    if policy.overdraft == OverdraftRule.ACCEPTED:
        return []
    return [one.text for one in _list_overdrafts(row)]


def _list_overdrafts(row: TimeOff) -> Sequence[Overdraft]:
    """The leave years in which less than nothing is left, with the request and all others.

    They are those of its days. One in a closed year also takes what was carried over into the
    present one.
    """
    category = row.category
    if not category.consumes_balance:
        return []
    settings = leave_years.find_settings(row.organization_id)
    policies = allowances.list_policies(row.organization_id, [category])[category.pk]
    related = ("working_pattern", "work_place")
    person = access.row(Person, row.organization_id, row.person_id, *related)

    def find_remaining(year: LeaveYear, without: TimeOff | None = None) -> Decimal:
        (use,) = balances.list_leave_use(
            [person], category, policies, year, year.ends_on, without=without
        )
        return use.balance.remaining_in_the_end

    last = leave_years.find_year(settings, row.end_date)
    years = leave_years.list_years(row.start_date, last)
    left = {year: find_remaining(year) for year in years}
    present = leave_years.find_year(settings, days.today(row.organization))
    if last.ends_on < present.starts_on:
        remaining = find_remaining(present)
        # Only if the request takes something of it.
        if remaining < 0 and find_remaining(present, without=row) != remaining:
            left[present] = remaining
    return [Overdraft(year, -days_left) for year, days_left in left.items() if days_left < 0]
