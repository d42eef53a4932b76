"""Turning on a second step keeps out who was in already, and what the password confirms then."""

from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from django.test import Client
from django.utils import timezone

from console.account import second_factors
from tests.console.second_factors import (
    PASSWORD,
    SECURITY,
    Device,
    FactorVisitor,
    Response,
    add_passkey,
    code,
    page,
)
from workspace.models import User

APP = f"{SECURITY}/app"
REMOVE = f"{APP}/remove"


@pytest.fixture
def owner(visitor: FactorVisitor) -> FactorVisitor:
    """Ada, signed in."""
    visitor.sign_in()
    return visitor


@pytest.fixture
def intruder(owner: FactorVisitor) -> FactorVisitor:
    """Somebody with Ada's password, signed in as well, who gave it once more just now."""
    intruder = FactorVisitor(email=owner.email)
    intruder.sign_in()
    intruder.confirm()
    return intruder


def is_out(visitor: FactorVisitor) -> bool:
    answer: Response = visitor.browser.get(SECURITY)
    return answer.status_code == 302 and answer["Location"].startswith("/signin?")


def browser_without_factor(user: User) -> Client:
    """A session such as no page opens any more for who has a factor."""
    client = Client()
    client.force_login(user)
    return client


def test_the_first_app_ends_every_other_session(
    owner: FactorVisitor, intruder: FactorVisitor
) -> None:
    before = owner.browser.session.session_key
    owner.add_app()
    assert is_out(intruder)
    assert page(owner.browser.get(SECURITY)).all("a", href=REMOVE)
    assert owner.browser.session.session_key != before


@pytest.mark.usefixtures("domain")
def test_the_first_passkey_ends_every_other_session(
    owner: FactorVisitor, intruder: FactorVisitor
) -> None:
    owner.confirm()
    assert add_passkey(owner, Device(), name="Phone")["Location"] == f"{SECURITY}/codes"
    assert owner.recovery_codes()
    assert is_out(intruder)


def test_who_confirmed_before_there_was_an_app_cannot_remove_it(
    owner: FactorVisitor, intruder: FactorVisitor, ada: User
) -> None:
    owner.add_app()
    intruder.browser.post("/signin/confirm", {"password": PASSWORD})
    intruder.browser.post(REMOVE)
    assert ada.authenticator_set.count() == 2


def test_whoever_comes_back_by_password_needs_the_second_step(
    owner: FactorVisitor, intruder: FactorVisitor
) -> None:
    owner.add_app()
    assert intruder.sign_in()["Location"] == "/signin/code"


def test_a_second_factor_ends_no_session_that_showed_the_first(
    owner: FactorVisitor,
    domain: str,
) -> None:
    secret, _ = owner.add_app()
    other = FactorVisitor()
    other.sign_in()
    other.enter(code(secret, steps=1))
    owner.confirm()
    assert add_passkey(owner, Device(origin=f"http://{domain}:8000"))["Location"] == SECURITY
    assert not is_out(other)
    assert not is_out(owner)


def test_a_factor_that_is_added_again_ends_the_sessions_of_the_time_between(
    owner: FactorVisitor, intruder: FactorVisitor
) -> None:
    owner.add_app()
    owner.browser.post(REMOVE)
    intruder.sign_in()
    assert not is_out(intruder)
    owner.add_app()
    assert is_out(intruder)


@pytest.mark.usefixtures("domain")
def test_a_factor_of_a_session_that_ends_meanwhile_is_not_added(
    owner: FactorVisitor, intruder: FactorVisitor, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = page(intruder.browser.get(APP)).one("code").text
    owner.confirm()
    judge = second_factors.step_of

    def owner_was_faster(*given: Any, **named: Any) -> int | None:
        add_passkey(owner, Device())
        return judge(*given, **named)

    monkeypatch.setattr(second_factors, "step_of", owner_was_faster)
    assert intruder.browser.post(APP, {"code": code(secret)})["Location"] == SECURITY
    assert sorted(row.type for row in ada.authenticator_set.all()) == ["recovery_codes", "webauthn"]
    assert is_out(intruder)


# --- Confirming ---------------------------------------------------------------------------------


def test_the_password_confirms_nothing_where_no_factor_was_shown(
    owner: FactorVisitor, ada: User
) -> None:
    secret, _ = owner.add_app()
    browser = browser_without_factor(User.objects.get(pk=ada.pk))
    by_code = f"/signin/confirm/code?next={REMOVE.replace('/', '%2F')}"
    for _ in range(2):
        assert browser.get(REMOVE)["Location"] == by_code
        assert browser.post(REMOVE)["Location"] == by_code
        answer = browser.post("/signin/confirm", {"password": PASSWORD, "next": REMOVE})
        assert answer["Location"] == by_code
    assert "Use your password" not in page(browser.get(by_code)).text
    assert ada.authenticator_set.count() == 2

    sent = {"code": code(secret, steps=1), "next": REMOVE}
    assert browser.post("/signin/confirm/code", sent)["Location"] == REMOVE
    assert browser.post(REMOVE)["Location"] == SECURITY
    assert not ada.authenticator_set.exists()


def test_a_password_given_before_there_was_a_factor_confirms_nothing(
    intruder: FactorVisitor, ada: User
) -> None:
    Authenticator.objects.create(user=ada, type="totp", data={"secret": "sealed"})
    assert intruder.browser.get(REMOVE)["Location"].startswith("/signin/confirm/code?")
    intruder.browser.post(REMOVE)
    assert ada.authenticator_set.exists()


def test_the_session_that_added_the_factor_confirms_by_password_later(owner: FactorVisitor) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        owner.add_app()
        clock.shift(301)
        assert owner.browser.get(REMOVE)["Location"].startswith("/signin/confirm?")
        owner.confirm()
        assert owner.browser.post(REMOVE)["Location"] == SECURITY


def test_a_session_that_began_with_the_second_step_confirms_by_password(
    owner: FactorVisitor,
) -> None:
    secret, _ = owner.add_app()
    owner.sign_out()
    owner.sign_in()
    owner.enter(code(secret, steps=1))
    owner.confirm()
    assert owner.browser.post(REMOVE)["Location"] == SECURITY


@pytest.mark.parametrize("path", ["", "/code"])
def test_no_page_that_confirms_is_kept(owner: FactorVisitor, path: str) -> None:
    secret, _ = owner.add_app()
    assert secret
    where = f"/signin/confirm{path}"
    wrong = {"password": "a guess", "code": "000000"}
    for answer in (owner.browser.get(where), owner.browser.post(where, wrong)):
        assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")


def test_the_page_that_confirms_by_passkey_is_not_kept(
    visitor: FactorVisitor, device: Device
) -> None:
    assert device
    visitor.browser.force_login(User.objects.get(email=visitor.email))
    answer = visitor.browser.get("/signin/confirm/passkey")
    assert (answer.status_code, answer["Cache-Control"]) == (200, "no-store")
