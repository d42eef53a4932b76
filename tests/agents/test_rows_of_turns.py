"""The rows of turns: recorded in the audit log, and kept when their session is deleted."""

from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents import sessions
from agents.models import AgentDefinition, LanguageModel, Session, SessionTurn
from agents.models_port import ModelUsage
from agents.protocol.events import StopReason, TurnStopEvent
from audit.models import ActionExecution
from customers.tasks import prune_data
from tests.agents import provider_server
from tests.agents.application import Application, says
from tests.agents.provider_server import Provider
from tests.agents.scripted import FAILED, Script, calls, text
from tests.agents.test_agents_in_admin import PAGE, form
from tests.agents.test_interrupted_turns import as_killed
from tests.agents.test_turns import SEARCH, start
from workspace import organizations
from workspace.models import User

pytestmark = pytest.mark.django_db


@pytest.fixture
def provider(app: Application) -> Iterator[Provider]:
    """A language model of the organization, of which each turn costs 12 dollars."""
    with provider_server.serving("openai") as served:
        add_model(app, served, name="of-all")
        yield served


def add_model(app: Application, served: Provider, *, name: str, **given: Any) -> LanguageModel:
    return LanguageModel.objects.create(
        organization=app.organization,
        provider="openai",
        model=name,
        base_url=served.url,
        input_price=Decimal(1_000_000),
        output_price=Decimal(0),
        **given,
    )


def turn_rows() -> list[ActionExecution]:
    return list(ActionExecution.objects.filter(method="session/turn").order_by("id"))


def test_each_turn_has_a_row_in_the_audit_log(app: Application, script: Script) -> None:
    session_id = start(app).session_id
    script.responses = [FAILED]
    app.turn(session_id, says("And now?"))
    done, failed = turn_rows()
    turn = SessionTurn.objects.earliest("pk")
    assert (done.surface, done.tool, done.outcome) == ("agents", "scripted", "success")
    assert (done.actor_kind, done.client_name) == ("api_key", app.row.name)
    assert (done.organization_id, done.token_id) == (str(app.organization.pk), str(app.row.pk))
    assert done.detail == (
        f"session {session_id}; turn {turn.pk}; model scripted; "
        "10 input tokens, 5 output tokens; 0.0000 USD; end_turn"
    )
    assert done.duration_us is not None
    assert (failed.outcome, "could not be reached" in failed.detail) == ("tool_error", True)


def test_an_interrupted_turn_is_recorded_once(app: Application, script: Script) -> None:
    script.responses = [calls(SEARCH), text("Found.")]
    session_id = start(app, server_tools={"search_docs": True}).session_id
    ActionExecution.objects.all().delete()
    as_killed(session_id, seconds=-1)
    for _time in range(2):
        app.history(session_id)
    [row] = turn_rows()
    assert (row.outcome, "interrupted" in row.detail) == ("interrupted", True)


def test_a_process_that_was_thought_dead_adds_what_it_has_used_and_no_second_end(
    app: Application, script: Script
) -> None:
    script.responses = [calls(SEARCH), text("Found.")]
    session_id = start(app, server_tools={"search_docs": True}).session_id
    ActionExecution.objects.all().delete()
    as_killed(session_id, seconds=-1)
    app.history(session_id)
    turn = SessionTurn.objects.get()
    sessions.end_turn(session_id, turn.pk, TurnStopEvent(StopReason.END_TURN), ModelUsage(70, 7, 9))
    turn.refresh_from_db()
    assert (turn.stop_reason, turn.input_tokens, turn.cost_micros) == ("error", 70, 9)
    assert [row.outcome for row in turn_rows()] == ["interrupted"]


def test_a_deleted_session_leaves_what_it_cost_and_nothing_that_was_said(
    app: Application, script: Script
) -> None:
    script.responses = [text("A secret answer.")]
    session_id = start(app).session_id
    app.turn(session_id, says("A secret question"), stream="none")
    headers = {"Idempotency_Key": "once"}
    app.send("POST", f"/session/{session_id}", {"messages": [says("More")]}, **headers)
    assert app.send("DELETE", f"/session/{session_id}").status == 204
    turns = SessionTurn.objects.all()
    assert [turn.input_tokens for turn in turns] == [10, 10, 10]
    assert {(turn.session_id, turn.agent, turn.key_id) for turn in turns} == {
        (None, "scripted", app.row.pk)
    }
    assert {(turn.idempotency_key, turn.request_digest) for turn in turns} == {("", "")}
    assert not Session.objects.exists()


def test_deleting_sessions_does_not_give_a_budget_back(
    app: Application, provider: Provider
) -> None:
    assert provider.requests == []
    LanguageModel.objects.update(daily_budget=20)
    for _turn in range(2):
        session_id = app.create().session_id
        app.send("DELETE", f"/session/{session_id}")
    assert app.create().status == 429


def test_an_agent_has_a_budget_and_a_model_of_its_own(
    app: Application, browser: Client, provider: Provider
) -> None:
    own = add_model(app, provider, name="of-one", is_used=False)
    given = form(app, language_model=str(own.pk), daily_budget="12")
    assert browser.post(f"{PAGE}add/", given).status_code == 302
    assert app.create(agent="support-agent").status == 201
    assert provider.requests[-1][1]["model"] == "of-one"
    refused = app.create(agent="support-agent")
    assert (refused.status, "budget" in refused.error) == (429, True)
    assert app.create(agent="ask-ai").status == 201
    assert provider.requests[-1][1]["model"] == "of-all"
    AgentDefinition.objects.update(daily_budget=None)
    own.delete()
    assert app.create(agent="support-agent").status == 201
    assert provider.requests[-1][1]["model"] == "of-all"


def test_a_model_of_another_organization_cannot_be_chosen(
    app: Application, browser: Client, provider: Provider
) -> None:
    owner = User.objects.get(email=browser.get("/admin/").wsgi_request.user.email)  # type: ignore[union-attr]  signed in
    theirs = organizations.create("Others", owner=owner)
    model = LanguageModel.objects.create(
        organization=theirs, provider="openai", model="x", base_url=provider.url
    )
    answer = browser.post(f"{PAGE}add/", form(app, language_model=str(model.pk)))
    assert {*answer.context["adminform"].form.errors} == {"language_model"}


def test_turns_of_deleted_sessions_are_deleted_after_the_retention_period(
    app: Application, script: Script, settings: Any
) -> None:
    assert script.requests == []
    settings.HALO_RETENTION_AGENT_SESSIONS_DAYS = 30
    ago = timezone.now() - timedelta(days=31)
    start(app)
    kept = start(app).session_id
    Session.objects.exclude(pk=kept).update(updated_at=ago)
    assert prune_data() == 1
    assert SessionTurn.objects.count() == 2
    SessionTurn.objects.filter(session=None).update(started_at=ago)
    assert prune_data() == 1
    assert [turn.session_id for turn in SessionTurn.objects.all()] == [kept]
