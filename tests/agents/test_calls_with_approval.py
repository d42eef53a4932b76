"""Calls of an agent that wait for an admin's approval, whatever the application trusts."""

from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from agents.models import Session, SessionTurn
from approvals.models import ApprovalRequest, ApprovalStatus
from audit.models import ActionExecution
from audit.outcomes import ActorKind
from customers.tasks import prune_data
from foundation.admin_urls import row_url
from tests.agents.application import AgentAnswer, Application, permission, result, says
from tests.agents.scripted import Script, calls, text
from tests.agents.test_agents_in_admin import PAGE, form
from tests.agents.test_interrupted_turns import results_of
from tests.agents.test_turns import PLACE, SAMPLE, SEARCH, WEATHER, start
from tests.drivers.fixture_tools import LAB
from tools_registry import registry
from workspace.models import Membership, Role

pytestmark = pytest.mark.django_db
TRUSTED = {"setup_get_jwt_sample": True}


@pytest.fixture
def waiting(app: Application, script: Script, monkeypatch: pytest.MonkeyPatch) -> AgentAnswer:
    """A turn that has ended because a trusted call needs an approval."""
    script.change(monkeypatch, approval_tools=frozenset({"setup_get_jwt_sample"}))
    script.responses = [calls(SAMPLE), text("Here it is.")]
    return start(app, server_tools=TRUSTED)


def decide(browser: Client, word: str, note: str = "") -> ApprovalRequest:
    """An admin decides the newest request on its page."""
    row = ApprovalRequest.objects.latest("pk")
    address = row_url(row, word)
    assert browser.post(address, {"note": note}).status_code == 302
    row.refresh_from_db()
    return row


def statuses(app: Application, session_id: str) -> list[tuple[str, str]]:
    session = app.send("GET", f"/session/{session_id}").json
    return [(one["toolCallId"], one["status"]) for one in session.get("approvals", [])]


def count_executions() -> int:
    """How often the tool has run. The admin who approves a call runs it."""
    made = ActionExecution.objects.filter(tool="setup_get_jwt_sample", outcome="success")
    return made.filter(actor_kind=ActorKind.PERSON).count()


def test_an_approved_call_is_run_once_and_the_session_goes_on_with_its_result(
    app: Application, browser: Client, script: Script, waiting: AgentAnswer
) -> None:
    assert waiting.stop_reason == "tool_use"
    session_id = waiting.session_id
    assert statuses(app, session_id) == [("c2", "pending")]
    early = app.turn(session_id, permission("c2"))
    assert (early.stop_reason, ApprovalRequest.objects.count(), count_executions()) == (
        "tool_use",
        1,
        0,
    )
    assert decide(browser, "approve").status == ApprovalStatus.DONE
    assert statuses(app, session_id) == [("c2", "done")]
    answer = app.turn(session_id, permission("c2"), stream="message")
    assert answer.names == ["turn_start", "tool_result", "text", "turn_stop"]
    [given] = results_of(app, session_id, "c2")
    assert "jwt" in given.lower()
    assert script.requests[-1].history[-1] == result("c2", given)
    assert (count_executions(), statuses(app, session_id)) == (1, [])
    pending = ActionExecution.objects.filter(outcome="pending_approval")
    assert pending.count() == 2
    note = f"approval request {ApprovalRequest.objects.get().pk}"
    assert all(note in row.detail for row in pending)


def test_the_page_of_a_request_shows_the_call_and_who_wants_it(
    app: Application, browser: Client, waiting: AgentAnswer
) -> None:
    assert waiting.status == 201
    row = ApprovalRequest.objects.get()
    page = browser.get(row_url(row)).content.decode()
    for shown in (row.tool, "python", app.row.name):
        assert shown in page


@pytest.mark.parametrize("note", ["Ask me first", ""])
def test_a_rejected_call_is_not_run_and_the_model_reads_why(
    app: Application, browser: Client, script: Script, waiting: AgentAnswer, note: str
) -> None:
    decide(browser, "decline", note)
    answer = app.turn(waiting.session_id, permission("c2"))
    assert answer.stop_reason == "end_turn"
    assert (note or "No reason was given") in script.requests[-1].history[-1]["content"]
    assert count_executions() == 0


def test_a_request_that_nobody_decides_ends_as_rejected(
    app: Application, script: Script, waiting: AgentAnswer
) -> None:
    ApprovalRequest.objects.update(expires_at=timezone.now())
    assert statuses(app, waiting.session_id) == [("c2", "expired")]
    assert app.turn(waiting.session_id, permission("c2")).stop_reason == "end_turn"
    assert "not decided in time" in script.requests[-1].history[-1]["content"]


def test_a_result_can_be_fetched_weeks_later_and_the_call_is_not_made_again(
    app: Application, browser: Client, waiting: AgentAnswer
) -> None:
    decide(browser, "approve")
    ago = timezone.now() - timedelta(days=30)
    ApprovalRequest.objects.update(ended_at=ago, expires_at=ago)
    assert app.turn(waiting.session_id, permission("c2")).stop_reason == "end_turn"
    assert (count_executions(), ApprovalRequest.objects.count()) == (1, 1)


def test_the_outcome_of_a_call_is_kept_as_long_as_the_session_that_waits_for_it(
    app: Application, browser: Client, script: Script, waiting: AgentAnswer, settings: Any
) -> None:
    settings.HALO_RETENTION_AGENT_SESSIONS_DAYS = 0
    decide(browser, "approve")
    ApprovalRequest.objects.update(ended_at=timezone.now() - timedelta(days=401))
    assert prune_data() == 0
    assert app.turn(waiting.session_id, permission("c2")).stop_reason == "end_turn"
    assert "jwt" in script.requests[-1].history[-1]["content"].lower()
    assert (count_executions(), ApprovalRequest.objects.count()) == (1, 1)
    assert app.send("DELETE", f"/session/{waiting.session_id}").status == 204
    assert prune_data() == 1


def test_the_calls_of_a_session_that_is_deleted_after_its_period_are_withdrawn(
    app: Application, script: Script, waiting: AgentAnswer
) -> None:
    script.responses = [calls(SAMPLE)]
    other = start(app, server_tools=TRUSTED)
    ago = timezone.now() - timedelta(days=91)
    old = Session.objects.filter(pk=waiting.session_id)
    old.update(updated_at=ago)
    assert prune_data() == 1
    withdrawn, kept = ApprovalRequest.objects.order_by("pk")
    assert (withdrawn.status, kept.status) == (ApprovalStatus.DECLINED, ApprovalStatus.PENDING)
    assert statuses(app, other.session_id) == [("c2", "pending")]


def test_a_denial_of_the_application_withdraws_the_request(
    app: Application, browser: Client, script: Script, waiting: AgentAnswer
) -> None:
    app.turn(waiting.session_id, permission("c2", granted=False, reason="Too late"))
    assert script.requests[-1].history[-1] == result("c2", "Tool call denied: Too late")
    row = decide(browser, "approve")
    assert (row.status, row.note) == (ApprovalStatus.DECLINED, "The requester has withdrawn it.")
    assert count_executions() == 0


def test_a_denial_after_the_call_was_made_does_not_hide_its_result(
    app: Application, browser: Client, waiting: AgentAnswer
) -> None:
    decide(browser, "approve")
    app.turn(waiting.session_id, permission("c2", granted=False))
    [given] = results_of(app, waiting.session_id, "c2")
    assert "denied" not in given


def test_the_same_call_later_needs_an_approval_of_its_own(
    app: Application, browser: Client, script: Script, waiting: AgentAnswer
) -> None:
    decide(browser, "approve")
    script.responses = [calls(SAMPLE), text("Again.")]
    answer = app.turn(waiting.session_id, permission("c2"))
    assert answer.stop_reason == "tool_use"
    assert ApprovalRequest.objects.filter(status=ApprovalStatus.PENDING).count() == 1
    script.responses = [calls(SAMPLE)]
    other = start(app, server_tools=TRUSTED)
    assert other.stop_reason == "tool_use"
    assert ApprovalRequest.objects.filter(status=ApprovalStatus.PENDING).count() == 2
    assert count_executions() == 1


def test_an_untrusted_tool_needs_the_permission_before_the_approval(
    app: Application, browser: Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.change(monkeypatch, approval_tools=frozenset({"setup_get_jwt_sample"}))
    script.responses = [calls(SAMPLE), text("Here it is.")]
    session_id = start(app, server_tools={"setup_get_jwt_sample": False}).session_id
    assert not ApprovalRequest.objects.exists()
    assert app.turn(session_id, permission("c2")).stop_reason == "tool_use"
    decide(browser, "approve")
    assert app.turn(session_id, permission("c2")).stop_reason == "end_turn"


def test_other_calls_of_the_response_do_not_wait_for_the_approval(
    app: Application, browser: Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.change(monkeypatch, approval_tools=frozenset({"setup_get_jwt_sample"}))
    script.responses = [calls(PLACE, SAMPLE, SEARCH), text("Sunny.")]
    tools = TRUSTED | {"search_docs": True}
    session_id = start(app, server_tools=tools, tools=[WEATHER]).session_id
    assert len(results_of(app, session_id, "c1")) == 1
    answer = app.turn(session_id, result("c3"), permission("c2"))
    assert answer.stop_reason == "tool_use"
    decide(browser, "approve")
    assert app.turn(session_id, permission("c2")).stop_reason == "end_turn"
    stored = [one["toolCallId"] for one in app.history(session_id) if one["role"] == "tool"]
    assert stored == ["c1", "c3", "c2"]


def test_a_call_that_fails_once_it_is_approved_is_not_tried_again(
    app: Application, browser: Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.change(monkeypatch, approval_tools=frozenset({"fail"}))
    script.responses = [calls(("c2", "fail", {"how": "integration"})), text("It failed.")]
    with registry.including(LAB):
        session_id = start(app, server_tools={"fail": True}).session_id
        row = decide(browser, "approve")
        assert row.status != ApprovalStatus.DONE
        app.turn(session_id, permission("c2"))
    assert "approved and failed" in script.requests[-1].history[-1]["content"]
    page = browser.get(row_url(row)).content.decode()
    assert "Try again" not in page


def test_an_interrupted_turn_leaves_the_call_waiting_for_its_approval(
    app: Application, browser: Client, waiting: AgentAnswer
) -> None:
    turn = SessionTurn.objects.get()
    SessionTurn.objects.update(ended_at=None, stop_reason="")
    ended = timezone.now() - timedelta(seconds=1)
    Session.objects.update(turn_id=turn.pk, leased_until=ended)
    assert results_of(app, waiting.session_id, "c2") == []
    decide(browser, "approve")
    assert app.turn(waiting.session_id, permission("c2")).stop_reason == "end_turn"
    assert count_executions() == 1


def test_a_deleted_session_withdraws_its_requests(
    app: Application, browser: Client, waiting: AgentAnswer
) -> None:
    assert app.send("DELETE", f"/session/{waiting.session_id}").status == 204
    assert decide(browser, "approve").status == ApprovalStatus.DECLINED
    assert count_executions() == 0


def test_a_call_of_a_revoked_key_cannot_be_approved(
    app: Application, browser: Client, waiting: AgentAnswer
) -> None:
    assert waiting.status == 201
    app.row.revoked_at = timezone.now()
    app.row.save()
    row = decide(browser, "approve")
    assert (row.status, "has ended" in row.note) == (ApprovalStatus.DECLINED, True)
    assert count_executions() == 0


def test_a_text_of_the_person_does_not_end_the_wait(app: Application, waiting: AgentAnswer) -> None:
    answer = app.turn(waiting.session_id, says("Never mind"))
    assert (answer.status, "c2" in answer.error) == (400, True)
    assert statuses(app, waiting.session_id) == [("c2", "pending")]


@pytest.mark.usefixtures("documentation")
def test_an_admin_says_which_tools_need_an_approval(app: Application, browser: Client) -> None:
    given = form(app, approval_tools=["search_docs"])
    assert browser.post(f"{PAGE}add/", given).status_code == 302
    tools = {"search_docs": True}
    answer = app.create(agent="support-agent", server_tools=tools)
    assert answer.stop_reason == "tool_use"
    [(call, _status)] = statuses(app, answer.session_id)
    assert decide(browser, "approve").status == ApprovalStatus.DONE
    assert app.turn(answer.session_id, permission(call)).stop_reason == "end_turn"
    assert "> title: Scopes" in app.history(answer.session_id)[-1]["content"]


def test_members_who_are_no_admins_cannot_approve(app: Application, waiting: AgentAnswer) -> None:
    assert waiting.status == 201
    Membership.objects.filter(organization=app.organization).update(role=Role.MEMBER)
    browser = Client()
    browser.force_login(Membership.objects.get(organization=app.organization).user)
    row = ApprovalRequest.objects.get()
    address = row_url(row, "approve")
    assert browser.post(address).status_code in {302, 403, 404}
    row.refresh_from_db()
    assert (row.status, count_executions()) == (ApprovalStatus.PENDING, 0)
