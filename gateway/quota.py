"""The monthly quota of an organization: calls are counted before they run, in one statement."""

from dataclasses import dataclass
from datetime import UTC, date, datetime
from typing import Final
from uuid import UUID

from django.conf import settings
from django.db.models import F
from django.utils import timezone

from audit import record
from foundation.db.statements import Statement
from foundation.ids import uuid7
from foundation.peer import UNKNOWN
from gateway.models import MonthlyUsage

# In per cent of the quota.
WARNINGS: Final = (50, 75, 90)
NO_LIMIT: Final = 2**62
# A plan without a number has no limit; an organization without a plan has the default.
LIMIT: Final = Statement("""
SELECT COALESCE(monthly_calls, %s) FROM gateway_plan WHERE organization_id = %s
""")
# The row itself is the counter, and its condition the limit: two processes cannot both take the
# last call. Returns no row at the limit.
TAKE: Final = Statement("""
INSERT INTO gateway_monthlyusage (id, organization_id, month, calls, warned_at)
VALUES (%s, %s, %s, 1, 0)
ON CONFLICT (organization_id, month) DO UPDATE SET calls = gateway_monthlyusage.calls + 1
 WHERE gateway_monthlyusage.calls < %s
RETURNING calls, warned_at
""")


@dataclass(frozen=True, slots=True)
class QuotaUsage:
    """The calls of this month; `limit` is None without one."""

    used: int
    limit: int | None

    @property
    def remaining(self) -> int | None:
        return None if self.limit is None else max(self.limit - self.used, 0)

    @property
    def percent(self) -> int:
        if self.limit is None:
            return 0
        return 100 if not self.limit else min(self.used * 100 // self.limit, 100)


def take(organization_id: UUID) -> bool:
    """Counts one call of this month (UTC); returns False without counting at the limit."""
    limit = _limit(organization_id)
    if not limit:
        return False
    row = TAKE.row(uuid7(), organization_id, this_month().isoformat(), limit)
    if row is None:
        return False
    calls, warned_at = row
    if limit != NO_LIMIT:
        _warn(organization_id, calls, warned_at, limit)
    return True


def give_back(organization_id: UUID) -> None:
    """Takes back one call of this month that was counted and is not made."""
    rows = MonthlyUsage.objects.filter(organization=organization_id, month=this_month())
    rows.filter(calls__gt=0).update(calls=F("calls") - 1)


def usage(organization_id: UUID) -> QuotaUsage:
    """Returns the calls of this month (UTC) and the limit."""
    rows = MonthlyUsage.objects.filter(organization=organization_id, month=this_month())
    return QuotaUsage(rows.values_list("calls", flat=True).first() or 0, limit_of(organization_id))


def limit_of(organization_id: UUID) -> int | None:
    """Returns the calls that an organization may make in a month; None without a limit."""
    limit = _limit(organization_id)
    return None if limit == NO_LIMIT else limit


def this_month() -> date:
    return timezone.now().astimezone(UTC).date().replace(day=1)


def next_month() -> datetime:
    """Returns when the count begins again."""
    first = this_month()
    year, month = divmod(first.year * 12 + first.month, 12)
    return datetime(year, month + 1, 1, tzinfo=UTC)


def _limit(organization_id: UUID) -> int:
    row = LIMIT.row(NO_LIMIT, organization_id)
    return int(row[0]) if row else settings.HALO_GATEWAY_MONTHLY_CALLS or NO_LIMIT


def _warn(organization_id: UUID, calls: int, warned_at: int, limit: int) -> None:
    """Records once a month that a share of the quota is used."""
    reached = max((one for one in WARNINGS if calls * 100 >= limit * one), default=0)
    if reached <= warned_at:
        return
    rows = MonthlyUsage.objects.filter(organization=organization_id, month=this_month())
    if rows.filter(warned_at__lt=reached).update(warned_at=reached):
        record.security_event(
            "quota_warning",
            address=UNKNOWN,
            subject=str(organization_id),
            organization_id=str(organization_id),
            detail=f"{reached} per cent of {limit} calls used",
        )
