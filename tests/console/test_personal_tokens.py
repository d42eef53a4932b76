"""Personal tokens for /api/mcp: their page, their list at Connections, and what they permit."""

import re
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from audit.models import ActionExecution, SecurityEvent
from oauth import mcp_tokens, scopes
from oauth.consent import obsolete_scopes
from oauth.errors import InvalidScope
from oauth.models import McpToken
from tests.drivers import project_rows
from tests.drivers.mcp import McpClient
from workspace import organizations
from workspace.models import Membership, Organization, User

PAGE = "/connections/tokens"
SECRET = re.compile(r"halo_mt_[A-Za-z0-9_-]{43}")


@pytest.fixture
def ada(db: None) -> User:  # noqa: ARG001  asked for: it opens the database
    return User.objects.create_user("ada@acme.example", "correct horse battery staple")


@pytest.fixture
def acme(ada: User) -> Organization:
    return organizations.create("Acme Rockets", owner=ada)


def browser_of(user: User) -> Client:
    browser = Client(HTTP_HOST="127.0.0.1:8000")
    browser.force_login(user)
    return browser


def create(user: User, organization: Organization, *granted: str, **entered: Any) -> str:
    """The secret of a token that was created on the page."""
    form = {
        "organization": organization.pk,
        "name": "Reporting script",
        "scopes": granted or ("data:read", "docs:read"),
        "days": "30",
    } | entered
    shown = browser_of(user).post(PAGE, form).content.decode()
    (secret,) = SECRET.findall(shown)
    return secret


def is_accepted(secret: str) -> bool:
    status = McpClient(token=secret).request("ping").status
    assert status in {200, 401}
    return status == 200


def test_a_personal_token_is_created_shown_once_listed_at_connections_and_revoked(
    ada: User, acme: Organization
) -> None:
    browser = browser_of(ada)
    secret = create(ada, acme)
    assert (
        McpClient(token=secret).call("data_find_user", {"email": "ada@example.com"}).status == 200
    )
    call = ActionExecution.objects.get(tool="data_find_user")
    assert (call.user_id, call.organization_id) == (str(ada.pk), str(acme.pk))
    assert call.client_name == "Reporting script"

    for address in (PAGE, "/connections"):
        page = browser.get(address).content.decode()
        assert "Reporting script" in page
        assert "Read organization data" in page
        assert secret[-4:] in page
        assert not SECRET.search(page)
    assert secret not in str(McpToken.objects.values())

    revoke = re.search(rf"{PAGE}/[0-9a-f-]{{36}}/revoke", page)
    assert revoke
    assert "Revoke Reporting script?" in browser.get(revoke[0]).content.decode()
    assert browser.post(revoke[0]).status_code == 302
    assert not is_accepted(secret)
    assert "Reporting script" not in browser.get("/connections").content.decode()
    events = SecurityEvent.objects.values_list("kind", flat=True)
    assert {"mcp_token_created", "mcp_token_revoked", "bearer_rejected"} <= set(events)


def test_a_personal_token_permits_its_scopes_only(ada: User, acme: Organization) -> None:
    client = McpClient(token=create(ada, acme, "docs:read"))

    assert "search_docs" in client.tool_names()
    assert "data_find_user" not in client.tool_names()
    refused = client.call("data_find_user", {"email": "ada@example.com"})
    assert refused.status == 403
    assert "data:read" in refused.headers["www-authenticate"]


def test_a_personal_token_ends_with_its_expiry_and_with_the_membership_of_its_user(
    ada: User, acme: Organization
) -> None:
    expiring, leaving, suspended = (create(ada, acme) for _ in range(3))
    McpToken.objects.filter(ending=expiring[-4:]).update(expires_at=timezone.now())
    assert not is_accepted(expiring)
    assert is_accepted(suspended)
    Organization.objects.update(suspended_at=timezone.now())
    assert not is_accepted(suspended)
    Organization.objects.update(suspended_at=None)
    User.objects.update(is_active=False)
    assert not is_accepted(leaving)
    User.objects.update(is_active=True)
    assert is_accepted(leaving)
    Membership.objects.all().delete()
    organizations.join(acme, ada)
    assert not is_accepted(leaving)


def test_a_token_is_refused_at_another_resource_and_when_it_is_guessed(
    ada: User, acme: Organization
) -> None:
    project = project_rows.project(acme, ada)
    personal = create(ada, acme)
    of_project = mcp_tokens.issue(
        ada, acme, f"/{project.pk}", name="Laptop", days=30, address=""
    ).secret

    assert project_rows.client(f"/{project.pk}", of_project).request("ping").status == 200
    assert project_rows.client(f"/{project.pk}", personal).request("ping").status == 401
    for wrong in (of_project, personal[:-1] + ("A" if personal[-1] != "A" else "B")):
        assert not is_accepted(wrong)
    assert SecurityEvent.objects.filter(kind="bearer_rejected").exists()
    # Each page lists its own kind of token.
    assert "Laptop" not in browser_of(ada).get(PAGE).content.decode()
    assert "Reporting script" not in browser_of(ada).get("/projects-tokens").content.decode()


def test_a_user_creates_tokens_for_their_own_organizations_and_sees_their_own(
    ada: User, acme: Organization
) -> None:
    bo = User.objects.create_user("bo@elsewhere.example", "correct horse battery staple")
    elsewhere = organizations.create("Elsewhere", owner=bo)
    create(ada, acme)
    row = McpToken.objects.get()
    stranger = browser_of(bo)

    assert Client(HTTP_HOST="127.0.0.1:8000").get(PAGE).status_code == 302
    assert "Reporting script" not in stranger.get(PAGE).content.decode()
    assert stranger.post(f"{PAGE}/{row.pk}/revoke").status_code == 404
    right = {"organization": elsewhere.pk, "name": "x", "scopes": ["docs:read"], "days": "30"}
    for wrong in (
        {"organization": acme.pk},
        {"organization": "\0"},
        {"name": ""},
        {"name": "a\0b"},
        {"scopes": []},
        {"scopes": ["docs:read", "actions:nosuch:*"]},
        {"scopes": [f"projects:prj_{'A' * 22}:*"]},
        {"days": "0"},
        {"days": "7"},
    ):
        assert stranger.post(PAGE, right | wrong).status_code == 400
    assert McpToken.objects.count() == 1
    assert stranger.post(PAGE, right).status_code == 200
    with pytest.raises(InvalidScope):
        mcp_tokens.issue_personal(bo, elsewhere, scopes.parse(""), name="x", days=30, address="")


def test_a_user_has_twenty_active_personal_tokens_in_an_organization(
    ada: User, acme: Organization
) -> None:
    for _ in range(20):
        create(ada, acme)
    form = {"organization": acme.pk, "name": "x", "scopes": ["docs:read"], "days": "30"}
    refused = browser_of(ada).post(PAGE, form)
    assert refused.status_code == 400
    text = "You already have 20 active tokens in this organization. Revoke one first."
    assert text in refused.content.decode()


def test_a_scope_that_no_longer_exists_leaves_a_token_and_its_last_one_ends_it(
    ada: User, acme: Organization
) -> None:
    kept, ended = create(ada, acme), create(ada, acme)
    rows = McpToken.objects
    rows.filter(ending=kept[-4:]).update(scope="docs:read actions:nosuch:*")
    rows.filter(ending=ended[-4:]).update(scope="actions:nosuch:*")

    assert obsolete_scopes.remove() == 2
    assert rows.get(ending=kept[-4:]).scope == "docs:read"
    assert is_accepted(kept)
    assert not is_accepted(ended)
