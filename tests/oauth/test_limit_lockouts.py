"""Nobody can use up the limit of another client, with its id or from its address (T10)."""

import time
from typing import Any

import pytest

from foundation.limits import Limit
from tests.drivers.oauth_client import (
    AUTHORIZE,
    CONSENT,
    REGISTER,
    REVOKE,
    TOKEN,
    Browser,
    OAuthClient,
    Tokens,
    assert_refused,
    tokens_of,
)
from workspace.models import User

EVIL = "203.0.113.9"
LIMIT_HEADERS = ("Retry-After", "X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset")
RATES = ("TOKEN", "IP", "REGISTER", "REGISTER_ATTEMPTS", "AUTHORIZE", "SIGNIN", "OTHER")


@pytest.fixture
def tight(settings: Any) -> None:
    """Three of everything; six of what an address may ask in all."""
    for name in RATES:
        setattr(settings, f"HALO_RATE_{name}", Limit.parse("3/h"))
    settings.HALO_RATE_IP = Limit.parse("6/h")


@pytest.fixture
def attacker(oauth_client: OAuthClient) -> OAuthClient:
    """Somebody elsewhere who knows the victim's client id and says that it is theirs."""
    elsewhere = OAuthClient(client_id=oauth_client.client_id)
    elsewhere.http.defaults["REMOTE_ADDR"] = EVIL
    return elsewhere


def ask_until_refused(ask: Any) -> bool:
    """Ask until it is refused for asking too often, with the time of the next attempt."""
    return any(names_the_next_attempt(ask()) for _ in range(8))


def names_the_next_attempt(response: Any) -> bool:
    if response.status_code != 429:
        return False
    retry, limit, remaining, reset = (int(response[name]) for name in LIMIT_HEADERS)
    assert 0 < retry <= 3_600  # the window of every limit here
    assert (limit > 0, remaining) == (True, 0)
    assert abs(time.time() + retry - reset) <= 60
    return True


@pytest.mark.usefixtures("tight")
@pytest.mark.parametrize(
    "abuse",
    [
        pytest.param(lambda client: client.refresh("x"), id="T10-token-refresh"),
        pytest.param(lambda client: client.exchange("x"), id="T10-token-code"),
        pytest.param(lambda client: client.post_form(TOKEN, "x"), id="T10-token-nonsense"),
        pytest.param(lambda client: client.revoke("x"), id="T10-revoke"),
        pytest.param(lambda client: client.post_json(REGISTER, {}), id="T10-register"),
        pytest.param(
            lambda client: client.http.get(AUTHORIZE, {"client_id": client.client_id}),
            id="T10-authorize",
        ),
        pytest.param(lambda client: client.http.post("/signin"), id="T10-signin"),
        pytest.param(
            lambda client: client.post_json("/api/mcp", {}, Authorization="Bearer x"),
            id="T10-bearer",
        ),
    ],
)
def test_an_attacker_elsewhere_takes_nothing_from_the_victim(
    abuse: Any, attacker: OAuthClient, oauth_client: OAuthClient, ada: User, acme: Any
) -> None:
    assert acme
    assert ask_until_refused(lambda: abuse(attacker))
    pair = oauth_client.connect(Browser(ada))
    pair = tokens_of(oauth_client.refresh(pair.refresh))
    assert oauth_client.ping(pair.access) == 200
    assert oauth_client.revoke(pair.access).status_code == 200
    assert OAuthClient().register().status_code == 201
    assert Browser().open("/signin").status_code == 200


@pytest.mark.usefixtures("acme", "tight")
def test_a_person_next_to_the_victim_has_a_share_of_their_own(
    oauth_client: OAuthClient, ada: User
) -> None:
    eve = Browser(User.objects.create_user("eve@acme.example"))
    assert ask_until_refused(lambda: eve.open(oauth_client.authorize_address()))
    assert ask_until_refused(lambda: decision(eve))
    assert oauth_client.connect(Browser(ada)).access


def decision(browser: Browser) -> Any:
    browser.http.handler.enforce_csrf_checks = False
    return browser.http.post(CONSENT, {"request": "x"})


@pytest.mark.usefixtures("tight")
def test_a_client_next_to_the_victim_has_a_share_of_its_own(
    tokens: Tokens, oauth_client: OAuthClient, stranger: OAuthClient, settings: Any
) -> None:
    settings.HALO_RATE_IP = Limit.parse("100/h")
    assert ask_until_refused(lambda: stranger.refresh("x"))
    assert oauth_client.refresh(tokens.refresh).status_code == 200


@pytest.mark.usefixtures("tight")
def test_no_client_id_makes_another_address_look_like_the_victims(
    tokens: Tokens, oauth_client: OAuthClient
) -> None:
    """Counted as `id:address`, `id:2001:db8` at 2400:1::/64 would be `id` at 2001:db8:2400:1."""
    evil = OAuthClient(client_id=f"{oauth_client.client_id}:2001:db8")
    evil.http.defaults["REMOTE_ADDR"] = "2400:1::1"
    oauth_client.http.defaults["REMOTE_ADDR"] = "2001:db8:2400:1::1"
    assert ask_until_refused(lambda: evil.refresh("x"))
    assert oauth_client.refresh(tokens.refresh).status_code == 200


@pytest.mark.usefixtures("tight")
def test_the_victims_own_share_is_what_is_limited(
    tokens: Tokens, oauth_client: OAuthClient
) -> None:
    assert ask_until_refused(lambda: oauth_client.refresh("x"))
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == (429, "temporarily_unavailable")
    # What was refused was not looked at: the right to a new pair is not lost.
    oauth_client.http.defaults["REMOTE_ADDR"] = "198.51.100.7"
    assert oauth_client.refresh(tokens.refresh).status_code == 200


def test_a_revocation_by_somebody_else_is_not_counted_as_the_clients(
    tokens: Tokens, oauth_client: OAuthClient, attacker: OAuthClient, settings: Any
) -> None:
    settings.HALO_RATE_IP = Limit.parse("2/h")
    assert ask_until_refused(lambda: attacker.send(REVOKE, {"token": "x"}))
    assert oauth_client.revoke(tokens.access).status_code == 200
    assert oauth_client.ping(tokens.access) == 401
