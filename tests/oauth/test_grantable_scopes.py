"""A granted scope names something that exists and is not destructive, and nothing added later."""

import re
from typing import Any

import pytest
from django.apps import apps
from django.conf import settings
from hypothesis import given
from hypothesis import strategies as st

from oauth import scopes, tasks
from oauth.consent import grantable, obsolete_scopes
from oauth.models import (
    AccessToken,
    Authorization,
    AuthorizationRequest,
    Client,
    IDToken,
    RefreshToken,
    RememberedConsent,
    ServerKey,
)
from oauth.scopes import ScopeSet
from tests.drivers import fixture_tools
from tests.drivers.oauth_client import Browser, OAuthClient, answer, read, tokens_of
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset
from tools_registry.models import ActionToggle, ConnectionState, IntegrationMode
from workspace.models import Organization

EXISTING = (
    "actions:hubspot:* actions:hubspot:create_deal actions:stripe:* actions:linear:create_bug"
)
NOT_GRANTABLE = (
    "actions:nosuch:*",
    "actions:nosuch:do",
    "actions:hubspot:no_such_action",
    "actions:stripe:refund",
    "actions:mcp.crm:*",
    "actions:mcp.crm:listUsers",
)


def tool(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts({})


def integration(name: str, action: str, **facts: Any) -> Toolset:
    """An integration of one action, as a later version could bring it."""
    toolset = Toolset(integration=name, title=name.title())
    tool.__name__ = action
    toolset.tool(title="A tool", description="Does.", input_schema=fixture_tools.NOTHING, **facts)(
        tool
    )
    return toolset


def granted_earlier(scope: str, browser: Browser, client: OAuthClient) -> Any:
    """Tokens with a scope that an earlier version granted, whatever this one would."""
    tokens = client.connect(browser, scope="docs:read")
    for model in (Authorization, AccessToken, RefreshToken):
        model.objects.update(scope=scope)
    return tokens


def calls(client: OAuthClient, access: str, name: str) -> str:
    """The reason with which a call is refused; empty for one that goes through."""
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name}}
    reply = read(client.post_json("/api/mcp", call, Authorization=f"Bearer {access}"))
    return str(reply["error"]["data"]["reason"]) if "error" in reply else ""


def switch_on(organization: Organization, name: str, action: str) -> None:
    IntegrationMode.objects.create(
        organization=organization,
        integration=name,
        actions_on=True,
        connection=ConnectionState.CONNECTED,
    )
    agent = organization.agents.get()
    ActionToggle.objects.create(agent=agent, integration=name, action=action, enabled=True)


@pytest.mark.parametrize("scope", NOT_GRANTABLE)
def test_spec2_a_scope_that_names_nothing_grantable_is_dropped_from_a_request(
    scope: str, browser: Browser, oauth_client: OAuthClient
) -> None:
    page = browser.open(oauth_client.authorize_address(scope=f"docs:read {scope}"))

    assert "Nosuch" not in page.content.decode()
    assert AuthorizationRequest.objects.get().scope == "docs:read"
    assert oauth_client.connect(browser, scope=f"docs:read {scope}").scope == "docs:read"


def test_spec2_what_exists_is_granted_whether_or_not_it_is_connected(
    browser: Browser, oauth_client: OAuthClient
) -> None:
    assert oauth_client.connect(browser, scope=EXISTING).scope == EXISTING


UNKNOWN = ["openid email profile", "mcp:tools", "claudeai", "bogus ../..", *NOT_GRANTABLE]


@pytest.mark.parametrize("scope", UNKNOWN)
def test_p10_a_request_of_which_nothing_is_known_offers_the_default_and_says_so(
    scope: str, browser: Browser, oauth_client: OAuthClient
) -> None:
    page = browser.open(oauth_client.authorize_address(scope=scope))
    assert "None of the scopes that the client requested exists here." in page.content.decode()
    tokens = oauth_client.connect(browser, scope=scope)
    assert tokens.scope == settings.HALO_DEFAULT_SCOPE


def test_p10_the_page_appears_although_the_default_was_approved_for_good(
    browser: Browser, oauth_client: OAuthClient
) -> None:
    oauth_client.connect(browser, scope=settings.HALO_DEFAULT_SCOPE)
    page = browser.open(oauth_client.authorize_address(scope="mcp:tools"))
    assert page.status_code == 200


def test_a23_registration_keeps_only_scopes_that_may_be_granted(
    oauth_client: OAuthClient,
) -> None:
    reply = oauth_client.register(scope=f"docs:read admin:root ../../x {' '.join(NOT_GRANTABLE)}")
    assert read(reply)["scope"] == "docs:read"


@pytest.mark.parametrize("scope", NOT_GRANTABLE)
def test_spec2_a_refresh_cannot_take_a_single_name_out_of_a_wildcard(
    scope: str, browser: Browser, oauth_client: OAuthClient
) -> None:
    tokens = oauth_client.connect(browser, scope="actions:* docs:read")
    narrowed = oauth_client.refresh(tokens.refresh, scope=f"docs:read {scope}")
    assert tokens_of(narrowed).scope == "docs:read"

    nothing = oauth_client.refresh(read(narrowed)["refresh_token"], scope=scope)
    assert read(nothing)["error"] == "invalid_scope"


@pytest.mark.parametrize("scope", ["actions:nosuch:*", "actions:nosuch:do"])
def test_spec2_an_old_token_does_not_gain_an_integration_added_under_its_name(
    scope: str, acme: Organization, browser: Browser, oauth_client: OAuthClient
) -> None:
    tokens = granted_earlier(f"docs:read {scope}", browser, oauth_client)
    obsolete_scopes.remove()

    with registry.including(integration("nosuch", "do", mutates=True)):
        switch_on(acme, "nosuch", "do")
        assert calls(oauth_client, tokens.access, "nosuch.do") == "scope_denied"
        renewed = tokens_of(oauth_client.refresh(tokens.refresh))
        assert renewed.scope == "docs:read"
        assert calls(oauth_client, renewed.access, "nosuch.do") == "scope_denied"


def test_spec2_an_upgrade_removes_only_names_that_cannot_be_granted(
    acme: Organization, browser: Browser, oauth_client: OAuthClient
) -> None:
    old = "docs:read actions:nosuch:* actions:stripe:refund actions:hubspot:create_deal actions:*"
    tokens = granted_earlier(old, browser, oauth_client)
    obsolete_scopes.remove()

    for model in (Authorization, AccessToken, RefreshToken):
        assert model.objects.get().scope == "docs:read actions:hubspot:create_deal actions:*"
    assert (
        tokens_of(oauth_client.refresh(tokens.refresh)).scope == Authorization.objects.get().scope
    )
    assert acme.authorizations.count() == 1


def test_spec2_an_old_token_does_not_gain_an_action_that_was_destructive(
    acme: Organization, browser: Browser, oauth_client: OAuthClient
) -> None:
    with registry.including(integration("shop", "refund", mutates=True, destructive=True)):
        tokens = granted_earlier("docs:read actions:shop:refund", browser, oauth_client)
        obsolete_scopes.remove()

    with registry.including(integration("shop", "refund", mutates=True)):
        switch_on(acme, "shop", "refund")
        assert calls(oauth_client, tokens.access, "shop.refund") == "scope_denied"


def test_spec2_an_integration_that_was_removed_gives_its_name_to_no_old_token(
    acme: Organization, browser: Browser, oauth_client: OAuthClient
) -> None:
    with registry.including(integration("shop", "find")):
        tokens = oauth_client.connect(browser, scope="actions:shop:* docs:read")
    obsolete_scopes.remove()  # by the version without it, before it serves and every night

    with registry.including(integration("shop", "find")):
        switch_on(acme, "shop", "find")
        assert calls(oauth_client, tokens.access, "shop.find") == "scope_denied"


@pytest.mark.parametrize("scope", ["actions:*", "actions:shop:*"])
def test_spec2_a_wildcard_gains_what_is_added_later(
    scope: str, acme: Organization, browser: Browser, oauth_client: OAuthClient
) -> None:
    with registry.including(integration("shop", "find")):
        tokens = oauth_client.connect(browser, scope=scope)
        assert obsolete_scopes.remove() == 0

    with registry.including(integration("shop", "create_order", mutates=True)):
        switch_on(acme, "shop", "create_order")
        assert calls(oauth_client, tokens.access, "shop.create_order") == ""


def test_spec2_a_consent_page_that_was_open_grants_nothing_obsolete(
    browser: Browser, oauth_client: OAuthClient
) -> None:
    page = browser.open(oauth_client.authorize_address())
    AuthorizationRequest.objects.update(scope="docs:read actions:nosuch:*")
    obsolete_scopes.remove()

    code = answer(browser.decide(page, scope="docs:read"))["code"]
    assert tokens_of(oauth_client.exchange(code)).scope == "docs:read"
    assert AuthorizationRequest.objects.get().scope == "docs:read"


def test_spec2_an_authorization_of_which_nothing_is_left_ends_and_its_client_signs_in_again(
    browser: Browser, oauth_client: OAuthClient
) -> None:
    tokens = granted_earlier("actions:nosuch:* actions:stripe:refund", browser, oauth_client)
    assert tasks.remove_obsolete_scopes() == 3

    assert Authorization.objects.get().revoke_reason == "scopes_removed"
    assert oauth_client.ping(tokens.access) == 401
    assert read(oauth_client.refresh(tokens.refresh))["error"] == "invalid_grant"
    assert obsolete_scopes.remove() == 0


def test_spec2_a_remembered_consent_is_not_used_once_its_scopes_were_reduced(
    acme: Organization, browser: Browser, settings: Any
) -> None:
    settings.HALO_REMEMBER_CONSENT_DAYS = 30
    client = OAuthClient()
    client.register()
    Client.objects.update(registration_source=Client.RegistrationSource.MANUAL)
    with registry.including(integration("shop", "find")):
        asked = {"scope": "docs:read actions:shop:*"}
        browser.decide(browser.open(client.authorize_address(**asked)), remember="on")
        assert "code" in answer(browser.open(client.authorize_address(**asked)))
    obsolete_scopes.remove()

    with registry.including(integration("shop", "find")):
        assert browser.open(client.authorize_address(**asked)).status_code == 200
    assert RememberedConsent.objects.get().authorization.organization == acme


def test_spec2_all_actions_does_not_imply_a_scope_that_the_grammar_gains_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    later = re.compile(scopes._GRAMMAR.pattern + r"|mcp:write|projects:[a-z]+:\*")
    monkeypatch.setattr(scopes, "_GRAMMAR", later)
    held = scopes.parse("actions:*")

    for text in ("mcp:write", "projects:billing:*"):
        (scope,) = scopes.parse(text)
        assert not held.covers(scope)
        assert not held.covers(text)
        assert scope.granting_scopes() == {scope}
        assert not held.intersect(scopes.parse(text))
    assert {str(scope) for scope in scopes.IMPLIED_BY_ALL_ACTIONS} == {
        "docs:read",
        "setup:read",
        "data:read",
    }


every_scope = st.sampled_from([*map(str, scopes.SUPPORTED), *EXISTING.split(), *NOT_GRANTABLE])
requests = st.lists(every_scope, max_size=10).map(" ".join).map(scopes.parse)


@given(requests)
def test_what_is_kept_is_part_of_the_request_in_its_order(requested: ScopeSet) -> None:
    kept = grantable.only(requested)
    assert list(kept) == [scope for scope in requested if scope in set(kept)]
    assert grantable.only(kept) == kept
    assert not {*map(str, kept)} & {*NOT_GRANTABLE}
    assert {*map(str, requested)} - {*NOT_GRANTABLE} == {*map(str, kept)}


@given(requests, requests)
def test_each_scope_is_kept_or_dropped_on_its_own(one: ScopeSet, other: ScopeSet) -> None:
    joined = scopes.parse(f"{one} {other}")
    assert {*grantable.only(joined)} == {*grantable.only(one), *grantable.only(other)}


@given(requests)
def test_no_destructive_action_is_named_by_a_scope_that_was_kept(requested: ScopeSet) -> None:
    named = {scope.parts[1:] for scope in grantable.only(requested) if scope.parts[2:]}
    destructive = {
        (tool.integration, tool.action)
        for toolset in registry.integration_toolsets()
        for tool in toolset.tools
        if tool.destructive
    }
    assert destructive
    assert not named & destructive


def test_every_stored_scope_is_looked_through() -> None:
    stored = {
        model
        for model in apps.get_app_config("oauth").get_models()
        if any(field.name == "scope" for field in model._meta.get_fields())
    }
    # None of these grants anything: a client's scope is a default for requests, which are checked;
    # a remembered one is only compared with requests; ID tokens are not issued; those of server
    # keys are for the SDK API.
    assert stored - {Client, RememberedConsent, IDToken, ServerKey} == {*obsolete_scopes.MODELS}
