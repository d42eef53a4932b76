"""Clients request what they find in the metadata, so a person decides about what changes data."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from oauth import scopes
from oauth.consent import grantable
from oauth.models import Authorization
from tests.console import markup
from tests.console.markup import Element
from tests.drivers.mcp import McpClient
from tests.drivers.metadata_site import MetadataSite, serving
from tests.drivers.oauth_client import (
    SERVER_DOCUMENT,
    Browser,
    OAuthClient,
    Response,
    answer,
    read,
    tokens_of,
)
from tests.oauth.conftest import PASSWORD
from tests.oauth.remembered_clients import asks, register_client, remember
from tools_registry.admin import switches
from tools_registry.admin.switches import Operator
from tools_registry.models import IntegrationMode
from workspace import organizations
from workspace.models import Organization, User

SCOPES = "/api/mcp/oauth/scopes"
READING = "docs:read setup:read data:read"
ALL, CREATE = "actions:*", "actions:crm:create_deal"
INSPECTOR = "http://localhost:6274"


@pytest.fixture
def crm_connection(lab: None, acme: Organization, ada: User) -> None:  # noqa: ARG001  its tools
    """CRM is connected; one action that reads is on, and one that changes something."""
    IntegrationMode.objects.create(organization=acme, integration="crm", connection="connected")
    turned_on = [("crm", "find_contact"), ("crm", "create_deal")]
    operator = Operator(ada, "127.0.0.1")
    switches.set_actions(acme.agents.get(), turned_on, "on", operator=operator)


def boxes(page: Response) -> dict[str, bool]:
    """Each scope that the page offers, and whether it is selected."""
    assert page.status_code == 200, page.content
    found = markup.read(page.content).all("input", name="scope")
    return {one.attributes["value"]: "checked" in one.attributes for one in found}


def groups(page: Response) -> dict[str, Element]:
    found = markup.read(page.content).all("fieldset")
    return {one.one("legend").text: one for one in found}


@pytest.mark.parametrize(
    "path",
    [
        SERVER_DOCUMENT,
        f"{SERVER_DOCUMENT}/api/mcp",
        "/.well-known/oauth-protected-resource",
        "/.well-known/oauth-protected-resource/api/mcp",
        "/api/mcp/.well-known/oauth-protected-resource",
    ],
)
def test_no_document_that_clients_read_first_advertises_a_scope_that_changes_data(
    path: str,
) -> None:
    assert read(Client().get(path))["scopes_supported"] == READING.split()


@pytest.mark.usefixtures("lab", "db")
def test_a_document_of_its_own_lists_every_scope_that_can_be_granted() -> None:
    address = read(Client().get(SERVER_DOCUMENT))["scopes_uri"]
    response = Client().get(SCOPES, headers={"origin": INSPECTOR})
    listed = {one["scope"]: one for one in read(response)["scopes"]}
    assert address == f"http://127.0.0.1:8000{SCOPES}"
    assert response["Cache-Control"] == "public, max-age=300"
    assert response["Access-Control-Allow-Origin"] == "*"
    assert list(listed)[:4] == [*READING.split(), ALL]
    assert {"actions:crm:*", CREATE, "actions:hubspot:*"} <= set(listed)
    assert "actions:crm:delete_contact" not in listed  # it is destructive
    assert all(str(grantable.parse(scope)) == scope for scope in listed)
    advertised = [scope for scope, one in listed.items() if one["advertised"]]
    assert advertised == [scope for scope, one in listed.items() if not one["may_change"]]
    assert advertised == READING.split()
    assert all(one["title"] and one["description"] for one in listed.values())
    assert Client().head(SCOPES).status_code == 200
    assert Client().post(SCOPES).status_code == 405


@pytest.mark.usefixtures("crm_connection")
def test_what_changes_data_stands_apart_and_is_not_selected_unless_it_was_requested(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address(scope=READING))
    assert boxes(page) == dict.fromkeys(READING.split(), True) | {ALL: False}
    assert list(groups(page)) == ["Read", "Act on your behalf"]
    apart = groups(page)["Act on your behalf"]
    assert [one.attributes["value"] for one in apart.all("input")] == [ALL]
    assert "These can change data. Only what the client requested by name" in apart.text
    assert "Can change data in: CRM" in apart.text
    assert "No action that changes data" not in apart.text
    assert "The client did not request this." in apart.text
    changing = {item.one("code").text: "Changes data" in item.text for item in apart.all("li")}
    assert changing["crm.create_deal"]
    assert not changing["crm.find_contact"]
    assert "Can change data in: CRM" not in groups(page)["Read"].text

    by_name = browser.open(oauth_client.authorize_address(scope=f"{READING} {ALL}"))
    assert boxes(by_name)[ALL] is True
    assert "The client did not request this." not in by_name.content.decode()


def test_an_organization_without_actions_reads_that_nothing_can_change_now(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address(scope=READING))
    apart = groups(page)["Act on your behalf"].text
    assert "No action that changes data is turned on now." in apart
    assert "Can change data in" not in apart


@pytest.mark.usefixtures("crm_connection")
def test_a_person_may_allow_changes_that_the_client_did_not_request(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address(scope=READING))
    code = answer(browser.decide(page, scope=[*READING.split(), ALL]))["code"]
    tokens = tokens_of(oauth_client.exchange(code))
    # The response says so (RFC 6749 section 5.1).
    assert tokens.scope == f"{READING} {ALL}"
    assert McpClient(tokens.access).call("crm.create_deal", {"name": "Rockets"}).status == 200
    assert tokens_of(oauth_client.refresh(tokens.refresh)).scope == tokens.scope


@pytest.mark.usefixtures("crm_connection")
def test_who_only_presses_approve_allows_no_changes_until_a_call_needs_them(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    tokens = oauth_client.connect(browser, scope=READING)
    assert tokens.scope == READING
    refused = McpClient(tokens.access).call("crm.create_deal", {"name": "Rockets"})
    assert (refused.status, refused.error["data"]["reason"]) == (403, "scope_denied")
    challenge = refused.headers["www-authenticate"]
    wanted = challenge.partition('scope="')[2].partition('"')[0]
    assert wanted == f"{READING} {CREATE}"
    page = browser.open(oauth_client.authorize_address(scope=wanted))
    assert boxes(page) == dict.fromkeys(wanted.split(), True)
    code = answer(browser.decide(page))["code"]
    stepped_up = tokens_of(oauth_client.exchange(code)).access
    assert McpClient(stepped_up).call("crm.create_deal", {"name": "Rockets"}).status == 200


@pytest.mark.usefixtures("crm_connection")
@pytest.mark.parametrize("scope", [CREATE, f"docs:read {CREATE}", "actions:crm:*"])
def test_a_client_that_names_its_actions_is_not_offered_all_of_them(
    scope: str, oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address(scope=scope))
    assert boxes(page) == dict.fromkeys(scope.split(), True)


@pytest.mark.parametrize("requested", [READING, None, "openid profile", "bogus"])
def test_who_registered_for_reading_can_be_given_more(
    requested: str | None, browser: Browser
) -> None:
    client = OAuthClient()
    assert read(client.register(scope=READING))["scope"] == READING
    page = browser.open(client.authorize_address(scope=requested))
    assert boxes(page) == dict.fromkeys(READING.split(), True) | {ALL: False}
    code = answer(browser.decide(page, scope=[*READING.split(), ALL]))["code"]
    assert tokens_of(client.exchange(code)).scope == f"{READING} {ALL}"


def test_what_a_client_registered_for_is_requested_by_name(browser: Browser) -> None:
    client = OAuthClient()
    client.register(scope=f"docs:read {ALL}")
    asked = client.authorize_address(scope=None)
    assert boxes(browser.open(asked)) == {"docs:read": True, ALL: True}
    # Of another request it is not part.
    asked = client.authorize_address(scope="docs:read")
    assert boxes(browser.open(asked)) == {"docs:read": True, ALL: False}
    asked = client.authorize_address(scope="bogus")
    assert boxes(browser.open(asked)) == {"docs:read": True, ALL: False}


@pytest.fixture
def site(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataSite]:
    with serving(settings, monkeypatch) as site:
        yield site


def test_a_client_with_a_metadata_document_can_be_given_more(
    site: MetadataSite, browser: Browser
) -> None:
    client = OAuthClient(client_id=site.publish(scope="docs:read"))
    page = browser.open(client.authorize_address(scope="docs:read"))
    assert boxes(page) == {"docs:read": True, ALL: False}
    code = answer(browser.decide(page, scope=["docs:read", ALL]))["code"]
    assert tokens_of(client.exchange(code)).scope == f"docs:read {ALL}"


def test_a_default_that_changes_data_is_selected_only_for_those_who_name_it(
    oauth_client: OAuthClient, browser: Browser, settings: Any
) -> None:
    settings.HALO_DEFAULT_SCOPE = f"docs:read {ALL}"
    asked = oauth_client.authorize_address(scope=None)
    assert boxes(browser.open(asked)) == {"docs:read": True, ALL: False}
    challenge = McpClient(None).http("HEAD").headers["www-authenticate"]
    assert f'scope="docs:read {ALL}"' in challenge
    asked = oauth_client.authorize_address(scope=f"docs:read {ALL}")
    assert boxes(browser.open(asked)) == {"docs:read": True, ALL: True}


@pytest.mark.parametrize("requested", [None, READING, f"docs:read {ALL}"])
def test_another_account_sees_the_same_selection(
    requested: str | None, oauth_client: OAuthClient, browser: Browser, settings: Any
) -> None:
    settings.HALO_DEFAULT_SCOPE = f"setup:read {ALL}"
    organizations.create("Globex", owner=User.objects.create_user("bo@globex.example", PASSWORD))
    page = browser.open(oauth_client.authorize_address(scope=requested))
    (form,) = markup.read(page.content).all("form", id="someone-else")
    again = browser.open(form.one("input", name="next").attributes["value"])
    assert boxes(again) == boxes(page)


def test_a_project_of_nobody_offers_no_actions_of_the_workspace(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    unknown = "http://127.0.0.1:8000/prj_" + "A" * 22
    page = browser.open(oauth_client.authorize_address(resource=unknown, scope=None))
    assert page.status_code == 403
    assert ALL not in page.content.decode()


def test_what_a_person_added_is_remembered_with_the_request(browser: Browser) -> None:
    client = register_client()
    code = remember(client, browser, scope=["docs:read", "setup:read", ALL])
    assert tokens_of(client.exchange(code)).scope == f"docs:read setup:read {ALL}"
    again = answer(browser.open(client.authorize_address()))["code"]
    assert tokens_of(client.exchange(again)).scope == f"docs:read setup:read {ALL}"
    assert Authorization.objects.count() == 1
    assert asks(browser.open(client.authorize_address(scope=f"docs:read setup:read {ALL}")))


def test_the_advertised_scopes_are_those_that_read() -> None:
    assert str(scopes.ADVERTISED) == READING
    assert not any(scope.may_change for scope in scopes.ADVERTISED)
    assert set(scopes.SUPPORTED) - set(scopes.ADVERTISED) == {scopes.ALL_ACTIONS}
