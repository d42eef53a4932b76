"""Projects and their requests in Django admin: the same rules as on the console pages."""

import pytest
from django.test import Client

from audit.models import SecurityEvent
from foundation.admin_urls import row_url
from gateway.models import Project
from oauth import mcp_tokens
from oauth.mcp_tokens import NewToken
from oauth.models import McpToken
from tests.drivers import grants, project_rows
from tests.drivers.reviewed_project import ReviewedProject
from tests.drivers.shown_forms import save
from workspace.models import User

PROJECTS = "/admin/gateway/project/"


@pytest.fixture
def root(client: Client, db: None) -> Client:  # noqa: ARG001  asked for: it opens the database
    client.force_login(User.objects.create_superuser("root@example.com"))
    return client


@pytest.fixture
def token(project: ReviewedProject) -> NewToken:
    where = f"/{project.row.pk}"
    user, place = project.grant.user, project.grant.organization
    return mcp_tokens.issue(user, place, where, name="Mine", days=30, address="198.51.100.7")


def page(project: ReviewedProject, kind: str) -> str:
    return row_url(project.row, kind)


def assert_is_gone(project: ReviewedProject, token: NewToken) -> None:
    assert not Project.objects.filter(pk=project.row.pk).exists()
    assert McpToken.objects.get(pk=token.row.pk).revoked_at is not None
    assert SecurityEvent.objects.filter(kind="project_deleted").count() == 1
    assert SecurityEvent.objects.filter(kind="mcp_token_revoked").count() == 1


def test_a_project_that_is_deleted_leaves_an_event_and_no_token(
    project: ReviewedProject, token: NewToken, root: Client
) -> None:
    assert root.post(page(project, "delete"), {"post": "yes"}).status_code == 302
    assert_is_gone(project, token)


def test_projects_that_are_deleted_from_the_list_leave_the_same(
    project: ReviewedProject, token: NewToken, root: Client
) -> None:
    chosen = {"action": "delete_selected", "_selected_action": [project.row.pk], "post": "yes"}
    assert root.post(PROJECTS, chosen).status_code == 302
    assert_is_gone(project, token)


def test_a_name_that_another_project_has_is_an_error_of_the_form(
    project: ReviewedProject, root: Client
) -> None:
    place, owner = project.grant.organization, project.row.owner
    assert owner is not None
    project_rows.project(place, owner, name="Taken")
    project_rows.project(grants.make_grant().organization, owner, name="Taken elsewhere")
    sent = {
        "name": "Taken",
        "owner": owner.pk,
        "target_url": project.row.target_url,
        "authentication": project.row.authentication,
        "reads": project.row.reads,
        "writes": project.row.writes,
        "approval_minutes": project.row.approval_minutes,
    }
    reply = save(root, page(project, "change"), sent)
    assert "The organization has a project of this name." in reply.content.decode()
    for free in ("Free", "Taken elsewhere"):
        assert save(root, page(project, "change"), sent | {"name": free}).status_code == 302


def test_secrets_of_a_request_are_masked_on_every_page_of_it(
    project: ReviewedProject, root: Client
) -> None:
    row = project.request(name="Ada", password="hunter2")
    for address in (row_url(row), row_url(row, "approve")):
        shown = root.get(address).content.decode()
        assert "Ada" in shown
        assert "***" in shown
        assert "hunter2" not in shown
