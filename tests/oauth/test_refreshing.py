"""POST /token with a refresh token: used once, narrowed at will, never widened."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test.utils import CaptureQueriesContext
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from audit.models import SecurityEvent
from foundation import ids
from foundation.limits import Limit
from oauth import scopes
from oauth.models import AccessToken, Authorization, Client, RefreshToken
from tests.drivers.oauth_client import Browser, OAuthClient, Tokens, assert_refused, tokens_of
from workspace.models import Membership, Organization, User

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
INVALID_GRANT = (400, "invalid_grant")
INVALID_SCOPE = (400, "invalid_scope")
CREATE_DEAL = "actions:hubspot:create_deal"
HUBSPOT = "actions:hubspot:*"


def kinds() -> set[str]:
    return set(SecurityEvent.objects.values_list("kind", flat=True))


@pytest.mark.parametrize("days", [pytest.param(0, id="E01"), pytest.param(89, id="E01-long-lived")])
def test_a_refresh_gives_a_new_pair_of_the_same_scope(
    days: int, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    with time_machine.travel(datetime.now(UTC) + timedelta(days=days), tick=False):
        pair = tokens_of(oauth_client.refresh(tokens.refresh))
        assert oauth_client.ping(pair.access) == 200
    assert pair.scope == tokens.scope
    assert {pair.access, pair.refresh}.isdisjoint({tokens.access, tokens.refresh})
    spent, fresh = RefreshToken.objects.order_by("id")
    assert spent.used_at is not None
    assert fresh.used_at is None


def test_a_client_that_was_started_again_refreshes_at_the_default_path(
    tokens: Tokens, oauth_client: OAuthClient
) -> None:
    """FastMCP keeps its tokens and not the metadata; 2025-03-26 names /token as the default."""
    grant = {"grant_type": "refresh_token", "refresh_token": tokens.refresh}
    pair = tokens_of(oauth_client.send("/token", grant))
    assert oauth_client.ping(pair.access) == 200
    assert assert_refused(oauth_client.send("/token", grant | {"client_id": "other"}))[0] == 401


def test_a_call_in_flight_keeps_its_access_token(tokens: Tokens, oauth_client: OAuthClient) -> None:
    oauth_client.refresh(tokens.refresh)
    assert oauth_client.ping(tokens.access) == 200


@pytest.fixture
def strict(settings: Any) -> None:
    """Every second use of a refresh token is a replay."""
    settings.HALO_REFRESH_REPLAY_SECONDS = 0


@pytest.mark.parametrize(
    ("generations", "seconds"),
    [
        pytest.param(1, 0, id="E02"),
        pytest.param(5, 0, id="E02-any-generation"),
        pytest.param(5, 20, id="E02-with-a-window"),
    ],
)
def test_replaying_a_spent_refresh_token_ends_its_family(
    generations: int, seconds: int, tokens: Tokens, oauth_client: OAuthClient, settings: Any
) -> None:
    settings.HALO_REFRESH_REPLAY_SECONDS = seconds
    pairs = [tokens]
    for _ in range(generations):
        pairs.append(tokens_of(oauth_client.refresh(pairs[-1].refresh)))
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT
    assert {oauth_client.ping(pair.access) for pair in pairs} == {401}
    assert assert_refused(oauth_client.refresh(pairs[-1].refresh)) == INVALID_GRANT
    assert Authorization.objects.get().revoke_reason == "refresh_replay"
    assert SecurityEvent.objects.get(kind="refresh_replay").client_id == oauth_client.client_id


@pytest.mark.parametrize("generations", [pytest.param(10_000, id="E14")])
def test_a_replay_costs_the_same_however_often_a_token_family_was_rotated(
    generations: int, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    root = Authorization.objects.get()
    RefreshToken.objects.update(used_at=NOON)
    spent = (
        RefreshToken(
            token_checksum=f"{place:064x}", authorization=root, scope=root.scope, used_at=NOON
        )
        for place in range(generations)
    )
    RefreshToken.objects.bulk_create(spent, batch_size=1000)
    with CaptureQueriesContext(connection) as asked:
        assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT
    written = [query["sql"] for query in asked if query["sql"].startswith(("UPDATE", "DELETE"))]
    family = [sql for sql in written if "oauth_" in sql]
    assert len(family) == 1
    assert family[0].startswith('UPDATE "oauth_authorization"')


@pytest.mark.parametrize(
    "changes", [{"scope": "actions:*"}, {"scope": "bogus"}, {"resource": "https://evil.example"}]
)
def test_a_mistake_next_to_it_does_not_excuse_a_replay(
    changes: dict[str, str], tokens: Tokens, oauth_client: OAuthClient
) -> None:
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    assert assert_refused(oauth_client.refresh(tokens.refresh, **changes)) == INVALID_GRANT
    assert oauth_client.ping(pair.access) == 401


@pytest.mark.usefixtures("strict")
def test_a_replay_ends_one_family_and_no_other(
    tokens: Tokens, oauth_client: OAuthClient, browser: Browser
) -> None:
    other = oauth_client.connect(browser)
    oauth_client.refresh(tokens.refresh)
    oauth_client.refresh(tokens.refresh)
    assert oauth_client.ping(tokens.access) == 401
    assert oauth_client.ping(other.access) == 200


@pytest.mark.parametrize("steps", [pytest.param((HUBSPOT, CREATE_DEAL), id="E07")])
def test_a_scope_narrows_by_meaning_and_stays_narrow(
    steps: tuple[str, ...], oauth_client: OAuthClient, browser: Browser
) -> None:
    pair = oauth_client.connect(browser, scope="actions:*")
    for step in steps:
        pair = tokens_of(oauth_client.refresh(pair.refresh, scope=step))
        assert pair.scope == step
    assert assert_refused(oauth_client.refresh(pair.refresh, scope=HUBSPOT)) == INVALID_SCOPE
    assert tokens_of(oauth_client.refresh(pair.refresh)).scope == CREATE_DEAL


@pytest.mark.parametrize(
    "wider",
    [
        pytest.param("actions:*", id="E08-all"),
        pytest.param("actions:hub*", id="E08-prefix"),
        pytest.param("data:read", id="E08-implied-by-all-only"),
        pytest.param(f"{HUBSPOT} docs:read", id="E08-one-of-two"),
        pytest.param("bogus", id="E08-unknown"),
        pytest.param("x" * 9_000, id="E08-long"),
    ],
)
def test_a_scope_never_widens_and_asking_costs_nothing(
    wider: str, oauth_client: OAuthClient, browser: Browser
) -> None:
    pair = oauth_client.connect(browser, scope=HUBSPOT)
    assert assert_refused(oauth_client.refresh(pair.refresh, scope=wider)) == INVALID_SCOPE
    assert tokens_of(oauth_client.refresh(pair.refresh)).scope == HUBSPOT


def test_all_actions_hold_what_they_imply(oauth_client: OAuthClient, browser: Browser) -> None:
    pair = oauth_client.connect(browser, scope="actions:*")
    narrow = tokens_of(oauth_client.refresh(pair.refresh, scope="docs:read bogus"))
    assert narrow.scope == "docs:read"


@pytest.mark.parametrize(
    "shown",
    [
        pytest.param("{access}", id="E10-access"),
        pytest.param("halo_ac_" + "A" * 43, id="E10-code"),
        pytest.param("{hash}", id="E10-hash"),
        pytest.param("halo_rt_{hash}", id="E10-prefixed-hash"),
        pytest.param("halo_rt_" + "A" * 43, id="E10-unknown"),
        pytest.param("halo_rt_", id="E10-prefix"),
        pytest.param("x" * 15_000, id="E10-long"),
        pytest.param("\u00e9" * 51, id="E10-letters"),
    ],
)
def test_what_is_no_refresh_token_is_no_grant(
    shown: str, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    shown = shown.format(access=tokens.access, hash=ids.sha256_hex(tokens.refresh))
    assert assert_refused(oauth_client.refresh(shown)) == INVALID_GRANT
    assert oauth_client.ping(tokens.access) == 200


@pytest.mark.parametrize(
    ("shown", "status"),
    [pytest.param("a\0b", 400, id="E10-nul"), pytest.param("x" * 1_000_000, 413, id="E10-1-MB")],
)
def test_what_cannot_be_read_as_a_token_is_no_request(
    shown: str, status: int, oauth_client: OAuthClient
) -> None:
    assert assert_refused(oauth_client.refresh(shown)) == (status, "invalid_request")


def leave() -> None:
    Membership.objects.all().delete()


@pytest.mark.parametrize(
    "end",
    [
        pytest.param(lambda: User.objects.update(is_active=False), id="E11-deactivated"),
        pytest.param(leave, id="E11-left"),
        pytest.param(lambda: Organization.objects.update(suspended_at=NOON), id="E11-suspended"),
        pytest.param(lambda: Client.objects.update(disabled_at=NOON), id="E11-disabled"),
        pytest.param(lambda: Authorization.objects.update(revoked_at=NOON), id="E11-revoked"),
    ],
)
def test_nothing_is_renewed_once_what_stood_behind_it_is_gone(
    end: Any, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    end()
    assert assert_refused(oauth_client.refresh(tokens.refresh)) == INVALID_GRANT
    assert AccessToken.objects.count() == 1
    assert oauth_client.ping(tokens.access) == 401


@pytest.mark.parametrize("resource", [pytest.param("https://evil.example/mcp", id="E13"), "x"])
def test_another_resource_is_refused_and_nothing_is_rotated(
    resource: str, tokens: Tokens, oauth_client: OAuthClient
) -> None:
    other = oauth_client.refresh(tokens.refresh, resource=resource)
    assert assert_refused(other) == (400, "invalid_target")
    assert oauth_client.refresh(tokens.refresh).status_code == 200


def test_a_refresh_token_is_no_use_to_another_client_and_takes_no_harm(
    tokens: Tokens, oauth_client: OAuthClient, stranger: OAuthClient
) -> None:
    assert assert_refused(stranger.refresh(tokens.refresh)) == INVALID_GRANT
    assert "refresh_client_mismatch" in kinds()
    assert oauth_client.refresh(tokens.refresh).status_code == 200


def test_a_spent_token_in_foreign_hands_ends_nothing(
    tokens: Tokens, oauth_client: OAuthClient, stranger: OAuthClient
) -> None:
    pair = tokens_of(oauth_client.refresh(tokens.refresh))
    stranger.refresh(tokens.refresh)
    assert oauth_client.ping(pair.access) == 200


@pytest.mark.parametrize("method", ["client_secret_basic", "client_secret_post"])
def test_a_confidential_client_renews_with_its_secret_alone(method: str, browser: Browser) -> None:
    client = OAuthClient(auth_method=method)
    client.register()
    pair = client.connect(browser)
    client.secret, secret = "wrong", client.secret
    assert assert_refused(client.refresh(pair.refresh)) == (401, "invalid_client")
    client.secret = secret
    assert client.refresh(pair.refresh).status_code == 200


MOVES = st.lists(
    st.one_of(
        st.just("refresh"),
        st.sampled_from(["actions:*", HUBSPOT, CREATE_DEAL, "docs:read", "bogus"]),
        st.just("replay"),
        st.just("revoke"),
    ),
    max_size=8,
)


class FamilyModel:
    """A model of a token family, compared with the real one."""

    def __init__(self, client: OAuthClient, browser: Browser) -> None:
        self.client = client
        self.pairs = [client.connect(browser, scope="actions:*")]
        self.alive = True

    def move(self, name: str) -> None:
        if name == "revoke":
            assert self.client.revoke(self.pairs[-1].access).status_code == 200
            self.alive = False
        elif name == "replay":
            self._replay()
        else:
            self._refresh(None if name == "refresh" else name)

    def _replay(self) -> None:
        for spent in self.pairs[:-1][:1]:
            assert assert_refused(self.client.refresh(spent.refresh)) == INVALID_GRANT
            self.alive = False

    def _refresh(self, scope: str | None) -> None:
        held = self.pairs[-1].scope
        response = self.client.refresh(self.pairs[-1].refresh, scope=scope)
        if scope is not None and not scopes.parse(held).covers(scope):
            assert assert_refused(response) == INVALID_SCOPE
        elif self.alive:
            self.pairs.append(tokens_of(response))
            assert self.pairs[-1].scope == (scope or held)
        else:
            assert assert_refused(response) == INVALID_GRANT


@pytest.mark.usefixtures("plenty", "strict")
@settings(
    max_examples=30,
    deadline=None,
    # Every example gives consent again and so has a token family of its own.
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(moves=MOVES)
def test_whatever_a_client_does_a_token_family_is_alive_or_dead_as_a_whole(
    moves: list[str], oauth_client: OAuthClient, browser: Browser
) -> None:
    family = FamilyModel(oauth_client, browser)
    for move in moves:
        family.move(move)
    works = {oauth_client.ping(pair.access) for pair in family.pairs}
    assert works == {200 if family.alive else 401}


@pytest.fixture
def plenty(settings: Any) -> None:
    for name in ("TOKEN", "AUTHORIZE", "IP", "OTHER"):
        setattr(settings, f"HALO_RATE_{name}", Limit.parse("100000/m"))
