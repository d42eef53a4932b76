"""Every page that takes a password counts the tries, and the admin's own is no way round."""

from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from audit.models import SecurityEvent
from console.account import guesses, known_browsers
from foundation.admin_urls import page_url
from foundation.limits import Limit
from tests.architecture.test_url_inventory import list_routes
from tests.console import markup
from tests.console.second_factors import EMAIL, PASSWORD, SECURITY, FactorVisitor, Response
from workspace.models import User

REFUSED = "Too many failed attempts"
CHANGE = "/admin/password_change/"
OWN = "/account/security/password"
NEW = "a wholly other passphrase"
NEW_TWICE = {"new_password1": NEW, "new_password2": NEW}
PAGES: dict[str, dict[str, str]] = {
    "/signin": {"login": EMAIL, "password": "a guess"},
    "/signin/confirm": {"password": "a guess"},
    CHANGE: {"old_password": "a guess"} | NEW_TWICE,
    OWN: {"old_password": "a guess"} | NEW_TWICE,
}
# Passwords that are set, and keys of other services: nothing here can be guessed with them.
TO_BE = {"password1", "password2", "new_password1", "new_password2", "key"}


@pytest.fixture(autouse=True)
def _pages_open_often(settings: Any) -> None:
    settings.HALO_RATE_SIGNIN = settings.HALO_RATE_AUTHORIZE = Limit.parse("100000/m")


@pytest.fixture
def staff(visitor: FactorVisitor) -> FactorVisitor:
    """Ada, a superuser, signed in and confirmed; her browser is known."""
    User.objects.update(is_staff=True, is_superuser=True)
    visitor.sign_in()
    visitor.confirm()
    return visitor


def prepare_visitor(staff: FactorVisitor, path: str) -> FactorVisitor:
    if path == "/signin":
        staff.sign_out()
    return staff


def page_text(answer: Response) -> str:
    assert answer.status_code == 200, (answer.status_code, answer.headers)
    return markup.read(answer.content).text


def takes_a_password(answer: Response) -> bool:
    if answer.status_code != 200 or not answer["Content-Type"].startswith("text/html"):
        return False
    boxes = markup.read(answer.content).all("input", type="password")
    return any(box.attributes["name"] not in TO_BE for box in boxes)


@pytest.mark.parametrize("path", PAGES)
def test_a_page_that_takes_a_password_counts_the_tries(staff: FactorVisitor, path: str) -> None:
    browser = prepare_visitor(staff, path).browser
    words = [page_text(browser.post(path, PAGES[path])) for _ in range(12)]
    assert [REFUSED in one for one in words] == [False] * 10 + [True] * 2


def test_tries_count_together_wherever_they_are_made(staff: FactorVisitor) -> None:
    for path in ("/signin/confirm", CHANGE) * 5:
        assert REFUSED not in page_text(staff.browser.post(path, PAGES[path]))
    right = {"old_password": PASSWORD} | NEW_TWICE
    assert REFUSED in page_text(staff.browser.post(CHANGE, right))
    assert REFUSED in page_text(prepare_visitor(staff, "/signin").sign_in())


def test_no_other_page_takes_a_password(staff: FactorVisitor) -> None:
    paths = [f"/{path}" for path, _ in list_routes(get_resolver()) if not set(path) & set("<^")]
    paths.append(page_url("auth_user_password_change", User.objects.get().pk))
    assert len(paths) > 40
    taken = {
        path
        for browser in (Client(), staff.browser)
        for path in paths
        if takes_a_password(browser.get(path))
    }
    assert taken == set(PAGES)


@pytest.mark.parametrize("path", [*PAGES, "/signin/code", "/account/security/app"])
def test_a_known_browser_is_known_wherever_tries_are_counted(
    staff: FactorVisitor, path: str
) -> None:
    within = staff.browser.cookies[known_browsers.COOKIE]["path"]
    assert path.startswith(within)


def test_strangers_do_not_keep_staff_from_changing_their_password(
    staff: FactorVisitor, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(guesses, "PASSWORDS_OF_ACCOUNT", Limit.parse("3/h"))
    for place in range(3):
        stranger = Client(REMOTE_ADDR=f"203.0.113.{place}")
        stranger.post("/signin", PAGES["/signin"])
    done = staff.browser.post(CHANGE, {"old_password": PASSWORD} | NEW_TWICE)
    assert done["Location"] == "/admin/password_change/done/"


def test_the_admin_asks_again_who_it_is_before_another_password(visitor: FactorVisitor) -> None:
    User.objects.update(is_staff=True)
    visitor.sign_in()
    bounce = "/signin/confirm?next=%2Fadmin%2Fpassword_change%2F"
    right = {"old_password": PASSWORD} | NEW_TWICE
    assert visitor.browser.get(CHANGE)["Location"] == bounce
    assert visitor.browser.post(CHANGE, right)["Location"] == bounce
    assert User.objects.get().check_password(PASSWORD)


def test_another_password_is_on_record_and_ends_the_other_sessions(staff: FactorVisitor) -> None:
    other = FactorVisitor()
    other.sign_in()
    assert "Old password" in page_text(staff.browser.get(CHANGE))
    staff.browser.post(CHANGE, {"old_password": PASSWORD} | NEW_TWICE)
    assert User.objects.get().check_password(NEW)
    event = SecurityEvent.objects.get(kind="password_set")
    assert (event.user_id, event.detail) == (str(User.objects.get().pk), f"by {EMAIL}")
    assert staff.browser.get("/admin/").status_code == 200
    assert other.browser.get("/admin/").status_code == 302


def test_a_wrong_old_password_changes_nothing(staff: FactorVisitor) -> None:
    assert "Incorrect password." in page_text(staff.browser.post(CHANGE, PAGES[CHANGE]))
    assert User.objects.get().check_password(PASSWORD)
    assert not SecurityEvent.objects.filter(kind="password_set").exists()


RIGHT = {"old_password": PASSWORD} | NEW_TWICE


@pytest.fixture
def member(visitor: FactorVisitor) -> FactorVisitor:
    """Ada, who is not staff, signed in."""
    visitor.sign_in()
    return visitor


def test_ux_9_a_user_who_is_not_staff_changes_their_password(member: FactorVisitor) -> None:
    other = FactorVisitor()
    other.sign_in()
    assert markup.read(member.browser.get(SECURITY).content).one("a", href=OWN)
    assert "Current password" in page_text(member.browser.get(OWN))
    done = member.browser.post(OWN, RIGHT)
    assert done["Location"] == SECURITY
    assert "Password changed." in page_text(member.browser.get(SECURITY))
    assert User.objects.get().check_password(NEW)
    event = SecurityEvent.objects.get(kind="password_set")
    assert (event.user_id, event.detail) == (str(User.objects.get().pk), f"by {EMAIL}")
    assert other.browser.get(SECURITY).status_code == 302


def test_a_wrong_current_password_leaves_the_account_as_it_was(member: FactorVisitor) -> None:
    shown = markup.read(member.browser.post(OWN, PAGES[OWN]).content)
    assert "Incorrect password." in shown.text
    assert User.objects.get().check_password(PASSWORD)
    assert not SecurityEvent.objects.filter(kind="password_set").exists()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"new_password2": "another"}, "match."),
        ({"new_password1": "short", "new_password2": "short"}, "too short"),
        ({"new_password1": "", "new_password2": ""}, "required"),
    ],
)
def test_a_new_password_that_is_refused_says_why(
    changes: dict[str, str], words: str, member: FactorVisitor
) -> None:
    assert words in page_text(member.browser.post(OWN, RIGHT | changes))
    assert User.objects.get().check_password(PASSWORD)


def test_who_has_a_second_step_confirms_before_the_page_opens(member: FactorVisitor) -> None:
    member.add_app()
    assert "Current password" in page_text(member.browser.get(OWN))
    with time_machine.travel(timezone.now() + timedelta(minutes=6)):
        for answer in (member.browser.get(OWN), member.browser.post(OWN, RIGHT)):
            assert answer["Location"].startswith("/signin/confirm")
    assert User.objects.get().check_password(PASSWORD)


def test_the_page_is_not_stored_and_needs_a_session(member: FactorVisitor) -> None:
    assert member.browser.get(OWN)["Cache-Control"] == "no-store"
    assert Client().get(OWN)["Location"] == f"/signin?next={OWN}"
