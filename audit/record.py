"""The one writer of audit rows.

A call without side effects is written once, when it is over. A call with side effects is begun
before it runs and finished by one UPDATE, so that a crash in between leaves a row that says so
(`finish_interrupted` names it). What is written never holds a credential: callers pass ids, and
text is made storable here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import connection
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from audit.outcomes import ActorKind, Outcome
from foundation import peer
from foundation.storable import escape_unstorable


@dataclass(frozen=True, slots=True, kw_only=True)
class Actor:
    """Who acted, on whose grant, from where; text ids only."""

    kind: ActorKind = ActorKind.MCP_CLIENT
    organization_id: str = ""
    client_id: str = ""
    client_name: str = ""
    user_id: str = ""
    user_email: str = ""
    authorization_id: str = ""
    token_id: str = ""
    address: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Act:
    """What was asked for."""

    method: str = ""
    tool: str = ""
    integration: str = ""
    action: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    bound_customer_id: str = ""
    request_id: str = ""
    revision: str = ""
    started_at: datetime = field(default_factory=timezone.now)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How it ended. `duration_us` in microseconds."""

    outcome: Outcome
    reason: str = ""
    layer: str = ""
    detail: str = ""
    duration_us: int | None = None
    upstream_status: int | None = None
    row_count: int | None = None


def execution(actor: Actor, act: Act, ending: Ending) -> UUID:
    """Write one finished row; returns its id."""
    row = ActionExecution(
        actor_kind=actor.kind, **_columns(actor, "kind"), **_columns(act), **_columns(ending)
    )
    _insert(row)
    return row.id


def begin(actor: Actor, act: Act) -> UUID:
    """Write the row of a call with side effects before it runs; returns the id for `finish`."""
    return execution(actor, act, Ending(outcome=Outcome.STARTED))


def finish(execution_id: UUID, ending: Ending) -> None:
    """Say how a begun call ended; a row that is finished already stays as it is."""
    begun = ActionExecution.objects.filter(pk=execution_id, outcome=Outcome.STARTED)
    begun.update(**_columns(ending))


def finish_interrupted(*, older_than: timedelta) -> int:
    """Mark what a crash left unfinished; returns how many rows."""
    stale = ActionExecution.objects.filter(
        outcome=Outcome.STARTED, started_at__lt=timezone.now() - older_than
    )
    return stale.update(outcome=Outcome.INTERRUPTED, reason="interrupted")


def security_event(
    kind: str,
    *,
    address: str,
    subject: str = "",
    organization_id: str = "",
    client_id: str = "",
    user_id: str = "",
    detail: str = "",
) -> None:
    """Count one event; `subject` only names what the request has proved to be."""
    now = timezone.now()
    given = _storable(
        {
            "kind": kind,
            "address_prefix": peer.prefix(address),
            "subject": subject,
            "organization_id": organization_id,
            "client_id": client_id,
            "user_id": user_id,
            "detail": detail,
        }
    )
    _count(SecurityEvent(minute=now.replace(second=0, microsecond=0), **given), now)


def _count(event: SecurityEvent, now: datetime) -> None:
    # One statement that inserts or counts up: a read and a write would lose counts in a race.
    _insert(
        event,
        "ON CONFLICT (kind, minute, address_prefix, subject) "
        "DO UPDATE SET count = security_events.count + 1, last_at = %s",
        connection.ops.adapt_datetimefield_value(now),
    )


def _insert(row: ActionExecution | SecurityEvent, otherwise: str = "", *more: Any) -> None:
    # Written out, on the hot path: the ORM would compile the same statement anew for every row.
    fields = row._meta.concrete_fields
    columns = ", ".join(item.attname for item in fields)
    marks = ", ".join(["%s"] * len(fields))
    values = [item.get_db_prep_save(item.pre_save(row, add=True), connection) for item in fields]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {row._meta.db_table} ({columns}) VALUES ({marks}) {otherwise}",  # noqa: S608  our names
            [*values, *more],
        )


def _columns(given: Actor | Act | Ending, *but: str) -> dict[str, Any]:
    """What is given, by column, fit to be stored."""
    return _storable({name: getattr(given, name) for name in given.__slots__ if name not in but})


def _storable(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _fitting(name, escape_unstorable(value)) for name, value in values.items()}


LENGTHS = {
    item.name: item.max_length
    for model in (ActionExecution, SecurityEvent)
    for item in model._meta.concrete_fields
    if item.max_length
}


def _fitting(name: str, value: Any) -> Any:
    # A name that a client made up may be longer than its column; the row matters more.
    return value[: LENGTHS[name]] if isinstance(value, str) and name in LENGTHS else value
