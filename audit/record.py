"""Inserts audit rows and completes them; no other module does.

`audit/privacy.py` redacts what they say of an erased customer, and `audit/retention.py` deletes old
ones.

A call without side effects is written once, when it has finished. A call with side effects is
inserted before it runs and completed by one UPDATE. A crash in between leaves the row in the state
`started`; `finish_interrupted` marks it. What is known once a call has run is written through the
journal, so that no failure of the database loses it. Rows hold no credentials: callers pass ids.
Text that the database cannot store is escaped here.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from hashlib import sha256
from itertools import islice
from operator import attrgetter, le
from typing import Any, Final, Protocol
from uuid import UUID

import orjson
from django.db import connection
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from audit.outcomes import ActorKind, Outcome
from foundation import ids, journal, peer
from foundation.db.statements import Statement, Value
from foundation.db.storable import UNSTORABLE, escape_unstorable, storable_json


class CallerIdentity(Protocol):
    """Who makes a call; ids are written as text. A principal is one, and so is an `Actor`."""

    @property
    def organization_id(self) -> UUID | str: ...
    @property
    def client_id(self) -> str: ...
    @property
    def client_name(self) -> str: ...
    @property
    def user_id(self) -> UUID | str: ...
    @property
    def user_email(self) -> str: ...
    @property
    def authorization_id(self) -> UUID | str: ...
    @property
    def token_id(self) -> UUID | str: ...


@dataclass(frozen=True, slots=True)
class Actor:
    """Who makes a call without a credential of their own, such as an admin who approves it."""

    kind: ActorKind = ActorKind.MCP_CLIENT
    organization_id: str = ""
    client_id: str = ""
    client_name: str = ""
    user_id: str = ""
    user_email: str = ""
    authorization_id: str = ""
    token_id: str = ""
    address: str = ""


@dataclass(slots=True, kw_only=True)
class Execution:
    """One call as its row describes it, apart from who makes it. `duration_us` is in microseconds.

    Until the call is over, `outcome` is `started`, and what describes the outcome is empty.
    """

    actor_kind: ActorKind = ActorKind.MCP_CLIENT
    address: str = ""
    surface: str = ""
    method: str = ""
    tool: str = ""
    integration: str = ""
    action: str = ""
    arguments: Mapping[str, Any] = field(default_factory=dict)
    bound_customer_id: str = ""
    request_id: str = ""
    revision: str = ""
    started_at: datetime = field(default_factory=timezone.now)
    outcome: Outcome = Outcome.STARTED
    reason: str = ""
    layer: str = ""
    detail: str = ""
    duration_us: int | None = None
    upstream_status: int | None = None
    row_count: int | None = None


# In bytes of JSON (UTF-8). Ordinary calls take a few hundred.
MAX_BYTES: Final = 4096
# A summary contains small members, up to a total size.
MAX_KEPT_BYTES: Final = 2048
MAX_KEPT_MEMBER_BYTES: Final = 256
MAX_KEPT_MEMBERS: Final = 32

# The detail of the row that counts events without a free slot.
OTHER_DETAILS: Final = "other details"

# Columns of one name are as long in both tables.
_LENGTHS: Final[Mapping[str, int]] = {
    item.name: item.max_length
    for model in (SecurityEvent, ActionExecution)
    for item in model._meta.concrete_fields
    if item.max_length
}


# Raw SQL on the hot path: the ORM would compile the same statements again for every row.
_CALLER_IDS: Final = ("organization_id", "user_id", "authorization_id", "token_id")
_CALLER_TEXTS: Final = ("client_id", "client_name", "user_email")
_OUTCOME_TEXTS: Final = ("reason", "layer", "detail")
_TEXTS: Final = (
    *("address", "surface", "method", "tool", "integration", "action", "bound_customer_id"),
    *("request_id", "revision", *_OUTCOME_TEXTS),
)
_COLUMNS: Final = (*_CALLER_IDS, *_CALLER_TEXTS, *_TEXTS)
_FIGURES: Final = ("duration_us", "upstream_status", "row_count")
_INSERTED: Final = ("id", "started_at", "actor_kind", "arguments", "outcome", *_FIGURES, *_COLUMNS)
_SET: Final = ", ".join(f"{name} = %s" for name in ("outcome", *_FIGURES, *_OUTCOME_TEXTS))
INSERT: Final = Statement(
    f"INSERT INTO action_executions ({', '.join(_INSERTED)})"  # noqa: S608  our names
    # The row may be there: the connection failed before the answer to this statement came.
    f" VALUES ({', '.join(['%s'] * len(_INSERTED))}) ON CONFLICT DO NOTHING"
)
FINISH: Final = Statement(
    # Parameters: with a literal, PostgreSQL reads the whole index of unfinished calls. A row that
    # was marked as interrupted meanwhile gets the outcome that its process had.
    f"UPDATE action_executions SET {_SET} WHERE id = %s AND outcome IN (%s, %s)"  # noqa: S608  our names
)
# Kinds of entries in the journal.
ENDED_CALL: Final = "audit.ended_call"
OUTCOME: Final = "audit.outcome"
_caller_ids: Final = attrgetter(*_CALLER_IDS)
_caller_texts: Final = attrgetter(*_CALLER_TEXTS)
_texts: Final = attrgetter(*_TEXTS)
_outcome_texts: Final = attrgetter(*_OUTCOME_TEXTS)
_figures: Final = attrgetter(*_FIGURES)


def insert_call(caller: CallerIdentity, call: Execution) -> UUID:
    """Writes the row of a call and returns its id, which `finish` takes for one that only began.

    A rate-limited call is recorded without its arguments: nothing has read them, and a caller over
    its limit must not fill the disk.
    """
    key = ids.uuid7()
    INSERT.rows(key, call.started_at, *_new_row_values(caller, call))
    return key


def store_ended_call(caller: CallerIdentity, call: Execution) -> UUID:
    """Writes the row of a call that has run, through the journal, and returns its id.

    Raises NotStored.
    """
    key = ids.uuid7()
    row = [str(key), call.started_at.isoformat(), *_new_row_values(caller, call)]
    journal.store(ENDED_CALL, {"row": row})
    return key


def finish(execution_id: UUID, call: Execution) -> None:
    """Writes the outcome of a call that was recorded as started, unless it has one already.

    Through the journal. Raises NotStored.
    """
    texts = _fit_texts(_OUTCOME_TEXTS, _outcome_texts(call))
    columns = [call.outcome.value, *_figures(call), *texts]
    journal.store(OUTCOME, {"id": str(execution_id), "columns": columns})


def bind_journal() -> None:
    """Registers what writes the entries of this module; called at start-up."""
    journal.bind(ENDED_CALL, _write_ended_call)
    journal.bind(OUTCOME, _write_outcome)


def _write_ended_call(entry: journal.Entry) -> None:
    key, started_at, *columns = entry["row"]
    INSERT.rows(UUID(key), datetime.fromisoformat(started_at), *columns)


def _write_outcome(entry: journal.Entry) -> None:
    unfinished = (Outcome.STARTED.value, Outcome.INTERRUPTED.value)
    FINISH.rows(*entry["columns"], UUID(entry["id"]), *unfinished)


def _new_row_values(caller: CallerIdentity, call: Execution) -> tuple[Value, ...]:
    """The columns of a new row from the third on."""
    is_limited = call.outcome is Outcome.RATE_LIMITED
    texts = (*map(ids.text, _caller_ids(caller)), *_caller_texts(caller), *_texts(call))
    return (
        call.actor_kind.value,
        "{}" if is_limited else serialize_arguments(call.arguments),
        call.outcome.value,
        *_figures(call),
        *_fit_texts(_COLUMNS, texts),
    )


def finish_interrupted(*, older_than: timedelta) -> int:
    """Marks the calls that a crash left unfinished, and returns their number."""
    stale = ActionExecution.objects.filter(
        outcome=Outcome.STARTED, started_at__lt=timezone.now() - older_than
    )
    return stale.update(outcome=Outcome.INTERRUPTED, reason="interrupted")


def limits_unavailable() -> None:
    """Records that the store of rate limits does not answer (`foundation.limits`)."""
    security_event("limits_unavailable", address=peer.UNKNOWN)


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
    """Counts one event in the row of its kind, minute, address prefix, subject and detail.

    `subject` is an identity that the request has proved.
    """
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
    fitted = dict(zip(given, _fit_texts(tuple(given), tuple(given.values())), strict=True))
    minute = now.replace(second=0, microsecond=0)
    event = SecurityEvent(minute=minute, first_at=now, last_at=now, **fitted)
    _count(event)


_KEY: Final = ("kind", "minute", "address_prefix", "subject")
_GIVEN: Final = tuple(
    field.attname
    for field in SecurityEvent._meta.concrete_fields
    if field.attname not in {"detail", "slot"}
)
# A detail takes the slot that it has, else the first free one, else the shared one. Slots fill in
# order. When two different details take the same free slot at the same time, the second updates no
# row and is tried again; by then it sees the row of the first. Two slots have equal details once
# an erasure has redacted both.
_COUNT: Final = f"""
INSERT INTO security_events ({", ".join(_GIVEN)}, detail, slot)
WITH taken AS (
    SELECT slot, detail FROM security_events
     WHERE {" AND ".join(f"{name} = %s" for name in _KEY)}
), place AS (
    SELECT COALESCE(
        (SELECT MIN(slot) FROM taken WHERE detail = %s AND slot < {SecurityEvent.SHARED_SLOT}),
        (SELECT CASE WHEN count(*) < {SecurityEvent.SHARED_SLOT} THEN count(*)
                     ELSE {SecurityEvent.SHARED_SLOT} END FROM taken)
    ) AS slot
)
SELECT {", ".join(["%s"] * len(_GIVEN))},
       CASE WHEN slot < {SecurityEvent.SHARED_SLOT} THEN %s ELSE %s END, slot
  FROM place
 WHERE slot IS NOT NULL
ON CONFLICT ({", ".join(_KEY)}, slot)
DO UPDATE SET count = security_events.count + 1, last_at = excluded.last_at
 WHERE security_events.slot = {SecurityEvent.SHARED_SLOT}
    OR security_events.detail = excluded.detail
"""  # noqa: S608  our names


def _count(event: SecurityEvent) -> None:
    # One statement that inserts or increments: a read and a write would lose counts in a race.
    key, given = ([_prepare_value(event, name) for name in names] for names in (_KEY, _GIVEN))
    parameters = [*key, event.detail, *given, event.detail, OTHER_DETAILS]
    with connection.cursor() as cursor:
        for _ in range(SecurityEvent.SHARED_SLOT + 1):
            cursor.execute(_COUNT, parameters)
            if cursor.rowcount:
                return


def _prepare_value(event: SecurityEvent, name: str) -> Any:
    column: Any = SecurityEvent._meta.get_field(name)
    return column.get_db_prep_save(getattr(event, name), connection)


def _fit_texts(columns: tuple[str, ...], texts: tuple[str, ...]) -> Sequence[str]:
    """Returns the texts, escaped and cut to the length of their columns.

    A name that a client chose may be longer than its column, or hold characters that no database
    stores. The row is written all the same.
    """
    fits = all(map(le, map(len, texts), map(_LENGTHS.__getitem__, columns)))
    if fits and UNSTORABLE.search("".join(texts)) is None:
        return texts
    return [
        str(escape_unstorable(text))[: _LENGTHS[column]]
        for column, text in zip(columns, texts, strict=True)
    ]


def serialize_arguments(arguments: Mapping[str, Any]) -> str:
    """Returns the JSON text of the arguments column, at most MAX_BYTES long.

    Larger arguments are replaced by {"omitted": {"bytes", "sha256"}, "kept": {...}}: the length
    and digest of their canonical JSON, and their small top-level members.
    """
    text = storable_json(arguments)
    if len(text.encode()) <= MAX_BYTES:
        return text
    canonical = _canonical(arguments)
    omitted = {"bytes": len(canonical), "sha256": sha256(canonical).hexdigest()}
    return storable_json({"omitted": omitted, "kept": _small_members(arguments)})


def _canonical(arguments: Mapping[str, Any]) -> bytes:
    """JSON with sorted keys and without whitespace, in UTF-8."""
    try:
        return orjson.dumps(arguments, option=orjson.OPT_SORT_KEYS)
    except TypeError:
        # Integers beyond 64 bits, and lone surrogates, which have no UTF-8 form.
        value = escape_unstorable(arguments)
        text = json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
        return text.encode()


def _small_members(arguments: Mapping[str, Any]) -> dict[str, Any]:
    kept: dict[str, Any] = {}
    room = MAX_KEPT_BYTES
    for name, value in islice(arguments.items(), MAX_KEPT_MEMBERS):
        size = len(storable_json({name: value}).encode())
        if size <= min(room, MAX_KEPT_MEMBER_BYTES):
            kept[name] = value
            room -= size
    return kept
