"""Guessing is bounded wherever it comes from, and keeps nobody out of their own account."""

from typing import Any

import pytest
from django.test import Client

from audit.models import SecurityEvent
from console.account import guesses, known_browsers
from foundation.limits import Limit
from tests.console import markup
from tests.console.second_factors import (
    EMAIL,
    PASSWORD,
    FactorVisitor,
    Response,
    alerts,
    code,
    page,
)
from workspace.models import User

REFUSED = "Too many failed attempts"
STRANGER = "203.0.113."


@pytest.fixture(autouse=True)
def _pages_open_often(settings: Any) -> None:
    settings.HALO_RATE_SIGNIN = Limit.parse("100000/m")


@pytest.fixture
def secret(visitor: FactorVisitor) -> str:
    """The key of Ada's app; the browser she turned it on with is known, others are not."""
    visitor.sign_in()
    secret, _ = visitor.add_app()
    visitor.sign_out()
    return secret


def visitor_from(address: str) -> FactorVisitor:
    """Somebody at another address with the right password."""
    return FactorVisitor(Client(REMOTE_ADDR=address))


def guess(address: str, **fields: str) -> Response:
    return visitor_from(address).sign_in(**{"password": "a guess"} | fields)


def shown_alerts(answer: Response) -> str:
    return alerts(page(answer))


def use_up(limit: Limit) -> None:
    """Spend what an account has, from as many addresses as it takes."""
    for place in range(limit.count):
        assert REFUSED not in shown_alerts(guess(f"{STRANGER}{place // 4}"))


def test_an_address_gets_five_guesses_at_an_account(visitor: FactorVisitor) -> None:
    words = [shown_alerts(guess(f"{STRANGER}1")) for _ in range(7)]
    assert [REFUSED in one for one in words] == [False] * 5 + [True] * 2
    assert REFUSED in shown_alerts(guess(f"{STRANGER}1", password=PASSWORD))
    assert "minutes" in words[-1]
    event = SecurityEvent.objects.get(kind="rate_limited")
    assert (event.detail, event.count) == ("password", 1)

    assert visitor_from(f"{STRANGER}2").sign_in()["Location"] == "/"
    assert visitor.sign_in()["Location"] == "/"


@pytest.mark.usefixtures("visitor")
@pytest.mark.parametrize("spelling", ["ADA@acme.example", " ada@ACME.example ", "ada@acme.example"])
def test_another_spelling_is_the_same_account(spelling: str) -> None:
    for _ in range(5):
        guess(f"{STRANGER}1")
    assert REFUSED in shown_alerts(guess(f"{STRANGER}1", login=spelling))


@pytest.mark.usefixtures("db")
def test_an_address_nobody_has_is_answered_alike() -> None:
    words = [shown_alerts(guess(f"{STRANGER}1", login="nobody@acme.example")) for _ in range(6)]
    assert [REFUSED in one for one in words] == [False] * 5 + [True]


@pytest.mark.usefixtures("visitor")
def test_right_passwords_do_not_count() -> None:
    for _ in range(8):
        assert visitor_from(f"{STRANGER}1").sign_in()["Location"] == "/"
    assert REFUSED not in shown_alerts(guess(f"{STRANGER}1"))


@pytest.mark.usefixtures("db")
def test_one_address_cannot_go_through_many_accounts() -> None:
    count = guesses.PASSWORDS_OF_ADDRESS.count
    words = [
        shown_alerts(guess(f"{STRANGER}1", login=f"p{n}@acme.example")) for n in range(count + 1)
    ]
    assert [REFUSED in one for one in words] == [False] * count + [True]


def test_strangers_who_spend_an_account_do_not_lock_its_owner_out(
    visitor: FactorVisitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    visitor.sign_in()
    visitor.sign_out()
    monkeypatch.setattr(guesses, "PASSWORDS_OF_ACCOUNT", Limit.parse("12/h"))
    use_up(guesses.PASSWORDS_OF_ACCOUNT)

    assert REFUSED in shown_alerts(visitor_from(f"{STRANGER}77").sign_in())
    assert visitor.sign_in()["Location"] == "/"


def test_a_known_browser_is_bounded_too(visitor: FactorVisitor) -> None:
    visitor.sign_in()
    visitor.sign_out()
    words = [shown_alerts(visitor.sign_in(password="a guess")) for _ in range(11)]
    assert [REFUSED in one for one in words] == [False] * 10 + [True]


def test_a_browser_is_known_to_the_accounts_that_signed_in_there_and_to_no_other(
    visitor: FactorVisitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    User.objects.create_user("ben@acme.example", PASSWORD)
    monkeypatch.setattr(guesses, "PASSWORDS_OF_ACCOUNT", Limit.parse("4/h"))
    visitor.sign_in()
    visitor.sign_out()
    for place in range(4):
        guess(f"{STRANGER}{place}", login="ben@acme.example")
    assert REFUSED in shown_alerts(visitor.sign_in(login="ben@acme.example"))


def test_the_mark_of_a_known_browser_is_signed_and_names_nobody(visitor: FactorVisitor) -> None:
    visitor.sign_in()
    cookie = visitor.browser.cookies[known_browsers.COOKIE]
    assert (cookie["httponly"], cookie["path"], cookie["samesite"]) == (True, "/", "Lax")
    assert EMAIL not in cookie.value
    for forged in ("", "x", cookie.value[:-1], f"{cookie.value}x"):
        other = visitor_from(f"{STRANGER}1")
        other.browser.cookies[known_browsers.COOKIE] = forged
        other.sign_in(password="a guess")
    assert REFUSED not in shown_alerts(guess(f"{STRANGER}1"))
    assert REFUSED in shown_alerts(guess(f"{STRANGER}1"))


@pytest.mark.usefixtures("secret")
def test_the_password_alone_makes_no_browser_known() -> None:
    stranger = visitor_from(f"{STRANGER}1")
    assert stranger.sign_in()["Location"] == "/signin/code"
    assert known_browsers.COOKIE not in stranger.browser.cookies


def test_an_address_gets_five_guesses_at_a_code(secret: str) -> None:
    stranger = visitor_from(f"{STRANGER}1")
    stranger.sign_in()
    words = [shown_alerts(stranger.enter("000000")) for _ in range(6)]
    assert [REFUSED in one for one in words] == [False] * 5 + [True]
    assert REFUSED in shown_alerts(stranger.enter(code(secret, steps=1)))
    assert not stranger.is_signed_in

    elsewhere = visitor_from(f"{STRANGER}2")
    elsewhere.sign_in()
    elsewhere.enter(code(secret, steps=1))
    assert elsewhere.is_signed_in


def test_who_has_the_password_cannot_lock_the_owner_out_of_the_second_step(
    visitor: FactorVisitor, secret: str
) -> None:
    for place in range(guesses.CODES_OF_ACCOUNT.count):
        stranger = visitor_from(f"{STRANGER}{place}")
        stranger.sign_in()
        assert REFUSED not in shown_alerts(stranger.enter("000000"))
    stranger = visitor_from(f"{STRANGER}99")
    stranger.sign_in()
    assert REFUSED in shown_alerts(stranger.enter(code(secret, steps=1)))

    visitor.sign_in()
    visitor.enter(code(secret, steps=1))
    assert visitor.is_signed_in


def test_confirming_by_code_is_bounded_like_the_second_step(
    visitor: FactorVisitor, secret: str
) -> None:
    visitor.sign_in()
    visitor.enter(code(secret, steps=1))
    sent = {"code": "000000", "next": "/account/security/app"}
    words = [shown_alerts(visitor.browser.post("/signin/confirm/code", sent)) for _ in range(6)]
    assert [REFUSED in one for one in words] == [False] * 5 + [True]


def test_confirming_by_password_is_bounded_like_signing_in(visitor: FactorVisitor) -> None:
    visitor.sign_in()
    sent = {"password": "a guess", "next": "/account/security"}
    words = [shown_alerts(visitor.browser.post("/signin/confirm", sent)) for _ in range(11)]
    assert [REFUSED in one for one in words] == [False] * 10 + [True]
    assert "Incorrect password." in words[0]


@pytest.mark.usefixtures("visitor")
def test_when_nothing_can_be_counted_nobody_gets_in(
    settings: Any, client: Client, caplog: pytest.LogCaptureFixture
) -> None:
    settings.HALO_LIMIT_STORE = "redis://127.0.0.1:1/0"
    answer = client.post("/signin", {"login": EMAIL, "password": PASSWORD})
    assert "temporarily unavailable" in alerts(markup.read(answer.content))
    assert "127.0.0.1:1" not in caplog.text
