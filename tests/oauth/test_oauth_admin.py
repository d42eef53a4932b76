"""What admins see and may do: every list opens, no hash shows, a revocation holds at once."""

import re
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db.models import Model
from django.test import Client as Http

from audit.models import ActionExecution, SecurityEvent
from foundation.admin_urls import model_url
from oauth.models import AccessToken, Authorization, Client, Grant, RefreshToken
from tests.drivers.oauth_client import Browser, OAuthClient, Tokens, assert_refused
from workspace.models import Membership, Role, User

LONG_HEX = re.compile(r"\b[0-9a-f]{64}\b")
CREDENTIALS = [Client, Authorization, Grant, AccessToken, RefreshToken]
AUDIT = [ActionExecution, SecurityEvent]


@pytest.fixture
def root(db: None) -> Http:  # noqa: ARG001  asked for: it opens the database
    client = Http()
    client.force_login(User.objects.create_superuser("root@halo.example"))
    return client


@pytest.fixture
def viewer(db: None) -> Http:  # noqa: ARG001  as above
    """Staff who may look at everything and change nothing."""
    user = User.objects.create_user("viewer@halo.example", is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__startswith="view_"))
    client = Http()
    client.force_login(user)
    return client


@pytest.fixture
def traces(confidential: OAuthClient, browser: Browser, tokens: Tokens) -> Tokens:
    """At least one row of everything: a secret, a code, a pair, a call and an event."""
    confidential.code(browser)
    confidential.ping(tokens.access)
    confidential.post_json("/api/mcp", [], Authorization=f"Bearer {tokens.access}")
    assert assert_refused(confidential.refresh("x")) == (400, "invalid_grant")
    return tokens


def act(client: Http, model: type[Model], action: str) -> Any:
    keys = [str(key) for key in model._default_manager.values_list("pk", flat=True)]
    form = {"action": action, "_selected_action": keys}
    return client.post(model_url(model, "changelist"), form, follow=True)


@pytest.mark.usefixtures("traces")
@pytest.mark.parametrize(
    "model", [pytest.param(model, id=f"S04-{model.__name__}") for model in CREDENTIALS]
)
def test_no_page_shows_a_hash(model: type[Model], root: Http) -> None:
    addresses = [model_url(model, "changelist")]
    addresses += [model_url(model, "change", row.pk) for row in model._default_manager.all()]
    assert len(addresses) > 1
    for address in addresses:
        response = root.get(address)
        assert response.status_code == 200
        assert not LONG_HEX.search(response.content.decode())


@pytest.mark.usefixtures("traces")
def test_every_list_opens(root: Http) -> None:
    hidden = {"IDToken"}
    opened = {
        model.__name__: root.get(model_url(model, "changelist")).status_code
        for model in admin.site._registry
        if model.__name__ not in hidden
    }
    assert set(opened.values()) == {200}
    assert {model.__name__ for model in (*CREDENTIALS, *AUDIT)} <= set(opened)


def choices(root: Http, address: str) -> set[str]:
    """The addresses that the filters of a list lead to."""
    content = root.get(address).content.decode().replace("&amp;", "&")
    sidebar = content.partition('id="changelist-filter"')[2].partition("</nav>")[0]
    return set(re.findall(r'href="(\?[^"]*)"', sidebar))


@pytest.mark.parametrize("model", [*CREDENTIALS, *AUDIT])
@pytest.mark.usefixtures("traces")
def test_every_filter_opens(model: type[Model], root: Http) -> None:
    address = model_url(model, "changelist")
    found = choices(root, address)
    opened = {choice: root.get(address + choice).status_code for choice in found}
    assert set(opened.values()) <= {200}
    assert bool(found) is bool(admin.site._registry[model].list_filter)


@pytest.mark.parametrize("model", [*CREDENTIALS, *AUDIT])
@pytest.mark.usefixtures("traces")
def test_any_text_may_be_searched_for(model: type[Model], root: Http) -> None:
    for text in ("x", "0" * 32, "%", "ada@acme.example", "'", "a" * 500, "\0"):
        assert root.get(model_url(model, "changelist"), {"q": text}).status_code == 200


@pytest.mark.parametrize("model", [Client, *AUDIT])
@pytest.mark.usefixtures("traces")
def test_a_filter_that_no_column_can_hold_is_refused(model: type[Model], root: Http) -> None:
    for choice in choices(root, model_url(model, "changelist")) - {"?"}:
        address = model_url(model, "changelist") + choice.partition("=")[0]
        assert root.get(f"{address}=%00").status_code == 400


@pytest.mark.usefixtures("oauth_client")
def test_the_admins_own_address_of_a_client_leads_to_its_row(root: Http) -> None:
    row = Client.objects.get()
    kind = ContentType.objects.get_for_model(Client)
    shortcut = root.get(f"/admin/r/{kind.pk}/{row.pk}/")
    assert shortcut["Location"].endswith(model_url(Client, "change", row.pk))
    assert "/admin/r/" not in root.get(model_url(Client, "change", row.pk)).content.decode()


@pytest.mark.usefixtures("traces")
def test_a_row_is_found_by_its_id(root: Http) -> None:
    row = AccessToken.objects.get()
    page = root.get(model_url(AccessToken, "changelist"), {"q": str(row.pk)})
    assert str(row.pk) in page.content.decode()
    page = root.get(model_url(AccessToken, "changelist"), {"q": str(row.authorization_id)})
    assert str(row.pk) in page.content.decode()


@pytest.mark.parametrize("action", [pytest.param("revoke", id="S05")])
def test_revoking_an_authorization_ends_all_its_tokens(
    action: str, root: Http, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    page = act(root, Authorization, action)
    assert "1 authorization revoked." in page.content.decode()
    assert oauth_client.ping(tokens.access) == 401
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == (400, "invalid_grant")
    assert Authorization.objects.get().revoke_reason == "revoked_by_admin"
    assert SecurityEvent.objects.filter(kind="revoked_by_admin").exists()
    assert LogEntry.objects.get().user.email == "root@halo.example"


@pytest.mark.usefixtures("traces")
@pytest.mark.parametrize("model", [Grant, AccessToken, RefreshToken])
def test_what_hangs_on_a_revoked_token_family_says_when_it_ended(
    model: type[Model], root: Http
) -> None:
    row = model._default_manager.order_by("-pk")[0]
    addresses = (model_url(model, "changelist"), model_url(model, "change", row.pk))
    message = "Feb 3, 2031"
    assert [message in root.get(address).content.decode() for address in addresses] == [
        False,
        False,
    ]
    Authorization.objects.update(revoked_at=datetime(2031, 2, 3, 12, tzinfo=UTC))
    assert [message in root.get(address).content.decode() for address in addresses] == [True, True]


@pytest.mark.usefixtures("tokens")
def test_revoking_twice_revokes_nothing_more(root: Http) -> None:
    act(root, Authorization, "revoke")
    assert "0 authorizations revoked." in act(root, Authorization, "revoke").content.decode()


def test_disabling_a_client_refuses_its_tokens_until_it_is_enabled(
    root: Http, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    assert "1 client disabled." in act(root, Client, "disable").content.decode()
    assert oauth_client.ping(tokens.access) == 401
    assert "1 client enabled." in act(root, Client, "enable").content.decode()
    assert oauth_client.ping(tokens.access) == 200
    events = SecurityEvent.objects.filter(client_id=oauth_client.client_id)
    assert {event.kind for event in events} >= {"client_disabled", "client_enabled"}
    assert LogEntry.objects.count() == 2


@pytest.mark.parametrize(
    ("model", "action"),
    [
        pytest.param(Authorization, "revoke", id="S01-revoke"),
        pytest.param(Client, "disable", id="S01-disable"),
    ],
)
def test_who_may_only_look_cannot_end_anything(
    model: type[Model], action: str, viewer: Http, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    assert viewer.get(model_url(model, "changelist")).status_code == 200
    act(viewer, model, action)
    assert oauth_client.ping(tokens.access) == 200


@pytest.mark.parametrize(
    "model", [pytest.param(model, id=f"S02-{model.__name__}") for model in AUDIT]
)
@pytest.mark.usefixtures("traces")
def test_an_audit_row_can_be_read_and_not_changed(model: type[Model], root: Http) -> None:
    row = model._default_manager.first()
    assert row is not None
    before = model._default_manager.filter(pk=row.pk).values().get()
    change, delete = model_url(model, "change", row.pk), model_url(model, "delete", row.pk)
    assert root.get(change).status_code == 200
    assert root.get(model_url(model, "add")).status_code == 403
    assert root.post(change, {"kind": "x", "outcome": "x"}).status_code == 403
    assert root.post(delete, {"post": "yes"}).status_code == 403
    act(root, model, "delete_selected")
    assert model._default_manager.filter(pk=row.pk).values().get() == before


@pytest.mark.parametrize("model", CREDENTIALS)
@pytest.mark.usefixtures("traces")
def test_a_credential_cannot_be_made_or_edited_by_hand(model: type[Model], root: Http) -> None:
    row = model._default_manager.first()
    assert row is not None
    # Clients can be added, and what an admin added can be edited: test_preregistered_clients.py.
    assert root.get(model_url(model, "add")).status_code == (200 if model is Client else 403)
    assert root.post(model_url(model, "change", row.pk), {"scope": "actions:*"}).status_code == 403
    assert root.post(model_url(model, "delete", row.pk), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize("model", [*CREDENTIALS, *AUDIT])
def test_a_member_without_staff_rights_sees_none_of_it(
    model: type[Model], browser: Browser
) -> None:
    Membership.objects.update(role=Role.MEMBER)
    response = browser.open(model_url(model, "changelist"))
    assert response.status_code == 302
    assert response["Location"].startswith("/admin/login/")
