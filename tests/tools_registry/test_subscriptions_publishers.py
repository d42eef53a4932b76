"""Whoever changes what a token may see says so to those who listen: every page, every way."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.test import Client as Http
from django.test import TestCase
from django.urls import reverse

from foundation.admin_urls import model_url, row_url
from oauth.grants import authorizations, connections
from oauth.models import Authorization, Client
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.drivers.shown_forms import save
from tools_registry.models import ActionToggle, IntegrationMode
from workspace import changes, organizations
from workspace.models import FeatureFlag, Membership, Organization, User


@pytest.fixture(autouse=True)
def notices_file(settings: Any, tmp_path: Path) -> Path:
    """The file that notices go through."""
    settings.HALO_NOTICES = str(tmp_path / "notices")
    return tmp_path / "notices"


@pytest.fixture
def root(grant: Grant) -> Http:  # noqa: ARG001  asked for: it opens the database
    client = Http()
    client.force_login(User.objects.create_superuser("root@halo.example"))
    return client


@pytest.fixture
def says(grant: Grant, notices_file: Path) -> Callable[[Callable[[], object]], None]:
    """Assert that something is published to the subscribers of the organization."""

    def check(act: Callable[[], object]) -> None:
        notices_file.unlink(missing_ok=True)
        with TestCase.captureOnCommitCallbacks(execute=True):
            act()
        assert notices_file.exists(), "nothing was said"
        assert changes.topic(grant.organization.pk) in notices_file.read_text().splitlines()

    return check


def save_form(root: Http, address: str, fields: dict[str, Any]) -> None:
    answer = save(root, address, fields)
    assert answer.status_code == 302, answer.content.decode()


def delete(root: Http, row: Any) -> None:
    save_form(root, row_url(row, "delete"), {"post": "yes"})


def delete_all(root: Http, row: Any) -> None:
    fields = {"action": "delete_selected", "_selected_action": [str(row.pk)], "post": "yes"}
    save_form(root, model_url(type(row)), fields)


DELETIONS = pytest.mark.parametrize("remove", [delete, delete_all])


def mode_of(grant: Grant) -> IntegrationMode:
    grant.connect("crm", enabled=("find_contact",))
    return IntegrationMode.objects.get()


def toggle_of(grant: Grant) -> ActionToggle:
    grant.connect("crm", enabled=("find_contact",))
    return ActionToggle.objects.get()


def membership_of(grant: Grant) -> Membership:
    return grant.membership


def user_of(grant: Grant) -> User:
    # One without connections: the admin deletes nobody whose connections are on record.
    member = User.objects.create_user("member@halo.example")
    organizations.join(grant.organization, member)
    return member


def test_an_integration_that_is_added_or_switched(root: Http, grant: Grant, says: Any) -> None:
    fields = {"organization": grant.organization.pk, "integration": "crm", "actions_on": "on"}
    fields["connection"] = "connected"
    add = reverse("admin:tools_registry_integrationmode_add")
    says(lambda: save_form(root, add, fields))
    says(lambda: save_form(root, row_url(IntegrationMode.objects.get()), fields))


def test_an_action_that_is_switched(root: Http, grant: Grant, says: Any) -> None:
    toggle = toggle_of(grant)
    fields = {"agent": toggle.agent_id, "integration": "crm", "action": "find_contact"}
    says(lambda: save_form(root, row_url(toggle), fields))


def test_a_switch_that_is_given_to_another_organization_is_published_to_the_first(
    root: Http, grant: Grant, says: Any
) -> None:
    other = grants.make_grant().organization
    fields = {"organization": other.pk, "integration": "crm", "connection": "connected"}
    mode = mode_of(grant)
    says(lambda: save_form(root, row_url(mode), fields))


@DELETIONS
@pytest.mark.parametrize("row_of", [mode_of, toggle_of, membership_of, user_of])
def test_a_row_that_is_deleted(
    root: Http, grant: Grant, says: Any, remove: Callable[..., None], row_of: Callable[..., Any]
) -> None:
    row = row_of(grant)
    says(lambda: remove(root, row))
    assert not type(row).objects.filter(pk=row.pk).exists()


def inline(prefix: str, *rows: dict[str, Any], initial: int = 0) -> dict[str, Any]:
    fields = {f"{prefix}-TOTAL_FORMS": len(rows), f"{prefix}-INITIAL_FORMS": initial}
    for number, row in enumerate(rows):
        fields |= {f"{prefix}-{number}-{name}": value for name, value in row.items()}
    return fields


def organization_page(grant: Grant, *flags: dict[str, Any], **fields: Any) -> dict[str, Any]:
    agent = grant.organization.agents.get()
    known = {"name": grant.organization.name, "slug": grant.organization.slug}
    known |= {"time_zone": "UTC", "currency": "USD"}
    agents = inline("agents", {"id": agent.pk, "name": agent.name}, initial=1)
    initial = sum("id" in flag for flag in flags)
    return (
        known | agents | inline("flags", *flags, initial=initial) | inline("memberships") | fields
    )


def test_a_flag_of_the_organization(root: Http, grant: Grant, says: Any) -> None:
    address, on = row_url(grant.organization), {"name": "mcp_server", "enabled": ""}
    new = organization_page(grant, on | {"organization": grant.organization.pk})
    says(lambda: save_form(root, address, new))
    flag = FeatureFlag.objects.get()
    gone = on | {"id": flag.pk, "organization": grant.organization.pk, "DELETE": "on"}
    says(lambda: save_form(root, address, organization_page(grant, gone)))
    assert not FeatureFlag.objects.exists()


def test_an_organization_that_is_suspended(root: Http, grant: Grant, says: Any) -> None:
    when = {"suspended_at_0": "2026-01-01", "suspended_at_1": "12:00:00"}
    says(lambda: save_form(root, row_url(grant.organization), organization_page(grant, **when)))
    assert Organization.objects.get(pk=grant.organization.pk).suspended_at


def test_a_person_who_is_deactivated_or_taken_out(root: Http, grant: Grant, says: Any) -> None:
    member = {"id": grant.membership.pk, "user": grant.user.pk, "role": "member"}
    member |= {"organization": grant.organization.pk, "DELETE": "on"}
    fields = {"email": grant.user.email, **inline("memberships", member, initial=1)}
    says(lambda: save_form(root, row_url(grant.user), fields))
    assert not Membership.objects.filter(pk=grant.membership.pk).exists()


def run_action(root: Http, row: Any, action: str) -> None:
    fields = {"action": action, "_selected_action": [str(row.pk)]}
    save_form(root, model_url(type(row)), fields)


def test_a_client_that_is_disabled_and_enabled_again(root: Http, grant: Grant, says: Any) -> None:
    says(lambda: run_action(root, grant.client, "disable"))
    assert Client.objects.get().disabled_at
    says(lambda: run_action(root, grant.client, "enable"))


def test_an_authorization_that_an_admin_revokes(root: Http, grant: Grant, says: Any) -> None:
    says(lambda: run_action(root, grant.authorization, "revoke"))


def test_a_connection_that_its_person_narrows_or_ends(grant: Grant, says: Any) -> None:
    row, here = grant.authorization.pk, {"address": "127.0.0.1"}
    Authorization.objects.update(scope="docs:read setup:read")
    says(lambda: connections.narrow(grant.user, row, ["docs:read"], **here))
    says(lambda: connections.revoke(grant.user, row, **here))


def test_a_family_that_expires(grant: Grant, says: Any) -> None:
    says(lambda: authorizations.revoke(grant.authorization.pk, reason="refresh_replay"))
