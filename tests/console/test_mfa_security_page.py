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
    FactorVisitor,
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
def signed_in_visitor(visitor: FactorVisitor) -> FactorVisitor:
    """Ada, signed in."""
    visitor.sign_in()
    return visitor


def kinds() -> list[str]:
    return list(SecurityEvent.objects.order_by("pk").values_list("kind", flat=True))


def test_the_way_there_is_on_every_page(signed_in_visitor: FactorVisitor) -> None:
    links = page(signed_in_visitor.browser.get("/")).all("a", href=SECURITY)
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
def test_nothing_changes_without_saying_again_that_it_is_you(
    signed_in_visitor: FactorVisitor, path: str
) -> None:
    bounce = f"/signin/confirm?next={path.replace('/', '%2F')}"
    assert signed_in_visitor.browser.get(path)["Location"] == bounce
    if path != CODES:
        assert signed_in_visitor.browser.post(path, {"code": "1"})["Location"] == bounce
    shown = page(signed_in_visitor.browser.get(bounce))
    assert shown.one("input", name="next").attributes["value"] == path
    back = signed_in_visitor.browser.post("/signin/confirm", {"password": PASSWORD, "next": path})
    assert back["Location"] == path


def test_what_was_posted_is_not_kept_while_asking(signed_in_visitor: FactorVisitor) -> None:
    signed_in_visitor.browser.post(APP, {"code": "314159"})
    assert all("314159" not in json.dumps(one.get_decoded()) for one in Session.objects.all())


def test_a_confirmation_holds_for_five_minutes(signed_in_visitor: FactorVisitor) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        signed_in_visitor.confirm()
        clock.shift(299)
        assert signed_in_visitor.browser.get(APP).status_code == 200
        clock.shift(2)
        assert signed_in_visitor.browser.get(APP).status_code == 302


def test_a_confirmation_leads_to_no_other_site(signed_in_visitor: FactorVisitor) -> None:
    sent = {"password": PASSWORD, "next": "//evil.example/"}
    assert signed_in_visitor.browser.post("/signin/confirm", sent)["Location"] == "/"


def test_an_app_is_added_with_recovery_codes_that_are_shown_once(
    signed_in_visitor: FactorVisitor, ada: User
) -> None:
    _, codes = signed_in_visitor.add_app()
    assert len(codes) == 10
    again = page(signed_in_visitor.browser.get(CODES))
    assert again.all("code") == []
    assert "shown only once" in again.text
    overview = page(signed_in_visitor.browser.get(SECURITY)).text
    assert "On" in overview
    assert "10 left" in overview
    assert kinds() == ["factor_added"]
    assert SecurityEvent.objects.get().user_id == str(ada.pk)


def test_asking_for_the_codes_page_without_its_body_does_not_use_it_up(
    signed_in_visitor: FactorVisitor,
) -> None:
    signed_in_visitor.confirm()
    secret = page(signed_in_visitor.browser.get(APP)).one("code").text
    signed_in_visitor.browser.post(APP, {"code": code(secret)})
    assert signed_in_visitor.browser.head(CODES).status_code == 405
    assert signed_in_visitor.recovery_codes()


def test_a_wrong_code_turns_nothing_on_and_the_key_stays(
    signed_in_visitor: FactorVisitor, ada: User
) -> None:
    signed_in_visitor.confirm()
    secret = page(signed_in_visitor.browser.get(APP)).one("code").text
    for wrong in ("", "abc", "0" * 50, code(secret, steps=9)):
        shown = page(signed_in_visitor.browser.post(APP, {"code": wrong}))
        assert alerts(shown)
        assert shown.one("code").text == secret
    assert not ada.authenticator_set.exists()
    assert signed_in_visitor.browser.post(APP, {"code": code(secret)})["Location"] == CODES


def test_a_key_that_is_gone_is_replaced_in_plain_words(signed_in_visitor: FactorVisitor) -> None:
    signed_in_visitor.confirm()
    shown = page(signed_in_visitor.browser.post(APP, {"code": "123456"}))
    assert "Add this new one" in alerts(shown)
    secret = shown.one("code").text
    assert signed_in_visitor.browser.post(APP, {"code": code(secret)})["Location"] == CODES


def test_loading_the_page_again_keeps_the_key(signed_in_visitor: FactorVisitor) -> None:
    signed_in_visitor.confirm()
    scanned, again = (page(signed_in_visitor.browser.get(APP)).one("code").text for _ in range(2))
    assert again == scanned
    assert signed_in_visitor.browser.post(APP, {"code": code(scanned)})["Location"] == CODES


def test_a_key_is_used_for_one_app_and_one_session(signed_in_visitor: FactorVisitor) -> None:
    first, _ = signed_in_visitor.add_app()
    signed_in_visitor.browser.post(f"{APP}/remove")
    second = page(signed_in_visitor.browser.get(APP)).one("code").text
    signed_in_visitor.sign_out()
    signed_in_visitor.sign_in()
    signed_in_visitor.confirm()
    third = page(signed_in_visitor.browser.get(APP)).one("code").text
    assert len({first, second, third}) == 3


def test_an_app_cannot_be_added_twice(signed_in_visitor: FactorVisitor) -> None:
    signed_in_visitor.add_app()
    assert signed_in_visitor.browser.get(APP)["Location"] == f"{APP}/remove"


def test_removing_the_app_takes_the_recovery_codes_along(
    signed_in_visitor: FactorVisitor, ada: User
) -> None:
    signed_in_visitor.add_app()
    assert (
        "Remove the authenticator app?" in page(signed_in_visitor.browser.get(f"{APP}/remove")).text
    )
    assert ada.authenticator_set.count() == 2
    assert signed_in_visitor.browser.post(f"{APP}/remove")["Location"] == SECURITY
    assert not ada.authenticator_set.exists()
    assert kinds() == ["factor_added", "factor_removed"]
    for path in (f"{APP}/remove", CODES):
        assert signed_in_visitor.browser.get(path).status_code == 404
    signed_in_visitor.sign_out()
    assert signed_in_visitor.sign_in()["Location"] == "/"


@pytest.mark.usefixtures("domain")
def test_the_codes_stay_while_a_passkey_does(signed_in_visitor: FactorVisitor, ada: User) -> None:
    signed_in_visitor.add_app()
    assert add_passkey(signed_in_visitor, Device(), name="")["Location"] == SECURITY
    signed_in_visitor.browser.post(f"{APP}/remove")
    assert sorted(one.type for one in ada.authenticator_set.all()) == ["recovery_codes", "webauthn"]
    assert "Passkey 1" in page(signed_in_visitor.browser.get(SECURITY)).text


def test_new_codes_end_the_old_ones(signed_in_visitor: FactorVisitor) -> None:
    _, old = signed_in_visitor.add_app()
    asked = page(signed_in_visitor.browser.get(f"{CODES}/new"))
    assert "Your 10 remaining codes stop working" in asked.text
    assert signed_in_visitor.browser.post(f"{CODES}/new")["Location"] == CODES
    new = signed_in_visitor.recovery_codes()
    assert not set(old) & set(new)
    assert kinds()[-1] == "recovery_codes_made"
    signed_in_visitor.sign_out()
    signed_in_visitor.sign_in()
    signed_in_visitor.enter(old[0])
    assert not signed_in_visitor.is_signed_in
    signed_in_visitor.enter(new[0])
    assert signed_in_visitor.is_signed_in


def test_codes_without_a_factor_are_refused_in_plain_words(
    signed_in_visitor: FactorVisitor,
) -> None:
    signed_in_visitor.confirm()
    shown = page(signed_in_visitor.browser.post(f"{CODES}/new"))
    assert "Add an authenticator app or a passkey first." in alerts(shown)


@pytest.mark.usefixtures("domain")
def test_no_page_of_these_is_kept_by_a_browser(signed_in_visitor: FactorVisitor) -> None:
    signed_in_visitor.confirm()
    for path in (SECURITY, APP, f"{SECURITY}/passkeys/add"):
        assert signed_in_visitor.browser.get(path)["Cache-Control"] == "no-store"
    signed_in_visitor.add_app()
    for path in (CODES, f"{CODES}/new", f"{APP}/remove"):
        assert signed_in_visitor.browser.get(path)["Cache-Control"] == "no-store"


def test_a_lost_sealing_key_locks_the_app_and_breaks_no_page(
    signed_in_visitor: FactorVisitor, settings: Any
) -> None:
    secret, codes = signed_in_visitor.add_app()
    settings.HALO_SEALING_KEYS = [sealing.new_key()]
    for path in (SECURITY, CODES, f"{CODES}/new"):
        assert signed_in_visitor.browser.get(path).status_code in {200, 302}, path
    signed_in_visitor.browser.post(f"{CODES}/new")
    fresh = signed_in_visitor.recovery_codes()
    signed_in_visitor.sign_out()
    signed_in_visitor.sign_in()
    for typed in (code(secret, steps=1), codes[0]):
        shown = alerts(page(signed_in_visitor.enter(typed)))
        assert shown
        assert ("cannot check codes of this account" in shown) is (typed != codes[0])
    signed_in_visitor.enter(fresh[0])
    assert signed_in_visitor.is_signed_in


def test_what_was_never_sealed_does_not_open() -> None:
    for text in ("JBSWY3DPEHPK3PXP", "", "=", "ä"):
        with pytest.raises(sealing.SealBroken):
            SecondFactorAdapter().decrypt(text)


def test_what_was_sealed_for_one_person_opens_nothing_of_another(
    signed_in_visitor: FactorVisitor, ada: User
) -> None:
    User.objects.create_user("eve@acme.example", PASSWORD)
    eve = FactorVisitor(email="eve@acme.example")
    eve.sign_in()
    secret, codes = eve.add_app()
    signed_in_visitor.add_app()
    signed_in_visitor.sign_out()
    for row in ada.authenticator_set.all():
        row.data = User.objects.get(email=eve.email).authenticator_set.get(type=row.type).data
        row.save()
    signed_in_visitor.sign_in()
    for typed in (code(secret, steps=1), codes[0]):
        signed_in_visitor.enter(typed)
        assert not signed_in_visitor.is_signed_in


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
    signed_in_visitor: FactorVisitor, ada: User, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    signed_in_visitor.confirm()
    waiting = page(signed_in_visitor.browser.get(APP)).one("code").text
    stored = "\n".join(everything_stored())
    assert not any(one in stored for one in spellings(waiting))
    signed_in_visitor.browser.post(APP, {"code": code(waiting)})
    codes = signed_in_visitor.recovery_codes()
    signed_in_visitor.sign_out()
    signed_in_visitor.sign_in()
    signed_in_visitor.enter("123456")
    signed_in_visitor.enter(codes[0])
    signed_in_visitor.browser.get(f"{CODES}/new")

    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    pages = [
        signed_in_visitor.browser.get(row_url(row)).content.decode()
        for row in ada.authenticator_set.all()
    ]
    pages.append(signed_in_visitor.browser.get("/admin/mfa/authenticator/").content.decode())
    pages.append(signed_in_visitor.browser.get(row_url(ada, "delete")).content.decode())
    for one in pages:
        assert "uthenticator" in one

    seen = "\n".join([*everything_stored(), *pages, caplog.text])
    assert ada.email in seen
    for secret in (waiting, *codes):
        assert not any(one in seen for one in spellings(secret)), secret
    sealed = ada.authenticator_set.get(type="totp").data["secret"]
    assert not any(sealed in one for one in pages)
