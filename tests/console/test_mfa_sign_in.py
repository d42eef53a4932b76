"""Between the right password and a session stands the second step."""

from datetime import timedelta
from urllib.parse import quote

import pytest
import time_machine
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone

from audit.models import SecurityEvent
from console.tasks import prune_sessions
from tests.console.second_factors import PASSWORD, SECURITY, FactorVisitor, alerts, code, page
from tests.drivers.oauth_client import AUTHORIZE, Browser, OAuthClient
from workspace.models import User

NEXT = f"{AUTHORIZE}?client_id=x&state=a%2Fb"
STEP = "/signin/code"
LATER = 120  # seconds: no code that was shown before is good any more


@pytest.fixture
def secret(visitor: FactorVisitor) -> str:
    """The key of the app that Ada turned on; she is signed out again."""
    visitor.sign_in()
    secret, _ = visitor.add_app()
    visitor.sign_out()
    return secret


@pytest.fixture
def codes(visitor: FactorVisitor) -> list[str]:
    visitor.sign_in()
    _, codes = visitor.add_app()
    visitor.sign_out()
    return codes


def test_without_a_factor_the_password_signs_in(visitor: FactorVisitor) -> None:
    assert visitor.sign_in()["Location"] == "/"
    assert visitor.is_signed_in


@pytest.mark.usefixtures("secret")
def test_after_the_password_nobody_is_signed_in_anywhere(visitor: FactorVisitor) -> None:
    assert visitor.sign_in(next=NEXT)["Location"] == STEP
    assert not visitor.is_signed_in
    for path in (
        "/connections",
        SECURITY,
        f"{SECURITY}/app",
        "/admin/",
        f"{AUTHORIZE}?client_id=x",
    ):
        answer = visitor.browser.get(path)
        assert answer.status_code in {302, 400}, path
        assert "who-email" not in answer.content.decode()
    assert "Connections" not in page(visitor.browser.get("/")).text


def test_the_code_signs_in_and_leads_to_what_was_asked(visitor: FactorVisitor, secret: str) -> None:
    visitor.sign_in(next=NEXT)
    before = visitor.browser.session.session_key

    assert visitor.enter(code(secret, steps=1))["Location"] == NEXT
    assert visitor.is_signed_in
    assert visitor.browser.session.session_key != before


def test_a_code_is_taken_as_people_type_it(visitor: FactorVisitor, secret: str) -> None:
    visitor.sign_in()
    shown = code(secret, steps=1)

    visitor.enter(f" {shown[:3]}-{shown[3:]} ")

    assert visitor.is_signed_in


def test_the_admin_is_reached_the_same_way(visitor: FactorVisitor, secret: str, ada: User) -> None:
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    bounce = visitor.browser.get("/admin/login/?next=/admin/audit/")
    assert bounce["Location"] == "/signin?next=%2Fadmin%2Faudit%2F"
    typed = {"username": ada.email, "password": PASSWORD}
    assert "/signin" in visitor.browser.post("/admin/login/", typed)["Location"]

    visitor.sign_in(next="/admin/audit/")
    assert visitor.browser.get("/admin/audit/").status_code == 302

    assert visitor.enter(code(secret, steps=1))["Location"] == "/admin/audit/"
    assert visitor.browser.get("/admin/audit/").status_code == 200


def test_a_wrong_code_is_announced_recorded_and_signs_nobody_in(
    visitor: FactorVisitor, secret: str, ada: User
) -> None:
    visitor.sign_in(next=NEXT)
    right = code(secret, steps=1)
    wrong = f"{(int(right) + 1) % 10**6:06}"

    shown = page(visitor.enter(wrong))

    assert "Incorrect or used code" in alerts(shown)
    assert "value" not in shown.one("input", name="code").attributes
    assert shown.one("input", name="code").attributes["aria-invalid"] == "true"
    assert not visitor.is_signed_in
    event = SecurityEvent.objects.get(kind="second_step_failed")
    assert (event.user_id, event.detail, event.count) == (str(ada.pk), "code", 1)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " ",
        "12345",
        "1234567",
        "abcdef",
        "\x00",
        "१२३४५६",
        "\uff19" * 6,
        "9" * 41,
        "9" * 60_000,
    ],
    ids=lambda typed: repr(typed[:8]),
)
@pytest.mark.usefixtures("secret")
def test_what_is_no_code_is_an_error_at_its_field(visitor: FactorVisitor, typed: str) -> None:
    visitor.sign_in()

    shown = page(visitor.enter(typed))

    assert alerts(shown)
    assert not visitor.is_signed_in


@pytest.mark.usefixtures("secret")
def test_a_form_without_a_code_is_asked_for_again(visitor: FactorVisitor) -> None:
    visitor.sign_in()
    shown = page(visitor.browser.post(STEP, {}))
    assert not visitor.is_signed_in
    assert shown.one("input", name="code")


def test_a_code_is_good_once_for_as_long_as_it_would_be_shown(
    visitor: FactorVisitor, secret: str
) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        visitor.sign_in()
        shown = code(secret, steps=1)
        visitor.enter(shown)
        visitor.sign_out()
        for seconds in (0, 29, 30):
            clock.shift(seconds)
            visitor.sign_in()
            assert alerts(page(visitor.enter(shown)))
            assert not visitor.is_signed_in


def test_the_code_that_turned_the_app_on_is_spent(visitor: FactorVisitor) -> None:
    with time_machine.travel(timezone.now(), tick=False):
        visitor.sign_in()
        secret, _ = visitor.add_app()
        visitor.sign_out()
        visitor.sign_in()
        visitor.enter(code(secret))
    assert not visitor.is_signed_in


def test_an_older_code_is_not_good_after_a_newer_one(visitor: FactorVisitor, secret: str) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        clock.shift(LATER)
        visitor.sign_in()
        visitor.enter(code(secret, steps=1))
        visitor.sign_out()
        visitor.sign_in()
        visitor.enter(code(secret))
    assert not visitor.is_signed_in


def test_a_clock_may_be_off_by_half_a_minute(visitor: FactorVisitor, secret: str) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        for steps, is_good in [(-2, False), (2, False), (-1, True), (1, True)]:
            clock.shift(LATER)
            visitor.sign_in()
            visitor.enter(code(secret, steps=steps))
            assert visitor.is_signed_in == is_good, steps
            visitor.sign_out()


def test_a_recovery_code_signs_in_once(visitor: FactorVisitor, codes: list[str]) -> None:
    assert len(codes) == len(set(codes)) == 10
    visitor.sign_in()
    visitor.enter(codes[3])
    assert visitor.is_signed_in
    assert "9 left" in page(visitor.browser.get(SECURITY)).text
    visitor.sign_out()

    visitor.sign_in()
    visitor.enter(codes[3])
    assert not visitor.is_signed_in
    visitor.enter(codes[4].replace(" ", ""))
    assert visitor.is_signed_in


def test_somebody_switched_off_meanwhile_does_not_get_in(
    visitor: FactorVisitor, secret: str, ada: User
) -> None:
    visitor.sign_in()
    User.objects.filter(pk=ada.pk).update(is_active=False)

    assert visitor.enter(code(secret, steps=1))["Location"] == "/signin/inactive"

    assert not visitor.is_signed_in
    User.objects.filter(pk=ada.pk).update(is_active=True)
    assert not visitor.is_signed_in


def test_another_password_set_meanwhile_ends_the_half_sign_in(
    visitor: FactorVisitor, secret: str, ada: User
) -> None:
    visitor.sign_in(next=NEXT)
    ada.set_password("another long password")
    ada.save()

    assert visitor.enter(code(secret, steps=1), next=NEXT)["Location"].startswith("/signin?next=")

    assert not visitor.is_signed_in
    assert page(visitor.browser.get("/signin")).one("input", name="password")


@pytest.mark.usefixtures("secret")
def test_somebody_whose_factors_or_account_went_meanwhile_starts_over(
    visitor: FactorVisitor, ada: User
) -> None:
    visitor.sign_in()
    ada.authenticator_set.all().delete()
    assert visitor.browser.get(STEP)["Location"] == "/signin"
    assert page(visitor.browser.get("/signin")).one("input", name="password")

    visitor.sign_in()
    assert visitor.is_signed_in
    visitor.add_app()
    visitor.sign_out()
    visitor.sign_in()
    ada.delete()
    assert visitor.browser.get(STEP)["Location"] == "/signin"


def test_who_takes_too_long_starts_over_and_still_arrives(
    visitor: FactorVisitor, secret: str
) -> None:
    with time_machine.travel(timezone.now(), tick=False) as clock:
        visitor.sign_in(next=NEXT)
        shown = page(visitor.browser.get(STEP))
        clock.shift(901)
        field = shown.one("form", action=STEP).one("input", name="next")
        late = visitor.enter(code(secret), next=field.attributes["value"])

        assert late["Location"] == f"/signin?next={quote(NEXT, safe='')}"
        shown = page(visitor.browser.get(late["Location"]))
    assert "expired" in shown.text
    assert shown.one("input", name="next").attributes["value"] == NEXT


@pytest.mark.usefixtures("db")
def test_the_second_step_cannot_be_opened_without_the_first(client: Client) -> None:
    assert client.get(STEP)["Location"] == "/signin"
    assert client.post(STEP, {"code": "123456", "next": "//evil.example"})["Location"] == "/signin"


def test_a_request_that_comes_in_between_is_where_the_way_leads(
    visitor: FactorVisitor, secret: str
) -> None:
    visitor.sign_in(next="/connections")
    assert visitor.browser.get("/signin", {"next": NEXT})["Location"] == STEP
    assert visitor.browser.get("/signin", {"next": "//evil.example/"})["Location"] == STEP
    assert visitor.enter(code(secret, steps=1))["Location"] == NEXT


@pytest.mark.usefixtures("secret")
def test_somebody_else_can_sign_in_in_between(visitor: FactorVisitor) -> None:
    User.objects.create_user("ben@acme.example", PASSWORD)
    visitor.sign_in()
    assert visitor.sign_in(login="ben@acme.example")["Location"] == "/"
    assert visitor.is_signed_in
    assert "ben@acme.example" in page(visitor.browser.get("/")).text


@pytest.mark.usefixtures("secret")
def test_starting_over_forgets_the_password_and_keeps_the_way(visitor: FactorVisitor) -> None:
    visitor.sign_in(next=NEXT)
    form = page(visitor.browser.get(STEP)).one("form", action="/signout")
    over = visitor.browser.post(
        "/signout", {"next": form.one("input", name="next").attributes["value"]}
    )
    shown = page(visitor.browser.get(over["Location"]))
    assert shown.one("input", name="next").attributes["value"] == NEXT
    assert visitor.browser.get(STEP)["Location"] == "/signin"


@pytest.mark.usefixtures("acme")
def test_a_client_is_connected_through_the_second_step(visitor: FactorVisitor, secret: str) -> None:
    """With CSRF held to, from the client's link to the code in its hands."""
    client, browser = OAuthClient(), Browser()
    client.register()
    sign_in = browser.open(browser.open(client.authorize_address())["Location"])
    step = browser.submit(sign_in, "login", login=visitor.email, password=PASSWORD)
    asked = browser.open(step["Location"])

    done = browser.submit(asked, "code", code=code(secret, steps=1))

    assert done["Location"] == client.authorize_address()
    decided = browser.decide(browser.open(done["Location"]))
    assert decided["Location"].startswith(f"{client.redirect_uri}?code=")


def test_sessions_that_are_over_are_deleted(visitor: FactorVisitor) -> None:
    visitor.sign_in()
    stranger = FactorVisitor().browser
    assert stranger.get("/signin/passkey")["Location"] == "/signin"
    assert Session.objects.count() == 1
    stranger.get("/signin/passkey", headers={"Accept": "application/json"})
    assert Session.objects.count() == 2
    with time_machine.travel(timezone.now() + timedelta(minutes=11)):
        prune_sessions()
    assert Session.objects.count() == 1
    assert visitor.is_signed_in
