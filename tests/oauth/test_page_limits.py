"""Limits of the pages people open, and what happens when nothing can be counted."""

import socket
from typing import Any

import pytest
from django.core.cache import caches
from redis import exceptions

from audit.models import SecurityEvent
from foundation.limits import Limit
from tests.drivers.oauth_client import AUTHORIZE, CONSENT, Browser, OAuthClient, Response
from workspace.models import User

PAGES = {
    "authorize": ("GET", AUTHORIZE),
    "consent": ("POST", CONSENT),
    "signin": ("POST", "/signin"),
}


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
    statuses = [visit(page, Browser()).status_code for _ in range(3)]
    over = [visit(page, Browser()) for _ in range(2)]
    assert 429 not in statuses
    assert [response.status_code for response in over] == [429, 429]
    assert 0 < int(over[0]["Retry-After"]) <= 3_600
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
