"""Requests for approval of any surface, other than billing, with their own delivery."""

import json
from typing import Any
from urllib.parse import urljoin
from uuid import UUID

import pytest

from approvals import delivery, surface_rules
from approvals.models import ApprovalRequest, ApprovalStatus
from approvals.surface_rules import SurfaceRules
from tests.drivers import billing
from tests.drivers.billing import RefundCase
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.mcp import McpClient
from tools_registry.endpoint.websocket import pushing
from tools_registry.pipeline.surfaces import SurfaceFamily


@pytest.fixture
def case(mcp: McpClient, stripe: Stripe) -> RefundCase:
    return billing.request_refund(mcp, stripe)


@pytest.fixture
def deliveries(monkeypatch: pytest.MonkeyPatch) -> list[tuple[str, Any]]:
    """The status and result of what a delivery of the workspace server was given."""
    seen: list[tuple[str, Any]] = []

    def deliver(request: ApprovalRequest) -> None:
        stored = ApprovalRequest.objects.get(pk=request.pk)
        seen.append((stored.status, stored.result))
        raise ConnectionError("the requester has left")

    workspace = SurfaceFamily("workspace")
    monkeypatch.setitem(surface_rules._rules, workspace, SurfaceRules(deliver=deliver))
    return seen


def test_a_decision_is_delivered_once_it_is_stored(case: RefundCase, deliveries: list[Any]) -> None:
    row = case.approve()
    assert row.status == ApprovalStatus.DONE
    assert deliveries == [(ApprovalStatus.DONE, row.result)]
    assert row.result["status"] == "succeeded"


def test_a_declined_request_is_delivered_too(case: RefundCase, deliveries: list[Any]) -> None:
    assert case.desk.post(case.url("decline")).status_code == 302
    assert deliveries == [(ApprovalStatus.DECLINED, None)]


def test_the_end_of_a_request_of_a_project_is_pushed_to_its_credential(case: RefundCase) -> None:
    row = case.row()
    row.surface, row.status, row.note = (
        "gateway:prj_" + "a" * 22,
        ApprovalStatus.DECLINED,
        "Not this month.",
    )
    delivery.deliver(row)
    named = {"requestId": str(row.pk), "toolName": "stripe.refund"}
    rejected = {**named, "status": "REJECTED", "reason": "Not this month."}
    assert _pushed_message(row)["params"] == rejected
    row.status, row.result = ApprovalStatus.DONE, {"content": []}
    delivery.deliver(row)
    executed = {**named, "status": "EXECUTED", "result": {"content": []}}
    assert _pushed_message(row)["params"] == executed
    row.status, row.problem = ApprovalStatus.UNKNOWN, ""
    delivery.deliver(row)
    assert _pushed_message(row)["params"]["status"] == "FAILED"


def _pushed_message(row: ApprovalRequest) -> Any:
    """The newest message for the requester, as every socket of theirs gets it."""
    pending = pushing.pending([UUID(row.authorization_id)])[row.authorization_id]
    message = json.loads([*pending.values()][-1])
    assert message["method"] == "notifications/tool-execution-result"
    return message


def test_a_request_names_its_surface_and_tools_and_is_made_once(
    case: RefundCase,
) -> None:
    row = case.row()
    assert (row.surface, row.integration) == ("workspace", "stripe")
    assert (row.tool, row.requested_with) == ("stripe.refund", "stripe.request_refund")
    again = case.ask()
    assert (again["request_id"], ApprovalRequest.objects.count()) == (str(row.pk), 1)


def test_a_request_of_a_surface_that_is_gone_has_failed(case: RefundCase) -> None:
    ApprovalRequest.objects.update(surface="gone")
    page = case.desk.post(case.url("approve"), follow=True).content.decode()
    message = "This server no longer has the endpoint “gone” that the request was made through"
    assert message in page
    row = case.row()
    assert (row.status, row.decided_by) == (ApprovalStatus.FAILED, case.admin)
    assert row.problem.startswith(message)
    assert "Try again" not in page
    assert case.stripe.changes == []


@pytest.mark.parametrize("name", ["gateway:prj_" + "a" * 22, "gateway:x", "gateway:", "gateway"])
def test_an_admin_does_not_decide_a_request_of_a_project_that_is_gone(
    case: RefundCase, name: str
) -> None:
    ApprovalRequest.objects.update(surface=name)
    assert case.approve().status == ApprovalStatus.PENDING
    case.desk.post(case.url("decline"))
    assert case.row().status == ApprovalStatus.PENDING


def test_a_request_with_an_unknown_outcome_stays_unknown_when_its_surface_is_gone(
    case: RefundCase,
) -> None:
    case.stripe.loses_answers = True
    case.approve()
    ApprovalRequest.objects.update(surface="gone")
    assert case.approve().status == ApprovalStatus.UNKNOWN


def test_the_address_that_requests_had_before_leads_to_them(case: RefundCase) -> None:
    old = urljoin("/admin/tools_registry/billingrequest/", f"{case.request_id}/change/")
    reply = case.desk.get(old, follow=True)
    assert reply.redirect_chain[0][0] == case.url("change")
    assert case.row().summary in reply.content.decode()
