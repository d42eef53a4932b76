"""Ended requests for approval are deleted after their period, and nothing that is still needed."""

from datetime import timedelta
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.utils import timezone

from approvals.models import ApprovalRequest, ApprovalStatus
from audit.models import ActionExecution
from customers.tasks import prune_data
from foundation.admin_urls import row_url
from tests.drivers import billing
from tests.drivers.billing import RefundCase
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.mcp import McpClient

pytestmark = pytest.mark.django_db


@pytest.fixture
def case(mcp: McpClient, stripe: Stripe) -> RefundCase:
    return billing.request_refund(mcp, stripe)


def end(row: ApprovalRequest, days: int, status: str = ApprovalStatus.DONE) -> None:
    at = timezone.now() - timedelta(days=days)
    ApprovalRequest.objects.filter(pk=row.pk).update(status=status, ended_at=at)


@pytest.mark.parametrize(
    "status",
    [
        ApprovalStatus.DONE,
        ApprovalStatus.FAILED,
        ApprovalStatus.UNKNOWN,
        ApprovalStatus.DECLINED,
        ApprovalStatus.EXPIRED,
    ],
)
def test_an_ended_request_is_kept_as_long_as_the_audit_log(case: RefundCase, status: str) -> None:
    end(case.row(), 399, status)
    assert prune_data() == 0
    end(case.row(), 401, status)
    assert prune_data() == 1
    assert not ApprovalRequest.objects.exists()


@pytest.mark.parametrize("status", [ApprovalStatus.PENDING, ApprovalStatus.RUNNING])
def test_a_request_that_is_open_is_kept(case: RefundCase, status: str) -> None:
    end(case.row(), 9_000, status)
    assert prune_data() == 0


def test_a_period_of_no_days_keeps_requests(case: RefundCase, settings: Any) -> None:
    settings.HALO_RETENTION_APPROVALS_DAYS = 0
    end(case.row(), 9_000)
    assert prune_data() == 0


def test_what_was_decided_stays_in_the_audit_log_and_its_words_in_no_history(
    case: RefundCase,
) -> None:
    row = case.approve()
    assert LogEntry.objects.get(object_id=str(row.pk)).object_repr == row.summary
    end(row, 401)
    prune_data()
    done = ActionExecution.objects.get(detail=f"approval request {row.pk}")
    page = billing.browser_of(billing.root()).get(row_url(done))
    assert (page.status_code, done.user_email) == (200, case.admin.email)
    assert LogEntry.objects.get(object_id=str(row.pk)).object_repr != row.summary
    assert case.desk.get(row_url(row)).status_code == 302  # as of a request that never was
