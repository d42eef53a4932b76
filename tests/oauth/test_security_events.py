"""Security events: counted, not piled up, and never holding a secret."""

from datetime import UTC, datetime, timedelta

import pytest
import time_machine

from audit.models import SecurityEvent
from tests.drivers.oauth_client import REVOKE, TOKEN, Browser, OAuthClient, Tokens, encode_form

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def guess(client: OAuthClient, address: str) -> int:
    form = encode_form(
        {"grant_type": "refresh_token", "refresh_token": "x"} | {"client_id": "nobody"}
    )
    status: int = client.http.post(
        TOKEN, form, content_type="application/x-www-form-urlencoded", REMOTE_ADDR=address
    ).status_code
    return status


@pytest.mark.usefixtures("db")
def test_the_same_refusal_within_a_minute_is_one_row_with_a_count() -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        for _ in range(5):
            clock.shift(timedelta(seconds=9))
            assert guess(OAuthClient(), "198.51.100.7") == 401
    event = SecurityEvent.objects.get()
    assert (event.kind, event.detail, event.count) == ("token_rejected", "invalid_client", 5)
    assert event.address_prefix == "198.51.100.0/24"
    assert event.last_at - event.first_at == timedelta(seconds=36)


@pytest.mark.usefixtures("db")
def test_neighbours_share_a_row_and_strangers_do_not() -> None:
    with time_machine.travel(NOON, tick=False):
        for address in (
            "198.51.100.7",
            "198.51.100.8",
            "203.0.113.1",
            "2001:db8::1",
            "2001:db8::2",
        ):
            guess(OAuthClient(), address)
    counted = dict(SecurityEvent.objects.values_list("address_prefix", "count"))
    assert counted == {"198.51.100.0/24": 2, "203.0.113.0/24": 1, "2001:db8::/48": 2}


@pytest.mark.usefixtures("db")
def test_the_next_minute_is_another_row() -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        guess(OAuthClient(), "198.51.100.7")
        clock.shift(timedelta(minutes=1))
        guess(OAuthClient(), "198.51.100.7")
    assert [event.count for event in SecurityEvent.objects.all()] == [1, 1]


@pytest.mark.usefixtures("db")
def test_a_forged_forwarding_header_moves_nobody() -> None:
    form = encode_form({"grant_type": "x", "client_id": "nobody"})
    OAuthClient().post_form(TOKEN, form, **{"X-Forwarded-For": "203.0.113.9"})
    assert SecurityEvent.objects.get().address_prefix == "127.0.0.0/24"


def test_no_event_holds_a_secret_or_a_state(
    tokens: Tokens, oauth_client: OAuthClient, stranger: OAuthClient, browser: Browser
) -> None:
    code = oauth_client.code(browser, state="hush-hush")
    oauth_client.exchange(code, code_verifier="w" * 43)
    stranger.exchange(code, code_verifier=oauth_client.verifier)
    stranger.revoke(tokens.access)
    oauth_client.refresh(tokens.refresh, scope="actions:*", resource=tokens.refresh)
    oauth_client.send(TOKEN, {tokens.access: [tokens.refresh, "x"], "grant_type": code})
    oauth_client.post_form(f"{REVOKE}?token={tokens.access}", "")
    Browser().open(oauth_client.authorize_address(code_challenge=None, state="hush-hush"))
    Browser().open(oauth_client.authorize_address(client_id=code, redirect_uri=code))
    kept = str(list(SecurityEvent.objects.values()))
    secrets = [code, tokens.access, tokens.refresh, oauth_client.verifier, "hush-hush"]
    assert SecurityEvent.objects.count() >= 4
    assert not [secret for secret in secrets if secret[-30:] in kept]


@pytest.mark.usefixtures("db")
def test_a_name_that_no_column_can_hold_is_counted_all_the_same() -> None:
    form = encode_form({"grant_type": "x" * 5_000, "client_id": "n" * 5_000})
    assert OAuthClient().post_form(TOKEN, form).status_code == 401
    assert SecurityEvent.objects.get().count == 1
