"""Turns that end in the middle: no call is made twice, and the session goes on."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from agents import sessions
from agents.models import Session, SessionMessage, SessionTurn
from agents.models_port import ModelCompletion, ModelUsage
from agents.protocol.events import StopReason, TurnStopEvent
from audit.models import ActionExecution
from customers.tasks import prune_data
from foundation.ids import uuid7
from tests.agents.application import Application, permission, result, says, tool_rows
from tests.agents.scripted import Script, calls, text
from tests.agents.test_turns import MIXED, PLACE, SAMPLE, SEARCH, start

pytestmark = pytest.mark.django_db
UNKNOWN = "The result is unknown: the call was interrupted."


def as_killed(session_id: str, *, seconds: int) -> None:
    """The rows as a process leaves them that dies while the last turn's first call runs."""
    turn = SessionTurn.objects.filter(session=session_id).order_by("id").last()
    assert turn is not None
    rows = SessionMessage.objects.filter(session=session_id, turn=turn).order_by("position")
    first = next(row for row in rows if row.content["role"] == "tool")
    SessionMessage.objects.filter(session=session_id, position__gte=first.position).delete()
    SessionTurn.objects.filter(pk=turn.pk).update(ended_at=None, stop_reason="")
    until = timezone.now() + timedelta(seconds=seconds)
    Session.objects.filter(pk=session_id).update(turn_id=turn.pk, leased_until=until)


def results_of(app: Application, session_id: str, call_id: str) -> list[str]:
    return [
        one["content"]
        for one in app.history(session_id)
        if one["role"] == "tool" and one["toolCallId"] == call_id
    ]


def test_a_trusted_call_that_was_interrupted_is_not_made_again(
    app: Application, script: Script
) -> None:
    script.responses = [calls(SEARCH), text("Found."), text("And now this.")]
    session_id = start(app, server_tools={"search_docs": True}).session_id
    as_killed(session_id, seconds=-1)
    assert results_of(app, session_id, "c1") == [UNKNOWN]
    answer = app.turn(session_id, says("Go on"))
    assert answer.stop_reason == "end_turn"
    assert [one["role"] for one in script.requests[-1].history] == [
        *("user", "assistant", "tool", "user"),
    ]
    assert ActionExecution.objects.filter(tool="search_docs").count() == 1
    turn = SessionTurn.objects.order_by("id").first()
    assert turn is not None
    assert (turn.stop_reason, "interrupted" in turn.error) == ("error", True)


def test_a_permitted_call_that_was_interrupted_is_not_made_again(
    app: Application, script: Script
) -> None:
    script.responses = [calls(SAMPLE), text("Here it is."), text("And now this.")]
    session_id = start(app, **MIXED).session_id
    app.turn(session_id, permission("c2"))
    as_killed(session_id, seconds=-1)
    again = app.turn(session_id, permission("c2"))
    assert (again.status, "No call waits" in again.error) == (400, True)
    assert results_of(app, session_id, "c2") == [UNKNOWN]
    assert app.turn(session_id, says("Go on")).stop_reason == "end_turn"
    assert ActionExecution.objects.filter(tool="setup_get_jwt_sample").count() == 1


def test_calls_that_wait_for_the_client_still_wait_after_an_interruption(
    app: Application, script: Script
) -> None:
    script.responses = [calls(PLACE, SAMPLE, SEARCH), text("Sunny.")]
    session_id = start(app, **MIXED).session_id
    as_killed(session_id, seconds=-1)
    answer = app.turn(session_id, result("c3"), permission("c2"))
    assert answer.stop_reason == "end_turn"
    assert results_of(app, session_id, "c1") == [UNKNOWN]
    assert results_of(app, session_id, "c3") == ["Sunny"]
    assert ActionExecution.objects.filter(tool="setup_get_jwt_sample").count() == 1


def test_a_session_is_busy_until_its_lease_has_expired(app: Application, script: Script) -> None:
    script.responses = [calls(SEARCH), text("Found.")]
    session_id = start(app, server_tools={"search_docs": True}).session_id
    as_killed(session_id, seconds=30)
    assert app.turn(session_id, says("Go on")).status == 409
    assert results_of(app, session_id, "c1") == []
    as_of = Session.objects.get()
    assert as_of.turn_id is not None
    sessions.renew(session_id, as_of.turn_id)
    renewed = Session.objects.get().leased_until
    assert renewed is not None
    assert renewed > timezone.now() + sessions.LEASE / 2


def test_a_turn_that_has_lost_its_session_stores_nothing(app: Application, script: Script) -> None:
    session_id = start(app).session_id
    assert script.requests
    Session.objects.update(turn_id=uuid7(), leased_until=timezone.now() + sessions.LEASE)
    before = app.history(session_id)
    lost = SessionTurn.objects.get().pk
    late = ModelCompletion(says("Late"), StopReason.END_TURN)
    with pytest.raises(sessions.LeaseLost):
        sessions.record_answer(session_id, lost, late, ModelUsage())
    with pytest.raises(sessions.LeaseLost):
        sessions.record_result(session_id, lost, result("c1"))
    sessions.end_turn(session_id, lost, TurnStopEvent(StopReason.ERROR), ModelUsage())
    assert app.history(session_id) == before
    assert Session.objects.get().leased_until is not None


@pytest.mark.parametrize("limits", [{"tool_calls": 1}, {"tokens": 10}], ids=["calls", "tokens"])
def test_after_a_limit_the_session_goes_on_with_a_question(
    app: Application, script: Script, monkeypatch: pytest.MonkeyPatch, limits: dict[str, int]
) -> None:
    script.limit(monkeypatch, **limits)
    script.responses = [calls(SEARCH, PLACE), text("As you like.")]
    answer = start(app, **MIXED)
    assert answer.stop_reason in {"error", "max_tokens"}
    assert not tool_rows().exists()
    assert app.turn(answer.session_id, says("Go on")).status == 200
    for call_id in ("c1", "c3"):
        assert "not made" in results_of(app, answer.session_id, call_id)[0]


def test_sessions_are_deleted_after_their_retention_period(
    app: Application, script: Script, settings: Any
) -> None:
    old, new = start(app).session_id, start(app).session_id
    assert script.requests
    Session.objects.filter(pk=old).update(updated_at=timezone.now() - timedelta(days=31))
    assert prune_data() == 0
    settings.HALO_RETENTION_AGENT_SESSIONS_DAYS = 30
    assert prune_data() == 1
    assert [*Session.objects.values_list("pk", flat=True)] == [new]
    assert not SessionMessage.objects.filter(session=old).exists()
