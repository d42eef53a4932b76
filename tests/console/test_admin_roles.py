"""What the roles of a membership permit in the admin, and when they stop doing so."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from threading import Barrier, BrokenBarrierError
from typing import Any
from unittest.mock import patch

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, Permission
from django.db import connection
from django.test import Client as Http
from django.urls import reverse
from django.utils import timezone

from approvals.models import ApprovalStatus
from audit.models import SecurityEvent
from foundation.admin_urls import model_url, page_url, row_url
from oauth.models import Authorization, Client
from tests.console import markup
from tests.console.test_admin_tenants import tenant
from tests.drivers import billing as billing_cast
from tests.drivers import grants
from tests.drivers.fake_vendors.stripe import Stripe
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tests.drivers.shown_forms import save
from workspace import admin as workspace_admin
from workspace import organizations
from workspace.administration import access as admin_access
from workspace.models import Customer, FeatureFlag, Membership, Organization, Role, User

INDEX = "/admin/"


def browser_of(user: User) -> Http:
    client = Http()
    client.force_login(user)
    return client


def admin_of(organization: Organization, role: Role = Role.ADMIN) -> User:
    """A person with a role in an organization, and with no right of platform staff."""
    user = User.objects.create_user(f"{role.value}-{User.objects.count()}@example.com")
    organizations.join(organization, user, role=role)
    return user


def sidebar_links(user: User) -> set[str]:
    """The addresses in the list of models that a visitor sees on each page of the admin."""
    page = markup.read(browser_of(user).get(INDEX).content)
    return {str(one.attributes.get("href")) for one in page.all("a")}


def membership(user: User) -> Membership:
    return Membership.objects.get(user=user)


def regrade(browser: Http, row: Membership, role: Role) -> Any:
    return save(
        browser, model_url(Membership, "change", row.pk), {"role": role.value, "gives_up": "on"}
    )


def test_every_permission_of_a_role_exists(db: None) -> None:  # noqa: ARG001  opens the database
    known = Permission.objects.values_list("content_type__app_label", "codename")
    assert {f"{app}.{codename}" for app, codename in known} >= admin_access.PERMISSIONS_OF_ADMINS


@pytest.mark.parametrize("role", [Role.ADMIN, Role.SUPER_ADMIN])
def test_an_admin_flips_a_switch_and_reads_what_happened(grant: Grant, role: Role) -> None:
    browser = browser_of(admin_of(grant.organization, role))
    assert browser.get(INDEX).status_code == 200
    switches = page_url("tools_registry_switchboard", grant.organization.pk)
    found = browser.get(reverse("admin:tools_registry_switchboards"))
    assert found.headers["Location"] == switches
    sent = {"switch": "flag:mcp_server", "to": "off", "confirmed": "yes"}
    assert browser.post(switches, sent).status_code == 302
    assert not FeatureFlag.objects.get(organization=grant.organization).enabled
    events = browser.get("/admin/audit/securityevent/").content.decode()
    assert "flag_changed" in events
    history = browser.get(model_url(Organization, "history", grant.organization.pk))
    assert "mcp_server" in history.content.decode()


def test_an_admin_connects_an_integration(grant: Grant) -> None:
    browser = browser_of(admin_of(grant.organization))
    name = "admin:tools_registry_integrationmode_connect"
    address = reverse(name, args=[grant.organization.pk, "slack"])
    assert browser.get(address).status_code == 200
    # No token of the vendor: the form says so, which is the page's own answer and no refusal.
    answer = save(browser, address, {"act": "connect"})
    assert answer.status_code == 200
    assert "errorlist" in answer.content.decode()


def test_an_admin_approves_a_billing_request(mcp: McpClient, stripe: Stripe, grant: Grant) -> None:
    asked = billing_cast.request_refund(mcp, stripe)
    browser = browser_of(admin_of(grant.organization))
    shown = browser.get(row_url(asked.row()))
    assert "Approve" in shown.content.decode()
    assert browser.post(asked.url("approve")).status_code == 302
    assert asked.row().status == ApprovalStatus.DONE


def test_an_admin_of_another_organization_neither_sees_nor_decides_a_billing_request(
    mcp: McpClient, stripe: Stripe
) -> None:
    asked = billing_cast.request_refund(mcp, stripe)
    stranger = browser_of(admin_of(grants.make_grant().organization))
    missing = asked.url("approve", "0190a0a0-0000-7000-8000-000000000000")
    for send in (stranger.get, stranger.post):
        assert send(asked.url("approve")).status_code == 404
        assert send(missing).status_code == 404
    assert asked.row().status == ApprovalStatus.PENDING


def test_an_admin_reads_the_audit_log_and_ends_a_connection(mcp: McpClient, grant: Grant) -> None:
    mcp.call("search_docs", {"query": "tokens"})
    browser = browser_of(admin_of(grant.organization))
    assert "search_docs" in browser.get("/admin/audit/actionexecution/").content.decode()
    row = Authorization.objects.get()
    chosen = {"action": "revoke", "_selected_action": [str(row.pk)]}
    browser.post(model_url(Authorization, "changelist"), chosen)
    row.refresh_from_db()
    assert row.revoke_reason == "revoked_by_admin"


def test_an_admin_adds_a_customer(grant: Grant) -> None:
    browser = browser_of(admin_of(grant.organization))
    sent = {"organization": str(grant.organization.pk), "name": "Grace"}
    assert browser.post(model_url(Customer, "add"), sent).status_code == 302
    assert Customer.objects.get(name="Grace").organization == grant.organization


def test_the_page_about_a_token_explains_own_tokens_only(grant: Grant) -> None:
    address = reverse("admin:tools_registry_why")
    token = str(grant.authorization.pk)
    own = browser_of(admin_of(grant.organization))
    assert grant.user.email in own.get(address, {"token": token}).content.decode()
    stranger = browser_of(admin_of(grants.make_grant().organization))
    for query in (
        {"token": token},
        {"token": "", "authorization": token},
        {"token": "Test client"},
    ):
        assert grant.user.email not in stranger.get(address, query).content.decode()


def test_a_client_is_shown_without_the_means_to_disable_it(grant: Grant) -> None:
    browser = browser_of(admin_of(grant.organization))
    assert browser.get(model_url(Client, "change", grant.client.pk)).status_code == 200
    chosen = {"action": "disable", "_selected_action": [str(grant.client.pk)]}
    browser.post(model_url(Client, "changelist"), chosen)
    grant.client.refresh_from_db()
    assert grant.client.disabled_at is None


def test_an_admin_cannot_change_what_the_platform_decides(grant: Grant) -> None:
    browser = browser_of(admin_of(grant.organization, Role.SUPER_ADMIN))
    empty = {
        f"{prefix}-{name}": "0"
        for prefix in ("flags", "agents", "memberships")
        for name in ("TOTAL_FORMS", "INITIAL_FORMS")
    }
    own = {"name": "Renamed", "time_zone": "Europe/Berlin", "currency": "EUR"}
    sent = {**own, "slug": "stolen", "calls_per_minute": "9999", **empty}
    address = model_url(Organization, "change", grant.organization.pk)
    assert save(browser, address, sent).status_code == 302
    after = Organization.objects.get(pk=grant.organization.pk)
    assert (after.name, after.calls_per_minute) == ("Renamed", None)
    assert (after.time_zone, after.currency) == ("Europe/Berlin", "EUR")
    assert after.slug == grant.organization.slug
    person = model_url(User, "change", grant.user.pk)
    assert browser.get(person).status_code == 200
    assert browser.post(person, {"email": "mine@evil.example", "is_staff": "on"}).status_code == 403
    assert browser.post(page_url("auth_user_password_change", grant.user.pk), {}).status_code == 403


def test_an_admin_gives_the_roles_up_to_their_own(grant: Grant) -> None:
    boss = browser_of(admin_of(grant.organization))
    member = membership(admin_of(grant.organization, Role.MEMBER))
    assert regrade(boss, member, Role.ADMIN).status_code == 302
    assert regrade(boss, member, Role.SUPER_ADMIN).status_code == 200
    member.refresh_from_db()
    assert member.role == Role.ADMIN
    owner = membership(grant.user)
    assert regrade(boss, owner, Role.MEMBER).status_code == 403
    assert boss.post(model_url(Membership, "delete", owner.pk), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [str(owner.pk)], "post": "yes"}
    boss.post(model_url(Membership, "changelist"), chosen)
    owner.refresh_from_db()
    assert owner.role == Role.SUPER_ADMIN


def test_the_last_super_admin_stays(grant: Grant) -> None:
    owner = browser_of(grant.user)
    assert regrade(owner, membership(grant.user), Role.MEMBER).status_code == 403
    second = membership(admin_of(grant.organization))
    assert regrade(owner, second, Role.SUPER_ADMIN).status_code == 302
    assert regrade(owner, membership(grant.user), Role.MEMBER).status_code == 302
    assert list(Membership.objects.filter(role=Role.SUPER_ADMIN)) == [second]


def test_a_program_is_no_super_admin_who_could_stay(grant: Grant) -> None:
    second = admin_of(grant.organization, Role.SUPER_ADMIN)
    User.objects.filter(pk=second.pk).update(is_program=True)
    owner = browser_of(grant.user)
    assert regrade(owner, membership(grant.user), Role.MEMBER).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [str(membership(grant.user).pk)]}
    owner.post(model_url(Membership, "changelist"), chosen | {"post": "yes"})
    assert membership(grant.user).role == Role.SUPER_ADMIN


def test_selecting_all_super_admins_deletes_none_of_them(grant: Grant) -> None:
    owner = browser_of(grant.user)
    both = [membership(grant.user), membership(admin_of(grant.organization, Role.SUPER_ADMIN))]
    chosen = {
        "action": "delete_selected",
        "_selected_action": [str(row.pk) for row in both],
        "post": "yes",
    }
    assert owner.post(model_url(Membership, "changelist"), chosen).status_code == 403
    assert set(Membership.objects.filter(role=Role.SUPER_ADMIN)) == set(both)
    assert not LogEntry.objects.exists()


@pytest.mark.skipif(connection.vendor == "sqlite", reason="SQLite has one writer at a time anyway")
@pytest.mark.django_db(transaction=True)
def test_two_super_admins_who_demote_each_other_at_once_leave_one(grant: Grant) -> None:
    second = admin_of(grant.organization, Role.SUPER_ADMIN)
    pairs = [
        (browser_of(grant.user), membership(second)),
        (browser_of(second), membership(grant.user)),
    ]
    both_may = Barrier(2, timeout=1)
    may = workspace_admin.may_regrade

    def may_then_wait(request: Any, row: Any) -> bool:
        allowed = may(request, row)
        if request.method == "POST" and row is not None and not getattr(request, "waited", False):
            request.waited = True
            # The other one does not come here before this one has ended: it waits for the lock.
            with suppress(BrokenBarrierError):
                both_may.wait()
        return allowed

    def demote(pair: tuple[Http, Membership]) -> int:
        try:
            return int(regrade(*pair, Role.MEMBER).status_code)
        finally:
            connection.close()

    with (
        patch.object(workspace_admin, "may_regrade", may_then_wait),
        ThreadPoolExecutor(2) as pool,
    ):
        statuses = sorted(pool.map(demote, pairs))
    assert statuses == [302, 403]
    assert Membership.objects.filter(role=Role.SUPER_ADMIN).count() == 1


def test_m3_staff_who_may_change_memberships_give_no_admin_role(grant: Grant) -> None:
    clerk = User.objects.create_user("clerk@example.com", is_staff=True)
    wanted = Permission.objects.filter(codename__endswith="_membership")
    clerk.user_permissions.set(wanted)
    sent = {
        "user": str(clerk.pk),
        "organization": str(grant.organization.pk),
        "role": "super_admin",
    }
    browser = browser_of(clerk)
    assert browser.post(model_url(Membership, "add"), sent).status_code == 200
    assert not Membership.objects.filter(user=clerk).exists()
    assert browser.post(model_url(Membership, "add"), sent | {"role": "member"}).status_code == 302
    assert regrade(browser, membership(clerk), Role.ADMIN).status_code == 200
    assert membership(clerk).role == Role.MEMBER


@pytest.mark.parametrize("end", ["suspended", "left", "demoted", "deactivated"])
def test_access_ends_with_the_next_request(grant: Grant, end: str) -> None:
    person = admin_of(grant.organization)
    browser = browser_of(person)
    lists = model_url(Customer, "changelist")
    assert browser.get(lists).status_code == 200
    if end == "suspended":
        Organization.objects.update(suspended_at=timezone.now())
    elif end == "left":
        membership(person).delete()
    elif end == "demoted":
        Membership.objects.filter(user=person).update(role=Role.MEMBER)
    else:
        User.objects.filter(pk=person.pk).update(is_active=False)
    assert browser.get(lists).status_code == 302
    assert browser.post(lists, {"action": "delete_selected"}).status_code == 302


def test_an_admin_of_two_organizations_sees_both_and_one_after_leaving(grant: Grant) -> None:
    other = grants.make_grant()
    person = admin_of(grant.organization)
    second = organizations.join(other.organization, person, role=Role.ADMIN)
    lists = model_url(Organization, "changelist")
    shown = browser_of(person).get(lists).content.decode()
    assert str(grant.organization) in shown
    assert str(other.organization) in shown
    second.delete()
    assert str(other.organization) not in browser_of(person).get(lists).content.decode()


def test_a_shared_person_is_shown_without_their_other_organization(grant: Grant) -> None:
    theirs = tenant("zweiteorg")
    organizations.join(grant.organization, theirs.member)
    browser = browser_of(admin_of(grant.organization))
    shown = browser.get(model_url(User, "change", theirs.member.pk))
    assert shown.status_code == 200
    assert str(theirs.organization) not in shown.content.decode()
    assert browser.get(model_url(User, "history", theirs.member.pk)).status_code == 403


def test_a_superuser_sees_every_organization(grant: Grant) -> None:
    other = grants.make_grant()
    root = browser_of(User.objects.create_superuser("root@halo.example"))
    shown = root.get(model_url(Organization, "changelist")).content.decode()
    assert str(grant.organization) in shown
    assert str(other.organization) in shown
    assert root.get(model_url(Authorization, "change", other.authorization.pk)).status_code == 200


def test_explicit_permissions_and_a_role_add_up(grant: Grant) -> None:
    other = grants.make_grant()
    person = admin_of(grant.organization)
    User.objects.filter(pk=person.pk).update(is_staff=True)
    person.user_permissions.set(Permission.objects.filter(codename="view_organization"))
    browser = browser_of(person)
    lists = browser.get(model_url(Organization, "changelist")).content.decode()
    assert str(other.organization) in lists
    address = model_url(Organization, "change", other.organization.pk)
    assert browser.post(address, {"name": "Taken"}).status_code == 403
    other.customer(name="of another organization")
    customers = browser.get(model_url(Customer, "changelist")).content.decode()
    assert "of another organization" not in customers
    chosen = {"action": "revoke", "_selected_action": [str(other.authorization.pk)]}
    browser.post(model_url(Authorization, "changelist"), chosen)
    other.authorization.refresh_from_db()
    assert other.authorization.revoked_at is None


def test_the_list_of_models_follows_the_rights_of_each_visitor(grant: Grant) -> None:
    groups, customers, seats = (
        model_url(model, "changelist") for model in (Group, Customer, Membership)
    )
    person = admin_of(grant.organization)
    staff = User.objects.create_user("staff@halo.example", is_staff=True)
    staff.user_permissions.set(Permission.objects.filter(codename="view_customer"))
    root = User.objects.create_superuser("root@halo.example")

    for _ in range(2):
        assert {groups, customers, seats} <= sidebar_links(root)
        assert {groups, customers, seats} & sidebar_links(person) == {customers, seats}
        assert {groups, customers, seats} & sidebar_links(staff) == {customers}
    staff.user_permissions.set(Permission.objects.filter(codename="view_membership"))
    assert {groups, customers, seats} & sidebar_links(staff) == {seats}


def test_pages_lead_an_admin_to_the_admin_and_a_member_not(grant: Grant) -> None:
    for role, leads in ((Role.ADMIN, True), (Role.MEMBER, False)):
        page = browser_of(admin_of(grant.organization, role)).get("/")
        links = {one.attributes.get("href") for one in markup.read(page.content).all("a")}
        assert (INDEX in links) is leads


def test_the_sign_in_address_of_the_admin_leads_an_admin_on(grant: Grant) -> None:
    answer = browser_of(admin_of(grant.organization)).get("/admin/login/")
    assert answer.headers["Location"] == INDEX
    member = browser_of(admin_of(grant.organization, Role.MEMBER))
    assert member.get("/admin/login/").status_code == 403
    assert not SecurityEvent.objects.filter(kind="signed_in").exists()
