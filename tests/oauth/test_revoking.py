"""POST /revoke: ends a whole family, and says 200 to everybody (RFC 7009)."""

from typing import Any

import pytest

from audit.models import SecurityEvent
from foundation import limits
from foundation.limits import Limit, LimitStoreDown
from oauth.models import Authorization
from tests.drivers.oauth_client import (
    REVOKE,
    Browser,
    OAuthClient,
    Tokens,
    assert_refused,
    tokens_of,
)


def is_dead(client: OAuthClient, pair: Tokens) -> bool:
    dead = assert_refused(client.refresh(pair.refresh)) == (400, "invalid_grant")
    return dead and client.ping(pair.access) == 401


def is_alive(client: OAuthClient, pair: Tokens) -> bool:
    return client.ping(pair.access) == 200 and client.refresh(pair.refresh).status_code == 200


def kinds() -> list[str]:
    return sorted(SecurityEvent.objects.values_list("kind", flat=True))


@pytest.mark.parametrize(
    "which", [pytest.param("access", id="F01"), pytest.param("refresh", id="F02")]
)
def test_revoking_either_token_ends_both(
    which: str, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    response = oauth_client.revoke(getattr(tokens, which))
    assert (response.status_code, response.content) == (200, b"")
    assert response["Cache-Control"] == "no-store"
    event = SecurityEvent.objects.get()
    assert (event.kind, event.client_id) == ("revoked_by_client", oauth_client.client_id)
    assert Authorization.objects.get().revoke_reason == "revoked_by_client"
    assert is_dead(oauth_client, tokens)


@pytest.mark.parametrize("which", [pytest.param("refresh", id="F02-rotated"), "access"])
def test_a_token_of_an_earlier_generation_revokes_the_token_family_too(
    which: str, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    assert oauth_client.revoke(getattr(tokens, which)).status_code == 200
    assert is_dead(oauth_client, pair)


@pytest.mark.parametrize("hint", ["access_token", "refresh_token", "nonsense"])
def test_a_wrong_hint_does_not_matter(hint: str, tokens: Tokens, oauth_client: OAuthClient) -> None:
    assert oauth_client.revoke(tokens.refresh, token_type_hint=hint).status_code == 200
    assert is_dead(oauth_client, tokens)


def test_revoking_twice_is_as_good_as_once(tokens: Tokens, oauth_client: OAuthClient) -> None:
    assert [oauth_client.revoke(tokens.access).status_code for _ in range(2)] == [200, 200]
    assert SecurityEvent.objects.get().count == 1


@pytest.mark.parametrize("which", [pytest.param("access", id="F04"), "refresh"])
def test_another_clients_token_stays_alive(
    which: str, tokens: Tokens, oauth_client: OAuthClient, stranger: OAuthClient
) -> None:
    response = stranger.revoke(getattr(tokens, which))
    assert (response.status_code, kinds()) == (200, ["revoke_foreign"])
    assert is_alive(oauth_client, tokens)


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"client_id": None}, id="F05-no-client"),
        pytest.param({"client_id": "halo_client_nobody"}, id="F05-unknown"),
        pytest.param({"client_secret": "x"}, id="F05-wrong-method"),
        pytest.param({"token": None}, id="no-token"),
        pytest.param({"token": ["x", "y"]}, id="two-tokens"),
        pytest.param({"token": "halo_at_" + "A" * 43}, id="unknown"),
        pytest.param({"token": "x" * 17_000}, id="long"),
        pytest.param({"token": "\0"}, id="nul"),
    ],
)
def test_everybody_is_answered_200_and_nothing_ends(
    changes: dict[str, Any], tokens: Tokens, oauth_client: OAuthClient
) -> None:
    sent = {"token": tokens.access} | changes
    assert oauth_client.send(REVOKE, sent).status_code == 200
    assert is_alive(oauth_client, tokens)


@pytest.mark.parametrize("content_type", [pytest.param("application/json", id="F07"), "text/plain"])
def test_what_is_no_form_is_answered_200_too(
    content_type: str, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    body = f"token={tokens.access}&client_id={oauth_client.client_id}"
    response = oauth_client.http.post(REVOKE, body, content_type=content_type)
    assert response.status_code == 200
    assert is_alive(oauth_client, tokens)


@pytest.mark.parametrize("method", [pytest.param("GET", id="F07"), "HEAD", "PUT", "DELETE"])
@pytest.mark.usefixtures("db")
def test_only_post_revokes(method: str) -> None:
    response = OAuthClient().http.generic(method, REVOKE)
    assert (response.status_code, response["Allow"]) == (405, "POST, OPTIONS")


def test_a_confidential_client_revokes_with_its_secret_alone(
    confidential: OAuthClient, browser: Browser
) -> None:
    pair = confidential.connect(browser)
    confidential.secret, secret = "wrong", confidential.secret
    assert confidential.revoke(pair.access).status_code == 200
    assert confidential.ping(pair.access) == 200
    confidential.secret = secret
    confidential.revoke(pair.access)
    assert confidential.ping(pair.access) == 401


ALIAS = "/oauth/revoke"


@pytest.mark.parametrize("which", ["access", "refresh"])
def test_the_path_of_the_gateway_revokes_with_the_client_of_the_token(
    which: str, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    response = oauth_client.send(ALIAS, {"token": getattr(tokens, which)})
    assert (response.status_code, response.content) == (200, b"")
    assert is_dead(oauth_client, tokens)
    unknown = {"token": "halo_rt_" + "A" * 43, "token_type_hint": "refresh_token"}
    assert oauth_client.send(ALIAS, unknown).status_code == 200


@pytest.mark.parametrize("which", ["access", "refresh"])
@pytest.mark.parametrize(
    ("changes", "answer"),
    [
        pytest.param({"client_id": None}, (400, "invalid_request"), id="no-client"),
        pytest.param({"client_id": "halo_client_other"}, (401, "invalid_client"), id="unknown"),
        pytest.param({"client_secret": "x"}, (401, "invalid_client"), id="wrong-method"),
    ],
)
def test_the_path_of_the_gateway_says_that_a_token_stays_valid(
    which: str,
    changes: dict[str, Any],
    answer: tuple[int, str],
    tokens: Tokens,
    oauth_client: OAuthClient,
) -> None:
    sent = {"token": getattr(tokens, which)} | changes
    assert assert_refused(oauth_client.send(ALIAS, sent)) == answer
    event = SecurityEvent.objects.get(kind="revoke_rejected")
    assert (event.detail, event.count) == (answer[1], 1)
    oauth_client.send(REVOKE, sent)
    event.refresh_from_db()
    assert event.count == 1
    assert is_alive(oauth_client, tokens)


@pytest.mark.parametrize("which", ["access", "refresh"])
def test_the_path_of_the_gateway_refuses_a_token_of_another_client(
    which: str, tokens: Tokens, oauth_client: OAuthClient, stranger: OAuthClient
) -> None:
    answer = assert_refused(stranger.send(ALIAS, {"token": getattr(tokens, which)}))
    assert answer == (400, "invalid_grant")
    assert "revoke_foreign" in kinds()
    assert is_alive(oauth_client, tokens)


def test_the_path_of_the_gateway_wants_the_secret_of_a_confidential_client(
    confidential: OAuthClient, browser: Browser
) -> None:
    pair = confidential.connect(browser)
    confidential.secret, secret = "wrong", confidential.secret
    assert assert_refused(confidential.send(ALIAS, {"token": pair.access})) == (
        401,
        "invalid_client",
    )
    assert confidential.ping(pair.access) == 200
    confidential.secret = secret
    assert confidential.send(ALIAS, {"token": pair.access}).status_code == 200
    assert confidential.ping(pair.access) == 401


@pytest.mark.parametrize("prefix", ["halo_mt_", "halo_sk_", "hhr_live_", "hhr_test_"])
def test_tokens_and_keys_of_people_are_not_revoked_by_clients(
    prefix: str, oauth_client: OAuthClient
) -> None:
    sent = {"token": prefix + "A" * 43}
    assert assert_refused(oauth_client.send(ALIAS, sent)) == (400, "unsupported_token_type")
    assert oauth_client.send(REVOKE, sent).status_code == 200


def test_an_address_that_asks_too_often_is_asked_to_try_again(
    oauth_client: OAuthClient, settings: Any
) -> None:
    settings.HALO_RATE_IP = Limit.parse("2/m")
    statuses = [oauth_client.revoke("x").status_code for _ in range(2)]
    over = oauth_client.revoke("x")
    assert (statuses, assert_refused(over)) == ([200, 200], (429, "temporarily_unavailable"))
    assert int(over["Retry-After"]) > 0


def test_access_can_be_ended_while_nothing_can_be_counted(
    tokens: Tokens, oauth_client: OAuthClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(_buckets: object) -> None:
        raise LimitStoreDown

    monkeypatch.setattr(limits, "charge", down)
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == (503, "temporarily_unavailable")
    assert oauth_client.revoke(tokens.access).status_code == 200
    assert Authorization.objects.get().revoked_at is not None
