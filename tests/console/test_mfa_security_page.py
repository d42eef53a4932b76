"""The page on which people choose how they sign in, and what stands where of what they chose."""

import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import time_machine
from django.apps import apps
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from audit.models import SecurityEvent
from console.account.second_factors import SecondFactorAdapter
from foundation import sealing
from foundation.admin_urls import row_url
from tests.console.second_factors import (
    PASSWORD,
    SECURITY,
    Device,
    Visitor,
    add_passkey,
    alerts,
    code,
    page,
)
from workspace.models import User

APP, CODES = f"{SECURITY}/app", f"{SECURITY}/codes"
CHANGES = [
    APP,
    f"{APP}/remove",
    CODES,
    f"{CODES}/new",
    f"{SECURITY}/passkeys/add",
    f"{SECURITY}/passkeys/1/rename",
    f"{SECURITY}/passkeys/1/remove",
]


@pytest.fixture
def at_home(visitor: Visitor) -> Visitor:
    """Ada, signed in."""
    visitor.sign_in()
    return visitor


def kinds() -> list[str]:
    return list(SecurityEvent.objects.order_by("pk").values_list("kind", flat=True))


def test_the_way_there_is_on_every_page(at_home: Visitor) -> None:
    links = page(at_home.browser.get("/")).all("a", href=SECURITY)
    assert [link.text for link in links] == ["Sign-in security"]


def test_strangers_are_sent_to_sign_in(client: Client, db: None) -> None:
    assert db is None
    for path in (SECURITY, *CHANGES):
        for answer in (client.get(path), client.post(path)):
            assert answer.status_code in {302, 405}, path
            if answer.status_code == 302:
                assert answer["Location"].startswith(("/signin?next=", SECURITY)), path


@pytest.mark.usefixtures("domain")
@pytest.mark.parametrize("path", CHANGES)
def test_nothing_changes_without_saying_again_that_it_is_you(at_home: Visitor, path: str) -> None:
    bounce = f"/signin/confirm?next={path.replace('/', '%2F')}"
    assert at_home.browser.get(path)["Location"] == bounce
    if path != CODES:
        assert at_home.browser.post(path, {"code": "1"})["Location"] == bounce
    shown = page(at_home.browser.get(bounce))
    assert shown.one("input", name="next").attributes["value"] == path
    back = at_home.browser.post("/signin/confirm", {"password": PASSWORD, "next": path})
    assert back["Location"] == path


def test_what_was_posted_is_not_kept_while_asking(at_home: Visitor) -> None:
    at_home.browser.post(APP, {"code": "314159"})
    assert all("314159" not in json.dumps(one.get_decoded()) for one in Session.objects.all())


def test_a_confirmation_holds_for_five_minutes(at_home: Visitor) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        at_home.confirm()
        clock.shift(299)
        assert at_home.browser.get(APP).status_code == 200
        clock.shift(2)
        assert at_home.browser.get(APP).status_code == 302


def test_a_confirmation_leads_to_no_other_site(at_home: Visitor) -> None:
    sent = {"password": PASSWORD, "next": "//evil.example/"}
    assert at_home.browser.post("/signin/confirm", sent)["Location"] == "/"


def test_an_app_is_added_with_recovery_codes_that_are_shown_once(
    at_home: Visitor, ada: User
) -> None:
    _, codes = at_home.add_app()
    assert len(codes) == 10
    again = page(at_home.browser.get(CODES))
    assert again.all("code") == []
    assert "shown only once" in again.text
    overview = page(at_home.browser.get(SECURITY)).text
    assert "On" in overview
    assert "10 left" in overview
    assert kinds() == ["factor_added"]
    assert SecurityEvent.objects.get().user_id == str(ada.pk)


def test_asking_for_the_codes_page_without_its_body_does_not_use_it_up(at_home: Visitor) -> None:
    at_home.confirm()
    secret = page(at_home.browser.get(APP)).one("code").text
    at_home.browser.post(APP, {"code": code(secret)})
    assert at_home.browser.head(CODES).status_code == 405
    assert at_home.recovery_codes()


def test_a_wrong_code_turns_nothing_on_and_the_key_stays(at_home: Visitor, ada: User) -> None:
    at_home.confirm()
    secret = page(at_home.browser.get(APP)).one("code").text
    for wrong in ("", "abc", "0" * 50, code(secret, steps=9)):
        shown = page(at_home.browser.post(APP, {"code": wrong}))
        assert alerts(shown)
        assert shown.one("code").text == secret
    assert not ada.authenticator_set.exists()
    assert at_home.browser.post(APP, {"code": code(secret)})["Location"] == CODES


def test_a_key_that_is_gone_is_replaced_in_plain_words(at_home: Visitor) -> None:
    at_home.confirm()
    shown = page(at_home.browser.post(APP, {"code": "123456"}))
    assert "Add this new one" in alerts(shown)
    secret = shown.one("code").text
    assert at_home.browser.post(APP, {"code": code(secret)})["Location"] == CODES


def test_loading_the_page_again_keeps_the_key(at_home: Visitor) -> None:
    at_home.confirm()
    scanned, again = (page(at_home.browser.get(APP)).one("code").text for _ in range(2))
    assert again == scanned
    assert at_home.browser.post(APP, {"code": code(scanned)})["Location"] == CODES


def test_a_key_is_used_for_one_app_and_one_session(at_home: Visitor) -> None:
    first, _ = at_home.add_app()
    at_home.browser.post(f"{APP}/remove")
    second = page(at_home.browser.get(APP)).one("code").text
    at_home.sign_out()
    at_home.sign_in()
    at_home.confirm()
    third = page(at_home.browser.get(APP)).one("code").text
    assert len({first, second, third}) == 3


def test_an_app_cannot_be_added_twice(at_home: Visitor) -> None:
    at_home.add_app()
    assert at_home.browser.get(APP)["Location"] == f"{APP}/remove"


def test_removing_the_app_takes_the_recovery_codes_along(at_home: Visitor, ada: User) -> None:
    at_home.add_app()
    assert "Remove the authenticator app?" in page(at_home.browser.get(f"{APP}/remove")).text
    assert ada.authenticator_set.count() == 2
    assert at_home.browser.post(f"{APP}/remove")["Location"] == SECURITY
    assert not ada.authenticator_set.exists()
    assert kinds() == ["factor_added", "factor_removed"]
    for path in (f"{APP}/remove", CODES):
        assert at_home.browser.get(path).status_code == 404
    at_home.sign_out()
    assert at_home.sign_in()["Location"] == "/"


@pytest.mark.usefixtures("domain")
def test_the_codes_stay_while_a_passkey_does(at_home: Visitor, ada: User) -> None:
    at_home.add_app()
    assert add_passkey(at_home, Device(), name="")["Location"] == SECURITY
    at_home.browser.post(f"{APP}/remove")
    assert sorted(one.type for one in ada.authenticator_set.all()) == ["recovery_codes", "webauthn"]
    assert "Passkey 1" in page(at_home.browser.get(SECURITY)).text


def test_new_codes_end_the_old_ones(at_home: Visitor) -> None:
    _, old = at_home.add_app()
    asked = page(at_home.browser.get(f"{CODES}/new"))
    assert "Your 10 remaining codes stop working" in asked.text
    assert at_home.browser.post(f"{CODES}/new")["Location"] == CODES
    new = at_home.recovery_codes()
    assert not set(old) & set(new)
    assert kinds()[-1] == "recovery_codes_made"
    at_home.sign_out()
    at_home.sign_in()
    at_home.enter(old[0])
    assert not at_home.is_signed_in
    at_home.enter(new[0])
    assert at_home.is_signed_in


def test_codes_without_a_factor_are_refused_in_plain_words(at_home: Visitor) -> None:
    at_home.confirm()
    shown = page(at_home.browser.post(f"{CODES}/new"))
    assert "Add an authenticator app or a passkey first." in alerts(shown)


@pytest.mark.usefixtures("domain")
def test_no_page_of_these_is_kept_by_a_browser(at_home: Visitor) -> None:
    at_home.confirm()
    for path in (SECURITY, APP, f"{SECURITY}/passkeys/add"):
        assert at_home.browser.get(path)["Cache-Control"] == "no-store"
    at_home.add_app()
    for path in (CODES, f"{CODES}/new", f"{APP}/remove"):
        assert at_home.browser.get(path)["Cache-Control"] == "no-store"


def test_a_lost_sealing_key_locks_the_app_and_breaks_no_page(
    at_home: Visitor, settings: Any
) -> None:
    secret, codes = at_home.add_app()
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    for path in (SECURITY, CODES, f"{CODES}/new"):
        assert at_home.browser.get(path).status_code in {200, 302}, path
    at_home.browser.post(f"{CODES}/new")
    fresh = at_home.recovery_codes()
    at_home.sign_out()
    at_home.sign_in()
    for typed in (code(secret, steps=1), codes[0]):
        shown = alerts(page(at_home.enter(typed)))
        assert shown
        assert ("cannot check codes of this account" in shown) is (typed != codes[0])
    at_home.enter(fresh[0])
    assert at_home.is_signed_in


def test_what_was_never_sealed_does_not_open() -> None:
    for text in ("JBSWY3DPEHPK3PXP", "", "=", "ä"):
        with pytest.raises(sealing.SealBroken):
            SecondFactorAdapter().decrypt(text)


def test_what_was_sealed_for_one_person_opens_nothing_of_another(
    at_home: Visitor, ada: User
) -> None:
    User.objects.create_user("eve@acme.example", PASSWORD)
    eve = Visitor(email="eve@acme.example")
    eve.sign_in()
    secret, codes = eve.add_app()
    at_home.add_app()
    at_home.sign_out()
    for row in ada.authenticator_set.all():
        row.data = User.objects.get(email=eve.email).authenticator_set.get(type=row.type).data
        row.save()
    at_home.sign_in()
    for typed in (code(secret, steps=1), codes[0]):
        at_home.enter(typed)
        assert not at_home.is_signed_in


# --- The canary ---------------------------------------------------------------------------------


def everything_stored() -> Iterator[str]:
    """Every row of every table as text, sessions opened."""
    for model in apps.get_models(include_auto_created=True):
        for values in model._default_manager.values():
            yield f"{model._meta.label}: {values!r}"
    for session in Session.objects.all():
        yield f"session: {session.get_decoded()!r}"


def spellings(secret: str) -> set[str]:
    bare = secret.replace(" ", "")
    return {secret, bare, bare.lower(), bare.encode().hex()}


def test_keys_and_recovery_codes_stand_in_no_row_no_log_and_no_admin_page(
    at_home: Visitor, ada: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    at_home.confirm()
    waiting = page(at_home.browser.get(APP)).one("code").text
    stored = "\n".join(everything_stored())
    assert not any(one in stored for one in spellings(waiting))
    at_home.browser.post(APP, {"code": code(waiting)})
    codes = at_home.recovery_codes()
    at_home.sign_out()
    at_home.sign_in()
    at_home.enter("123456")
    at_home.enter(codes[0])
    at_home.browser.get(f"{CODES}/new")

    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    pages = [
        at_home.browser.get(row_url(row)).content.decode() for row in ada.authenticator_set.all()
    ]
    pages.append(at_home.browser.get("/admin/mfa/authenticator/").content.decode())
    pages.append(at_home.browser.get(row_url(ada, "delete")).content.decode())
    for one in pages:
        assert "uthenticator" in one

    seen = "\n".join([*everything_stored(), *pages, caplog.text])
    assert ada.email in seen
    for secret in (waiting, *codes):
        assert not any(one in seen for one in spellings(secret)), secret
    sealed = ada.authenticator_set.get(type="totp").data["secret"]
    assert not any(sealed in one for one in pages)
