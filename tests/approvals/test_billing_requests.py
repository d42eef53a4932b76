"""What an admin approves happens once at Stripe, and only what was asked for."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier
from typing import Any
from uuid import uuid4

import pytest
from django.db import connection
from django.test import Client
from django.utils import timezone

from approvals.models import ApprovalRequest, ApprovalStatus
from approvals.requests import MAX_OPEN_REQUESTS
from approvals.tasks import follow as follow_refunds
from approvals.tasks import settle as settle_requests
from audit.models import ActionExecution, SecurityEvent
from tests.drivers import billing
from tests.drivers.billing import RefundCase
from tests.drivers.fake_vendors.stripe import Stripe, StripeReply
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.shared_connection import wait_for_jobs
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from workspace import organizations
from workspace.models import Membership, Organization


@pytest.fixture
def case(mcp: McpClient, stripe: Stripe) -> RefundCase:
    """A refund of 20.00 USD that is asked for, and an admin who may decide."""
    return billing.request_refund(mcp, stripe)


def test_an_approved_refund_is_made_with_the_key_of_the_request(case: RefundCase) -> None:
    row = case.approve()
    (change,) = case.stripe.changes
    assert (change.path, change.key) == ("/v1/refunds", row.idempotency_key)
    assert change.form == {"charge": case.charge, "amount": "2000"}
    (refund,) = case.stripe.made
    assert (row.status, row.result) == ("done", {"id": refund["id"], "status": "succeeded"})
    assert row.decided_by == case.admin


def test_an_approval_has_an_audit_row_of_its_own_that_names_the_request(case: RefundCase) -> None:
    row = case.approve()
    asked, done = ActionExecution.objects.order_by("id")
    assert (asked.actor_kind, asked.tool) == ("mcp_client", "stripe.request_refund")
    assert (done.actor_kind, done.tool, done.outcome) == ("person", "stripe.refund", "success")
    assert (done.user_email, done.arguments) == (case.admin.email, row.arguments)
    assert done.detail == f"approval request {row.pk}"
    assert done.request_id == f"approval-{row.pk.hex}"
    assert row.execution_id == str(done.pk)
    assert done.authorization_id == asked.authorization_id


@pytest.mark.parametrize(
    ("kind", "facts", "asked", "sent"),
    [
        pytest.param(
            "subscription",
            {"status": "active", "cancel_at_period_end": False},
            ("request_cancellation", {}),
            ("POST", "/v1/subscriptions/{id}", {"cancel_at_period_end": "true"}),
            id="cancel-later",
        ),
        pytest.param(
            "subscription",
            {"status": "active"},
            ("request_cancellation", {"at_period_end": False}),
            ("DELETE", "/v1/subscriptions/{id}", {}),
            id="cancel-now",
        ),
        pytest.param(
            "customer",
            {},
            ("request_credit", {"amount": 500, "currency": "usd"}),
            ("POST", "/v1/customers/{id}/balance_transactions", {"amount": "-500"}),
            id="credit",
        ),
        pytest.param(
            "subscription",
            {"status": "trialing", "trial_end": 1_800_000_000},
            ("extend_trial", {"days": 1}),
            ("POST", "/v1/subscriptions/{id}", {"trial_end": "1800086400"}),
            id="trial",
        ),
    ],
)
def test_each_request_becomes_its_call(
    case: RefundCase, kind: str, facts: Any, asked: Any, sent: Any
) -> None:
    thing = case.stripe.has(kind, **facts)
    tool, arguments = asked
    filed = case.mcp.call(f"stripe.{tool}", {kind: thing, **arguments}).facts
    row = case.approve(filed["request_id"])
    assert row.status == "done", row.problem
    (change,) = case.stripe.changes
    method, path, form = sent
    assert (change.method, change.path) == (method, path.format(id=thing))
    assert form.items() <= change.form.items()
    assert change.key == ("" if method == "DELETE" else row.idempotency_key)


def test_a_declined_request_reaches_nobody(case: RefundCase) -> None:
    case.desk.post(case.url("decline"), {"note": "Not this one."})
    row = case.row()
    assert (row.status, row.note, row.decided_by) == ("declined", "Not this one.", case.admin)
    case.desk.post(case.url("approve"))
    assert case.row().status == "declined"
    assert case.stripe.changes == []


def test_n02_the_same_request_again_is_the_same_while_it_waits(case: RefundCase) -> None:
    again = case.ask()
    assert again["request_id"] == str(case.row().pk)
    other = case.ask(amount=5)
    assert other["request_id"] != again["request_id"]
    assert ApprovalRequest.objects.count() == 2


def test_n02_once_it_is_decided_it_may_be_asked_for_again(case: RefundCase) -> None:
    first = case.row()
    case.desk.post(case.url("decline"))
    assert case.ask()["request_id"] != str(first.pk)


def test_n02_nothing_is_asked_for_again_while_its_end_is_unknown(case: RefundCase) -> None:
    case.stripe.loses_answers = True
    row = case.approve()
    case.stripe.loses_answers = False
    case.stripe.rows[case.charge]["amount_refunded"] = 0  # as it looked a moment before
    again = case.ask()
    assert (again["request_id"], again["status"]) == (str(row.pk), "unknown")


def test_n04_nobody_approves_what_they_asked_for_themselves(case: RefundCase, grant: Grant) -> None:
    billing.make_decider(grant.user)
    browser = Client()
    browser.force_login(grant.user)
    assert browser.post(case.url("approve")).status_code == 403
    event = SecurityEvent.objects.get(kind="self_approval")
    assert (event.subject, event.user_id) == (str(case.row().pk), str(grant.user.pk))
    assert case.row().status == "pending"
    assert case.stripe.changes == []


def mode_off(grant: Grant) -> None:
    IntegrationMode.objects.filter(organization=grant.organization).update(actions_on=False)


def disconnect(grant: Grant) -> None:
    IntegrationMode.objects.filter(organization=grant.organization).update(
        connection=ConnectionState.NOT_CONNECTED
    )


def toggle_off(grant: Grant) -> None:
    toggles = ActionToggle.objects.filter(agent__organization=grant.organization)
    toggles.filter(action="request_refund").update(enabled=False)


def leave_organization(grant: Grant) -> None:
    grant.membership.delete()


def deactivate_user(grant: Grant) -> None:
    grant.user.is_active = False
    grant.user.save()


CLOSED: list[tuple[Callable[[Grant], None], str]] = [
    (mode_off, "integration_disabled"),
    (disconnect, "not_connected"),
    (toggle_off, "agent_disabled"),
    (lambda grant: grant.switch_off("mcp_server"), "feature_disabled"),
    (lambda grant: grant.narrow("docs:read"), "scope_denied"),
    (lambda grant: grant.revoke(), "grant_ended"),
    (leave_organization, "grant_ended"),
    (deactivate_user, "grant_ended"),
]


@pytest.mark.parametrize(
    ("close", "reason"),
    CLOSED,
    ids=["mode", "connection", "toggle", "flag", "narrowed", "revoked", "left", "deactivated"],
)
def test_n05_every_gate_is_asked_again_when_it_is_carried_out(
    case: RefundCase, grant: Grant, close: Callable[[Grant], None], reason: str
) -> None:
    close(grant)
    row = case.approve()
    refused = ActionExecution.objects.latest("id")
    assert (refused.outcome, refused.reason, refused.actor_kind) == ("refused", reason, "person")
    assert str(row.pk) in refused.detail
    assert (row.status, row.sent_at) == ("declined" if reason == "grant_ended" else "pending", None)
    assert row.problem or row.note
    assert case.stripe.changes == []


def test_n05_a_switch_that_is_on_again_lets_it_be_approved(case: RefundCase, grant: Grant) -> None:
    mode_off(grant)
    case.approve()
    billing.connect(grant)
    assert case.approve().status == "done"


def test_n05_a_request_of_a_suspended_member_waits_until_they_are_restored(
    case: RefundCase, grant: Grant
) -> None:
    organizations.suspend_member(grant.membership)
    row = case.approve()
    assert (row.status, row.sent_at) == ("pending", None)
    assert "is suspended. It was not executed and waits" in row.problem
    assert case.stripe.changes == []
    organizations.restore_member(grant.membership)
    assert case.approve().status == "done"


def test_a_request_of_a_member_who_left_does_not_wait_for_their_suspension_elsewhere(
    case: RefundCase, grant: Grant
) -> None:
    other = Organization.objects.create(name="Elsewhere", slug="elsewhere")
    elsewhere = Membership.objects.create(user=grant.user, organization=other)
    organizations.suspend_member(elsewhere)
    leave_organization(grant)
    assert case.approve().status == "declined"


def test_n05_what_nobody_decided_on_expires(case: RefundCase) -> None:
    ApprovalRequest.objects.update(expires_at=timezone.now() - timedelta(seconds=1))
    assert case.approve().status == "expired"
    assert case.stripe.changes == []
    assert case.ask()["status"] == "pending"


def test_what_stripe_refuses_has_failed_and_may_be_tried_again(case: RefundCase) -> None:
    case.stripe.rows[case.charge]["amount_refunded"] = 1
    row = case.approve()
    assert (row.status, "greater than unrefunded" in row.problem) == ("failed", True)
    case.stripe.rows[case.charge]["amount_refunded"] = 0
    assert case.approve().status == "done"
    assert {one.key for one in case.stripe.changes} == {row.idempotency_key}


@pytest.mark.parametrize(
    "reply",
    [
        StripeReply(500, b"oops"),
        StripeReply(200, b"\x00"),
        StripeReply(200, {}),
        StripeReply(409, {}),
    ],
    ids=["500", "odd", "empty", "409"],
)
def test_an_answer_that_says_nothing_leaves_the_end_unknown(
    case: RefundCase, reply: StripeReply
) -> None:
    charge = case.stripe.rows[case.charge]
    case.stripe.misbehave = [StripeReply(200, charge), *[reply] * 4]
    assert case.approve().status == "unknown"


def test_a_refund_that_failed_at_stripe_is_not_done(case: RefundCase) -> None:
    refund = {"id": "re_9", "status": "failed", "failure_reason": "expired_or_canceled_card"}
    charge = case.stripe.rows[case.charge]
    case.stripe.misbehave = [StripeReply(200, charge), StripeReply(200, refund)]
    row = case.approve()
    problem = "The refund re_9 is failed at Stripe: expired_or_canceled_card."
    assert (row.status, row.problem) == ("failed", problem)


def approve_pending_refund(case: RefundCase) -> ApprovalRequest:
    """Approves the refund, which Stripe answers with "pending"."""
    refund = case.stripe.has("refund", status="pending", charge=case.charge)
    charge, pending = case.stripe.rows[case.charge], dict(case.stripe.rows[refund])
    case.stripe.misbehave = [StripeReply(200, charge), StripeReply(200, pending)]
    return case.approve()


def test_a_pending_refund_is_followed_until_it_succeeds(case: RefundCase) -> None:
    row = approve_pending_refund(case)
    refund = row.result["id"]
    assert (row.status, row.result["status"], follow_refunds()) == ("done", "pending", 0)
    case.stripe.rows[refund]["status"] = "succeeded"
    assert (follow_refunds(), follow_refunds()) == (1, 0)
    row = case.row()
    assert (row.status, row.result) == ("done", {"id": refund, "status": "succeeded"})


def test_a_pending_refund_that_fails_fails_its_request(case: RefundCase) -> None:
    refund = approve_pending_refund(case).result["id"]
    failed = {"status": "failed", "failure_reason": "lost_or_stolen_card"}
    case.stripe.rows[refund] |= failed
    assert follow_refunds() == 1
    problem = f"The refund {refund} is failed at Stripe: lost_or_stolen_card."
    assert (case.row().status, case.row().problem) == ("failed", problem)


def test_a_refund_that_cannot_be_read_now_is_followed_later(case: RefundCase) -> None:
    row = approve_pending_refund(case)
    case.stripe.rows[row.result["id"]]["status"] = "succeeded"
    case.stripe.misbehave = [StripeReply(500, {})] * 4
    assert follow_refunds() == 0
    assert follow_refunds() == 1


def test_a_cancellation_says_when_the_subscription_ends(case: RefundCase) -> None:
    thing = case.stripe.has("subscription", status="active", cancel_at_period_end=False)
    filed = case.mcp.call("stripe.request_cancellation", {"subscription": thing}).facts
    case.stripe.rows[thing]["cancel_at"] = 1_800_000_000
    row = case.approve(filed["request_id"])
    assert row.result == {"id": thing, "status": "active", "cancel_at": "2027-01-15"}


@pytest.mark.parametrize(
    ("meanwhile", "problem"),
    [
        ({"status": "active"}, "The trial has ended meanwhile."),
        ({"trial_end": 1_900_000_000}, "The trial ends later meanwhile, on 2030-03-17."),
    ],
    ids=["ended", "later"],
)
def test_a_trial_that_is_another_than_was_approved_is_not_changed(
    case: RefundCase, meanwhile: dict[str, Any], problem: str
) -> None:
    thing = case.stripe.has("subscription", status="trialing", trial_end=1_800_000_000)
    filed = case.mcp.call("stripe.extend_trial", {"subscription": thing, "days": 1}).facts
    case.stripe.rows[thing] |= meanwhile
    row = case.approve(filed["request_id"])
    assert (row.status, row.problem) == ("failed", problem)
    assert case.stripe.changes == []


def test_a_read_that_fails_before_a_refund_leaves_it_undone(case: RefundCase) -> None:
    case.stripe.misbehave = [StripeReply(500, {})] * 4
    row = case.approve()
    assert (row.status, case.stripe.changes) == ("failed", [])
    assert row.problem.endswith("Nothing was changed.")


def test_a_lost_answer_is_asked_for_again_and_the_money_moves_once(case: RefundCase) -> None:
    case.stripe.loses_answers = True
    assert case.approve().status == "unknown"
    case.stripe.loses_answers = False
    row = case.approve()
    assert (row.status, row.problem) == ("done", "")
    assert len(case.stripe.made) == 1
    assert case.stripe.rows[case.charge]["amount_refunded"] == 2000
    assert len(ActionExecution.objects.filter(tool="stripe.refund")) == 2


def test_a_refusal_after_a_lost_answer_does_not_make_it_a_failure(case: RefundCase) -> None:
    case.stripe.loses_answers = True
    case.approve()
    case.stripe.loses_answers = False
    case.stripe.misbehave = [StripeReply(401, {})]
    assert case.approve().status == "unknown"


@pytest.mark.parametrize(
    ("tool", "refusal"),
    [
        pytest.param("refund", StripeReply(429, {}, {"retry-after": "3600"}), id="busy"),
        pytest.param("refund", StripeReply(403, {}), id="key-withdrawn"),
        pytest.param("cancel", StripeReply(404, {}), id="cancelled-already"),
    ],
)
def test_a_refusal_of_the_second_try_does_not_make_it_a_failure(
    case: RefundCase, tool: str, refusal: StripeReply
) -> None:
    request_id = ""
    if tool == "cancel":
        asked = {"subscription": case.stripe.has("subscription"), "at_period_end": False}
        request_id = case.mcp.call("stripe.request_cancellation", asked).facts["request_id"]

    def lose_the_answer(_sent: Any) -> None:
        case.stripe.loses_answers = True
        case.stripe.misbehave = [refusal]

    case.stripe.before_changing = lose_the_answer
    row = case.approve(request_id)
    assert row.status == "unknown"
    assert "The outcome is unknown: Stripe may have carried out the request." in row.problem
    case.stripe.loses_answers, case.stripe.before_changing = False, lambda _sent: None
    assert case.approve(request_id).status == "done"
    assert len(case.stripe.made) == (tool == "refund")


def test_a_cancellation_whose_answer_got_lost_is_found_done(case: RefundCase) -> None:
    thing = case.stripe.has("subscription", status="active")
    asked = {"subscription": thing, "at_period_end": False}
    filed = case.mcp.call("stripe.request_cancellation", asked).facts["request_id"]
    case.stripe.loses_answers = True
    assert case.approve(filed).status == "unknown"
    row = case.approve(filed)
    assert (row.status, row.result) == ("done", {"id": thing, "status": "canceled"})


def test_once_stripe_may_have_forgotten_the_key_nothing_is_tried_again(case: RefundCase) -> None:
    case.stripe.loses_answers = True
    case.approve()
    sent = len(case.stripe.changes)
    ApprovalRequest.objects.update(sent_at=timezone.now() - timedelta(hours=23, seconds=1))
    assert case.approve().status == "unknown"
    assert len(case.stripe.changes) == sent


@pytest.mark.parametrize(("sent", "status"), [("sent", "unknown"), ("", "pending")])
def test_w07_what_a_crash_left_is_unknown_or_waits_again(
    case: RefundCase,
    sent: str,
    status: str,
) -> None:
    long_ago = timezone.now() - timedelta(minutes=6)
    row = case.row()
    left_behind = {"claim": uuid4(), "claimed_at": long_ago, "sent_at": long_ago if sent else None}
    ApprovalRequest.objects.update(status=ApprovalStatus.RUNNING, **left_behind)
    assert settle_requests() == 1
    assert settle_requests() == 0
    assert case.row().status == status
    assert case.approve(str(row.pk)).status == "done"


def test_what_is_under_way_is_left_alone(case: RefundCase) -> None:
    ApprovalRequest.objects.update(
        status=ApprovalStatus.RUNNING, claim=uuid4(), claimed_at=timezone.now()
    )
    assert settle_requests() == 0
    assert case.approve().status == "running"
    assert case.ask()["status"] == "running"
    assert case.stripe.changes == []


def test_a_failed_request_is_not_tried_next_to_its_successor_nor_after_it(case: RefundCase) -> None:
    case.stripe.misbehave = [StripeReply(200, case.stripe.rows[case.charge]), StripeReply(400, {})]
    failed = case.approve()
    successor = case.ask()["request_id"]
    assert successor != str(failed.pk)
    assert case.approve(str(failed.pk)).status == "failed"
    assert case.approve(successor).status == "done"
    assert case.approve(str(failed.pk)).status == "failed"
    assert len(case.stripe.made) == 1


def test_a_connection_cannot_bury_its_admins(case: RefundCase) -> None:
    row = case.row()
    many = (
        ApprovalRequest(
            **{
                one.attname: getattr(row, one.attname)
                for one in ApprovalRequest._meta.concrete_fields
                if one.attname not in {"id", "digest", "idempotency_key"}
            },
            digest=str(number),
        )
        for number in range(MAX_OPEN_REQUESTS - 1)
    )
    ApprovalRequest.objects.bulk_create(many)
    reply = case.mcp.call("stripe.request_refund", {"payment": case.charge, "amount": 3})
    assert (reply.code, f"{MAX_OPEN_REQUESTS} requests" in reply.error["message"]) == (-32603, True)
    assert case.ask()["status"] == "pending"


@pytest.mark.django_db(transaction=True)
def test_while_stripe_is_at_it_no_lock_is_held_and_nobody_else_begins(case: RefundCase) -> None:
    second = billing.browser_of(billing.decider("second"))
    seen: list[tuple[str, int]] = []

    def approve_as_well(_sent: Any) -> None:
        # In the fake vendor's thread, on a connection of its own: it sees what is committed, and
        # would wait for what is locked.
        if not seen:
            seen.append((case.row().status, second.post(case.url("approve")).status_code))
            connection.close()

    case.stripe.before_changing = approve_as_well
    assert case.approve().status == "done"
    assert seen == [("running", 302)]
    assert len(case.stripe.changes) == 1
    assert case.row().decided_by == case.admin


@pytest.mark.django_db(transaction=True)
def test_two_admins_at_once_are_one_refund(case: RefundCase) -> None:
    start = Barrier(2)
    desks = [case.desk, billing.browser_of(billing.decider("second"))]

    def approve(desk: Client) -> int:
        start.wait(30)
        try:
            return desk.post(case.url("approve")).status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(approve, desks)) == [302, 302]
    wait_for_jobs()
    assert case.row().status == "done"
    assert len(case.stripe.changes) == 1
