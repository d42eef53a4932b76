"""From a bearer to a principal: what stands behind a token is asked for on every request."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from foundation import ids
from oauth import credentials
from oauth.credentials import ACCESS_TOKEN_VERIFIERS
from oauth.endpoints import challenges
from oauth.grants import authorizations, grant_conditions
from oauth.models import AccessToken, Authorization, Client, RefreshToken
from oauth.principal import Unauthenticated
from tests.drivers.oauth_client import (
    CONSENT,
    MCP,
    ORIGIN,
    Browser,
    OAuthClient,
    Tokens,
    assert_refused,
    read,
)
from workspace import flags, organizations
from workspace.models import FeatureFlag, Membership, Organization, User

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
UNKNOWN = "halo_at_" + "A" * 43


def refusal(header: str | None) -> str | None:
    with pytest.raises(Unauthenticated) as raised:
        credentials.authenticate(header, ACCESS_TOKEN_VERIFIERS)
    return raised.value.error


@pytest.mark.parametrize("header", [None, "", "Basic x", "Bearer", "Bearer ", "Digest Bearer x"])
def test_without_a_bearer_no_error_is_named(header: str | None) -> None:
    assert refusal(header) is None


@pytest.mark.parametrize(
    "header",
    [
        pytest.param("Bearer {0},Bearer {0}", id="H05-joined"),
        pytest.param("Bearer {0} junk", id="H05-junk"),
        pytest.param("Bearer {0}=", id="H05-padding"),
        pytest.param("Bearer\t{0}", id="H05-tab"),
        pytest.param("Bearer {0}\u00a0", id="H05-no-break-space"),
        pytest.param("Bearer {0}\x85", id="H05-next-line"),
        pytest.param("Bearer{0}", id="H05-no-space"),
        pytest.param("Bearer {hash}", id="H02-hash"),
        pytest.param("Bearer halo_at_{hash}", id="H02-prefixed-hash"),
        pytest.param("Bearer {refresh}", id="H02-refresh"),
        pytest.param(f"Bearer {UNKNOWN}", id="H02-unknown"),
        pytest.param("Bearer \u00e9", id="H02-letters"),
        pytest.param("Bearer x\0y", id="H02-nul"),
    ],
)
def test_what_is_no_token_of_ours_is_an_invalid_token(header: str, tokens: Tokens) -> None:
    known = {"hash": ids.sha256_hex(tokens.access), "refresh": tokens.refresh}
    assert refusal(header.format(tokens.access, **known)) == "invalid_token"


@pytest.mark.parametrize(
    "header",
    [
        "Bearer {0}",
        pytest.param("bearer {0}", id="H05-lower"),
        pytest.param("BEARER   {0} ", id="H05-spaces"),
    ],
)
def test_the_scheme_is_read_in_any_case_and_any_space(
    header: str, tokens: Tokens, ada: User, acme: Organization, oauth_client: OAuthClient
) -> None:
    who = credentials.authenticate(header.format(tokens.access), ACCESS_TOKEN_VERIFIERS)
    assert who.token_id == AccessToken.objects.get().pk
    assert who.authorization_id == Authorization.objects.get().pk
    assert (who.user_id, who.user_email) == (ada.pk, ada.email)
    assert who.organization_id == acme.pk
    assert who.client_id == oauth_client.client_id
    assert str(who.scope) == "docs:read setup:read"
    assert who.mcp_server_on


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("seconds", "status"),
    [pytest.param(3599, 200, id="H07-in"), pytest.param(3600, 401, id="H07-out")],
)
def test_an_access_token_lives_for_an_hour(
    seconds: int, status: int, oauth_client: OAuthClient, ada: User
) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        access = oauth_client.connect(Browser(ada)).access
        clock.shift(timedelta(seconds=seconds))
        assert oauth_client.ping(access) == status


def delete_all(model: Any) -> Callable[[], object]:
    return lambda: model.objects.all().delete()


def update_all(model: Any, **values: object) -> Callable[[], object]:
    return lambda: model.objects.update(**values)


CONDITIONS = {
    "authorization": update_all(Authorization, revoked_at=NOON),
    "membership": delete_all(Membership),
    "member": update_all(Membership, suspended_at=NOON),
    "user": update_all(User, is_active=False),
    "organization": update_all(Organization, suspended_at=NOON),
    "client": update_all(Client, disabled_at=NOON),
}


def test_every_condition_is_toggled_below() -> None:
    assert set(CONDITIONS) == {one.name for one in grant_conditions.CONDITIONS}


@pytest.mark.parametrize("name", CONDITIONS)
def test_the_hot_path_and_the_grants_ask_for_the_same(name: str, tokens: Tokens) -> None:
    bearer = f"Bearer {tokens.access}"
    assert credentials.authenticate(bearer, ACCESS_TOKEN_VERIFIERS)
    assert authorizations.is_active(RefreshToken.objects.get())
    CONDITIONS[name]()
    assert refusal(bearer) == "invalid_token"
    assert not authorizations.is_active(RefreshToken.objects.get())


@pytest.mark.parametrize("name", [pytest.param(name, id=f"H08-{name}") for name in CONDITIONS])
def test_what_ends_a_token_ends_it_with_the_very_next_call(
    name: str, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    assert oauth_client.ping(tokens.access) == 200
    CONDITIONS[name]()
    assert oauth_client.ping(tokens.access) == 401


def test_who_leaves_and_comes_back_has_to_consent_again(
    tokens: Tokens, oauth_client: OAuthClient, browser: Browser, ada: User, acme: Organization
) -> None:
    Membership.objects.all().delete()
    organizations.join(acme, ada)
    assert oauth_client.ping(tokens.access) == 401
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == (400, "invalid_grant")
    assert oauth_client.ping(oauth_client.connect(browser).access) == 200


def test_a_code_from_before_somebody_left_is_not_revived_either(
    oauth_client: OAuthClient, browser: Browser, ada: User, acme: Organization
) -> None:
    code = oauth_client.code(browser)
    Membership.objects.all().delete()
    organizations.join(acme, ada)
    assert assert_refused(oauth_client.exchange(code)) == (400, "invalid_grant")


@pytest.mark.parametrize(
    "resource", [pytest.param("https://other.example/api/mcp", id="H02-other")]
)
def test_a_token_of_another_deployment_is_refused(
    resource: str, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    Authorization.objects.update(resource=resource)
    assert oauth_client.ping(tokens.access) == 401
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == (400, "invalid_target")


def test_a_code_of_another_deployment_is_refused(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    code = oauth_client.code(browser)
    Authorization.objects.update(resource="https://other.example/api/mcp")
    assert assert_refused(oauth_client.exchange(code)) == (400, "invalid_target")


def test_what_is_narrowed_later_holds_for_tokens_that_are_out_already(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    access = oauth_client.connect(browser, scope="actions:*").access
    Authorization.objects.update(scope="docs:read actions:hubspot:*")
    scope = credentials.authenticate(f"Bearer {access}", ACCESS_TOKEN_VERIFIERS).scope
    assert {str(s) for s in scope} == {"docs:read", "actions:hubspot:*"}


@pytest.mark.parametrize("scope", [pytest.param("* admin:root docs:*", id="K14")])
def test_a_row_that_was_tampered_with_grants_nothing(scope: str, tokens: Tokens) -> None:
    AccessToken.objects.update(scope=scope)
    assert not credentials.authenticate(f"Bearer {tokens.access}", ACCESS_TOKEN_VERIFIERS).scope


def test_the_flag_of_the_organization_comes_along(tokens: Tokens, acme: Organization) -> None:
    flag = FeatureFlag.objects.create(organization=acme, name=flags.MCP_SERVER, enabled=False)
    assert not credentials.authenticate(
        f"Bearer {tokens.access}", ACCESS_TOKEN_VERIFIERS
    ).mcp_server_on
    flag.enabled = True
    flag.save()
    assert credentials.authenticate(f"Bearer {tokens.access}", ACCESS_TOKEN_VERIFIERS).mcp_server_on


def test_a_principal_costs_one_statement(tokens: Tokens) -> None:
    with CaptureQueriesContext(connection) as asked:
        credentials.authenticate(f"Bearer {tokens.access}", ACCESS_TOKEN_VERIFIERS)
    assert len(asked) == 1


def test_what_cannot_be_a_token_costs_none() -> None:
    # Without the database mark a statement would raise another error than this.
    assert refusal("Bearer sk_live_1234") == "invalid_token"


@pytest.mark.parametrize("cookie", [pytest.param(settings.SESSION_COOKIE_NAME, id="H11")])
def test_a_session_is_no_bearer(cookie: str, browser: Browser) -> None:
    assert cookie in browser.http.cookies
    ping = '{"jsonrpc": "2.0", "id": 1, "method": "ping"}'
    response = browser.http.post(MCP, ping, content_type="application/json")
    assert response.status_code == 401


@pytest.mark.parametrize(
    "authorization",
    [pytest.param(None, id="H01"), "Basic x", "Bearer"],
)
def test_who_shows_no_token_is_shown_where_to_get_one(
    authorization: str | None, oauth_client: OAuthClient
) -> None:
    sent = {} if authorization is None else {"Authorization": authorization}
    response = oauth_client.post_json(MCP, {}, **sent)
    challenge = response["WWW-Authenticate"]
    assert (response.status_code, read(response)["error"]["code"]) == (401, -32001)
    assert challenge.startswith('Bearer realm="halo-mcp", resource_metadata="')
    assert f'as_uri="{ORIGIN}/.well-known/oauth-authorization-server"' in challenge
    assert "error=" not in challenge


def test_all_refused_tokens_look_alike(tokens: Tokens, oauth_client: OAuthClient) -> None:
    Authorization.objects.update(revoked_at=NOON)
    answers = [
        oauth_client.post_json(MCP, {}, Authorization=f"Bearer {token}")
        for token in (tokens.access, UNKNOWN, "sk_live_1234")
    ]
    assert {a.status_code for a in answers} == {401}
    assert len({a.content for a in answers}) == 1
    assert {a["WWW-Authenticate"] for a in answers} == {
        challenges.unauthorized_challenge("invalid_token", host="testserver")
    }
    assert 'error="invalid_token"' in answers[0]["WWW-Authenticate"]


def test_a_consent_page_is_of_no_use_without_its_session(tokens: Tokens) -> None:
    response = Browser().http.post(CONSENT, headers={"authorization": f"Bearer {tokens.access}"})
    assert response.status_code == 403
