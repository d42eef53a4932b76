"""Staff reset two-step verification of an account, and see nothing of its factors."""

import pytest
from django.contrib.auth.models import Permission
from django.core import mail as mails
from django.test import Client
from django.utils import timezone

from audit.models import SecurityEvent
from foundation.admin_urls import row_url
from tests.console import markup
from tests.console.second_factors import PASSWORD, FactorVisitor
from workspace import organizations, outbox
from workspace.models import Membership, Organization, OutgoingMail, Role, User

LIST = "/admin/mfa/authenticator/"


@pytest.fixture
def user_with_factor(visitor: FactorVisitor) -> User:
    """Ada, whose account needs a second step."""
    visitor.sign_in()
    visitor.add_app()
    visitor.sign_out()
    return User.objects.get(email=visitor.email)


def staff(*permissions: str, is_superuser: bool = False) -> Client:
    user = User.objects.create_user(
        "staff@acme.example", PASSWORD, is_staff=True, is_superuser=is_superuser
    )
    user.user_permissions.set(Permission.objects.filter(codename__in=permissions))
    client = Client()
    client.force_login(user)
    return client


def take_off(client: Client, person: User) -> str:
    rows = [row.pk for row in person.authenticator_set.all()]
    sent = {"action": "reset", "_selected_action": rows}
    return markup.read(client.post(LIST, sent, follow=True).content).text


def test_the_second_step_is_taken_off_and_it_is_on_record(
    user_with_factor: User, visitor: FactorVisitor
) -> None:
    assert "was reset for 1 account." in take_off(staff(is_superuser=True), user_with_factor)
    assert not user_with_factor.authenticator_set.exists()
    event = SecurityEvent.objects.get(kind="second_step_removed")
    assert (event.user_id, event.detail) == (str(user_with_factor.pk), "by staff@acme.example")
    assert visitor.sign_in()["Location"] == "/"


def test_it_takes_the_permission(user_with_factor: User) -> None:
    may_look = staff("view_authenticator")
    assert "Reset two-step verification" not in may_look.get(LIST).content.decode()
    take_off(may_look, user_with_factor)
    assert user_with_factor.authenticator_set.count() == 2


def test_with_the_permission_it_works_for_people_but_not_for_staff(user_with_factor: User) -> None:
    may_act = staff("view_authenticator", "delete_authenticator")
    User.objects.filter(pk=user_with_factor.pk).update(is_staff=True)
    assert "Only a superuser can reset staff accounts" in take_off(may_act, user_with_factor)
    assert user_with_factor.authenticator_set.count() == 2
    User.objects.filter(pk=user_with_factor.pk).update(is_staff=False)
    take_off(may_act, user_with_factor)
    assert not user_with_factor.authenticator_set.exists()


def test_nothing_can_be_added_changed_or_read(user_with_factor: User) -> None:
    client = staff(is_superuser=True)
    row = user_with_factor.authenticator_set.get(type="totp")
    assert client.get(f"{LIST}add/").status_code == 403
    before = row.data
    client.post(row_url(row), {"data": "{}"})
    client.post(row_url(row, "delete"), {"post": "yes"})
    row.refresh_from_db()
    assert row.data == before
    shown = client.get(row_url(row)).content.decode()
    assert user_with_factor.email in shown
    assert before["secret"] not in shown


@pytest.fixture
def acme(user_with_factor: User) -> Organization:
    """Ada's organization, in which she is a member."""
    owner = User.objects.create_user("owner@acme.example")
    acme = organizations.create("Acme Rockets", owner=owner)
    organizations.join(acme, user_with_factor)
    return acme


def admin_of(acme: Organization, role: str = Role.ADMIN, name: str = "admin") -> Client:
    user = User.objects.create_user(f"{name}@acme.example")
    organizations.join(acme, user, role=Role(role))
    client = Client()
    client.force_login(user)
    return client


def test_an_admin_resets_a_colleague_on_record_and_both_get_a_mail(
    acme: Organization, user_with_factor: User, visitor: FactorVisitor
) -> None:
    assert "was reset for 1 account." in take_off(admin_of(acme), user_with_factor)
    assert not user_with_factor.authenticator_set.exists()
    event = SecurityEvent.objects.get(kind="second_step_removed")
    assert (event.organization_id, event.detail) == (str(acme.pk), "by admin@acme.example")
    rows = OutgoingMail.objects.filter(organization=acme)
    assert {row.recipient for row in rows} == {user_with_factor.email, "admin@acme.example"}
    outbox.send_due()
    assert len(mails.outbox) == 2
    assert all("was reset by admin@acme.example" in one.body for one in mails.outbox)
    assert visitor.sign_in()["Location"] == "/"


def test_a_reset_ends_the_sessions_of_the_person_and_no_others(
    acme: Organization, user_with_factor: User
) -> None:
    open_session, admin = Client(), admin_of(acme)
    open_session.force_login(user_with_factor)
    assert open_session.get("/connections").status_code == 200
    take_off(admin, user_with_factor)
    assert open_session.get("/connections").status_code == 302
    assert admin.get(LIST).status_code == 200


def test_superusers_who_reset_their_own_stay_signed_in(user_with_factor: User) -> None:
    User.objects.filter(pk=user_with_factor.pk).update(is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(User.objects.get(pk=user_with_factor.pk))
    assert "was reset for 1 account." in take_off(client, user_with_factor)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("another organization", "belongs to other organizations too. Only the operator"),
        ("higher role", "Only a super admin can reset it for a super admin."),
        ("staff", "Only a superuser can reset staff accounts."),
        ("oneself", "have another admin reset it"),
    ],
)
def test_a_refused_reset_says_who_can_do_it(
    acme: Organization, user_with_factor: User, case: str, reason: str
) -> None:
    client = admin_of(acme)
    membership = user_with_factor.memberships.get()
    if case == "another organization":
        organizations.create("Elsewhere", owner=user_with_factor)
    elif case == "higher role":
        membership.role = Role.SUPER_ADMIN
        membership.save()
    elif case == "staff":
        User.objects.filter(pk=user_with_factor.pk).update(is_staff=True)
    else:
        membership.role = Role.ADMIN
        membership.save()
        client.force_login(user_with_factor)
    assert reason in take_off(client, user_with_factor)
    assert user_with_factor.authenticator_set.exists()
    assert not OutgoingMail.objects.exists()


def test_members_and_admins_of_others_see_no_second_factors(
    acme: Organization, user_with_factor: User
) -> None:
    other = organizations.create("Elsewhere", owner=User.objects.create_user("o@else.example"))
    stranger = admin_of(other, Role.SUPER_ADMIN, "stranger")
    assert user_with_factor.email not in stranger.get(LIST).content.decode()
    take_off(stranger, user_with_factor)
    assert user_with_factor.authenticator_set.exists()
    assert admin_of(acme, Role.MEMBER, "member").get(LIST, follow=True).status_code == 403


def test_the_page_of_a_person_says_why_they_cannot_sign_in(
    acme: Organization, user_with_factor: User
) -> None:
    client, page = admin_of(acme), row_url(user_with_factor)

    def read_page() -> str:
        return markup.read(client.get(page).content).text

    assert "TOTP Authenticator: last used" in read_page()
    assert "Last sign-in:" in read_page()
    assert "Suspended in" not in read_page()
    Membership.objects.filter(user=user_with_factor).update(suspended_at=timezone.now())
    assert "Suspended in Acme Rockets. Its admins can restore the member." in read_page()
    user_with_factor.set_unusable_password()
    user_with_factor.is_active = False
    user_with_factor.save()
    user_with_factor.authenticator_set.all().delete()
    assert "The account is deactivated. The operator of this server can activate it." in read_page()
    assert "No password is set. The operator of this server can set one." in read_page()
    assert "No two-step verification" in read_page()


def test_the_page_of_a_person_leads_to_their_second_factors(
    acme: Organization, user_with_factor: User
) -> None:
    User.objects.filter(pk=user_with_factor.pk).update(email="ada%41@acme.example")
    client = admin_of(acme)
    page = markup.read(client.get(row_url(user_with_factor)).content)
    (link,) = (one for one in page.all("a") if one.text == "Reset two-step verification")
    assert "ada%41@acme.example" in client.get(link.attributes["href"]).content.decode()


def test_an_organization_of_others_is_not_named_there(
    acme: Organization, user_with_factor: User
) -> None:
    other = organizations.create("Elsewhere", owner=User.objects.create_user("o@else.example"))
    organizations.join(other, user_with_factor)
    Organization.objects.filter(pk=other.pk).update(suspended_at=timezone.now())
    page = admin_of(acme).get(row_url(user_with_factor)).content.decode()
    assert "Elsewhere" not in page
