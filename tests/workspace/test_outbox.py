"""Mails are rows: sent once, tried again, sealed until then, and shown to admins."""

from datetime import datetime, timedelta
from smtplib import SMTPServerDisconnected
from typing import Any

import pytest
import time_machine
from django.core import mail
from django.core.mail.backends.locmem import EmailBackend
from django.core.management import call_command
from django.test import Client as Http
from django.utils import timezone

from customers.tasks import prune_data
from foundation import sealing
from foundation.admin_urls import model_url
from tests.drivers import grants
from tests.drivers.grants import Grant
from tests.workspace.privacy import erase
from workspace import outbox, tasks
from workspace.models import Customer, MailKind, Membership, OutgoingMail, Role, User
from workspace.outbox import Draft

pytestmark = pytest.mark.django_db

SEND = "django.core.mail.backends.locmem.EmailBackend.send_messages"
OPEN = "django.core.mail.backends.locmem.EmailBackend.open"
LIST = "/admin/workspace/outgoingmail/"
SECRET = "https://halo.example/reset/4b1f-secret"


def add(grant: Grant, *recipients: str, text: str = SECRET) -> list[OutgoingMail]:
    later = timezone.now() + timedelta(hours=3)
    drafts = [Draft(recipient, "Subject", text, later) for recipient in recipients]
    return outbox.add(grant.organization.pk, MailKind.APPROVAL, drafts)


def recipients() -> list[str]:
    return [message.to[0] for message in mail.outbox]


def disconnect(*_given: Any) -> None:
    raise SMTPServerDisconnected("Connection unexpectedly closed")


def admin_of(grant: Grant, role: Role = Role.ADMIN) -> Http:
    user = User.objects.create_user(f"{role.value}-{grant.organization.slug}@example.com")
    Membership.objects.create(user=user, organization=grant.organization, role=role)
    browser = Http()
    browser.force_login(user)
    return browser


def send_again(browser: Http, row: OutgoingMail) -> Any:
    return browser.post(LIST, {"action": "send_again", "_selected_action": [str(row.pk)]})


def test_a_mail_is_sent_once_however_often_its_task_runs(grant: Grant) -> None:
    add(grant, "ada@example.com", "bo@example.com")
    assert [tasks.send_mails() for _ in range(3)] == [2, 0, 0]
    assert recipients() == ["ada@example.com", "bo@example.com"]
    assert (mail.outbox[0].subject, mail.outbox[0].body) == ("Subject", SECRET)
    assert {(row.state, row.attempts) for row in OutgoingMail.objects.all()} == {("sent", 1)}


def test_a_task_that_is_delivered_twice_at_once_sends_nothing_twice(
    grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(grant, "ada@example.com", "bo@example.com")
    send = EmailBackend.send_messages

    def deliver_again_meanwhile(backend: Any, messages: Any) -> Any:
        with monkeypatch.context() as patched:
            patched.setattr(SEND, send)
            tasks.send_mails()
        return send(backend, messages)

    monkeypatch.setattr(SEND, deliver_again_meanwhile)
    assert tasks.send_mails() == 1
    assert sorted(recipients()) == ["ada@example.com", "bo@example.com"]


@pytest.mark.parametrize("place", [SEND, OPEN])
def test_a_mail_that_could_not_be_sent_is_tried_again_with_longer_pauses(
    grant: Grant, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    start = timezone.now()
    with time_machine.travel(start, tick=False):
        add(grant, "ada@example.com")
    with monkeypatch.context() as patched:
        patched.setattr(place, disconnect)
        tried_at = attempt_times(start, minutes=14)
    assert tried_at == [0, 20, 80, 200, 500, 800]
    row = OutgoingMail.objects.get()
    assert (row.state, row.attempts) == ("waiting", 6)
    assert row.error == "SMTPServerDisconnected: Connection unexpectedly closed"
    with time_machine.travel(start + timedelta(minutes=20), tick=False):
        assert tasks.send_mails() == 1


def attempt_times(start: datetime, minutes: int) -> list[int]:
    """The seconds at which the schedule tries to send the only mail."""
    found = []
    for second in range(0, minutes * 60, 20):
        before = OutgoingMail.objects.get().attempts
        with time_machine.travel(start + timedelta(seconds=second), tick=False):
            tasks.send_mails()
        if OutgoingMail.objects.get().attempts > before:
            found.append(second)
    return found


def test_a_mail_server_that_is_away_costs_a_round_one_attempt(
    grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(grant, *(f"member{number}@example.com" for number in range(5)))
    monkeypatch.setattr(OPEN, disconnect)
    tasks.send_mails()
    assert sum(row.attempts for row in OutgoingMail.objects.all()) == 1


def test_a_mail_of_a_worker_that_was_killed_is_sent_by_another_after_two_minutes(
    grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    start = timezone.now()

    def end_process(*_given: Any) -> None:
        raise SystemExit

    with time_machine.travel(start, tick=False), monkeypatch.context() as patched:
        add(grant, "ada@example.com")
        patched.setattr(SEND, end_process)
        with pytest.raises(SystemExit):
            tasks.send_mails()
    with time_machine.travel(start + timedelta(minutes=1), tick=False):
        assert tasks.send_mails() == 0
    with time_machine.travel(start + timedelta(minutes=2), tick=False):
        assert tasks.send_mails() == 1


def test_a_worker_whose_claim_has_ended_does_not_change_what_another_wrote(
    grant: Grant, monkeypatch: pytest.MonkeyPatch
) -> None:
    (row,) = add(grant, "ada@example.com")

    def lose_claim(*_given: Any) -> None:
        OutgoingMail.objects.update(state="sent", claim=None)
        raise SMTPServerDisconnected

    monkeypatch.setattr(SEND, lose_claim)
    tasks.send_mails()
    row.refresh_from_db()
    assert (row.state, row.error) == ("sent", "")


def test_a_long_round_gives_its_thread_back(grant: Grant, monkeypatch: pytest.MonkeyPatch) -> None:
    add(grant, "ada@example.com", "bo@example.com")
    queued: list[str] = []
    monkeypatch.setattr(outbox, "ROUND_SECONDS", -1.0)
    monkeypatch.setattr("foundation.queueing.send", queued.append)
    assert [tasks.send_mails() for _ in range(2)] == [1, 1]
    assert set(queued) == {"workspace.send_mails"}


def test_the_text_of_a_mail_is_sealed_and_deleted_once_it_was_sent(grant: Grant) -> None:
    (row,) = add(grant, "ada@example.com")
    stored = OutgoingMail.objects.values().get(pk=row.pk)
    assert "secret" not in str({**stored, "content": bytes(stored["content"])})
    tasks.send_mails()
    row.refresh_from_db()
    assert row.content is None


def test_a_mail_is_sealed_again_with_the_current_key(grant: Grant, settings: Any) -> None:
    add(grant, "ada@example.com")
    settings.HALO_SEALING_KEYS = [sealing.new_key(), *settings.HALO_SEALING_KEYS]
    call_command("reseal")
    settings.HALO_SEALING_KEYS = settings.HALO_SEALING_KEYS[:1]
    assert tasks.send_mails() == 1
    assert mail.outbox[0].body == SECRET


def test_a_mail_that_no_key_opens_has_failed_and_keeps_no_other_one_back(
    grant: Grant, settings: Any
) -> None:
    (lost,) = add(grant, "ada@example.com")
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    add(grant, "bo@example.com")
    assert tasks.send_mails() == 1
    lost.refresh_from_db()
    assert lost.state == "failed"


def test_mails_are_deleted_after_a_month(grant: Grant) -> None:
    add(grant, "ada@example.com", "bo@example.com")
    tasks.send_mails()
    OutgoingMail.objects.filter(recipient="ada@example.com").update(
        created_at=timezone.now() - timedelta(days=31)
    )
    assert prune_data() == 1
    assert OutgoingMail.objects.get().recipient == "bo@example.com"


def test_an_erased_customer_is_in_no_mail_that_is_sent_later(grant: Grant) -> None:
    customer = Customer.objects.create(
        organization=grant.organization, email="Ida@ida.example", email_key="ida@ida.example"
    )
    add(grant, "ada@example.com", text="Refund ida@ida.example?")
    add(grant, "bo@example.com", text="Refund somebody else?")
    erase(grant, customer.pk)
    assert OutgoingMail.objects.get().recipient == "bo@example.com"


def test_an_admin_sees_what_became_of_a_mail_and_sends_it_again(
    grant: Grant, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    (row,) = add(grant, "ada@example.com")
    browser = admin_of(grant)
    OutgoingMail.objects.update(state="failed", error="550 No such user", attempts=7)
    page = browser.get(LIST).content.decode()
    assert "550 No such user" in page
    assert (
        "secret"
        not in page + browser.get(model_url(OutgoingMail, "change", row.pk)).content.decode()
    )
    queued: list[str] = []
    monkeypatch.setattr("foundation.queueing.send", queued.append)
    with django_capture_on_commit_callbacks(execute=True):
        assert send_again(browser, row).status_code == 302
    assert queued == ["workspace.send_mails"]
    assert tasks.send_mails() == 1
    send_again(browser, row)
    assert (tasks.send_mails(), recipients()) == (0, ["ada@example.com"])


@pytest.mark.parametrize("who", ["another organization", "a member"])
def test_mails_of_an_organization_are_sent_again_by_its_admins_only(grant: Grant, who: str) -> None:
    (row,) = add(grant, "ada@example.com")
    OutgoingMail.objects.update(state="failed")
    other = who == "another organization"
    browser = admin_of(grants.make_grant()) if other else admin_of(grant, Role.MEMBER)
    send_again(browser, row)
    assert "ada@example.com" not in browser.get(LIST).content.decode()
    row.refresh_from_db()
    assert row.state == "failed"
