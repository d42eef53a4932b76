"""Suspending, restoring and removing members, and giving up a role, as admins do it."""

import re
from typing import Any

import pytest
from django.test import Client as Http

from audit.models import SecurityEvent
from foundation.admin_urls import row_url
from oauth import memberships
from oauth.grants import connections
from oauth.principal import Unauthenticated
from tests.console import markup
from tests.drivers.grants import Grant, make_grant
from tests.drivers.mcp import McpClient, send_in_process
from tests.drivers.shown_forms import FIELD, forms_of
from workspace import organizations
from workspace.models import Membership, Organization, Role, User

LIST = "/admin/workspace/membership/"


@pytest.fixture
def grant(db: None) -> Grant:  # noqa: ARG001  opens the database
    """A member with a connected client, in an organization of somebody else."""
    made = make_grant("docs:read")
    made.membership.role = Role.MEMBER
    made.membership.save()
    return made


def make_admin(organization: Organization, name: str = "admin", role: str = Role.ADMIN) -> Http:
    user = User.objects.create_user(f"{name}@example.com")
    Membership.objects.create(user=user, organization=organization, role=role)
    browser = Http()
    browser.force_login(user)
    return browser


def act(browser: Http, action: str, *rows: Membership, **more: str) -> Any:
    sent = {"action": action, "_selected_action": [str(row.pk) for row in rows], **more}
    return browser.post(LIST, sent, follow=True)


def text_of(response: Any) -> str:
    return markup.read(response.content).text


def may_call(token: str) -> bool:
    return bool(McpClient(token, transport=send_in_process).request("ping").status == 200)


def undo_link(response: Any) -> str:
    (found,) = re.findall(r'href="(/members/undo\?change=[^"]+)"', response.content.decode())
    return str(found)


def save(browser: Http, page: str, *, follow: bool = False, **changed: str) -> Any:
    """Sends the form of a page as it is shown, with some fields changed."""
    (form,) = (one for one in forms_of(browser, page) if FIELD in one.fields)
    return browser.post(form.action, {**form.fields, **changed}, follow=follow)


def suspend(browser: Http, row: Membership) -> Any:
    return act(browser, "suspend", row, confirmed="1")


def test_a_suspension_says_what_pauses_and_pauses_it_until_it_is_restored(grant: Grant) -> None:
    admin, token = make_admin(grant.organization), grant.token()
    asked = text_of(act(admin, "suspend", grant.membership))
    assert "1 connection of a client" in asked
    assert may_call(token)
    said = text_of(suspend(admin, grant.membership))
    assert f"Suspended {grant.user} in {grant.organization}." in said
    assert not may_call(token)
    (listed,) = connections.living(grant.user).connections
    assert "has suspended the membership" in listed.pause
    with pytest.raises(Unauthenticated):
        memberships.principal(grant.user.pk, grant.organization.pk)
    assert "1 member restored." in text_of(act(admin, "restore", grant.membership))
    assert may_call(token)
    kinds = set(SecurityEvent.objects.values_list("kind", flat=True))
    assert {"member_suspended", "member_restored"} <= kinds


def test_a_suspension_can_be_undone_by_who_did_it_and_by_nobody_else(grant: Grant) -> None:
    admin, other = make_admin(grant.organization), make_admin(grant.organization, "other")
    token = grant.token()
    link = undo_link(suspend(admin, grant.membership))
    assert other.get(link).status_code == 404
    assert "can use" in text_of(admin.get(link))
    assert not may_call(token)
    assert "Undone." in text_of(admin.post(link, follow=True))
    assert may_call(token)
    assert "This was changed meanwhile" in text_of(admin.post(link, follow=True))


def test_a_forged_or_changed_link_undoes_nothing(grant: Grant) -> None:
    admin = make_admin(grant.organization)
    link = undo_link(suspend(admin, grant.membership))
    for broken in (f"{link}x", "/members/undo?change=", "/members/undo"):
        assert admin.post(broken).status_code == 404
    assert Membership.objects.get(pk=grant.membership.pk).suspended_at is not None


def test_nobody_suspends_themselves_or_somebody_of_a_higher_role(grant: Grant) -> None:
    admin = make_admin(grant.organization)
    make_admin(grant.organization, "owner", Role.SUPER_ADMIN)
    make_admin(grant.organization, "second", Role.SUPER_ADMIN)
    own = Membership.objects.get(user__email="admin@example.com")
    owner = Membership.objects.get(user__email="owner@example.com")
    assert "cannot suspend or restore yourself" in text_of(suspend(admin, own))
    assert "Your role may not change owner@example.com" in text_of(suspend(admin, owner))
    assert not Membership.objects.filter(suspended_at__isnull=False).exists()


def test_an_organization_keeps_a_super_admin_who_is_not_suspended(grant: Grant) -> None:
    owner = make_admin(grant.organization, "owner", Role.SUPER_ADMIN)
    make_admin(grant.organization, "second", Role.SUPER_ADMIN)
    own, second = (
        Membership.objects.get(user__email=f"{name}@example.com") for name in ("owner", "second")
    )
    suspend(owner, second)
    # The only super admin who is not suspended cannot be changed.
    assert owner.post(row_url(own, "delete"), {"post": "yes"}).status_code == 403
    assert Membership.objects.filter(pk=own.pk).exists()


def test_an_admin_of_another_organization_sees_and_changes_nothing(grant: Grant) -> None:
    stranger = make_admin(make_grant().organization, "stranger", Role.SUPER_ADMIN)
    suspend(stranger, grant.membership)
    assert Membership.objects.get(pk=grant.membership.pk).suspended_at is None
    assert stranger.get(row_url(grant.membership)).status_code == 302


def test_a_suspended_admin_administers_and_decides_nothing(grant: Grant) -> None:
    owner = make_admin(grant.organization, "owner", Role.SUPER_ADMIN)
    admin = make_admin(grant.organization)
    assert admin.get("/admin/").status_code == 200
    suspend(owner, Membership.objects.get(user__email="admin@example.com"))
    page = admin.get("/admin/workspace/membership/")
    assert page.status_code in {302, 403}
    home = text_of(admin.get("/"))
    assert f"Your membership of {grant.organization} is suspended." in home
    assert "Who can restore it: owner@example.com" in home


def test_removing_says_what_ends_and_can_be_undone_without_the_connections(grant: Grant) -> None:
    admin, token = make_admin(grant.organization), grant.token()
    asked = text_of(admin.get(row_url(grant.membership, "delete")))
    assert "1 connection of a client" in asked
    assert "suspend the member instead" in asked
    done = admin.post(row_url(grant.membership, "delete"), {"post": "yes"}, follow=True)
    assert not Membership.objects.filter(user=grant.user).exists()
    link = undo_link(done)
    assert "do not come back" in text_of(admin.get(link))
    assert "Undone." in text_of(admin.post(link, follow=True))
    again = Membership.objects.get(user=grant.user)
    assert (again.role, again.organization) == (Role.MEMBER, grant.organization)
    assert not may_call(token)
    kinds = list(SecurityEvent.objects.values_list("kind", flat=True))
    assert "member_removed" in kinds


def test_an_undo_gives_no_more_than_the_person_may_give_now(grant: Grant) -> None:
    owner = make_admin(grant.organization, "owner", Role.SUPER_ADMIN)
    admin = make_admin(grant.organization)
    done = admin.post(row_url(grant.membership, "delete"), {"post": "yes"}, follow=True)
    suspend(owner, Membership.objects.get(user__email="admin@example.com"))
    assert "so it was not undone" in text_of(admin.post(undo_link(done), follow=True))
    assert not Membership.objects.filter(user=grant.user).exists()


def test_several_removals_at_once_list_what_ends_too(grant: Grant) -> None:
    admin = make_admin(grant.organization)
    asked = text_of(act(admin, "delete_selected", grant.membership))
    assert "1 connection of a client" in asked
    act(admin, "delete_selected", grant.membership, post="yes")
    assert not Membership.objects.filter(user=grant.user).exists()


def test_giving_up_an_own_role_is_confirmed_and_leads_to_a_page_that_opens(grant: Grant) -> None:
    owner = make_admin(grant.organization, "owner", Role.SUPER_ADMIN)
    make_admin(grant.organization, "second", Role.SUPER_ADMIN)
    own = Membership.objects.get(user__email="owner@example.com")
    address = row_url(own)
    refused = save(owner, address, role=Role.MEMBER)
    assert "Who can give it back: second@example.com." in text_of(refused)
    assert Membership.objects.get(pk=own.pk).role == Role.SUPER_ADMIN
    done = save(owner, address, role=Role.MEMBER, gives_up="on", follow=True)
    assert done.status_code == 200
    assert "You gave up the role Super admin" in text_of(done)
    assert Membership.objects.get(pk=own.pk).role == Role.MEMBER
    assert "Undone." in text_of(owner.post(undo_link(done), follow=True))
    assert Membership.objects.get(pk=own.pk).role == Role.SUPER_ADMIN


def test_a_role_that_was_given_up_and_changed_since_does_not_come_back(grant: Grant) -> None:
    owner = make_admin(grant.organization, "owner", Role.SUPER_ADMIN)
    make_admin(grant.organization, "second", Role.SUPER_ADMIN)
    own = Membership.objects.get(user__email="owner@example.com")
    link = undo_link(save(owner, row_url(own), role=Role.MEMBER, gives_up="on", follow=True))
    Membership.objects.filter(pk=own.pk).delete()
    assert "so it was not undone" in text_of(owner.post(link, follow=True))


def test_an_admin_sets_time_zone_and_currency_and_nothing_else_of_the_platform(
    grant: Grant,
) -> None:
    admin = make_admin(grant.organization)
    address = row_url(grant.organization)
    save(admin, address, time_zone="Asia/Kolkata", currency="INR")
    place = Organization.objects.get(pk=grant.organization.pk)
    assert (place.time_zone, place.currency) == ("Asia/Kolkata", "INR")
    wrong = save(admin, address, currency="eur")
    assert "Three capital letters" in text_of(wrong)
    fields = admin.get(address).context["adminform"].form.fields
    assert {"slug", "suspended_at", "calls_per_minute"}.isdisjoint(fields)


def test_a_used_link_does_not_bring_a_role_back_that_somebody_took_away(grant: Grant) -> None:
    owner = make_admin(grant.organization, "owner", Role.SUPER_ADMIN)
    second = make_admin(grant.organization, "second", Role.SUPER_ADMIN)
    own = Membership.objects.get(user__email="owner@example.com")
    link = undo_link(save(owner, row_url(own), role=Role.MEMBER, gives_up="on", follow=True))
    owner.post(link)
    assert Membership.objects.get(pk=own.pk).role == Role.SUPER_ADMIN
    save(second, row_url(own), role=Role.MEMBER)
    assert "so it was not undone" in text_of(owner.post(link, follow=True))
    assert Membership.objects.get(pk=own.pk).role == Role.MEMBER


def test_a_used_link_does_not_bring_a_member_back_whom_somebody_else_removed(grant: Grant) -> None:
    admin, other = make_admin(grant.organization), make_admin(grant.organization, "other")
    address = row_url(grant.membership, "delete")
    link = undo_link(admin.post(address, {"post": "yes"}, follow=True))
    admin.post(link)
    again = Membership.objects.get(user=grant.user)
    other.post(row_url(again, "delete"), {"post": "yes"})
    assert "so it was not undone" in text_of(admin.post(link, follow=True))
    assert not Membership.objects.filter(user=grant.user).exists()


def test_undoing_the_removal_of_a_suspended_member_leaves_them_suspended(grant: Grant) -> None:
    admin = make_admin(grant.organization)
    suspend(admin, grant.membership)
    done = admin.post(row_url(grant.membership, "delete"), {"post": "yes"}, follow=True)
    link = re.findall(r'href="(/members/undo\?change=[^"]+)"', done.content.decode())[-1]
    assert "is suspended again" in text_of(admin.get(link))
    assert "Undone." in text_of(admin.post(link, follow=True))
    assert Membership.objects.get(user=grant.user).suspended_at is not None


def test_an_undo_restores_no_member_whose_role_was_raised_meanwhile(grant: Grant) -> None:
    owner = make_admin(grant.organization, "owner", Role.SUPER_ADMIN)
    admin = make_admin(grant.organization)
    link = undo_link(suspend(admin, grant.membership))
    save(owner, row_url(grant.membership), role=Role.SUPER_ADMIN)
    assert "so it was not undone" in text_of(admin.post(link, follow=True))
    assert Membership.objects.get(pk=grant.membership.pk).suspended_at is not None


def test_a_member_whose_role_changed_since_it_was_read_is_not_suspended(grant: Grant) -> None:
    read = Membership.objects.get(pk=grant.membership.pk)
    Membership.objects.filter(pk=read.pk).update(role=Role.SUPER_ADMIN)
    assert organizations.suspend_member(read) is None
    assert Membership.objects.get(pk=read.pk).suspended_at is None
