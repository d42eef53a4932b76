"""How much a connection is used, read off the audit trail: no call writes anything for this."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from django.utils import timezone

from audit.models import ActionExecution
from workspace.models import row_key

WINDOW: Final = timedelta(days=7)
# Beyond this many a person only needs to know "many", and the page stays cheap for the busiest.
MOST_CALLS: Final = 1_000

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
                 ORDER BY entry.authorization_id, entry.id DESC
                 LIMIT %s) AS latest_call
         WHERE latest_call.id >= %s) AS calls
  FROM wanted
  JOIN action_executions newest
    ON newest.id = (SELECT entry.id
                      FROM action_executions entry
                     WHERE entry.authorization_id BETWEEN wanted.id AND wanted.id
                     ORDER BY entry.authorization_id, entry.id DESC
                     LIMIT 1)
"""


@dataclass(frozen=True, slots=True)
class Usage:
    """The last request on record, and the tool calls of the last 7 days, at most MOST_CALLS."""

    last_at: datetime | None = None
    calls: int = 0


NEVER_USED: Final = Usage()


def of(authorization_ids: Sequence[UUID]) -> Mapping[UUID, Usage]:
    """The usage of each of these authorizations that has a row, in one statement for all."""
    if not authorization_ids:
        return {}
    statement = USAGE.format(wanted=", ".join(["(%s)"] * len(authorization_ids)))
    since = row_key(_first_key(timezone.now() - WINDOW))
    given = [*map(str, authorization_ids), MOST_CALLS, since]
    rows: Iterable[Any] = ActionExecution.objects.raw(statement, given)
    return {UUID(row.authorization_id): Usage(row.started_at, row.calls) for row in rows}


def _first_key(moment: datetime) -> UUID:
    """The smallest key a row of this moment can have (RFC 9562 section 5.7)."""
    return UUID(int=int(moment.timestamp() * 1000) << 80)
