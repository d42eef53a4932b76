"""How a connection is used, read from the audit log; calls write nothing for this."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.db.models import CharField, Func, Subquery, Sum
from django.utils import timezone

from audit import reasons
from audit.models import ActionExecution, SecurityEvent
from audit.outcomes import Outcome
from foundation import ids
from workspace.models import row_key

WINDOW: Final = timedelta(days=7)
# Beyond this many a person only needs to know "many", and the page stays cheap for the busiest.
MAX_CALLS: Final = 1_000
MAX_SEARCHED: Final = 20_000

# BETWEEN, and not "=": with an equality PostgreSQL may take the primary key for the order, and for
# a connection that is never used read the whole table backwards. A range leaves it nothing but the
# index on (authorization_id, id), whose first entry is the newest.
USAGE: Final = """
WITH wanted (id) AS (VALUES {wanted})
SELECT newest.id, newest.authorization_id, newest.started_at,
       (SELECT count(*)
          FROM (SELECT entry.id
                  FROM action_executions entry
                 WHERE entry.authorization_id BETWEEN wanted.id AND wanted.id
                   AND entry.method = 'tools/call'
                 ORDER BY entry.authorization_id DESC, entry.id DESC
                 LIMIT %s) AS latest_call
         WHERE latest_call.id >= %s) AS calls
  FROM wanted
  JOIN action_executions newest
    ON newest.id = (SELECT entry.id
                      FROM action_executions entry
                     WHERE entry.authorization_id BETWEEN wanted.id AND wanted.id
                     ORDER BY entry.authorization_id DESC, entry.id DESC
                     LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class ConnectionUsage:
    """The last request on record, and the tool calls of the last 7 days, at most MAX_CALLS."""

    last_at: datetime | None = None
    calls: int = 0


NEVER_USED: Final = ConnectionUsage()


@dataclass(frozen=True, slots=True)
class RecentCall:
    """A tool call as its user sees it; `explanation` is empty for one that succeeded."""

    at: datetime
    tool: str
    outcome: str
    succeeded: bool
    explanation: str
    remedy: str


def recent(authorization_id: UUID, *, limit: int) -> list[RecentCall]:
    """The newest tool calls of an authorization, refused ones included."""
    rows = ActionExecution.objects.filter(
        authorization_id=str(authorization_id), method="tools/call"
    )
    return [_recent_call(row) for row in rows.order_by("-id")[:limit]]


def count_answered(authorization_id: str, detail: str, since: datetime, until: datetime) -> int:
    """Returns how many calls of a connection succeeded in a period and have this detail on record.

    At most MAX_CALLS of them are counted.
    """
    rows = ActionExecution.objects.filter(
        authorization_id=authorization_id,
        id__gte=ids.first_key(since),
        id__lt=ids.first_key(until),
        outcome=Outcome.SUCCESS,
        detail=detail,
    )
    return len(rows.values_list("id")[:MAX_CALLS])


def arguments_of_calls(
    organization_id: UUID, surface: str, *, limit: int
) -> list[tuple[str, Mapping[str, Any]]]:
    """Returns tool and recorded arguments of the newest tool calls through a surface.

    Only the newest MAX_SEARCHED calls of the organization are searched.
    """
    newest = ActionExecution.objects.filter(organization_id=str(organization_id)).order_by("-id")
    oldest = newest.values_list("id", flat=True)[MAX_SEARCHED : MAX_SEARCHED + 1].first()
    if oldest is not None:
        newest = newest.filter(id__gt=oldest)
    calls = newest.filter(surface=surface, method="tools/call")
    return [*calls.values_list("tool", "arguments")[:limit]]


def _recent_call(row: ActionExecution) -> RecentCall:
    why = reasons.explanation(row)
    return RecentCall(
        at=row.started_at,
        tool=row.tool,
        outcome=str(row.get_outcome_display()),
        succeeded=row.outcome == Outcome.SUCCESS,
        explanation=str(why.what),
        remedy=str(why.remedy),
    )


def summarize(authorization_ids: Sequence[UUID]) -> Mapping[UUID, ConnectionUsage]:
    """The usage of each of these authorizations that has a row, in one statement for all."""
    if not authorization_ids:
        return {}
    statement = USAGE.format(wanted=", ".join(["(%s)"] * len(authorization_ids)))
    since = row_key(ids.first_key(timezone.now() - WINDOW))
    given = [*map(str, authorization_ids), MAX_CALLS, since]
    rows: Iterable[Any] = ActionExecution.objects.raw(statement, given)
    return {UUID(row.authorization_id): ConnectionUsage(row.started_at, row.calls) for row in rows}


class KeyText(Func):
    """A key of a row as the text that audit rows have of it."""

    function, template = "CAST", "%(function)s(%(expressions)s AS text)"
    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **more: Any) -> Any:
        """SQLite stores keys without hyphens."""
        key = "%(expressions)s"
        parts = ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12))
        text = " || '-' || ".join(f"substr({key}, {at}, {size})" for at, size in parts)
        return super().as_sql(compiler, connection, template=f"({text})", **more)


def last_request(column: str, key: Any) -> Subquery:
    """The time of the last request on record whose column has a value of the outer row.

    A subquery with a limit, which no database turns into a join: it reads one entry of the index
    on (column, id) for each row of the outer query. The range has the reason of `USAGE`.
    """
    rows = ActionExecution.objects.filter(**{f"{column}__range": (key, key)})
    return Subquery(rows.order_by(f"-{column}", "-id").values("started_at")[:1])


def count_failed_second_steps(user_id: str, since: datetime) -> int:
    """Returns how often a code or passkey of a person was refused since a time."""
    events = SecurityEvent.objects.filter(kind="second_step_failed", user_id=user_id)
    total: int | None = events.filter(last_at__gte=since).aggregate(n=Sum("count"))["n"]
    return total or 0


def has_event_since(
    kinds: Collection[str], subject: str, organization_id: str, since: datetime
) -> bool:
    """Returns whether one of these security events happened to a subject after a time."""
    events = SecurityEvent.objects.filter(subject=subject, organization_id=organization_id)
    return events.filter(kind__in=kinds, last_at__gt=since).exists()
