"""The rows of turns: why each ended and what it cost. They outlive their session.

The budget of a day counts them, so that deleting sessions does not give it back.
"""

from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from django.db.models import Sum
from django.utils import timezone

from agents.callers import NAME
from agents.loop import INTERRUPTED
from agents.models import SessionTurn
from agents.models_port import MICROS, ModelUsage
from agents.protocol.events import StopReason, TurnStopEvent
from audit import record
from audit.outcomes import ActorKind, Outcome
from audit.record import Actor, Execution
from oauth import server_keys

METHOD: Final = "session/turn"


class BudgetUsed(Exception):
    """A budget of the day is used up; `seconds` until the next day."""

    def __init__(self, seconds: int) -> None:
        super().__init__(seconds)
        self.seconds = seconds


def require_budget(budget: Decimal | None, **turns: Any) -> None:
    """Raises BudgetUsed if these turns of the day have cost as much as they may."""
    if budget is None:
        return
    now = timezone.now().astimezone(UTC)
    today = datetime(now.year, now.month, now.day, tzinfo=UTC)
    counted = SessionTurn.objects.filter(started_at__gte=today, has_own_key=False, **turns)
    spent = counted.aggregate(micros=Sum("cost_micros"))["micros"] or 0
    if spent >= budget * MICROS:
        raise BudgetUsed(int((today + timedelta(days=1) - now).total_seconds()) + 1)


def store_usage(turn_id: UUID, usage: ModelUsage) -> None:
    """Stores what a turn has used so far, also of one that has ended or lost its session."""
    SessionTurn.objects.filter(pk=turn_id).update(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_micros=usage.cost_micros,
        is_measured=usage.is_measured,
    )


def mark_unmeasured(turn_id: UUID) -> None:
    """Marks a turn that may have used more than is stored."""
    SessionTurn.objects.filter(pk=turn_id).update(is_measured=False)


def end(turn_id: UUID, stop: TurnStopEvent) -> None:
    """Stores the end of a turn, and records it in the audit log. A turn ends once."""
    rows = SessionTurn.objects.filter(pk=turn_id)
    ended_at = timezone.now()
    if not rows.filter(ended_at__isnull=True).update(
        ended_at=ended_at, stop_reason=stop.reason, error=stop.error[:500]
    ):
        return
    turn = rows.get()
    execution = Execution(
        actor_kind=ActorKind.API_KEY,
        surface=NAME,
        method=METHOD,
        tool=turn.agent,
        started_at=turn.started_at,
        duration_us=(ended_at - turn.started_at) // timedelta(microseconds=1),
        outcome=_outcome(stop),
        detail=_detail(turn, stop),
    )
    record.insert_call(_actor(turn), execution)


def _actor(turn: SessionTurn) -> Actor:
    key_id = str(turn.key_id)
    key = server_keys.find(key_id, server_keys.AGENT_KINDS)
    return Actor(
        organization_id=str(turn.organization_id),
        client_id=key_id,
        client_name=key.name if key else "",
        authorization_id=key_id,
        token_id=key_id,
    )


def _outcome(stop: TurnStopEvent) -> Outcome:
    if stop.reason is not StopReason.ERROR:
        return Outcome.SUCCESS
    return Outcome.INTERRUPTED if stop.error == INTERRUPTED else Outcome.TOOL_ERROR


def _detail(turn: SessionTurn, stop: TurnStopEvent) -> str:
    parts = (
        f"session {turn.session_id}; turn {turn.pk}" if turn.session_id else f"turn {turn.pk}",
        f"model {turn.model}",
        f"{turn.input_tokens} input tokens, {turn.output_tokens} output tokens",
        f"{turn.cost_micros / MICROS:.4f} USD",
        stop.reason,
        stop.error,
    )
    return "; ".join(filter(None, parts))
