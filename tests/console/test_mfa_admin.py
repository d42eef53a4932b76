"""Staff reset two-step verification of an account, and see nothing of its factors."""

import pytest
from django.contrib.auth.models import Permission
from django.test import Client

from audit.models import SecurityEvent
from foundation.admin_urls import row_url
from tests.console import markup
from tests.console.second_factors import PASSWORD, FactorVisitor
from workspace.models import User

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
