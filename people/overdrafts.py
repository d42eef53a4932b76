"""Requests that take more days than are left: refused, warned about or accepted, by policy."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.utils.translation import gettext as _

from people import balances
from people.changes import RefusedChange
from people.leave_years import LeaveYear
from people.models import LeavePolicy, OverdraftRule, TimeOff


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
    found = []
    for left in balances.list_left(row):
        remaining = left.balance.remaining_in_the_end
        if remaining >= 0:
            continue
        is_of_its_days = left.year.starts_on <= row.end_date
        # In the present year only if the request takes something of it.
        if is_of_its_days or left.balance_without.remaining_in_the_end != remaining:
            found.append(Overdraft(left.year, -remaining))
    return found
