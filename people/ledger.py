"""Why a balance is what it is: its lines, each with days that are added or taken away."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from typing import Final

from django.db import models
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from people.allowances import DAYS_OF_FULL_TIME, AllowancePart, CarryRules
from people.leave_years import LeaveYear
from people.models import AbsenceStatus, EntryType, LeavePolicy, LedgerEntry, TimeOff


class LineKind(models.TextChoices):
    """What a line of the ledger is."""

    GRANTED = "granted", gettext_lazy("Granted")
    CARRIED = "carried", gettext_lazy("Carried over")
    CORRECTED = "corrected", gettext_lazy("Corrected")
    EXPIRED = "expired", gettext_lazy("Expired")
    TAKEN = "taken", gettext_lazy("Taken")
    PENDING = "pending", gettext_lazy("Pending")


KINDS_OF_ENTRIES: Final[Mapping[str, LineKind]] = {
    EntryType.ALLOWANCE_GRANT: LineKind.GRANTED,
    EntryType.CARRY_OVER: LineKind.CARRIED,
    EntryType.MANUAL_ADJUSTMENT: LineKind.CORRECTED,
    EntryType.CORRECTION: LineKind.CORRECTED,
    EntryType.EXPIRED: LineKind.EXPIRED,
}


@dataclass(frozen=True, slots=True)
class CarriedDays:
    """What was left of the leave year before, and the rules for carrying it over."""

    year_before: LeaveYear
    remaining: Decimal
    rules: CarryRules


@dataclass(frozen=True, slots=True)
class LedgerLine:
    """Days that are added to a balance, or taken away if negative; at most one source is given.

    `entry_type` is that of the entry, or the one that calculated days would have as an entry.
    """

    kind: LineKind
    first_day: date
    last_day: date
    days: Decimal
    part: AllowancePart | None = None
    entry: LedgerEntry | None = None
    request: TimeOff | None = None
    carried: CarriedDays | None = None
    entry_type: EntryType | None = None

    @property
    def text(self) -> str:
        """How the days were counted, or where they come from."""
        if self.part is not None:
            return _describe_part(self.part)
        if self.carried is not None:
            return _describe_carried(self.carried)
        if self.entry is not None:
            return str(self.entry.get_entry_type_display())
        if self.kind == LineKind.EXPIRED:
            return _("Carried over, and not taken until %s") % self.last_day
        return str(self.request.get_status_display()) if self.request else str(self.kind.label)

    @property
    def policy(self) -> LeavePolicy | None:
        """The leave policy that grants the days, if one does."""
        return None if self.part is None else self.part.policy


def merge_requests(
    lines: Sequence[LedgerLine], first_day: date, last_day: date
) -> Sequence[LedgerLine]:
    """Returns the lines with those of requests merged, one for each kind, and the same sums.

    The days are those of the leave year: the days of a single request would say which it is.
    """
    found = [line for line in lines if line.request is None]
    for kind in (LineKind.TAKEN, LineKind.PENDING):
        if merged := [line for line in lines if line.request is not None and line.kind == kind]:
            total = sum((line.days for line in merged), Decimal(0))
            found.append(LedgerLine(kind, first_day, last_day, total))
    return found


def build_part_line(part: AllowancePart, days: Decimal) -> LedgerLine:
    return LedgerLine(LineKind.GRANTED, part.starts_on, part.ends_on, days, part=part)


def build_entry_line(entry: LedgerEntry) -> LedgerLine:
    kind, day = KINDS_OF_ENTRIES[entry.entry_type], entry.effective_date
    entry_type = EntryType(entry.entry_type)
    return LedgerLine(kind, day, day, entry.amount_days, entry=entry, entry_type=entry_type)


def build_carried_line(carried: CarriedDays) -> LedgerLine:
    """Returns the line of what is carried over into a leave year, on its first day."""
    day, days = carried.year_before.resets_on, carried.rules.limit(carried.remaining)
    kind, entry_type = LineKind.CARRIED, EntryType.CARRY_OVER
    return LedgerLine(kind, day, day, days, carried=carried, entry_type=entry_type)


def build_expired_line(day: date, lines: Sequence[LedgerLine], used: Decimal) -> LedgerLine:
    """Returns the line of the carried days that were not taken until a day, zero if all were.

    Carried days are taken before others. `used` are the days of requests until that day. What was
    entered as expired has expired already.
    """
    kinds = (LineKind.CARRIED, LineKind.EXPIRED)
    left = sum((one.days for one in lines if one.kind in kinds and one.first_day <= day), -used)
    days = -max(left, Decimal(0))
    return LedgerLine(LineKind.EXPIRED, day, day, days, entry_type=EntryType.EXPIRED)


def build_request_line(request: TimeOff, first: date, last: date, days: Decimal) -> LedgerLine:
    """Returns the line of what a request takes between two days."""
    kind = LineKind.TAKEN if request.status == AbsenceStatus.APPROVED else LineKind.PENDING
    first_day, last_day = max(first, request.start_date), min(last, request.end_date)
    return LedgerLine(kind, first_day, last_day, -days, request=request)


def _describe_part(part: AllowancePart) -> str:
    words = _("%(days)s days a year")
    if part.length != part.year_length:
        words += _(", for %(length)s of %(year)s days")
    if part.days_a_week != DAYS_OF_FULL_TIME:
        words += _(", with %(week)s days a week of %(full)s")
    figures = {
        "days": f"{float(part.days_a_year):g}",
        "length": part.length,
        "year": part.year_length,
        "week": part.days_a_week,
        "full": DAYS_OF_FULL_TIME,
    }
    return f"{words % figures}: {float(round(part.exact, 2)):g}"


def _describe_carried(carried: CarriedDays) -> str:
    year, rules = carried.year_before, carried.rules
    if carried.remaining < 0:
        words = _("Taken too much from %(first)s to %(last)s: %(left)s")
    else:
        words = _("Left from %(first)s to %(last)s: %(left)s, carried over at most: %(most)s")
    if rules.taken_until and carried.remaining > 0:
        words += _(", taken until %(until)s")
    figures = {
        "first": year.starts_on,
        "last": year.ends_on,
        "left": f"{float(abs(carried.remaining)):g}",
        "most": f"{float(rules.most_days):g}",
        "until": rules.taken_until,
    }
    return words % figures
