"""An approved request that cannot begin stays approved; one that was redirected has failed."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.db import OperationalError
from django.test import Client

from approvals import execution, tasks
from approvals.admin import CHANGE_PAGE
from approvals.models import ApprovalRequest
from audit.models import ActionExecution
from foundation import admin_urls, outbound
from foundation.outbound import Unreachable
from gateway import credentials
from gateway.models import Project
from oauth import mcp_tokens
from tests.drivers import project_rows
from tests.drivers.billing import browser_of
from tests.drivers.fake_vendors import site as sites
from tests.drivers.fake_vendors.site import Site
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.reviewed_project import ReviewedProject
from tests.drivers.shared_connection import wait_for_jobs
from tests.gateway import shop
from tests.gateway.test_full_pools import hold_calls, upstream_of
from tools_registry.vendors import slots
from workspace.models import Membership, Role, User

BEARER = {"type": "http", "scheme": "bearer"}


@dataclass(frozen=True)
class ApproverDesk:
    """A project whose writes wait, a client of a member, and the browser of an approver."""

    project: Project
    mcp: McpClient
    owner: Client
    requester: User
    site: Site

    def request(self, **arguments: Any) -> ApprovalRequest:
        pending = self.mcp.call("createItem", arguments).facts
        return ApprovalRequest.objects.get(pk=pending["requestId"])

    def approve(self, row: ApprovalRequest) -> None:
        self.owner.post(f"/requests/{row.pk}/approve")
        wait_for_jobs()
        row.refresh_from_db()

    def status(self, row: ApprovalRequest) -> dict[str, Any]:
        page = self.owner.get(f"/requests/{row.pk}", headers={"Accept": "application/json"})
        body: dict[str, Any] = page.json()
        return body


@pytest.fixture
def document() -> dict[str, Any]:
    """The document of the API."""
    return shop.document()


@pytest.fixture
def desk(
    grant: Grant, site: Site, document: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> Iterator[ApproverDesk]:
    slots.get_process_slots.cache_clear()
    monkeypatch.setattr(slots, "MAX_WAIT_SECONDS", 0.1)
    owner = User.objects.create_user("approver@example.com")
    Membership.objects.create(user=owner, organization=grant.organization, role=Role.ADMIN)
    project = shop.create_project(grant, site, document, policy="default")
    Project.objects.filter(pk=project.pk).update(owner=owner)
    path = f"/{project.pk}"
    token = mcp_tokens.issue(
        grant.user, grant.organization, path, name="Laptop", days=0, address=""
    ).secret
    mcp = project_rows.client(path, token)
    yield ApproverDesk(project, mcp, browser_of(owner), grant.user, site)
    slots.get_process_slots.cache_clear()


def test_an_approved_request_without_a_slot_stays_approved_and_is_executed_later(
    desk: ApproverDesk,
) -> None:
    row = desk.request(title="Wax")
    with hold_calls(upstream_of(desk.project)):
        desk.approve(row)
        assert desk.status(row) == {"requestId": str(row.pk), "status": "APPROVED"}
        assert (row.execution_state, row.sent_at, desk.site.seen) == ("queued", None, [])
        # The schedule of the worker tries again, and asks no approver.
        assert tasks.execute_queued() == 1
        wait_for_jobs()
        row.refresh_from_db()
        assert (row.status, row.execution_state, row.problem) == ("running", "queued", "")
    assert tasks.execute_queued() == 1
    wait_for_jobs()
    assert desk.status(row)["status"] == "EXECUTED"
    assert [seen.json for seen in desk.site.seen] == [{"title": "Wax"}]
    outcomes = ActionExecution.objects.filter(actor_kind="person").order_by("pk")
    assert [row.outcome for row in outcomes] == ["rate_limited", "rate_limited", "success"]


def test_a_request_that_lost_the_database_before_it_was_sent_stays_approved(
    desk: ApproverDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    row, lost = desk.request(title="Wax"), [OperationalError("the connection is closed")]
    applied = credentials.select_authentication

    def losing(*given: Any) -> Any:
        if lost:
            raise lost.pop()
        return applied(*given)

    monkeypatch.setattr(credentials, "select_authentication", losing)
    desk.approve(row)
    assert (desk.status(row)["status"], desk.site.seen) == ("APPROVED", [])
    execution.start_queued()
    wait_for_jobs()
    assert desk.status(row)["status"] == "EXECUTED"


def test_a_request_that_could_not_be_sent_says_so_waits_and_is_approved_again(
    desk: ApproverDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = desk.request(title="Wax")

    def refuse(*_given: Any, **_more: Any) -> Any:
        raise Unreachable("shop.example", "the host name cannot be resolved")

    with monkeypatch.context() as patched:
        patched.setattr(outbound, "fetch", refuse)
        desk.approve(row)
    assert desk.status(row)["status"] == "PENDING_APPROVAL"
    assert (row.sent_at, row.decided_by, row.claim) == (None, None, None)
    page = desk.owner.get(f"/requests/{row.pk}").content.decode()
    assert "the host name cannot be resolved. Nothing was sent. It can be approved again." in page
    assert "unknown" not in page
    assert "Approve</button>" in page
    pending = desk.mcp.call("createItem", {"title": "Wax"}).facts
    assert pending["requestId"] == str(row.pk)
    assert "Nothing was sent." in pending["message"]
    assert ActionExecution.objects.get(pk=row.execution_id).outcome == "integration_error"
    desk.approve(row)
    assert desk.status(row)["status"] == "EXECUTED"
    assert [seen.json for seen in desk.site.seen] == [{"title": "Wax"}]


@pytest.mark.parametrize("document", [shop.secured_document(BEARER)])
@pytest.mark.parametrize("whose", ["person", "project"])
def test_a_request_without_a_credential_waits_and_says_who_has_to_add_it(
    desk: ApproverDesk, whose: str
) -> None:
    Project.objects.update(authentication=whose)
    requester = desk.requester
    pending = desk.mcp.call("createItem", {"title": "Wax"}).facts
    row = ApprovalRequest.objects.get(pk=pending["requestId"])
    lacks, adds = (
        (f"{requester.email} has no credential for the API (key)", f"once {requester.email} has")
        if whose == "person"
        else ("The project has no credential for the API (key)", "once an admin has")
    )
    own, other = browser_of(requester), desk.owner
    for text in (
        pending["message"],
        own.get(f"/requests/{row.pk}").content.decode(),
        other.get(f"/requests/{row.pk}").content.decode(),
    ):
        assert f"{lacks}. The request waits: it can be approved {adds} added one at " in text
    assert "Approve</button>" not in other.get(f"/requests/{row.pk}").content.decode()
    refused = other.post(f"/requests/{row.pk}/approve", follow=True).content.decode()
    assert f"{lacks}. The request waits" in refused
    row.refresh_from_db()
    assert (row.status, row.problem, desk.site.seen) == ("pending", "", [])
    project = Project.objects.get()
    owner = requester if whose == "person" else None
    credentials.store(project, owner, credentials.schemes_of(project)[0], "secret")
    assert lacks not in other.get(f"/requests/{row.pk}").content.decode()
    desk.approve(row)
    assert desk.status(row)["status"] == "EXECUTED"


@pytest.mark.parametrize("document", [shop.secured_document(BEARER)])
def test_a_request_whose_credential_is_removed_before_it_is_sent_waits_again(
    desk: ApproverDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    project, row = Project.objects.get(), desk.request(title="Wax")
    (scheme,) = credentials.schemes_of(project)
    credentials.store(project, desk.requester, scheme, "secret")
    select = credentials.select_authentication

    def remove_and_select(*given: Any) -> Any:
        credentials.forget(project, desk.requester, scheme.name)
        return select(*given)

    with monkeypatch.context() as patched:
        patched.setattr(credentials, "select_authentication", remove_and_select)
        desk.approve(row)
    assert (row.status, row.sent_at, row.decided_by, desk.site.seen) == ("pending", None, None, [])
    assert "Nothing was sent." in row.problem
    credentials.store(project, desk.requester, scheme, "secret")
    desk.approve(row)
    assert desk.status(row)["status"] == "EXECUTED"
    assert len(desk.site.seen) == 1


@pytest.mark.parametrize(("code", "stored"), [(302, "unknown"), (303, "unknown"), (308, "failed")])
def test_an_approved_write_that_is_redirected_has_failed_and_names_the_address(
    desk: ApproverDesk, code: int, stored: str
) -> None:
    row = desk.request(title="Wax")
    desk.site.script(sites.sending(b"", code, {"Location": "https://moved.example/v2/items"}))
    desk.approve(row)
    assert row.status == stored
    status = desk.status(row)
    assert status["status"] == "FAILED"
    assert "https://moved.example/v2/items" in status["reason"]
    assert ("unknown" in status["reason"]) == (stored == "unknown")


def test_a_request_has_expired_at_its_time_wherever_it_is_read(project: ReviewedProject) -> None:
    row = project.request()
    owner, requester = project.owner(), browser_of(project.grant.user)
    with time_machine.travel(row.expires_at + timedelta(seconds=1), tick=False):
        token = project.grant.token()
        headers = {"Accept": "application/json", "Authorization": f"Bearer {token}"}
        read = Client().get(f"/requests/{row.pk}", headers=headers).json()
        assert read["status"] == "EXPIRED"
        assert read["reason"]
        for browser in (owner, requester):
            page = browser.get(f"/requests/{row.pk}").content.decode()
            assert "<strong>Expired</strong>" in page
            assert "Approve</button>" not in page
            assert 'data-live=""' in page
        mine = requester.get("/requests").content.decode().partition('id="mine"')[2]
        assert ">Expired</span>" in mine
        assert "Waiting for approval" not in mine
        admin = owner.get(admin_urls.page_url(CHANGE_PAGE, row.pk)).content.decode()
        assert ">Expired<" in admin
        assert "Waiting for approval" not in admin
    row.refresh_from_db()
    assert row.status == "pending"  # no sweep was needed
