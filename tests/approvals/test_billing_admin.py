"""Billing requests on the pages of the admin: who may do what, and what they are shown."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import ApprovalRequest
from audit.models import SecurityEvent
from foundation.admin_urls import page_url
from tests.drivers import billing
from tests.drivers.billing import RefundCase
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.mcp import McpClient

LIST = "/admin/approvals/approvalrequest/"


@pytest.fixture
def case(mcp: McpClient, stripe: Stripe) -> RefundCase:
    return billing.request_refund(
        mcp, stripe, why="He said \u202eplease\u202c <script>alert(1)</script>"
    )


def test_the_list_and_the_page_show_what_is_asked_for(case: RefundCase) -> None:
    assert case.row().summary in case.desk.get(LIST).content.decode()
    page = case.desk.get(case.url("change")).content.decode()
    for shown in (case.row().summary, case.charge, "stripe.refund", "2000", case.row().user_email):
        assert shown in page
    assert "Approve" in page
    assert "Reject" in page


@pytest.mark.parametrize("word", ["approve", "decline"])
def test_a_link_only_asks_and_the_button_decides(case: RefundCase, word: str) -> None:
    page = case.desk.get(case.url(word))
    assert page.status_code == 200
    assert case.row().status == "pending"
    case.desk.post(case.url(word))
    assert case.row().status == ("done" if word == "approve" else "declined")
    assert LogEntry.objects.get().user == case.admin


def test_a_note_that_no_database_stores_is_spelled_out(case: RefundCase) -> None:
    case.desk.post(case.url("decline"), {"note": "Not\x00this" + "x" * 1000})
    assert case.row().note == r"Not\u0000this" + "x" * 487


@pytest.mark.parametrize("word", ["approve", "decline"])
def test_a_decision_takes_the_form_s_own_token(case: RefundCase, word: str) -> None:
    browser = Client(enforce_csrf_checks=True)
    browser.force_login(case.admin)
    assert browser.post(case.url(word)).status_code == 403
    assert case.row().status == "pending"


@pytest.mark.parametrize("word", ["approve", "decline"])
@pytest.mark.parametrize("method", ["get", "post"])
def test_who_may_look_may_not_decide(case: RefundCase, word: str, method: str) -> None:
    browser = billing.browser_of(billing.admin("reader"))
    page = browser.get(case.url("change"))
    assert page.status_code == 200
    assert "/approve/" not in page.content.decode()
    assert getattr(browser, method)(case.url(word)).status_code == 403
    event = SecurityEvent.objects.get(kind="admin_refused")
    assert event.detail == f"{method.upper()} {case.url(word)}"
    assert case.row().status == "pending"


def test_who_is_not_staff_is_sent_to_sign_in(case: RefundCase, mcp: McpClient) -> None:
    browser = Client()
    assert browser.post(case.url("approve")).status_code == 302
    assert case.row().status == "pending"
    assert mcp.token


def test_nobody_adds_changes_or_deletes_a_request(case: RefundCase) -> None:
    root = billing.browser_of(billing.root())
    row = case.row()
    assert root.get(f"{LIST}add/").status_code == 403
    assert root.post(case.url("delete"), {"post": "yes"}).status_code == 403
    assert root.post(case.url("change"), {"summary": "Refund more"}).status_code == 403
    everything = {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"}
    root.post(LIST, everything)
    assert ApprovalRequest.objects.get().summary == row.summary


def test_n13_what_a_stranger_wrote_cannot_mislead(case: RefundCase) -> None:
    ApprovalRequest.objects.update(arguments={"charge": "ch_\u202e1", "note": "x" * 100_000})
    for word in ("change", "approve"):
        page = case.desk.get(case.url(word)).content.decode()
        assert "<script>alert" not in page
        assert "\u202e" not in page
        assert r"ch_\u202e1" in page
        assert "x" * 100_000 in page


def test_what_is_decided_offers_no_button(case: RefundCase) -> None:
    case.approve()
    page = case.desk.get(case.url("change")).content.decode()
    assert "/approve/" not in page
    assert "/decline/" not in page


def test_what_failed_offers_to_try_again(case: RefundCase) -> None:
    case.stripe.loses_answers = True
    case.approve()
    page = case.desk.get(case.url("change")).content.decode()
    assert "Try again" in page
    assert "/decline/" not in page


@pytest.mark.parametrize("word", ["approve", "decline"])
def test_a_request_that_is_not_there_is_not_found(case: RefundCase, word: str) -> None:
    url = case.url(word).replace(str(case.row().pk), "01a1f000-0000-7000-8000-000000000000")
    assert case.desk.post(url).status_code == 404


def test_the_list_and_the_page_name_who_decided(case: RefundCase) -> None:
    case.approve()
    assert f"by {case.admin.email}" in case.desk.get(LIST).content.decode()
    page = case.desk.get(case.url("change")).content.decode()
    assert f"Done. Decided by {case.admin.email}, " in " ".join(page.split())
    assert page_url("audit_actionexecution_change", case.row().execution_id) in page


def test_the_list_is_read_in_as_many_statements_for_many_requests(
    case: RefundCase, django_assert_max_num_queries: Any
) -> None:
    case.desk.post(case.url("decline"))
    case.desk.get(LIST)
    with CaptureQueriesContext(connection) as few:
        case.desk.get(LIST)
    statements = len(few)  # before the next request, which clears the log of the connection
    for amount in range(1, 5):
        case.desk.post(case.url("decline", case.ask(amount=amount)["request_id"]))
    case.desk.get(LIST)  # shows the messages of the decisions, and removes them from the session
    with django_assert_max_num_queries(statements):
        case.desk.get(LIST)
