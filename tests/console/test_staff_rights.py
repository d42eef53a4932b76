"""Staff who may change people change people: not staff, not superusers, and nobody's rights."""

import pytest
from django.contrib.auth.models import Group, Permission
from django.test import Client

from audit.models import SecurityEvent
from foundation.admin_urls import page_url, row_url
from tests.console import markup
from tests.console.second_factors import Response
from tests.drivers.shown_forms import save
from workspace.models import User

PEOPLE = "/admin/workspace/user/"
OLD, NEW = "an old enough passphrase", "a wholly other passphrase"
NEW_TWICE = {"usable_password": "true", "password1": NEW, "password2": NEW, "set-password": ""}
RIGHTS = ("view_user", "add_user", "change_user", "delete_user")


@pytest.fixture
def clerk(db: None) -> User:  # noqa: ARG001  asked for: it opens the database
    """Staff with every permission over people, and no other."""
    user = User.objects.create_user("clerk@acme.example", OLD, is_staff=True)
    user.user_permissions.set(Permission.objects.filter(codename__in=RIGHTS))
    return user


@pytest.fixture
def desk(clerk: User) -> Client:
    """The clerk's browser."""
    client = Client()
    client.force_login(clerk)
    return client


@pytest.fixture
def root(db: None) -> User:  # noqa: ARG001  asked for: it opens the database
    return User.objects.create_superuser("root@acme.example", OLD)


@pytest.fixture(params=["superuser", "superuser who is no staff", "staff", "the clerk"])
def target(request: pytest.FixtureRequest, clerk: User, root: User) -> User:
    """Everybody whose account a clerk may not touch."""
    if request.param == "superuser who is no staff":
        root.is_staff = False
        root.save()
    if request.param == "staff":
        return User.objects.create_user("ben@acme.example", OLD, is_staff=True)
    return clerk if request.param == "the clerk" else root


def form_fields(person: User, **fields: str) -> dict[str, str]:
    return {"email": person.email, "name": "Renamed", "is_active": "on"} | fields


def words(answer: Response) -> str:
    return markup.read(answer.content).text


def test_a_clerk_cannot_change_an_account_that_has_more(desk: Client, target: User) -> None:
    sent = form_fields(target, email="mine@evil.example", is_superuser="on", is_staff="on")
    assert desk.post(row_url(target), sent).status_code == 403
    after = User.objects.get(pk=target.pk)
    assert (after.email, after.is_superuser) == (target.email, target.is_superuser)


def test_a_clerk_cannot_set_the_password_of_an_account_that_has_more(
    desk: Client, target: User
) -> None:
    path = page_url("auth_user_password_change", target.pk)
    assert desk.get(path).status_code == 403
    assert desk.post(path, NEW_TWICE).status_code == 403
    assert User.objects.get(pk=target.pk).check_password(OLD)


def test_a_clerk_cannot_delete_an_account_that_has_more(desk: Client, target: User) -> None:
    assert desk.post(row_url(target, "delete"), {"post": "yes"}).status_code == 403
    chosen = {"action": "delete_selected", "_selected_action": [str(target.pk)], "post": "yes"}
    desk.post(PEOPLE, chosen)
    assert User.objects.filter(pk=target.pk).exists()


def test_a_clerk_who_looks_at_an_account_sees_no_password(desk: Client, root: User) -> None:
    shown = desk.get(row_url(root)).content.decode()
    assert root.email in shown
    assert root.password not in shown
    assert root.password.rsplit("$", 1)[-1] not in shown


def test_a_clerk_changes_people_and_grants_nothing(desk: Client, ada: User) -> None:
    group = Group.objects.create(name="everything")
    every = Permission.objects.values_list("pk", flat=True)[:1]
    rights = {"is_staff": "on", "is_superuser": "on", "groups": str(group.pk)}
    sent = form_fields(ada, **rights, user_permissions=str(every[0]))
    assert save(desk, row_url(ada), sent).status_code == 302
    after = User.objects.get(pk=ada.pk)
    assert after.name == "Renamed"
    assert (after.is_staff, after.is_superuser) == (False, False)
    assert (after.groups.count(), after.user_permissions.count()) == (0, 0)


def test_a_clerk_adds_people_without_rights(desk: Client) -> None:
    sent = {"email": "new@acme.example", "is_superuser": "on", "is_staff": "on"} | NEW_TWICE
    assert desk.post(f"{PEOPLE}add/", sent).status_code == 302
    after = User.objects.get(email="new@acme.example")
    assert (after.is_staff, after.is_superuser) == (False, False)


def test_a_clerk_sets_the_password_of_people_and_it_is_on_record(
    desk: Client, clerk: User, ada: User
) -> None:
    desk.post(page_url("auth_user_password_change", ada.pk), NEW_TWICE | {"password2": "another"})
    assert not SecurityEvent.objects.filter(kind="password_set").exists()
    assert desk.post(page_url("auth_user_password_change", ada.pk), NEW_TWICE).status_code == 302
    assert User.objects.get(pk=ada.pk).check_password(NEW)
    event = SecurityEvent.objects.get(kind="password_set")
    assert (event.user_id, event.detail) == (str(ada.pk), f"by {clerk}")


def test_m3_a_clerk_who_may_change_groups_gives_their_own_group_no_permission(clerk: User) -> None:
    group = Group.objects.create(name="clerks")
    clerk.groups.add(group)
    named = Permission.objects.filter(content_type__app_label="auth", codename__endswith="_group")
    group.permissions.set(named)
    client = Client()
    client.force_login(clerk)
    every = [str(pk) for pk in Permission.objects.values_list("pk", flat=True)]
    sent = {"name": "clerks", "permissions": every}
    path = row_url(group)
    assert client.post(path, sent).status_code == 403
    assert client.post("/admin/auth/group/add/", sent | {"name": "more"}).status_code == 403
    assert client.get("/admin/auth/group/").status_code == 403
    assert group.permissions.count() == named.count() < len(every)
    assert Group.objects.count() == 1


def test_m3_a_superuser_changes_a_group(root: User) -> None:
    group = Group.objects.create(name="clerks")
    client = Client()
    client.force_login(root)
    chosen = str(Permission.objects.values_list("pk", flat=True)[0])
    sent = {"name": "clerks", "permissions": [chosen]}
    assert save(client, row_url(group), sent).status_code == 302
    assert group.permissions.count() == 1


def test_a_superuser_touches_everybody_and_grants(root: User, clerk: User) -> None:
    client = Client()
    client.force_login(root)
    none = {"memberships-TOTAL_FORMS": "0", "memberships-INITIAL_FORMS": "0"}
    sent = form_fields(clerk, is_staff="on", is_superuser="on") | none
    assert save(client, row_url(clerk), sent).status_code == 302
    assert User.objects.get(pk=clerk.pk).is_superuser
    assert (
        client.post(page_url("auth_user_password_change", clerk.pk), NEW_TWICE).status_code == 302
    )
    assert SecurityEvent.objects.get(kind="password_set").user_id == str(clerk.pk)
    assert client.post(row_url(clerk, "delete"), {"post": "yes"}).status_code == 302
    assert not User.objects.filter(pk=clerk.pk).exists()


@pytest.mark.parametrize("number", ["x", "0190a0a0-0000-7000-8000-000000000000"])
def test_the_password_of_nobody_is_no_page(root: User, number: str) -> None:
    client = Client()
    client.force_login(root)
    assert client.get(page_url("auth_user_password_change", number)).status_code == 404


def test_the_addresses_that_the_library_keeps_are_not_in_the_admin(root: User) -> None:
    client = Client()
    client.force_login(root)
    assert "Email addresses" not in words(client.get("/admin/"))
    assert client.get("/admin/account/emailaddress/").status_code == 404
    assert client.get(PEOPLE).status_code == 200
