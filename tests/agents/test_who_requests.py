"""Who counts as the requester of a call that an agent's key has made."""

import pytest
from django.test import Client

from approvals.models import ApprovalRequest, ApprovalStatus
from audit.models import SecurityEvent
from foundation.admin_urls import row_url
from oauth.models import ServerKey
from tests.agents.application import Application
from tests.agents.scripted import Script, calls, text
from tests.agents.test_turns import SAMPLE, start
from workspace import organizations
from workspace.models import Membership, Role, User

pytestmark = pytest.mark.django_db


@pytest.fixture
def request_of_own_key(
    app: Application, browser: Client, script: Script, monkeypatch: pytest.MonkeyPatch
) -> ApprovalRequest:
    """A request that a key has made, which the admin of the browser has created."""
    ServerKey.objects.update(created_by=browser.session["_auth_user_id"])
    script.change(monkeypatch, approval_tools=frozenset({"setup_get_jwt_sample"}))
    script.responses = [calls(SAMPLE), text("Here it is.")]
    assert start(app, server_tools={"setup_get_jwt_sample": True}).status == 201
    return ApprovalRequest.objects.get()


def test_n04_who_creates_a_key_does_not_approve_what_it_requests(
    app: Application, browser: Client, request_of_own_key: ApprovalRequest
) -> None:
    row = request_of_own_key
    # Platform staff may approve it, and are members of another organization.
    staff = User.objects.create_superuser("staff@example.com")
    organizations.create("Platform", owner=staff)
    assert "no other person in the organization may approve it" in page_text(browser, row)
    assert browser.post(row_url(row, "approve")).status_code == 403
    assert SecurityEvent.objects.get(kind="self_approval").subject == str(row.pk)
    second = User.objects.create_user("second@example.com")
    Membership.objects.create(user=second, organization=app.organization, role=Role.ADMIN)
    assert "Another person has to approve it" in page_text(browser, row)
    assert browser.post(row_url(row, "approve")).status_code == 403
    row.refresh_from_db()
    assert row.status == ApprovalStatus.PENDING
    other = Client()
    other.force_login(second)
    assert other.post(row_url(row, "approve")).status_code == 302
    row.refresh_from_db()
    assert (row.status, row.decided_by) == (ApprovalStatus.DONE, second)


def page_text(browser: Client, row: ApprovalRequest) -> str:
    return " ".join(browser.get(row_url(row)).content.decode().split())
