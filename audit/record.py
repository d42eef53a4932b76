"""The one writer of audit rows.

A call without side effects is written once, when it is over. A call with side effects is begun
before it runs and finished by one UPDATE, so that a crash in between leaves a row that says so
(`finish_interrupted` names it). What is written never holds a credential: callers pass ids, and
text is made storable here.
"""

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from datetime import datetime, timedelta
from functools import partial
from operator import attrgetter, gt
from typing import Any, Final
from uuid import UUID

from django.db import connection
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from audit.outcomes import ActorKind, Outcome
from foundation import peer
from foundation.carrier import carrier
from foundation.fibers import elsewhere
from foundation.ids import uuid7
from foundation.statements import Statement
from foundation.storable import UNSTORABLE, escape_unstorable, storable_json


@carrier
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


@carrier
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


@carrier
class Ending:
    """How it ended. `duration_us` in microseconds."""

    outcome: Outcome
    reason: str = ""
    layer: str = ""
    detail: str = ""
    duration_us: int | None = None
    upstream_status: int | None = None
    row_count: int | None = None

    def over(self, elapsed: int, *, about: str = "") -> "Ending":
        """This ending after so many microseconds, with what is said beside its detail."""
        return Ending(
            outcome=self.outcome,
            reason=self.reason,
            layer=self.layer,
            detail="; ".join(filter(None, (about, self.detail))),
            duration_us=elapsed,
            upstream_status=self.upstream_status,
            row_count=self.row_count,
        )


# Columns of one name are as long in both tables.
_LENGTHS: Final[Mapping[str, int]] = {
    item.name: item.max_length
    for model in (SecurityEvent, ActionExecution)
    for item in model._meta.concrete_fields
    if item.max_length
}


def _texts(of: type, *but: str) -> tuple[str, ...]:
    """The fields that are columns of text."""
    return tuple(one.name for one in fields(of) if one.name in _LENGTHS and one.name not in but)


# Written out, on the hot path: the ORM would compile the same statements anew for every row.
_ACTOR: Final = _texts(Actor, "kind")
_ACT: Final = _texts(Act)
_ENDING: Final = _texts(Ending, "outcome")
_COLUMNS: Final = (*_ACTOR, *_ACT, *_ENDING)
_FIGURES: Final = ("duration_us", "upstream_status", "row_count")
_INSERTED: Final = ("id", "started_at", "actor_kind", "arguments", "outcome", *_FIGURES, *_COLUMNS)
_SET: Final = ", ".join(f"{name} = %s" for name in ("outcome", *_FIGURES, *_ENDING))
INSERT: Final = Statement(
    f"INSERT INTO action_executions ({', '.join(_INSERTED)})"  # noqa: S608  our names
    f" VALUES ({', '.join(['%s'] * len(_INSERTED))})"
)
FINISH: Final = Statement(
    # As a value: written out, PostgreSQL takes the index of what is unfinished, and reads it all.
    f"UPDATE action_executions SET {_SET} WHERE id = %s AND outcome = %s"  # noqa: S608  our names
)
_of_actor: Final = attrgetter(*_ACTOR)
_of_act: Final = attrgetter(*_ACT)
_of_ending: Final = attrgetter(*_ENDING)
_figures: Final = attrgetter(*_FIGURES)


def execution(actor: Actor, act: Act, ending: Ending) -> UUID:
    """Write one finished row; returns its id."""
    key = uuid7()
    INSERT.rows(
        key,
        act.started_at,
        actor.kind.value,
        storable_json(act.arguments),
        ending.outcome.value,
        *_figures(ending),
        *_fitted(_COLUMNS, (*_of_actor(actor), *_of_act(act), *_of_ending(ending))),
    )
    return key


def begin(actor: Actor, act: Act) -> UUID:
    """Write the row of a call with side effects before it runs; returns the id for `finish`."""
    return execution(actor, act, Ending(outcome=Outcome.STARTED))


def finish(execution_id: UUID, ending: Ending) -> None:
    """Say how a begun call ended; a row that is finished already stays as it is."""
    told = _fitted(_ENDING, _of_ending(ending))
    FINISH.rows(ending.outcome.value, *_figures(ending), *told, execution_id, Outcome.STARTED.value)


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
    given = {
        "kind": kind,
        "address_prefix": peer.prefix(address),
        "subject": subject,
        "organization_id": organization_id,
        "client_id": client_id,
        "user_id": user_id,
        "detail": detail,
    }
    fitted = dict(zip(given, _fitted(tuple(given), tuple(given.values())), strict=True))
    event = SecurityEvent(minute=now.replace(second=0, microsecond=0), **fitted)
    elsewhere(partial(_count, event, now))


def _count(event: SecurityEvent, now: datetime) -> None:
    # One statement that inserts or counts up: a read and a write would lose counts in a race.
    items = event._meta.concrete_fields
    columns = ", ".join(item.attname for item in items)
    marks = ", ".join(["%s"] * len(items))
    values = [item.get_db_prep_save(item.pre_save(event, add=True), connection) for item in items]
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO security_events ({columns}) VALUES ({marks})"  # noqa: S608  our names
            " ON CONFLICT (kind, minute, address_prefix, subject)"
            " DO UPDATE SET count = security_events.count + 1, last_at = %s",
            [*values, connection.ops.adapt_datetimefield_value(now)],
        )


def _fitted(columns: tuple[str, ...], texts: tuple[str, ...]) -> Sequence[str]:
    """The texts as their columns can hold them.

    A name that a client made up may be longer than its column, or hold what no database stores;
    the row matters more.
    """
    too_long = any(map(gt, map(len, texts), map(_LENGTHS.__getitem__, columns)))
    if not too_long and UNSTORABLE.search("".join(texts)) is None:
        return texts
    return [
        str(escape_unstorable(text))[: _LENGTHS[column]]
        for column, text in zip(columns, texts, strict=True)
    ]
