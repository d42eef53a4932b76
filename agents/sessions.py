"""The rows of sessions: created, read, continued and deleted. One turn runs at a time.

A turn holds a lease on its session, which its process renews. A process that dies leaves it
behind: once it has expired, whoever needs the session next ends the turn. What the turn had stored
stays, and the result of a call that may have run is unknown: no call is made twice.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import timedelta
from typing import Any, Final, TypeAlias
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import BigIntegerField, Exists, Max, OuterRef, Q, QuerySet, Value
from django.db.models.functions import Cast, Left, NullIf, StrIndex
from django.utils import timezone

from agents import turns
from agents.loop import INTERRUPTED
from agents.models import Session, SessionMessage, SessionTurn
from agents.models_port import ModelCompletion, ModelUsage
from agents.protocol.compaction import compacted_places
from agents.protocol.events import StopReason, TurnStopEvent
from agents.protocol.requests import ClientTool, Message, ServerTool, TurnRequest
from agents.protocol.resolution import UNKNOWN_RESULT, Resolved, ToolCall, pending
from approvals import requests as approvals
from approvals.models import ApprovalRequest
from foundation import journal, sealing
from foundation.db.storable import escape_unstorable
from foundation.json_text import dumps
from foundation.resealing import SealedColumn
from foundation.sealing import SealBroken

log = structlog.get_logger(__name__)

LEASE: Final = timedelta(seconds=60)
PAGE: Final = 100
# Turns that one run of the task ends.
MAX_ENDED: Final = 500
ID: Final = re.compile(r"sess_[0-9a-f]{32}")
# The kind of an entry in the journal.
TURN_END: Final = "agents.turn_end"


class Busy(Exception):
    """Another turn of the session runs."""


class LeaseLost(Exception):
    """The session was deleted, or another turn has it."""


class AlreadySent(Exception):
    """A request with this idempotency key was sent before; `turn` is its turn."""

    def __init__(self, turn: SessionTurn, *, is_same: bool) -> None:
        super().__init__(turn.pk)
        self.turn, self.is_same = turn, is_same


@dataclass(frozen=True, slots=True)
class Sent:
    """How a turn was requested: its model, the secret options, its idempotency key and digest."""

    model: str
    secrets: Mapping[str, str] = field(default_factory=dict, repr=False)
    has_own_key: bool = False
    key: str = ""
    digest: str = ""


# Returns what the client has sent for the calls that wait in a session.
Resolve: TypeAlias = Callable[[Session, list[ToolCall]], list[Resolved]]


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose sessions these are: of another key, they do not exist."""

    organization_id: UUID
    key_id: UUID


def is_id(text: str) -> bool:
    return ID.fullmatch(text) is not None


def find(owner: Owner, session_id: str) -> Session | None:
    """Returns a session of the owner, or None. Ends a turn of it whose process has died."""
    found = _owned_sessions(owner).filter(pk=session_id).first() if is_id(session_id) else None
    if found is not None and _is_abandoned(found):
        _end_abandoned(found.pk)
    return found


def page(owner: Owner, after: str, *, is_newest_first: bool = False) -> tuple[list[str], str]:
    """Returns a page of the ids of sessions, and the cursor of the next one."""
    rows = _owned_sessions(owner).order_by("-pk" if is_newest_first else "pk")
    if after:
        rows = rows.filter(pk__lt=after) if is_newest_first else rows.filter(pk__gt=after)
    found = list(rows.values_list("pk", flat=True)[: PAGE + 1])
    return found[:PAGE], found[PAGE - 1] if len(found) > PAGE else ""


def _owned_sessions(owner: Owner) -> QuerySet[Session]:
    return Session.objects.filter(organization_id=owner.organization_id, key_id=owner.key_id)


def messages(session_id: str) -> list[Message]:
    """Returns the history of a session, exactly as it was stored."""
    rows = SessionMessage.objects.filter(session=session_id).order_by("position")
    return list(rows.values_list("content", flat=True))


def page_of_messages(
    session_id: str, before: int | None, limit: int | None
) -> tuple[list[Message], int | None]:
    """Returns the newest messages, at most so many, and the position to read older ones before."""
    rows = SessionMessage.objects.filter(session=session_id).order_by("-position")
    if before is not None:
        rows = rows.filter(position__lt=before)
    found = list(rows.values_list("position", "content")[: limit and limit + 1])
    page = found[:limit]
    cursor = page[-1][0] if len(found) > len(page) else None
    return [content for _position, content in reversed(page)], cursor


def waiting_calls(session_id: str) -> list[ToolCall]:
    """Returns the calls of a session that have no result yet."""
    rows = SessionMessage.objects.filter(session=session_id).order_by("-position")
    last = rows.filter(content__role="assistant").values_list("position", flat=True).first()
    if last is None:
        return []
    tail = rows.filter(position__gte=last).values_list("content", flat=True)
    return pending(list(reversed(tail)))


def read_history(
    session_id: str, budget: int
) -> tuple[list[Message], list[Mapping[str, Any] | None]]:
    """Returns the compacted history of a session, with the state of each message."""
    rows = SessionMessage.objects.filter(session=session_id).order_by("position")
    found = list(rows.values_list("content", "state"))
    kept = compacted_places([content for content, _state in found], budget)
    states = [None if place is None else found[place][1] for _message, place in kept]
    return [message for message, _place in kept], states


def named_calls(session_id: str, calls: Sequence[ToolCall]) -> dict[str, str]:
    """Returns a name of each call of the last response, by its id.

    The name is used nowhere else, in whatever session. Models may use the id of a call again.
    """
    responses = SessionMessage.objects.filter(session=session_id, content__role="assistant")
    last = responses.order_by("-position").values_list("pk", flat=True).first()
    return {call.id: f"{last}/{call.id}" for call in calls}


def message_of_call(name: str) -> int:
    """Returns the key of the message with a call, from the name of the call."""
    return int(name.partition("/")[0])


def is_call_in_session() -> Q:
    """Returns which requests for approval are for calls in sessions that exist.

    The name of a call begins with the key of its message (`named_calls`).
    """
    slash = StrIndex(OuterRef("call"), Value("/"))
    message = Cast(NullIf(Left(OuterRef("call"), slash - 1), Value("")), BigIntegerField())
    return Q(Exists(SessionMessage.objects.filter(pk=message)))


def find_approval_requests(
    session: Session, waiting: Sequence[ToolCall]
) -> dict[str, ApprovalRequest]:
    """Returns the requests for approval of calls that wait in a session, by the id of the call."""
    if not waiting:
        return {}
    names = named_calls(session.pk, waiting)
    rows = approvals.list_by_calls(session.organization_id, list(names.values()))
    by_name = {row.call: row for row in rows}
    return {call: by_name[name] for call, name in names.items() if name in by_name}


@transaction.atomic
def delete(session: Session) -> None:
    """Deletes a session. Calls of it that wait for an approval are not made any more."""
    # Before its turns and messages, as a turn that stores something does.
    if Session.objects.select_for_update().filter(pk=session.pk).first() is None:
        return
    prepare_deletion([session.pk])
    session.delete()


def prepare_deletion(session_ids: Sequence[str]) -> None:
    """Withdraws the calls of locked sessions that wait, and empties what tells of requests."""
    own = Session.objects.filter(pk__in=session_ids).order_by()
    for organization_id in own.values_list("organization", flat=True).distinct():
        # An organization has few calls that wait; the histories of its sessions may be long.
        waiting = approvals.list_waiting_calls(organization_id)
        of_messages = SessionMessage.objects.filter(
            pk__in={message_of_call(call) for call in waiting}, session__in=session_ids
        )
        ours = set(of_messages.values_list("pk", flat=True))
        calls = [call for call in waiting if message_of_call(call) in ours]
        approvals.withdraw(approvals.list_by_calls(organization_id, calls))
    # What a turn cost stays; what tells of its request does not.
    turns_of = SessionTurn.objects.filter(session__in=session_ids)
    turns_of.update(idempotency_key="", request_digest="", granted=[])


def secrets_of(session: Session) -> dict[str, str]:
    """Returns the secret options of a session; none if the key that sealed them was removed."""
    if not session.sealed_options:
        return {}
    try:
        opened = sealing.unseal(bytes(session.sealed_options), context=_context(session))
    except SealBroken:
        log.warning("session_options_unreadable", session=session.pk)
        return {}
    found: dict[str, str] = json.loads(opened)
    return found


def _seal(session: Session, secrets: Mapping[str, str]) -> None:
    kept = {name: value for name, value in secrets.items() if value}
    sealed = sealing.seal(dumps(kept), context=_context(session)) if kept else b""
    session.sealed_options = sealed


def _context(session: Session) -> bytes:
    return f"agents.session:{session.pk}".encode()


def _reseal(session: Session, sealed: bytes) -> None:
    Session.objects.filter(pk=session.pk).update(sealed_options=sealed)


SEALED: Final = SealedColumn(
    name="secret options of agent sessions",
    rows=lambda: Session.objects.exclude(sealed_options=b"").only("sealed_options"),
    read=lambda session: bytes(session.sealed_options),
    write=_reseal,
    context=_context,
)


@transaction.atomic
def create(owner: Owner, agent: str, turn: TurnRequest, sent: Sent) -> tuple[Session, SessionTurn]:
    """Stores a session with the history that it begins with, and its first turn."""
    session = Session(
        organization_id=owner.organization_id,
        key_id=owner.key_id,
        agent=agent,
        tools=stored_tools(turn.tools or ()),
        options=dict(turn.options or {}),
        client_tools=stored_client_tools(turn.client_tools or ()),
    )
    _seal(session, sent.secrets)
    session.save(force_insert=True)
    return session, _begin(session, turn.messages, sent)


@transaction.atomic
def begin(
    session_id: str, turn: TurnRequest, sent: Sent, resolve: Resolve
) -> tuple[Session, SessionTurn, list[Resolved]]:
    """Stores the next turn and what the client has sent, and leases the session.

    `resolve` gets the session and the calls that wait in it. Raises Busy, AlreadySent, and what
    `resolve` raises; nothing is stored then.
    """
    session = Session.objects.select_for_update().get(pk=session_id)
    if sent.key and (before := session.turns.filter(idempotency_key=sent.key).first()):
        raise AlreadySent(before, is_same=before.request_digest == sent.digest)
    if session.turn_id is not None:
        raise Busy
    resolved = resolve(session, waiting_calls(session_id))
    if turn.tools is not None:
        session.tools = stored_tools(turn.tools)
    if turn.client_tools is not None:
        session.client_tools = stored_client_tools(turn.client_tools)
    session.options |= turn.options or {}
    if sent.secrets:
        _seal(session, {**secrets_of(session), **sent.secrets})
    stored = [one for one in turn.messages if one["role"] != "tool_permission"]
    granted = [
        one.call.id for one in resolved if one.permission is not None and one.permission.is_granted
    ]
    return session, _begin(session, stored, sent, granted), resolved


def _begin(
    session: Session, stored: Sequence[Message], sent: Sent, granted: Sequence[str] = ()
) -> SessionTurn:
    turn = SessionTurn.objects.create(
        organization_id=session.organization_id,
        key_id=session.key_id,
        agent=session.agent,
        session=session,
        granted=list(granted),
        model=sent.model,
        has_own_key=sent.has_own_key,
        idempotency_key=sent.key,
        request_digest=sent.digest,
    )
    session.turn_id, session.leased_until = turn.pk, timezone.now() + LEASE
    session.updated_at = timezone.now()
    session.save()
    _append(session.pk, turn.pk, stored)
    return turn


def _append(session_id: str, turn_id: UUID, messages: Sequence[Message], state: Any = None) -> None:
    """The session is locked, or leased by the turn."""
    rows = SessionMessage.objects.filter(session=session_id)
    last = rows.aggregate(last=Max("position"))["last"]
    first = 0 if last is None else last + 1
    storable: Any = escape_unstorable(list(messages))
    SessionMessage.objects.bulk_create(
        SessionMessage(
            session_id=session_id,
            turn_id=turn_id,
            position=first + number,
            content=one,
            state=state,
        )
        for number, one in enumerate(storable)
    )


def renew(session_id: str, turn_id: UUID) -> bool:
    """Keeps the session for the turn; False if the turn has lost it."""
    held = Session.objects.filter(pk=session_id, turn_id=turn_id)
    return bool(held.update(leased_until=timezone.now() + LEASE))


@transaction.atomic
def record_answer(
    session_id: str, turn_id: UUID, answer: ModelCompletion, usage: ModelUsage
) -> None:
    """Stores a message of the model, and what its turn has used so far. Raises LeaseLost."""
    _require_lease(session_id, turn_id)
    _append(session_id, turn_id, [answer.message], answer.state)
    turns.store_usage(turn_id, usage)


@transaction.atomic
def record_result(session_id: str, turn_id: UUID, message: Message) -> None:
    """Stores the result of a call. Raises LeaseLost."""
    _require_lease(session_id, turn_id)
    _append(session_id, turn_id, [message])


def end_turn(
    session_id: str,
    turn_id: UUID,
    stop: TurnStopEvent,
    usage: ModelUsage,
    partial: Message | None = None,
) -> None:
    """Ends the turn and its lease, now or once the database is back (`foundation/journal.py`)."""
    entry = {
        "session": session_id,
        "turn": str(turn_id),
        "reason": stop.reason,
        "error": stop.error,
        "usage": asdict(usage),
        "partial": partial,
    }
    journal.store(TURN_END, entry)


@transaction.atomic
def write_turn_end(entry: journal.Entry) -> None:
    """Ends a turn and its lease (`foundation.journal.Write`).

    After an error, calls that may have run have unknown results.
    """
    turn_id = UUID(entry["turn"])
    stop = TurnStopEvent(StopReason(entry["reason"]), entry["error"])
    rows = Session.objects.filter(pk=entry["session"], turn_id=turn_id)
    session = rows.select_for_update().first()
    if session is not None and stop.reason is StopReason.ERROR:
        _append_unknown(session)
    # An entry of an earlier version has no partial message.
    if session is not None and entry.get("partial"):
        _append(session.pk, turn_id, [entry["partial"]])
    turns.store_usage(turn_id, ModelUsage(**entry["usage"]))
    turns.end(turn_id, stop)
    if session is not None:
        _release(session)


def _is_abandoned(session: Session) -> bool:
    return session.leased_until is not None and session.leased_until <= timezone.now()


@transaction.atomic
def _end_abandoned(session_id: str) -> None:
    """Ends the turn of a process that has died."""
    session = Session.objects.select_for_update().filter(pk=session_id).first()
    if session is None or session.turn_id is None or not _is_abandoned(session):
        return
    _append_unknown(session)
    turns.mark_unmeasured(session.turn_id)
    turns.end(session.turn_id, TurnStopEvent(StopReason.ERROR, INTERRUPTED))
    _release(session)


def end_abandoned_turns() -> int:
    """Ends the turns of processes that have died, and returns how many."""
    expired = Session.objects.filter(leased_until__lte=timezone.now()).order_by("leased_until")
    keys = list(expired.values_list("pk", flat=True)[:MAX_ENDED])
    for key in keys:
        _end_abandoned(key)
    return len(keys)


def _append_unknown(session: Session) -> None:
    """Gives each waiting call that may have run a result: trusted ones, and permitted ones."""
    turn = session.turns.filter(pk=session.turn_id).first() if session.turn_id else None
    granted = set(turn.granted) if turn is not None else set()
    trusted = {one["name"] for one in session.tools if one["trust"]}
    waiting = waiting_calls(session.pk)
    # These run with their approval only.
    requested_calls = find_approval_requests(session, waiting)
    interrupted = [
        {"role": "tool", "toolCallId": call.id, "content": UNKNOWN_RESULT}
        for call in waiting
        if (call.id in granted or call.name in trusted) and call.id not in requested_calls
    ]
    if turn is not None and interrupted:
        _append(session.pk, turn.pk, interrupted)


def _release(session: Session) -> None:
    session.turn_id, session.leased_until = None, None
    session.updated_at = timezone.now()
    session.save(update_fields=["turn_id", "leased_until", "updated_at"])


def _require_lease(session_id: str, turn_id: UUID) -> None:
    """Locks the session. Raises LeaseLost unless the turn has it."""
    rows = Session.objects.select_for_update().filter(pk=session_id, turn_id=turn_id)
    if rows.values_list("pk").first() is None:
        raise LeaseLost


def stored_tools(tools: Sequence[ServerTool]) -> list[dict[str, Any]]:
    return [{"name": one.name, "trust": one.is_trusted} for one in tools]


def stored_client_tools(tools: Sequence[ClientTool]) -> list[dict[str, Any]]:
    return [
        {
            "name": one.name,
            **({"title": one.title} if one.title else {}),
            "description": one.description,
            "inputSchema": dict(one.input_schema),
        }
        for one in tools
    ]
