"""The pages of requests: what they show, to whom, and what programs and approvers are given."""

import re
from typing import Any

import pytest
from django.core import mail
from django.test import Client

from approvals.models import ApprovalRequest
from gateway import tasks
from tests.drivers import grants
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import WRITE, ReviewedProject, reviewed
from workspace.models import Role

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

    def listed(client: Client) -> list[str]:
        page = client.get("/requests").content.decode()
        sections = re.findall(r'<section[^>]*id="([a-z-]+)".*?</section>', page, re.DOTALL)
        texts = re.findall(r"<section.*?</section>", page, re.DOTALL)
        return [name for name, text in zip(sections, texts, strict=True) if link in text]

    requester, owner = browser_of(project.grant.user), project.owner()
    assert (listed(requester), listed(owner)) == (["mine"], ["to-decide"])
    assert listed(browser_of(project.member("member"))) == []
    owner.post(f"/requests/{row.pk}/reject", {"note": "No."})
    assert (listed(requester), listed(owner)) == (["mine"], ["decided"])
    assert Client().get("/requests").status_code == 302


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
    for client in (browser_of(project.member("member")), browser_of(grants.granted().user)):
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
    foreign = grants.granted().token()
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
    assert sent == [tasks.mail_approvers.name, str(row.pk)]
    assert tasks.mail_approvers(sent[1]) == 2
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
    with reviewed(grants.granted()) as other:
        assert read(other.owner(), row).status_code == 404
        assert other.owner().post(f"/requests/{row.pk}/approve").status_code == 404
    row.refresh_from_db()
    assert row.status == "pending"
