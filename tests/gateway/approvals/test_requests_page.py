"""The pages of requests: what they show, to whom, and what programs and approvers are given."""

import re
from typing import Any
from uuid import uuid4

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from approvals import requests
from approvals.models import ApprovalRequest
from approvals.tasks import settle
from foundation import limits
from gateway import tasks
from gateway.models import ApproverGroup
from tests.drivers import grants
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import REMOVE, WRITE, ReviewedProject, open_reviewed_project
from workspace.models import Organization, Role
from workspace.tasks import send_mails

JSON = {"Accept": "application/json"}


def read(client: Client, row: ApprovalRequest, token: str | None = None, **headers: str) -> Any:
    bearer = {"Authorization": f"Bearer {token}"} if token is not None else {}
    return client.get(f"/requests/{row.pk}", headers={**bearer, **headers})


def test_n13_an_approver_reads_every_argument_in_full_and_nothing_misleads(
    project: ReviewedProject,
) -> None:
    long = "start " + "x" * 100_000 + " end"
    name = f"<script>alert(1)</script>\u202eexe.{long}"
    row = project.request(WRITE, name=name, password="hunter2hunter2", amount=7)
    page = project.owner().get(f"/requests/{row.pk}").content.decode()
    assert f"&lt;script&gt;alert(1)&lt;/script&gt;\\u202eexe.{long}" in page
    assert "<script>alert" not in page
    assert "\u202e" not in page
    assert '<details class="fold">' in page
    assert "hunter2" not in page
    assert "***" in page
    assert "POST https://api.example/v1/users" in page
    for shown in (row.user_email, row.client_name, "Users", "amount"):
        assert shown in page


def test_the_lists_have_the_requests_of_each_person(project: ReviewedProject) -> None:
    row = project.request()
    link = f'href="/requests/{row.pk}"'

    def sections_with_request(client: Client) -> list[str]:
        page = client.get("/requests").content.decode()
        sections = re.findall(r'<section[^>]*id="([a-z-]+)".*?</section>', page, re.DOTALL)
        texts = re.findall(r"<section.*?</section>", page, re.DOTALL)
        return [name for name, text in zip(sections, texts, strict=True) if link in text]

    requester, owner = browser_of(project.grant.user), project.owner()
    assert (sections_with_request(requester), sections_with_request(owner)) == (
        ["mine"],
        ["to-decide"],
    )
    assert sections_with_request(browser_of(project.member("member"))) == []
    owner.post(f"/requests/{row.pk}/reject", {"note": "No."})
    assert (sections_with_request(requester), sections_with_request(owner)) == (
        ["mine"],
        ["decided"],
    )
    assert Client().get("/requests").status_code == 302


def test_the_lists_are_filtered_by_project_status_and_tool(project: ReviewedProject) -> None:
    rows = {
        "waits": project.request(WRITE, name="a"),
        "removes": project.request(REMOVE, name="c"),
        "late": project.request(WRITE, name="b"),
    }
    ApprovalRequest.objects.filter(pk=rows["late"].pk).update(expires_at=timezone.now())
    requester = browser_of(project.grant.user)

    def shown_names(browser: Client, **wanted: str) -> set[str]:
        page = browser.get("/requests", wanted).content.decode()
        return {name for name, row in rows.items() if f'href="/requests/{row.pk}"' in page}

    assert shown_names(requester, project=project.row.pk) == {"waits", "removes", "late"}
    assert shown_names(requester, tool=REMOVE[1:].upper()) == {"removes"}
    assert shown_names(requester, status="expired") == {"late"}
    assert shown_names(requester, status="pending", tool=WRITE) == {"waits"}
    # Those to decide all wait, whatever status the filter has.
    assert shown_names(project.owner(), status="expired", tool=WRITE) == {"waits"}
    for unknown in ({"project": "prj_of_others"}, {"status": "<b>"}):
        page = requester.get("/requests", unknown).content.decode()
        assert "Select a valid choice" in page
        assert shown_names(requester, **unknown) == {"waits", "removes", "late"}


def test_a_person_reads_only_requests_that_concern_them(
    project: ReviewedProject, settings: Any
) -> None:
    settings.DEBUG = False
    row = project.request()
    admin = browser_of(project.member("boss", Role.ADMIN))
    for client in (admin, browser_of(project.grant.user), project.owner()):
        assert read(client, row).status_code == 200
    assert "Approve</button>" not in read(admin, row).content.decode()
    assert "You made this request" not in read(browser_of(project.grant.user), row).content.decode()
    for client in (browser_of(project.member("member")), browser_of(grants.make_grant().user)):
        assert read(client, row).status_code == 404
        assert read(client, row, **JSON).status_code == 404
    assert read(Client(), row).status_code == 302
    assert read(Client(), row, **JSON).status_code == 401
    assert Client().post(f"/requests/{row.pk}/approve").status_code == 302
    csrf = Client(enforce_csrf_checks=True)
    csrf.force_login(project.row.owner)  # type: ignore[arg-type]  # it has one
    assert csrf.post(f"/requests/{row.pk}/approve").status_code == 403
    assert project.owner().get(f"/requests/{row.pk}/approve").status_code == 405
    assert project.executed == []


def test_a_program_reads_the_status_with_a_credential_of_the_grant_that_made_it(
    project: ReviewedProject,
) -> None:
    row, client = project.request(), Client()
    token = project.grant.token()
    waiting = read(client, row, token)
    assert waiting.json() == {"requestId": str(row.pk), "status": "PENDING_APPROVAL"}
    assert waiting["Cache-Control"] == "no-store"
    assert read(project.owner(), row, **JSON).json()["status"] == "PENDING_APPROVAL"
    foreign = grants.make_grant().token()
    unknown = client.get(
        "/requests/00000000-0000-7000-8000-000000000000",
        headers={"Authorization": f"Bearer {token}"},
    )
    refusals = [unknown, *(read(client, row, bad) for bad in ("", "halo_at_x", foreign))]
    assert {(one.status_code, one.content) for one in refusals} == {
        (401, b'{"error": "unauthorized"}')
    }
    project.owner().post(f"/requests/{row.pk}/approve")
    assert read(client, row, token).json() == {
        "requestId": str(row.pk),
        "status": "EXECUTED",
        "result": {
            "content": [{"type": "text", "text": "made Ada"}],
            "structuredContent": None,
        },
    }
    other = project.request(WRITE, name="Bob")
    project.owner().post(f"/requests/{other.pk}/reject", {"note": "\x00No, not <now>."})
    body = read(client, other, token).json()
    assert (body["status"], body["reason"]) == ("REJECTED", "\\u0000No, not <now>.")


def test_requests_within_a_minute_are_one_mail_to_each_approver(
    project: ReviewedProject, settings: Any
) -> None:
    settings.HALO_LIMIT_STORE = "memory"  # counters that this test can reset
    limits.reset_store()
    first, second = project.member("first"), project.member("second")
    project.rule(WRITE, "require_approval").approvers.add(first, second)
    project.rule(REMOVE, "require_approval").approvers.add(second)
    organization = str(project.grant.organization.pk)
    first_row = project.request(WRITE, name="Grace")
    assert tasks.mail_approvers(organization) == send_mails() == 2
    rows = [project.request(WRITE, name=f"Grace {number}") for number in range(24)]
    removal = project.request(REMOVE, name="Grace")
    assert (tasks.mail_approvers(organization), tasks.mail_waiting()) == (0, 0)
    limits.reset_store()  # a minute later
    assert tasks.mail_waiting() == send_mails() == 2
    limits.reset_store()  # a minute later
    assert tasks.mail_waiting() == 0
    assert len(mail.outbox) == 4
    by_address = {one.to[0]: one for one in mail.outbox[2:]}
    assert by_address[first.email].subject == "24 requests wait for your approval"
    assert by_address[second.email].subject == "25 requests wait for your approval"
    body = by_address[first.email].body
    assert body.count("/requests/") == 20
    assert "4 more: " in body
    assert f"/requests/{rows[0].pk}" in body
    assert f"/requests/{first_row.pk}" not in body
    assert str(removal.pk) not in body


def test_another_token_of_a_person_files_no_further_requests(project: ReviewedProject) -> None:
    project.rule("*", "require_approval")
    row = project.request(WRITE, name="Grace")
    copies = [
        ApprovalRequest(
            **{
                one.attname: getattr(row, one.attname)
                for one in ApprovalRequest._meta.concrete_fields
                if one.attname not in {"id", "digest", "idempotency_key", "authorization_id"}
            },
            digest=str(number),
            authorization_id=f"token-{number}",
        )
        for number in range(49)
    ]
    ApprovalRequest.objects.bulk_create(copies)
    other = project.mcp.holding(project.grant.another().token())
    refused = other.call(WRITE, {"name": "Hopper"})
    assert "already has 50 requests waiting for approval" in str(refused.error)
    copies[0].delete()
    assert other.call(WRITE, {"name": "Hopper"}).facts["status"] == "PENDING_APPROVAL"


def test_an_organization_has_a_limited_number_of_open_requests(
    project: ReviewedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.requests.MAX_OPEN_OF_ORGANIZATION", 2)
    project.rule("*", "require_approval")
    first = project.request(WRITE, name="Grace")
    ApprovalRequest.objects.filter(pk=first.pk).update(user_id="another person")
    project.request(WRITE, name="Hopper")
    assert "The organization already has 2 requests" in str(project.call(WRITE, name="Ada").error)


def test_requests_of_another_organization_take_no_room(
    project: ReviewedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("approvals.requests.MAX_OPEN_REQUESTS", 1)
    monkeypatch.setattr("approvals.requests.MAX_OPEN_OF_ORGANIZATION", 1)
    with open_reviewed_project(grants.make_grant()) as other:
        elsewhere = other.request()
        # Of the same person, who is a member of both.
        ApprovalRequest.objects.filter(pk=elsewhere.pk).update(user_id=project.grant.user.pk)
        assert "waiting for approval" in str(other.call(WRITE, name="Hopper").error)
    assert project.call(WRITE, name="Grace").facts["status"] == "PENDING_APPROVAL"
    assert "waiting for approval" in str(project.call(WRITE, name="Hopper").error)


def test_requests_end_with_the_connection_that_made_them(project: ReviewedProject) -> None:
    rows = [project.request(WRITE, name=f"Grace {number}") for number in range(3)]
    other = project.mcp.holding(project.grant.another().token())
    kept = other.call(WRITE, {"name": "Hopper"}).facts["requestId"]
    project.grant.revoke()
    assert settle() == 3
    page = project.owner().get("/requests").content.decode()
    assert f"/requests/{kept}" in page
    to_decide = page.partition('id="to-decide"')[2].partition("</section>")[0]
    assert not any(str(row.pk) in to_decide for row in rows)
    ended = ApprovalRequest.objects.exclude(pk=kept)
    assert {*ended.values_list("status", flat=True)} == {"declined"}
    assert "connection has ended" in ended[0].note
    assert ApprovalRequest.objects.get(pk=kept).status == "pending"


def test_a_request_ends_as_withdrawn_as_soon_as_its_page_is_read(
    project: ReviewedProject,
) -> None:
    row = project.request()
    project.grant.revoke()
    page = project.owner().get(f"/requests/{row.pk}").content.decode()
    assert "<strong>Withdrawn</strong>" in page
    assert "their connection has ended" in page
    assert "Approve</button>" not in page
    row.refresh_from_db()
    assert row.status == "declined"


def test_a_requester_reads_who_can_approve_a_request_and_withdraws_it(
    project: ReviewedProject,
) -> None:
    deciders = [project.member(name) for name in ("abe", "bo")]
    project.rule(WRITE, "require_approval").approvers.add(*deciders)
    row, own = project.request(), browser_of(project.grant.user)
    address = f"/requests/{row.pk}"
    page = " ".join(own.get(address).content.decode().split())
    assert "Can be approved by <bdi>abe@example.com or bo@example.com</bdi>." in page
    assert "Approve</button>" not in page
    other = browser_of(deciders[0])
    assert "Withdraw the request" not in other.get(address).content.decode()
    assert other.post(f"{address}/withdraw").status_code == 403
    assert browser_of(project.member("stranger")).post(f"{address}/withdraw").status_code == 404
    assert own.get(f"{address}/withdraw").status_code == 405
    done = own.post(f"{address}/withdraw", follow=True).content.decode()
    assert "<strong>Withdrawn</strong>" in done
    assert "Withdraw the request" not in done
    answer = read(Client(), row, project.mcp.token).json()
    assert (answer["status"], answer["reason"]) == ("REJECTED", requests.WITHDRAWN)
    late = other.post(f"{address}/approve", follow=True).content.decode()
    assert "This request is no longer waiting for approval." in late
    assert project.executed == []
    assert project.request().pk != row.pk


def statements(client: Client, address: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(address).status_code == 200
    return len(captured)


def test_pages_of_requests_have_no_statement_for_each_member_or_connection(
    project: ReviewedProject,
) -> None:
    rule = project.rule("create_*", "require_approval", approver_roles=["member"])
    group = ApproverGroup.objects.create(organization=project.grant.organization, name="Deciders")
    rule.approver_groups.add(group)
    rule.approvers.add(project.grant.user)
    row = project.request()
    own, address = browser_of(project.grant.user), f"/requests/{row.pk}"
    assert "no other person in the organization may approve it" in own.get(address).content.decode()
    others = [project.request(WRITE, name=f"Ada {n}") for n in range(8)]
    outsider = project.member("outside", Role.ADMIN)
    before = statements(own, address), statements(own, "/requests")
    for n, other in enumerate(others):
        project.member(f"also-outside-{n}", Role.ADMIN)
        ApprovalRequest.objects.filter(pk=other.pk).update(authorization_id=uuid4())
    assert (statements(own, address), statements(own, "/requests")) == before
    assert "no other person in the organization may approve it" in own.get(address).content.decode()
    group.members.add(outsider)
    assert "Another person has to approve it" in own.get(address).content.decode()


def test_the_worker_ends_requests_of_ended_connections_but_not_of_suspended_organizations(
    project: ReviewedProject,
) -> None:
    row, organization = project.request(), project.grant.organization
    Organization.objects.filter(pk=organization.pk).update(suspended_at=timezone.now())
    assert settle() == 0
    Organization.objects.filter(pk=organization.pk).update(suspended_at=None)
    assert settle() == 0
    project.grant.membership.delete()
    assert settle() == 1
    row.refresh_from_db()
    assert row.status == "declined"


def test_approvers_are_sent_one_mail_for_a_new_request(
    project: ReviewedProject,
    monkeypatch: pytest.MonkeyPatch,
    django_capture_on_commit_callbacks: Any,
) -> None:
    first, second = project.member("first"), project.member("second")
    rule = project.rule("*", "require_approval")
    rule.approvers.add(first, second, project.grant.user)
    sent: list[str] = []
    monkeypatch.setattr("foundation.queueing.send", lambda *given: sent.extend(given))
    misleading = "Ada\n\nRead the request and decide: https://elsewhere.example/"
    with django_capture_on_commit_callbacks(execute=True):
        row = project.request(WRITE, name=misleading, password="hunter2hunter2")
        project.request(WRITE, name=misleading, password="hunter2hunter2")
    assert sent == [tasks.mail_approvers.name, str(row.organization_id)]
    assert tasks.mail_approvers(sent[1]) == send_mails() == 2
    assert sorted(message.to[0] for message in mail.outbox) == [first.email, second.email]
    message = mail.outbox[0]
    assert message.subject == "Approve create_user in Users?"
    assert f"/requests/{row.pk}" in message.body
    assert "\nRead the request and decide: https://elsewhere.example" not in message.body
    assert 'name: "Ada' in message.body
    assert "hunter2" not in message.body
    browser_of(first).post(f"/requests/{row.pk}/approve")
    assert tasks.mail_approvers(sent[1]) == 0


def test_a_request_of_another_organization_is_unknown(project: ReviewedProject) -> None:
    row = project.request()
    with open_reviewed_project(grants.make_grant()) as other:
        assert read(other.owner(), row).status_code == 404
        assert other.owner().post(f"/requests/{row.pk}/approve").status_code == 404
    row.refresh_from_db()
    assert row.status == "pending"
