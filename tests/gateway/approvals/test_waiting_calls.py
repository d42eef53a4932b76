"""Calls of a project that wait for a decision: filed, decided, executed, and repeated."""

import json
from datetime import timedelta
from typing import Any
from unittest.mock import patch

import pytest
from django.test import Client
from django.utils import timezone

from approvals.models import ApprovalRequest
from approvals.tasks import settle
from audit.models import ActionExecution, SecurityEvent
from foundation import ids
from gateway import policies
from gateway.models import ApproverGroup, Effect, PolicyRule, Project
from mcp_protocol.revisions import Revision
from oauth.models import Authorization
from tests.drivers import grants
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import READ, REMOVE, WRITE, ReviewedProject
from tests.drivers.shared_connection import wait_for_jobs
from tools_registry.api import ToolFailure
from workspace.models import Membership, Role, User


class Upstream(ToolFailure):
    """A response of the API; without a status, none came."""

    kind = "integration"

    def __init__(self, status: int | None) -> None:
        super().__init__("The API did not do it.")
        self.upstream_status = status


def decide(desk: Client, row: ApprovalRequest, word: str = "approve", **form: str) -> int:
    return desk.post(f"/requests/{row.pk}/{word}", form).status_code


def state(row: ApprovalRequest) -> str:
    row.refresh_from_db()
    return row.status


def last_call() -> ActionExecution:
    return ActionExecution.objects.latest("pk")


def test_n01_a_write_waits_with_the_pending_result_of_the_document(
    project: ReviewedProject, settings: Any
) -> None:
    assert project.call(READ).result["content"][0]["text"] == "made Ada"
    reply = project.call(WRITE, name="Ada", password="p")
    row = ApprovalRequest.objects.get()
    assert project.row.owner is not None
    url = f"{settings.HALO_PUBLIC_URL}/requests/{row.pk}"
    (block,) = reply.result["content"]
    assert block["text"] == (
        f'{{"status": "PENDING_APPROVAL", "requestId": "{row.pk}", "statusUrl": "{url}", '
        f'"approvalUrl": "{url}", "pollIntervalSeconds": 15, "message": "This operation requires '
        "approval. An approver is being notified. It can be approved by "
        f"{project.row.owner.email}. Repeat this call with the same arguments to get the "
        'decision and the result."}'
    )
    modern = project.mcp.with_revision(Revision.V2025_06_18).call(
        WRITE, {"name": "Ada", "password": "p"}
    )
    assert modern.result["structuredContent"] == json.loads(block["text"])
    assert (last_call().outcome, last_call().reason) == ("pending_approval", "approval_required")
    assert project.executed == [{"name": "Ada"}]
    minutes = Project.objects.get().approval_minutes
    assert row.expires_at - row.created_at >= timedelta(minutes=minutes - 1)


def test_a_pending_call_names_who_can_approve_it(project: ReviewedProject) -> None:
    for number in range(5):
        project.member(f"lead-{number}", Role.ADMIN)
    User.objects.filter(email="lead-0@example.com").update(name="Lea\n\u202eDer")
    project.rule(WRITE, "require_approval", approver_roles=["admin"])
    message = project.call().facts["message"]
    assert "can be approved by Lea Der (lead-0@example.com), lead-1@example.com, " in message
    assert "or 3 other members. Repeat this call" in message
    assert project.grant.user.email not in message


def test_a_pending_call_says_that_no_person_can_approve_it(
    project: ReviewedProject, settings: Any
) -> None:
    Membership.objects.exclude(user=project.grant.user).delete()
    Project.objects.update(owner=project.grant.user)
    message = project.call().facts["message"]
    assert "no person can approve it" in message
    assert f"{settings.HALO_PUBLIC_URL}/projects/{project.row.pk}/policy" in message
    assert "notified" not in message
    Project.objects.update(self_approval=True)
    other = project.call(WRITE, name="Grace").facts["message"]
    assert "can be approved by the requester." in other


def test_a_repeated_result_is_marked_and_another_idempotency_key_means_another_call(
    project: ReviewedProject, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Other tests travel in time, and the ids of a process never go back.
    monkeypatch.setattr(ids, "_sequence", ids.Sequence(ids._unix_milliseconds))

    def create(key: str = "", revision: Revision = Revision.V2025_11_25) -> Any:
        meta = {"_meta": {"idempotency_key": key}} if key else {}
        params = {"name": WRITE, "arguments": {"name": "Ada"}, **meta}
        return project.mcp.with_revision(revision).request("tools/call", params)

    pending = create()
    assert "repeated" not in pending.result.get("_meta", {})
    first = ApprovalRequest.objects.get(pk=pending.facts["requestId"])
    project.owner().post(f"/requests/{first.pk}/approve")
    wait_for_jobs()
    for revision in (Revision.V2024_11_05, Revision.V2025_11_25, Revision.V2026_07_28):
        again = create(revision=revision)
        assert again.result["_meta"]["repeated"] is True
        assert again.result["content"][0]["text"] == "made Ada"
    assert len(project.executed) == 1
    page = project.owner().get(f"/requests/{first.pk}").content.decode()
    assert "3 identical calls were answered with this result" in page

    second = create("another").facts["requestId"]
    assert second != str(first.pk)
    assert create("another").facts["requestId"] == second
    assert create("a third").facts["requestId"] != second
    project.owner().post(f"/requests/{second}/approve")
    wait_for_jobs()
    assert create("another").result["_meta"]["repeated"] is True
    assert len(project.executed) == 2


def test_n02_an_identical_call_finds_the_request_and_another_files_its_own(
    project: ReviewedProject,
) -> None:
    row = project.request(WRITE, name="Ada", amount=1)
    assert project.request(WRITE, amount=1, name="Ada").pk == row.pk
    others = [
        project.request(WRITE, name="Ada", amount=2),
        project.request(REMOVE, name="Ada", amount=1),
    ]
    Project.objects.update(version=2)
    others.append(project.request(WRITE, name="Ada", amount=1))
    assert len({row.pk, *(one.pk for one in others)}) == 4


def test_pitfall_20_json_text_and_the_object_that_it_means_are_one_request(
    project: ReviewedProject,
) -> None:
    row = project.request(WRITE, name="Ada", address='{"city": "Bern"}')
    assert project.request(WRITE, name="Ada", address={"city": "Bern"}).pk == row.pk
    assert row.arguments == {"name": "Ada", "address": {"city": "Bern"}}


def test_an_executed_request_answers_the_same_call_for_a_quarter_of_an_hour(
    project: ReviewedProject,
) -> None:
    assert project.row.owner is not None
    row = project.request(WRITE, name="Ada")
    assert decide(project.owner(), row) == 302
    assert (state(row), project.executed) == ("done", [{"name": "Ada"}])
    again = project.call(WRITE, name="Ada")
    assert again.result["content"] == [{"type": "text", "text": "made Ada"}]
    assert last_call().detail == f"approval request {row.pk}"
    assert project.executed == [{"name": "Ada"}]
    # The result is that of the grant that made the request.
    other = grants.make_grant()
    Authorization.objects.filter(pk=other.authorization.pk).update(
        organization=project.grant.organization,
        membership=project.row.owner.memberships.get(),
        user=project.row.owner,
    )
    theirs = project.mcp.holding(other.token()).call(WRITE, {"name": "Ada"}).facts
    assert theirs["status"] == "PENDING_APPROVAL"
    ApprovalRequest.objects.update(ended_at=timezone.now() - timedelta(minutes=15))
    assert project.request(WRITE, name="Ada").pk != row.pk


def test_a_rejected_request_answers_the_same_call_with_its_reason(
    project: ReviewedProject,
) -> None:
    row = project.request()
    assert decide(project.owner(), row, "reject", note="Not on a Friday.") == 302
    assert (state(row), row.note) == ("declined", "Not on a Friday.")
    assert "The request was rejected. Reason: Not on a Friday." in project.call().error["message"]
    assert (last_call().outcome, last_call().reason) == ("refused", "approval_rejected")
    newer = project.mcp.with_revision(Revision.V2025_11_25).call(WRITE, {"name": "Ada"}).result
    assert newer["isError"] is True
    assert "Not on a Friday." in newer["content"][0]["text"]
    assert ApprovalRequest.objects.count() == 1
    assert project.executed == []
    ApprovalRequest.objects.update(ended_at=timezone.now() - timedelta(minutes=15))
    assert project.request().pk != row.pk


def test_n04_a_requester_approves_their_own_request_only_if_the_project_allows_it(
    project: ReviewedProject,
) -> None:
    Membership.objects.filter(user=project.grant.user).update(role=Role.ADMIN)
    project.rule("create_*", "require_approval", approver_roles=["admin", "super_admin"])
    row, desk = project.request(), browser_of(project.grant.user)
    assert decide(desk, row) == 403
    assert (state(row), project.executed) == ("pending", [])
    assert SecurityEvent.objects.get(kind="self_approval").subject == str(row.pk)
    Project.objects.update(self_approval=True)
    later = project.request(name="Eve")
    # A request keeps what applied when it was made, and nobody has to allow more than now.
    assert (decide(desk, row), state(row)) == (403, "pending")
    Project.objects.update(self_approval=False)
    assert decide(desk, later) == 403
    Project.objects.update(self_approval=True)
    assert decide(desk, later) == 302
    assert (state(later), project.executed) == ("done", [{"name": "Eve"}])


@pytest.mark.parametrize("named", ["person", "group", "role"])
def test_the_approvers_of_the_rule_decide_and_nobody_else(
    project: ReviewedProject, named: str
) -> None:
    member, other = project.member("member"), project.member("other")
    rule = project.rule("*", "require_approval")
    if named == "person":
        rule.approvers.add(member)
    elif named == "group":
        group = ApproverGroup.objects.create(organization=rule.project.organization, name="Four")
        group.members.add(member)
        rule.approver_groups.add(group)
    else:
        rule.approver_roles = ["admin"]
        rule.save()
        Membership.objects.filter(user=member).update(role=Role.ADMIN)
        Membership.objects.filter(user=project.row.owner).update(role=Role.MEMBER)
    row, stranger = project.request(), User.objects.create_user("stranger@example.com")
    rule.approvers.add(stranger)  # who is no member of the organization
    assert decide(browser_of(other), row) == 404
    assert decide(browser_of(stranger), row) == 404
    assert decide(browser_of(stranger), row, "reject") == 404
    assert decide(project.owner(), row) == (404 if named == "role" else 403)
    assert state(row) == "pending"
    assert decide(browser_of(member), row) == 302
    assert state(row) == "done"


def test_super_admins_decide_what_admins_decide_and_not_the_other_way_round(
    project: ReviewedProject,
) -> None:
    boss, super_admin = project.member("boss", Role.ADMIN), project.member("sue", Role.SUPER_ADMIN)
    project.rule(WRITE, "require_approval", approver_roles=["admin"])
    project.rule(REMOVE, "require_approval", approver_roles=["super_admin"])
    pending = project.call(WRITE).facts
    assert "sue@example.com" in pending["message"]
    removal = project.request(REMOVE)
    assert decide(browser_of(boss), removal) == 403
    assert decide(browser_of(super_admin), removal) == 302
    row = ApprovalRequest.objects.get(pk=pending["requestId"])
    assert f"/requests/{row.pk}" in browser_of(super_admin).get("/requests").content.decode()
    assert decide(browser_of(super_admin), row) == 302
    assert (state(row), state(removal)) == ("done", "done")


def test_without_an_owner_the_admins_of_the_organization_decide(project: ReviewedProject) -> None:
    admin, member = project.member("boss", Role.ADMIN), project.member("member")
    row = project.request()
    assert decide(browser_of(admin), row) == 403
    Membership.objects.filter(user=project.row.owner).delete()
    assert decide(browser_of(member), row) == 404
    assert decide(browser_of(admin), row) == 302
    assert state(row) == "done"


@pytest.mark.parametrize(
    ("change", "status"),
    [
        ("denied", "pending"),
        ("version", "failed"),
        ("revoked", "declined"),
        ("left", "declined"),
        ("scope", "pending"),
        ("expired", "expired"),
    ],
)
def test_n05_an_approval_runs_nothing_that_is_refused_meanwhile(
    project: ReviewedProject, change: str, status: str
) -> None:
    row, desk = project.request(), project.owner()
    if change == "denied":
        project.rule("create_*", "deny")
    elif change == "version":
        Project.objects.update(version=2)
    elif change == "revoked":
        project.grant.revoke()
    elif change == "left":
        project.grant.membership.delete()
    elif change == "scope":
        project.grant.narrow("docs:read")
    else:
        ApprovalRequest.objects.update(expires_at=timezone.now())
    page = desk.post(f"/requests/{row.pk}/approve", follow=True).content.decode()
    assert (state(row), project.executed) == (status, [])
    messages = {"denied": "Denied by policy", "version": "OpenAPI document of the project changed"}
    assert messages.get(change, "") in page


def test_a_failure_that_may_have_happened_is_unknown_and_never_repeated(
    project: ReviewedProject,
) -> None:
    project.failure = Upstream(None)
    row, desk = project.request(), project.owner()
    decide(desk, row)
    assert state(row) == "unknown"
    decide(desk, row)
    assert len(project.executed) == 1
    assert "the call may have been executed" in project.call().error["message"]
    assert len(project.executed) == 1
    project.failure = Upstream(409)
    other = project.request(WRITE, name="Bob")
    decide(desk, other)
    assert state(other) == "unknown"
    project.failure = Upstream(422)
    third = project.request(WRITE, name="Eve")
    decide(desk, third)
    assert state(third) == "failed"
    assert "The API did not do it." in project.call(WRITE, name="Eve").error["message"]


def test_a_request_that_nobody_decides_expires_and_the_call_files_another(
    project: ReviewedProject,
) -> None:
    row = project.request()
    ApprovalRequest.objects.update(expires_at=timezone.now())
    assert settle() == 1
    assert state(row) == "expired"
    assert project.request().pk != row.pk


def test_n02_a_call_that_is_repeated_looks_for_its_request_before_anything_else(
    project: ReviewedProject,
) -> None:
    project.rule("*", "require_approval").approvers.add(project.member("first"))
    row = project.request(WRITE, name="Ada")
    with patch.object(policies, "kept_rule", side_effect=AssertionError):
        for _ in range(2):
            assert project.request(WRITE, name="Ada").pk == row.pk


def test_n20_a_rule_that_is_deleted_while_a_call_is_decided_does_not_decide_it(
    project: ReviewedProject,
) -> None:
    """Without its row, nobody would be named, and the owner of the project would decide."""
    rule = project.rule("*", "require_approval")
    rule.approvers.add(project.member("first"))
    Project.objects.update(writes=Effect.DENY)
    kept_rule = policies.kept_rule

    def delete_and_keep(*given: Any) -> Any:
        PolicyRule.objects.filter(pk=rule.pk).delete()
        return kept_rule(*given)

    with patch.object(policies, "kept_rule", delete_and_keep):
        project.call(WRITE, name="Ada")
    assert (last_call().outcome, last_call().reason) == ("refused", "policy_denied")
    assert not ApprovalRequest.objects.exists()
