"""Limits of the pages people open, and what happens when nothing can be counted."""

import socket
import time
from typing import Any

import pytest
from django.core.cache import caches
from redis import exceptions

from audit.models import SecurityEvent
from foundation.limits import Limit
from oauth.models import AuthorizationRequest
from tests.drivers.oauth_client import (
    AUTHORIZE,
    CONSENT,
    FORM,
    ORIGIN,
    Browser,
    OAuthClient,
    Response,
)
from workspace.models import User

PAGES = {
    "authorize": ("GET", AUTHORIZE),
    "consent": ("POST", CONSENT),
    "signin": ("POST", "/signin"),
}


@pytest.fixture
def domain(settings: Any) -> None:
    settings.HALO_PASSKEY_DOMAIN = "localhost"
    settings.HALO_PUBLIC_URL = "http://localhost:8000"


def visit(page: str, browser: Browser, **headers: Any) -> Response:
    method, address = PAGES[page]
    browser.http.handler.enforce_csrf_checks = False
    return browser.http.generic(method, address, **headers)


@pytest.mark.parametrize(
    ("page", "setting"),
    [("authorize", "AUTHORIZE"), ("consent", "AUTHORIZE"), ("signin", "SIGNIN")],
)
@pytest.mark.usefixtures("db")
def test_a_page_opened_too_often_is_refused_until_later(
    page: str, setting: str, settings: Any
) -> None:
    setattr(settings, f"HALO_RATE_{setting}", Limit.parse("3/h"))
    before = int(time.time())
    statuses = [visit(page, Browser()).status_code for _ in range(3)]
    over = [visit(page, Browser()) for _ in range(2)]
    assert 429 not in statuses
    assert [response.status_code for response in over] == [429, 429]
    assert 0 < int(over[0]["Retry-After"]) <= 3_600
    assert (over[0]["X-RateLimit-Limit"], over[0]["X-RateLimit-Remaining"]) == ("3", "0")
    ends_at = int(over[0]["X-RateLimit-Reset"])
    assert 0 <= ends_at - int(over[0]["Retry-After"]) - before <= 60
    assert over[0]["Cache-Control"] == "no-store"
    event = SecurityEvent.objects.get(kind="rate_limited")
    assert (event.detail, event.count) == (page, 1)


@pytest.mark.usefixtures("db")
def test_guessing_passwords_runs_into_the_limit(settings: Any) -> None:
    settings.HALO_RATE_SIGNIN = Limit.parse("2/h")
    guess = {"login": "ada@acme.example", "password": "a guess"}
    guesser = OAuthClient().http
    assert [guesser.post("/signin", guess).status_code for _ in range(4)] == [200, 200, 429, 429]


@pytest.mark.usefixtures("acme")
def test_a_person_is_counted_and_not_their_address(ada: User, settings: Any) -> None:
    settings.HALO_RATE_AUTHORIZE = Limit.parse("1/h")
    ben = User.objects.create_user("ben@acme.example")
    statuses = [
        visit("authorize", Browser(user), REMOTE_ADDR=address).status_code
        for user, address in [(ada, "198.51.100.1"), (ada, "198.51.100.2"), (ben, "198.51.100.1")]
    ]
    assert statuses == [400, 429, 400]


@pytest.mark.usefixtures("db")
def test_strangers_behind_another_address_have_their_own_share(settings: Any) -> None:
    settings.HALO_RATE_SIGNIN = Limit.parse("1/h")
    addresses = ["198.51.100.1", "198.51.100.1", "::ffff:198.51.100.1", "198.51.100.2", "garbage"]
    statuses = [
        visit("signin", Browser(), REMOTE_ADDR=address).status_code for address in addresses
    ]
    assert [status == 429 for status in statuses] == [False, True, True, False, False]


IMAGE = {"Sec-Fetch-Dest": "image", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "no-cors"}
FRAME = {"Sec-Fetch-Dest": "iframe", "Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
SIBLING = {"Sec-Fetch-Dest": "empty", "Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "cors"}
PREFETCH = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "none", "Sec-Purpose": "prefetch"}
BY_HAND = {"Sec-Fetch-Dest": "document", "Sec-Fetch-Site": "cross-site"}


@pytest.mark.parametrize("address", ["/signin", "/signin/code", "/signin/confirm"])
@pytest.mark.parametrize("sent_by", [{}, IMAGE], ids=["unsaid", "image"])
@pytest.mark.usefixtures("db")
def test_images_on_a_foreign_page_lock_nobody_out_of_signing_in(
    address: str, sent_by: dict[str, str], settings: Any
) -> None:
    settings.HALO_RATE_SIGNIN = Limit.parse("2/h")
    opened = [Browser().http.get(address, headers=sent_by).status_code for _ in range(4)]
    assert 429 not in opened
    assert visit("signin", Browser()).status_code == 200


@pytest.mark.parametrize("sent_by", [IMAGE, FRAME, SIBLING, PREFETCH])
@pytest.mark.parametrize("address", ["authorize", "passkey"])
@pytest.mark.usefixtures("domain")
def test_what_a_foreign_page_has_a_browser_send_is_refused_and_counts_for_nobody(
    address: str, sent_by: dict[str, str], oauth_client: OAuthClient, settings: Any
) -> None:
    settings.HALO_RATE_AUTHORIZE = settings.HALO_RATE_SIGNIN = Limit.parse("1/h")
    there = {"authorize": oauth_client.authorize_address(), "passkey": "/signin/passkey"}[address]
    refusals = [Browser().http.get(there, headers=sent_by) for _ in range(3)]
    assert [refusal.status_code for refusal in refusals] == [403] * 3
    assert "Location" not in refusals[0]
    assert Browser().http.get(there, headers=BY_HAND).status_code in {200, 302}
    assert Browser().http.get(there, headers=BY_HAND).status_code == 429


def test_a_form_of_another_origin_asks_for_nothing(
    oauth_client: OAuthClient, browser: Browser, settings: Any
) -> None:
    settings.HALO_RATE_AUTHORIZE = Limit.parse("1/h")
    asked = oauth_client.authorize_address().partition("?")[2]
    for origin in ("https://evil.example", "null", "http://127.0.0.1:8001"):
        refusal = browser.http.post(AUTHORIZE, asked, FORM, headers={"Origin": origin})
        assert refusal.status_code == 403
    assert not AuthorizationRequest.objects.exists()
    assert browser.http.post(AUTHORIZE, asked, FORM, headers={"Origin": ORIGIN}).status_code == 200


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize(
    "error",
    [
        exceptions.ConnectionError("Error 111 connecting to redis.internal:6379."),
        exceptions.TimeoutError("Timeout reading from redis.internal:6379"),
        exceptions.AuthenticationError("redis.internal"),
        OSError("redis.internal"),
        socket.gaierror("redis.internal"),
    ],
    ids=lambda error: type(error).__name__,
)
@pytest.mark.usefixtures("db")
def test_a_store_that_is_down_closes_the_page_and_is_not_named(
    page: str, error: Exception, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def down(*_given: object, **_named: object) -> None:
        raise error

    monkeypatch.setattr(caches["default"], "add", down)
    monkeypatch.setattr(caches["default"], "incr", down)
    response = visit(page, Browser())
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    assert response["Cache-Control"] == "no-store"
    assert "redis.internal" not in response.content.decode() + caplog.text
    assert "Traceback" not in caplog.text


@pytest.mark.usefixtures("db")
def test_a_count_that_the_store_lost_closes_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_given: object, **_named: object) -> None:
        raise ValueError("no such key")

    monkeypatch.setattr(caches["default"], "add", lambda *_given, **_named: False)
    monkeypatch.setattr(caches["default"], "incr", fail)
    assert visit("signin", Browser()).status_code == 503


@pytest.mark.usefixtures("db")
@pytest.mark.parametrize("forwarded", ["garbage", "1.2.3.4, x", "::ffff:1.2.3.4", "", "," * 500])
def test_t04_a_forwarded_address_gives_no_stranger_a_share_of_their_own(
    settings: Any, forwarded: str
) -> None:
    settings.HALO_RATE_SIGNIN = Limit.parse("1/h")
    named = {"HTTP_X_FORWARDED_FOR": forwarded}
    assert visit("signin", Browser(), **named).status_code != 429
    assert visit("signin", Browser(), HTTP_X_FORWARDED_FOR="9.9.9.9").status_code == 429


@pytest.mark.usefixtures("db")
def test_t04_mapped_ipv4_addresses_are_no_common_bucket(settings: Any) -> None:
    settings.HALO_RATE_SIGNIN = Limit.parse("1/h")
    for last in (1, 2, 3):
        address = f"::ffff:198.51.100.{last}"
        assert visit("signin", Browser(), REMOTE_ADDR=address).status_code != 429


@pytest.mark.usefixtures("db")
def test_a_redis_that_nobody_answers_for_closes_the_page(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": f"redis://127.0.0.1:{port}",
        }
    }
    assert visit("signin", Browser()).status_code == 503
    assert str(port) not in caplog.text
    assert "Traceback" not in caplog.text
