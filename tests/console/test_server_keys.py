"""Server keys on the console page and in the admin: created, shown once, revoked."""

import json
from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client as Http

from audit.models import SecurityEvent
from foundation import ids
from foundation.admin_urls import row_url
from oauth.models import ServerKey
from tests.console.markup import read as markup
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.ingestion.app import App
from workspace.models import Membership, Role, User

PAGE, ADMIN = "/server-keys", "/admin/oauth/serverkey/"


def form_fields(grant: Grant, **changes: Any) -> dict[str, Any]:
    form = {"organization": grant.organization.pk, "name": "Billing", "scopes": ["sdk:write"]}
    form |= {"kind": "sdk"}
    return form | {"days": "30"} | changes


def browser_of(user: User) -> Http:
    browser = Http()
    browser.force_login(user)
    return browser


@pytest.fixture
def owner(grant: Grant) -> Http:
    """The super admin of an organization."""
    return browser_of(grant.user)


def shown_key(page: Any) -> str:
    return str(markup(page.content).one("code", id="server-key").text)


def identify(grant: Grant, secret: str) -> int:
    app = App(grant, {"Authorization": f"Bearer {secret}"})
    return app.post("identify", {"user_id": "1"}).status


@pytest.mark.parametrize("address", [PAGE, f"{ADMIN}add/"])
def test_a_new_key_is_shown_once_and_works(owner: Http, grant: Grant, address: str) -> None:
    page = owner.post(address, form_fields(grant))
    assert page.status_code == 200
    assert "no-store" in page["Cache-Control"]
    secret, row = shown_key(page), ServerKey.objects.get()
    assert identify(grant, secret) == 200
    assert row.checksum == ids.sha256_hex(secret)
    assert (row.organization, row.created_by, row.scope) == (
        grant.organization,
        grant.user,
        "sdk:write",
    )
    assert row.expires_at is not None
    for later in (PAGE, ADMIN, row_url(row)):
        text = owner.get(later).content.decode()
        assert "Billing" in text
        assert secret not in text
        assert row.checksum not in text
    stored = [*SecurityEvent.objects.values_list(), *LogEntry.objects.values_list("change_message")]
    assert secret not in str(stored) + json.dumps(dict(owner.session.items()))
    assert SecurityEvent.objects.filter(kind="server_key_created").exists()


def test_a_revoked_key_is_refused_from_the_next_request_on(owner: Http, grant: Grant) -> None:
    secret, row = shown_key(owner.post(PAGE, form_fields(grant))), ServerKey.objects.get()
    address = f"{PAGE}/{row.pk}/revoke"
    assert "Revoke Billing?" in owner.get(address).content.decode()
    assert identify(grant, secret) == 200
    assert owner.post(address).status_code == 302
    assert identify(grant, secret) == 401
    assert "already revoked" in owner.post(address, follow=True).content.decode()
    assert "Revoked" in owner.get(PAGE).content.decode()
    assert SecurityEvent.objects.filter(kind="server_key_revoked").count() == 1


def test_the_admin_revokes_keys_and_edits_none(owner: Http, grant: Grant) -> None:
    secret, row = shown_key(owner.post(PAGE, form_fields(grant))), ServerKey.objects.get()
    owner.post(ADMIN, {"action": "revoke", "_selected_action": [str(row.pk)]})
    assert identify(grant, secret) == 401
    changed = owner.post(row_url(row), form_fields(grant, name="Other"))
    assert changed.status_code == 403
    assert owner.post(row_url(row, "delete"), {"post": "yes"}).status_code == 403


@pytest.mark.parametrize(
    "changes",
    [{"name": ""}, {"scopes": []}, {"scopes": ["all"]}, {"days": "9999"}, {"name": "a\0"}],
)
def test_an_incomplete_form_creates_no_key(
    owner: Http, grant: Grant, changes: dict[str, Any]
) -> None:
    assert owner.post(PAGE, form_fields(grant, **changes)).status_code == 400
    assert not ServerKey.objects.exists()


def test_a_key_is_the_business_of_its_own_organization_s_admins(owner: Http, grant: Grant) -> None:
    owner.post(PAGE, form_fields(grant))
    row, other = ServerKey.objects.get(), grants.make_grant()
    stranger = browser_of(other.user)
    assert "No keys yet." in stranger.get(PAGE).content.decode()
    assert stranger.get(f"{PAGE}/{row.pk}/revoke").status_code == 404
    assert stranger.post(PAGE, form_fields(grant)).status_code == 400
    assert stranger.post(f"{ADMIN}add/", form_fields(grant)).status_code == 200
    assert ServerKey.objects.get().revoked_at is None
    Membership.objects.filter(user=grant.user).update(role=Role.MEMBER)
    assert owner.get(PAGE).status_code == 404
    assert Http().get(PAGE).status_code == 302


def test_platform_staff_are_sent_to_the_admin(db: None) -> None:  # noqa: ARG001  opens the database
    root = browser_of(User.objects.create_superuser("root@halo.example"))
    assert root.get(PAGE)["Location"] == ADMIN
