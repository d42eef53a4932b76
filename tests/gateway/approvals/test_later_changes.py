"""Changes of a project and of its policy while others change it, and while requests wait."""

from typing import Any

import pytest
from django.test import Client

from approvals.models import ApprovalRequest
from audit.models import SecurityEvent
from foundation import ids
from foundation.admin_urls import row_url
from gateway import projects
from gateway.models import ApproverGroup, Project, ProjectTool
from gateway.rules import editing
from gateway.rules.editing import Editor, RuleFacts
from mcp_protocol.revisions import Revision
from tests.drivers.billing import browser_of
from tests.drivers.reviewed_project import REMOVE, WRITE, ReviewedProject
from tests.gateway import shop
from workspace.models import Role, User


@pytest.fixture
def root(project: ReviewedProject) -> Client:  # noqa: ARG001  the database has to be open
    return browser_of(User.objects.create_superuser("root@example.com"))


def approve(user: User, row: ApprovalRequest) -> int:
    return browser_of(user).post(f"/requests/{row.pk}/approve").status_code


def test_v12_a_change_of_settings_never_takes_the_version_of_an_import_back(
    project: ReviewedProject,
) -> None:
    read_before = Project.objects.get(pk=project.row.pk)
    boss = project.member("boss", Role.ADMIN)
    projects.reimport(project.row, shop.text(), boss)
    projects.change(read_before, boss, document_url="https://api.example/openapi.json")
    projects.change(read_before, boss, authentication="project")
    projects.change(Project.objects.get(pk=project.row.pk), boss, authentication="project")
    stored = Project.objects.get(pk=project.row.pk)
    assert (stored.version, stored.authentication) == (3, "project")
    # A stale value that was not changed is not written.
    assert stored.document_url == "https://api.example/openapi.json"
    projects.reimport(read_before, shop.text(), boss)
    assert Project.objects.get(pk=project.row.pk).version == 4


def test_v12_a_value_that_only_looks_unchanged_to_an_old_reader_is_saved(
    project: ReviewedProject,
) -> None:
    read_before = Project.objects.get(pk=project.row.pk)
    boss = project.member("boss", Role.ADMIN)
    projects.change(project.row, boss, target_url="https://other.example/v1")
    projects.change(read_before, boss, target_url="https://api.example/v1")
    stored = Project.objects.get(pk=project.row.pk)
    assert (stored.target_url, stored.version) == ("https://api.example/v1", 3)


def test_s10_the_admin_neither_switches_or_reviews_a_tool_nor_changes_a_policy(
    project: ReviewedProject, root: Client
) -> None:
    tool = ProjectTool.objects.get(name=REMOVE)
    ProjectTool.objects.update(needs_review=True, is_enabled=False)
    Project.objects.update(writes="deny")
    page = root.get(row_url(project.row, "change")).content.decode()
    assert f'href="/projects/{project.row.pk}/policy"' in page
    assert 'name="writes"' not in page
    shown = root.get(row_url(tool, "change")).content.decode()
    assert f'href="/projects/{project.row.pk}"' in shown
    for name in ("is_enabled", "is_read", "needs_review"):
        assert f'name="{name}"' not in shown
    given = {"is_enabled": "on", "is_read": "on", "needs_review": "", "_save": "Save"}
    assert root.post(row_url(tool, "change"), given).status_code == 403
    tool.refresh_from_db()
    assert (tool.is_enabled, tool.is_read, tool.needs_review) == (False, False, True)
    assert not SecurityEvent.objects.filter(kind="project_changed").exists()


@pytest.mark.parametrize("named", ["person", "group", "role", "nobody"])
def test_n20_a_later_edit_of_a_rule_changes_no_open_request(
    project: ReviewedProject, named: str
) -> None:
    place, other = project.grant.organization, project.member("other", Role.ADMIN)
    first = project.member("first", Role.SUPER_ADMIN)
    group = ApproverGroup.objects.create(organization=place, name="Finance")
    group.members.add(first)
    facts = {
        "person": {"approvers": [first]},
        "group": {"approver_groups": [group]},
        "role": {"approver_roles": ["super_admin"]},
        "nobody": {},
    }[named]
    by = Editor(other, "")
    rule = editing.add(
        project.row, RuleFacts(pattern="d*", conditions=(), effect="require_approval", **facts), by
    )
    kept = project.request(REMOVE, name="Ada")
    later = RuleFacts(pattern="*", conditions=(), effect="require_approval", approvers=[other])
    editing.change(rule, later, by)
    after = project.request(WRITE, name="Ada")
    decides = first if named != "nobody" else project.row.owner
    assert decides is not None
    page = browser_of(decides).get(f"/requests/{kept.pk}").content.decode()
    assert "<code>d*</code>" in page
    assert approve(decides, after) in {403, 404}
    assert approve(other, kept) == 403
    assert approve(decides, kept) == 302
    assert approve(other, after) == 302
    assert project.executed == [{"name": "Ada"}] * 2
    assert kept.rule["effect"] == "require_approval"


def test_n20_admins_decide_a_request_that_is_older_than_kept_rules(
    project: ReviewedProject,
) -> None:
    member = project.member("member")
    project.rule("*", "require_approval").approvers.add(member)
    row = project.request()
    ApprovalRequest.objects.update(rule=None)
    assert approve(member, row) == 404
    assert approve(project.member("boss", Role.ADMIN), row) == 302


def call_with_key(project: ReviewedProject, **arguments: Any) -> Any:
    """The result of a call with one idempotency key."""
    meta = {"idempotency_key": "one"}
    client = project.mcp.with_revision(Revision.V2025_11_25)
    return client.call(WRITE, arguments or {"name": "Ada"}, meta=meta).result


def import_again(project: ReviewedProject) -> None:
    projects.reimport(project.row, shop.text(), project.row.owner)


def test_a_key_finds_its_request_after_the_document_has_changed(project: ReviewedProject) -> None:
    assert project.row.owner is not None
    first = call_with_key(project)["structuredContent"]["requestId"]
    import_again(project)
    assert call_with_key(project)["structuredContent"]["requestId"] == first
    # The request is of the earlier document: nothing is sent, and the call is requested again.
    assert approve(project.row.owner, ApprovalRequest.objects.get(pk=first)) == 302
    second = call_with_key(project)["structuredContent"]["requestId"]
    assert (second != first, project.executed) == (True, [])
    assert approve(project.row.owner, ApprovalRequest.objects.get(pk=second)) == 302
    import_again(project)
    assert call_with_key(project)["_meta"]["repeated"] is True
    assert (ApprovalRequest.objects.count(), project.executed) == (2, [{"name": "Ada"}])


@pytest.mark.parametrize("is_executed", [False, True])
def test_a_key_is_refused_for_other_arguments_while_its_request_answers_calls(
    project: ReviewedProject, *, is_executed: bool
) -> None:
    assert project.row.owner is not None
    call_with_key(project)
    if is_executed:
        approve(project.row.owner, ApprovalRequest.objects.get())
    refused = call_with_key(project, name="Bob")
    assert refused["isError"] is True
    assert "used for a call with other arguments" in refused["content"][0]["text"]
    assert ApprovalRequest.objects.count() == 1


@pytest.mark.parametrize("other", [True, 1.0])
def test_a_key_is_refused_for_a_value_of_another_type(
    project: ReviewedProject, other: object
) -> None:
    call_with_key(project, name="Ada", address={"n": 1})
    refused = call_with_key(project, name="Ada", address={"n": other})
    assert "used for a call with other arguments" in refused["content"][0]["text"]
    again = call_with_key(project, address={"n": 1}, name="Ada")
    assert again["structuredContent"]["status"] == "PENDING_APPROVAL"
    assert ApprovalRequest.objects.count() == 1


def request_again(project: ReviewedProject, token: str, **arguments: Any) -> Any:
    """The result of the keyed call through another connection."""
    client = project.mcp.holding(token).with_revision(Revision.V2025_11_25)
    return client.call(WRITE, arguments or {"name": "Ada"}, meta={"idempotency_key": "one"}).result


def test_a_key_finds_the_request_of_another_connection_of_the_person(
    project: ReviewedProject,
) -> None:
    assert project.row.owner is not None
    first = call_with_key(project)["structuredContent"]["requestId"]
    token = project.grant.another().token()
    assert request_again(project, token)["structuredContent"]["requestId"] == first
    refused = request_again(project, token, name="Bob")
    assert "used for a call with other arguments" in refused["content"][0]["text"]
    assert approve(project.row.owner, ApprovalRequest.objects.get()) == 302
    assert request_again(project, token)["_meta"]["repeated"] is True
    assert (ApprovalRequest.objects.count(), project.executed) == (1, [{"name": "Ada"}])


def test_a_key_finds_no_request_of_another_person(project: ReviewedProject) -> None:
    other = project.member("other", Role.ADMIN)
    call_with_key(project)
    ApprovalRequest.objects.update(user_id=str(other.pk), authorization_id=str(ids.uuid7()))
    second = call_with_key(project)["structuredContent"]
    assert second["status"] == "PENDING_APPROVAL"
    theirs = ApprovalRequest.objects.get(user_id=str(other.pk))
    assert (theirs.status, ApprovalRequest.objects.count()) == ("pending", 2)
    assert second["requestId"] != str(theirs.pk)


def test_a_key_files_a_request_in_place_of_one_whose_connection_has_ended(
    project: ReviewedProject,
) -> None:
    first = call_with_key(project)["structuredContent"]["requestId"]
    project.grant.revoke()
    second = request_again(project, project.grant.another().token())["structuredContent"]
    assert second["requestId"] != first
    assert ApprovalRequest.objects.get(pk=first).status == "declined"
