"""OAuth for a project of the gateway: the whole flow at its own addresses, and its consent page."""

import re
from typing import Any

import pytest

from gateway import projects
from gateway.models import Project, ProjectTool
from oauth.consent import offered
from oauth.models import Authorization
from tests.drivers import project_rows
from tests.drivers.oauth_client import (
    Browser,
    OAuthClient,
    answer,
    assert_refused,
    read,
    tokens_of,
)
from tests.drivers.person import form_with
from workspace import organizations
from workspace.models import Organization, User

ORIGIN = "http://127.0.0.1:8000"
UNKNOWN = "prj_" + "A" * 22


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
def browser(ada: User) -> Browser:
    return Browser(ada)


@pytest.fixture
def oauth_client(db: None) -> OAuthClient:  # noqa: ARG001  as above
    client = OAuthClient()
    assert client.register().status_code == 201
    return client


def resource(project: Project) -> str:
    return f"{ORIGIN}/{project.pk}"


def ticked_scopes(page: Any) -> list[str]:
    form = form_with(page.content.decode(), "request")
    return [value for name, value in form.fields if name == "scope"]


def tools_at(project: Project, access: str) -> list[str]:
    return project_rows.client(f"/{project.pk}", access).tool_names()


def ping(path: str, access: str) -> int:
    return project_rows.client(path, access).request("ping").status


def test_the_addresses_of_the_document_connect_a_client_to_a_project(
    browser: Browser, project: Project
) -> None:
    everything, one = f"projects:{project.pk}:*", f"projects:{project.pk}:list_users"
    client = OAuthClient()
    registered = client.post_json(
        "/register",
        {
            "client_name": "Plug-in",
            "redirect_uris": [client.redirect_uri],
            "token_endpoint_auth_method": "none",
            "grant_types": ["authorization_code", "refresh_token"],
            "response_types": ["code"],
        },
    )
    client.client_id = read(registered)["client_id"]
    asked = client.authorize_address(
        resource=resource(project), scope="openid profile email offline_access"
    )
    page = browser.open(asked.replace("/api/mcp/oauth/", "/oauth/"))
    text = page.content.decode()

    assert page.status_code == 200
    # What changes data is selected only for a client that asks for it by name.
    assert ticked_scopes(page) == [one]
    assert f'value="projects:{project.pk}:delete_user"' in text
    assert "Directory" in text
    assert text.index("List all users") < text.index("Act on your behalf")
    assert text.index("Act on your behalf") < text.index("Delete one user")

    code = answer(browser.decide(page, scope=[one]))["code"]
    grant = {
        "grant_type": "authorization_code",
        "code": code,
        "redirect_uri": client.redirect_uri,
        "code_verifier": client.verifier,
    }
    tokens = tokens_of(client.send("/oauth/token", grant))

    assert tokens.scope == one
    assert tools_at(project, tokens.access) == ["list_users"]
    denied = project_rows.client(f"/{project.pk}", tokens.access).call("delete_user", {"id": "7"})
    assert (denied.status, denied.code) == (403, -32603)
    assert denied.error["data"] == {"reason": "scope_denied", "layer": "scope"}
    challenge = denied.headers["www-authenticate"]
    assert f'scope="{one} projects:{project.pk}:delete_user"' in challenge
    assert everything not in challenge

    refresh = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
    again = tokens_of(client.send("/oauth/token", refresh))
    assert again.scope == one
    assert tools_at(project, again.access) == ["list_users"]
    assert client.send("/oauth/revoke", {"token": again.refresh}).status_code == 200
    assert ping(f"/{project.pk}", again.access) == 401


def test_a_request_without_a_cleared_tool_grants_later_tools_too(
    oauth_client: OAuthClient, browser: Browser, project: Project, acme: Organization, ada: User
) -> None:
    alias = f"{ORIGIN}/api/mcp/{project.pk}/"
    everything = f"projects:{project.pk}:*"
    tokens = oauth_client.connect(browser, resource=alias, scope=everything)

    assert tokens.scope == everything
    other = project_rows.project(acme, ada, name="Other")
    ProjectTool.objects.filter(project=other, name="list_users").update(
        project=project, name="list_later", key="GET /later"
    )
    project.save()
    assert tools_at(project, tokens.access) == ["delete_user", "list_later", "list_users"]
    # For one resource only: the alias is the same one, another project and the workspace are not.
    assert ping(f"/api/mcp/{project.pk}", tokens.access) == 200
    assert ping(f"/{other.pk}", tokens.access) == 401
    assert ping("/api/mcp", tokens.access) == 401
    workspace = oauth_client.connect(browser, scope="docs:read actions:*")
    assert ping(f"/{project.pk}", workspace.access) == 401
    assert ping("/api/mcp", workspace.access) == 200


def test_scopes_of_another_resource_are_dropped(
    oauth_client: OAuthClient, browser: Browser, project: Project, acme: Organization, ada: User
) -> None:
    other = project_rows.project(acme, ada, name="Other")
    mixed = f"docs:read actions:* projects:{other.pk}:* projects:{project.pk}:delete_user"

    asked = oauth_client.authorize_address(resource=resource(project), scope=mixed)
    assert ticked_scopes(browser.open(asked)) == [f"projects:{project.pk}:delete_user"]
    asked = oauth_client.authorize_address(scope=mixed)
    assert ticked_scopes(browser.open(asked)) == ["docs:read", "actions:*"]
    # Without a resource, scopes of one project name it.
    asked = oauth_client.authorize_address(scope=f"openid projects:{project.pk}:*")
    assert len(ticked_scopes(browser.open(asked))) == 2
    # Nothing of it is about the project: all of its tools are offered, those that read are
    # selected, and the page says so.
    unknown = browser.open(
        oauth_client.authorize_address(resource=resource(project), scope="docs:read")
    )
    assert ticked_scopes(unknown) == [f"projects:{project.pk}:list_users"]
    assert f"projects:{project.pk}:delete_user" in unknown.content.decode()
    assert "None of the scopes that the client requested exists here." in unknown.content.decode()
    # A tool that does not exist cannot be granted.
    missing = oauth_client.authorize_address(scope=f"projects:{project.pk}:no_such")
    assert "requested no permissions that exist" in browser.open(missing).content.decode()


def test_a_tool_that_was_cleared_and_then_switched_off_is_not_granted_with_the_rest(
    oauth_client: OAuthClient, browser: Browser, project: Project
) -> None:
    scope = f"projects:{project.pk}:*"
    asked = oauth_client.authorize_address(resource=resource(project), scope=scope)
    page = browser.open(asked)
    one, other = ticked_scopes(page)
    project.tools.filter(name="delete_user").update(is_enabled=False)
    projects.touch(project.pk)

    again = browser.decide(page, scope=[one])

    assert "The tools of the project have changed." in again.content.decode()
    assert ticked_scopes(again) == [one]
    project.tools.filter(name="delete_user").update(is_enabled=True)
    projects.touch(project.pk)
    with_both = browser.decide(again, scope=[one])
    assert f'value="{other}"' in with_both.content.decode()
    assert ticked_scopes(with_both) == [one]
    assert "code" in answer(browser.decide(with_both, scope=[one]))
    assert Authorization.objects.get(client__client_id=oauth_client.client_id).scope == one


def test_strangers_see_one_page_for_projects_that_exist_and_those_that_do_not(
    oauth_client: OAuthClient, project: Project
) -> None:
    bo = User.objects.create_user("bo@elsewhere.example", "correct horse battery staple")
    organizations.create("Elsewhere", owner=bo)

    def page(project_id: str, browser: Browser) -> tuple[int, str]:
        asked = oauth_client.authorize_address(resource=f"{ORIGIN}/{project_id}", scope=None)
        response = browser.open(asked)
        location = response.get("Location", "")
        return response.status_code, _remove_noise(response.content.decode() + location, project_id)

    for browser in (Browser(bo), Browser()):
        assert page(project.pk, browser) == page(UNKNOWN, browser)
    status, text = page(project.pk, Browser(bo))
    assert status == 403
    assert "You can&#x27;t use this project" in text
    assert "Directory" not in text


def _remove_noise(text: str, project_id: str) -> str:
    noise = r'name="csrfmiddlewaretoken" value="[^"]*"|nonce="[^"]*"|<code>[0-9a-f]{32}</code>'
    text = re.sub(noise, "", text)
    return text.replace(project_id, "<id>")


def test_only_a_member_decides_and_only_about_what_was_offered(
    oauth_client: OAuthClient, browser: Browser, project: Project, ada: User
) -> None:
    elsewhere = organizations.create("Elsewhere", owner=ada)
    page = browser.open(
        oauth_client.authorize_address(
            resource=resource(project), scope=f"projects:{project.pk}:list_users"
        )
    )
    assert "Elsewhere" not in page.content.decode()

    forged = browser.decide(page, organization=str(elsewhere.pk))
    assert forged.status_code == 403
    forged = browser.decide(page, scope=[f"projects:{project.pk}:delete_user"])
    assert forged.status_code == 400
    ada.memberships.filter(organization=project.organization).delete()
    assert browser.decide(page).status_code == 403


def test_a_token_family_keeps_its_resource(
    oauth_client: OAuthClient, browser: Browser, project: Project
) -> None:
    everything = f"projects:{project.pk}:*"
    code = oauth_client.code(browser, resource=resource(project), scope=everything)

    workspace = oauth_client.exchange(code, resource=f"{ORIGIN}/api/mcp")
    assert assert_refused(workspace) == (400, "invalid_target")
    other = oauth_client.exchange(code, resource=f"{ORIGIN}/{UNKNOWN}")
    assert assert_refused(other) == (400, "invalid_target")
    tokens = tokens_of(oauth_client.exchange(code, resource=resource(project)))
    foreign = oauth_client.refresh(tokens.refresh, resource=f"{ORIGIN}/api/mcp")
    assert assert_refused(foreign) == (400, "invalid_target")
    again = oauth_client.refresh(tokens.refresh, resource=f"{ORIGIN}/api/mcp/{project.pk}")
    assert tokens_of(again).scope == everything


def test_a_large_project_is_offered_as_a_whole(
    oauth_client: OAuthClient,
    browser: Browser,
    project: Project,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(offered, "MAX_SINGLE_TOOLS", 1)

    everything = f"projects:{project.pk}:*"
    page = browser.open(oauth_client.authorize_address(resource=resource(project), scope=None))
    assert ticked_scopes(page) == []
    assert "Show all 2 tools" in page.content.decode()
    assert "Can change data in: Directory." in page.content.decode()
    asked = oauth_client.authorize_address(resource=resource(project), scope=everything)
    page = browser.open(asked)
    assert ticked_scopes(page) == [everything]
    code = answer(browser.decide(page))["code"]
    assert tokens_of(oauth_client.exchange(code)).scope == everything


def test_a_client_that_refreshes_twice_for_a_project_stays_signed_in(
    oauth_client: OAuthClient, browser: Browser, project: Project
) -> None:
    tokens = oauth_client.connect(
        browser, resource=resource(project), scope=f"projects:{project.pk}:*"
    )
    for _ in range(3):
        refresh = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
        first = tokens_of(oauth_client.send("/oauth/token", refresh))
        named = refresh | {"resource": resource(project)}
        tokens = tokens_of(oauth_client.send("/oauth/token", named))
        assert tokens == first
        assert ping(f"/{project.pk}", tokens.access) == 200


def test_the_connection_of_a_project_is_listed_and_narrowed(
    oauth_client: OAuthClient, browser: Browser, project: Project
) -> None:
    first = f"projects:{project.pk}:list_users"
    both = f"{first} projects:{project.pk}:delete_user"
    tokens = oauth_client.connect(browser, resource=resource(project), scope=both)
    page = browser.open("/connections").content.decode()
    assert "Directory: list_users" in page

    found = re.search(r"/connections/[0-9a-f-]{36}", page)
    assert found
    form = browser.open(found[0])
    assert "Delete one user" in form.content.decode()
    assert browser.submit(form, "scope", scope=[first]).status_code == 302
    assert tools_at(project, tokens.access) == ["list_users"]
    Project.objects.all().delete()
    assert browser.open(found[0]).status_code == 200
    assert browser.open("/connections").status_code == 200
