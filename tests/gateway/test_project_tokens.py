"""The page of MCP tokens, and their list in the admin."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from audit.models import SecurityEvent
from foundation.admin_urls import row_url
from gateway.models import Project
from oauth import mcp_tokens
from oauth.models import McpToken
from tests.drivers import project_rows
from workspace import organizations
from workspace.models import Organization, User

PAGE = "/projects-tokens"
SECRET = re.compile(r"halo_mt_[A-Za-z0-9_-]{43}")


@pytest.fixture
def ada(db: None) -> User:  # noqa: ARG001  asked for: it opens the database
    return User.objects.create_user("ada@acme.example", "correct horse battery staple")


@pytest.fixture
def acme(ada: User) -> Organization:
    return organizations.create("Acme Rockets", owner=ada)


@pytest.fixture
def project(acme: Organization, ada: User) -> Project:
    return project_rows.project(acme, ada)


@pytest.fixture
def browser(ada: User) -> Client:
    client = Client(HTTP_HOST="127.0.0.1:8000")
    client.force_login(ada)
    return client


@pytest.fixture
def bo(db: None) -> User:  # noqa: ARG001  as above
    bo = User.objects.create_user("bo@elsewhere.example", "correct horse battery staple")
    organizations.create("Elsewhere", owner=bo)
    return bo


def test_a_token_is_created_shown_once_listed_used_and_revoked(
    browser: Client, project: Project
) -> None:
    form = {"project": project.pk, "name": "Laptop", "days": "30"}
    shown = browser.post(PAGE, form).content.decode()
    (secret,) = SECRET.findall(shown)
    path = f"/{project.pk}"

    assert f"http://127.0.0.1:8000{path}" in shown
    assert project_rows.client(path, secret).tool_names() == ["delete_user", "list_users"]
    listed = browser.get(PAGE).content.decode()
    assert "Laptop" in listed
    assert secret[-4:] in listed
    assert not SECRET.search(listed)

    address = re.search(rf"{PAGE}/[0-9a-f-]{{36}}/revoke", listed)
    assert address
    assert "Revoke Laptop?" in browser.get(address[0]).content.decode()
    assert browser.post(address[0]).status_code == 302
    assert project_rows.client(path, secret).request("ping").status == 401
    assert "Revoked" in browser.get(PAGE).content.decode()
    kinds = set(SecurityEvent.objects.values_list("kind", flat=True))
    assert {"mcp_token_created", "mcp_token_revoked"} <= kinds


def test_a_token_is_for_a_project_of_the_user_and_revoked_by_its_user(
    browser: Client, project: Project, bo: User
) -> None:
    stranger = Client(HTTP_HOST="127.0.0.1:8000")
    assert stranger.get(PAGE).status_code == 302
    stranger.force_login(bo)

    for project_id in (project.pk, "prj_" + "A" * 22, "", "\0"):
        form = {"project": project_id, "name": "x", "days": "0"}
        assert stranger.post(PAGE, form).status_code == 400
    assert "Directory" not in stranger.get(PAGE).content.decode()
    browser.post(PAGE, {"project": project.pk, "name": "Laptop", "days": "0"})
    row = mcp_tokens.list_project_tokens(User.objects.get(email="ada@acme.example")).get()
    assert row.expires_at is None
    assert stranger.post(f"{PAGE}/{row.pk}/revoke").status_code == 404
    for wrong in ({"name": ""}, {"days": "7"}, {"name": "a\0b"}):
        form = {"project": project.pk, "name": "x", "days": "30"} | wrong
        assert browser.post(PAGE, form).status_code == 400


def test_a_user_has_twenty_active_tokens_for_a_project(
    browser: Client, project: Project, acme: Organization, ada: User
) -> None:
    other = project_rows.project(acme, ada, name="Second")

    def create(project: Project) -> str:
        form = {"project": project.pk, "name": "Laptop", "days": "30"}
        return browser.post(PAGE, form).content.decode()

    assert all(SECRET.search(create(project)) for _ in range(20))
    refused = create(project)
    assert "You already have 20 active tokens for this project. Revoke one first." in refused
    assert not SECRET.search(refused)
    assert SECRET.search(create(other))
    first, second = mcp_tokens.list_project_tokens(ada).filter(resource_path=f"/{project.pk}")[:2]
    browser.post(f"{PAGE}/{first.pk}/revoke")
    assert SECRET.search(create(project))
    assert not SECRET.search(create(project))
    McpToken.objects.filter(pk=second.pk).update(expires_at=timezone.now())
    assert SECRET.search(create(project))


def test_an_admin_sees_and_revokes_the_tokens_of_the_organization(
    browser: Client, project: Project, ada: User, bo: User
) -> None:
    token = mcp_tokens.issue(
        ada, project.organization, f"/{project.pk}", name="Laptop", days=0, address=""
    )
    changelist = "/admin/oauth/mcptoken/"
    stranger = Client(HTTP_HOST="127.0.0.1:8000")
    stranger.force_login(bo)
    chosen = {"action": "revoke", "_selected_action": str(token.row.pk)}

    assert "Laptop" not in stranger.get(changelist).content.decode()
    stranger.post(changelist, chosen)
    assert mcp_tokens.list_project_tokens(ada).get().revoked_at is None
    page = browser.get(changelist).content.decode()
    assert "Laptop" in page
    assert token.secret not in page
    assert browser.get(row_url(token.row)).status_code == 200
    browser.post(changelist, chosen)
    assert mcp_tokens.list_project_tokens(ada).get().revoked_at is not None
