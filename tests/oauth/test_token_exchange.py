"""POST /token with a code: who may have it, what has to come along, and how often."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import IntegrityError

from audit.models import SecurityEvent
from foundation import ids
from oauth.grants import tokens
from oauth.models import AccessToken, Authorization, Client, Grant, RefreshToken
from tests.drivers.oauth_client import (
    CALLBACK,
    TOKEN,
    Browser,
    OAuthClient,
    assert_refused,
    encode_form,
    read,
    tokens_of,
)
from workspace.models import Membership, Organization, User

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
INVALID_GRANT = (400, "invalid_grant")
INVALID_REQUEST = (400, "invalid_request")


@pytest.fixture
def code(oauth_client: OAuthClient, browser: Browser) -> str:
    return oauth_client.code(browser)


def kinds() -> set[str]:
    return set(SecurityEvent.objects.values_list("kind", flat=True))


@pytest.mark.parametrize("seconds", [pytest.param(3600, id="D01")])
def test_a_code_is_exchanged_for_a_pair(
    seconds: int, code: str, oauth_client: OAuthClient, acme: Organization
) -> None:
    response = oauth_client.exchange(code)
    body = read(response)
    access, refresh = body.pop("access_token"), body.pop("refresh_token")
    assert response["Cache-Control"] == "no-store"
    assert response["Pragma"] == "no-cache"
    assert body == {"token_type": "Bearer", "expires_in": seconds, "scope": "docs:read setup:read"}
    assert (access[:8], len(access), refresh[:8], len(refresh)) == ("halo_at_", 51, "halo_rt_", 51)
    assert oauth_client.ping(access) == 200
    assert AccessToken.objects.get().token_checksum == ids.sha256_hex(access)
    assert RefreshToken.objects.get().token_checksum == ids.sha256_hex(refresh)
    assert AccessToken.objects.get().authorization.organization == acme


def test_neither_token_stands_anywhere_in_clear_text(code: str, oauth_client: OAuthClient) -> None:
    pair = tokens_of(oauth_client.exchange(code))
    rows = [AccessToken.objects.get(), RefreshToken.objects.get(), Grant.objects.get()]
    kept = [str(getattr(row, f.attname)) for row in rows for f in row._meta.concrete_fields]
    secrets = [secret[8:] for secret in (pair.access, pair.refresh, code)]
    assert not [value for value in kept for secret in secrets if secret in value]


@pytest.mark.parametrize(
    "minutes", [pytest.param(0, id="D02"), pytest.param(60 * 23, id="D02-day")]
)
def test_a_code_that_comes_back_ends_everything_it_gave(
    minutes: int, oauth_client: OAuthClient, browser: Browser, settings: Any
) -> None:
    settings.HALO_ACCESS_TOKEN_SECONDS = 86_400
    code = oauth_client.code(browser)
    pair = tokens_of(oauth_client.exchange(code))
    with time_machine.travel(datetime.now(UTC) + timedelta(minutes=minutes), tick=False):
        replayed = oauth_client.exchange(code)
        assert assert_refused(replayed) == INVALID_GRANT
        assert "authorization code" in read(replayed)["error_description"]
        assert oauth_client.ping(pair.access) == 401
        assert assert_refused(oauth_client.refresh(pair.refresh)) == INVALID_GRANT
    event = SecurityEvent.objects.get(kind="code_replay")
    assert event.subject == str(Authorization.objects.get().pk)
    assert event.client_id == oauth_client.client_id
    assert event.address_prefix == "127.0.0.0/24"
    assert Authorization.objects.get().revoke_reason == "code_replay"


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"code_verifier": "w" * 43}, id="D04"),
        pytest.param({"code_verifier": "w" * 42}, id="D05-short"),
        pytest.param({"code_verifier": "w" * 129}, id="D05-long"),
        pytest.param({"code_verifier": "w" * 42 + "!"}, id="D05-alphabet"),
        pytest.param({"code_verifier": "\u00e9" * 43}, id="D05-letters"),
        pytest.param({"redirect_uri": f"{CALLBACK}/"}, id="redirect"),
        pytest.param({"redirect_uri": "https://evil.example/cb"}, id="foreign-redirect"),
    ],
)
def test_a_code_shown_without_its_proof_is_burnt(
    wrong: dict[str, str], code: str, oauth_client: OAuthClient
) -> None:
    assert assert_refused(oauth_client.exchange(code, **wrong)) == INVALID_GRANT
    assert assert_refused(oauth_client.exchange(code)) == INVALID_GRANT
    assert not AccessToken.objects.exists()


@pytest.mark.parametrize("verifier", [pytest.param("challenge", id="D05-challenge")])
def test_the_challenge_is_no_verifier(verifier: str, code: str, oauth_client: OAuthClient) -> None:
    shown = getattr(oauth_client, verifier)
    assert assert_refused(oauth_client.exchange(code, code_verifier=shown)) == INVALID_GRANT


@pytest.mark.parametrize(
    "missing", [pytest.param("code_verifier", id="D05-none"), "code", "grant_type", "client_id"]
)
def test_a_missing_parameter_is_named_and_costs_nothing(
    missing: str, code: str, oauth_client: OAuthClient
) -> None:
    response = oauth_client.exchange(code, **{missing: None})
    assert assert_refused(response) == INVALID_REQUEST
    assert read(response)["error_description"] == f"{missing} is required."
    assert oauth_client.exchange(code).status_code == 200


def test_the_redirect_uri_may_be_left_out_as_oauth_2_1_has_it(
    code: str, oauth_client: OAuthClient
) -> None:
    assert oauth_client.exchange(code, redirect_uri=None).status_code == 200


@pytest.mark.parametrize(
    "other",
    [pytest.param("stranger", id="D07-public"), pytest.param("confidential", id="D07-secret")],
)
def test_a_code_is_no_use_to_another_client_and_takes_no_harm(
    other: str, code: str, oauth_client: OAuthClient, request: pytest.FixtureRequest
) -> None:
    thief: OAuthClient = request.getfixturevalue(other)
    stolen = thief.exchange(code, code_verifier=oauth_client.verifier)
    assert assert_refused(stolen) == INVALID_GRANT
    assert "code_client_mismatch" in kinds()
    assert Grant.objects.get().consumed_at is None
    assert oauth_client.ping(tokens_of(oauth_client.exchange(code)).access) == 200


def test_a_spent_code_in_foreign_hands_ends_nothing(
    code: str, oauth_client: OAuthClient, stranger: OAuthClient
) -> None:
    pair = tokens_of(oauth_client.exchange(code))
    stranger.exchange(code, code_verifier=oauth_client.verifier)
    assert oauth_client.ping(pair.access) == 200


@pytest.mark.usefixtures("acme")
@pytest.mark.parametrize(
    ("seconds", "status"),
    [pytest.param(299, 200, id="D08-in"), pytest.param(300, 400, id="D08-out")],
)
def test_a_code_lives_for_five_minutes(
    seconds: int, status: int, oauth_client: OAuthClient, ada: User
) -> None:
    with time_machine.travel(NOON, tick=False) as clock:
        code = oauth_client.code(Browser(ada))
        clock.shift(timedelta(seconds=seconds))
        assert oauth_client.exchange(code).status_code == status


@pytest.mark.parametrize(
    "repeated",
    [
        pytest.param({"code": ["halo_ac_bad", "CODE"]}, id="D10-code"),
        pytest.param({"grant_type": ["authorization_code", "authorization_code"]}, id="D10-grant"),
        pytest.param({"client_id": ["ID", "ID"]}, id="D10-client"),
        pytest.param({"scope": ["", "docs:read"]}, id="D10-empty"),
    ],
)
def test_a_repeated_parameter_is_refused(
    repeated: dict[str, list[str]], code: str, oauth_client: OAuthClient
) -> None:
    known = {"CODE": code, "ID": oauth_client.client_id}
    sent = {name: [known.get(v, v) for v in values] for name, values in repeated.items()}
    assert assert_refused(oauth_client.exchange(code, **sent)) == INVALID_REQUEST
    assert oauth_client.exchange(code).status_code == 200


def form(oauth_client: OAuthClient, code: str) -> str:
    sent = {"client_id": oauth_client.client_id, "code_verifier": oauth_client.verifier}
    return encode_form(sent | {"grant_type": "authorization_code", "code": code})


@pytest.mark.parametrize(
    "content_type",
    [
        pytest.param("application/json", id="D11-json"),
        pytest.param("multipart/form-data; boundary=x", id="D11-multipart"),
        pytest.param("text/plain", id="D11-text"),
        pytest.param("application/x-www-form-urlencoded; charset=latin-1", id="D11-charset"),
        pytest.param("", id="D11-none"),
    ],
)
def test_only_a_form_is_read(content_type: str, code: str, oauth_client: OAuthClient) -> None:
    body = form(oauth_client, code).encode()
    response = oauth_client.http.post(TOKEN, body, content_type=content_type)
    assert assert_refused(response) == INVALID_REQUEST


@pytest.mark.parametrize("address", [pytest.param(TOKEN, id="D11-query")])
def test_parameters_in_the_address_are_refused(
    address: str, code: str, oauth_client: OAuthClient
) -> None:
    whole = form(oauth_client, code)
    assert assert_refused(oauth_client.post_form(f"{address}?{whole}", "")) == INVALID_REQUEST
    assert assert_refused(oauth_client.post_form(f"{address}?x=1", whole)) == INVALID_REQUEST


@pytest.mark.parametrize("method", [pytest.param("GET", id="D11-get"), "HEAD", "PUT", "DELETE"])
@pytest.mark.usefixtures("db")
def test_tokens_are_asked_for_by_post(method: str) -> None:
    response = OAuthClient().http.generic(method, TOKEN)
    assert (response.status_code, response["Allow"]) == (405, "POST, OPTIONS")
    assert response["Cache-Control"] == "no-store"


@pytest.mark.parametrize("scope", [pytest.param("actions:*", id="D17")])
def test_a_scope_sent_along_widens_nothing(
    scope: str, code: str, oauth_client: OAuthClient
) -> None:
    assert tokens_of(oauth_client.exchange(code, scope=scope)).scope == "docs:read setup:read"


@pytest.mark.parametrize(
    ("model", "change"),
    [
        pytest.param(Client, {"disabled_at": NOON}, id="D19-client"),
        pytest.param(User, {"is_active": False}, id="D19-user"),
        pytest.param(Membership, None, id="D19-left"),
        pytest.param(Organization, {"suspended_at": NOON}, id="D19-suspended"),
        pytest.param(Authorization, {"revoked_at": NOON}, id="D19-revoked"),
    ],
)
def test_a_code_is_worth_nothing_once_what_stood_behind_it_is_gone(
    model: Any, change: dict[str, Any] | None, code: str, oauth_client: OAuthClient
) -> None:
    rows = model.objects.all()
    rows.delete() if change is None else rows.update(**change)
    assert assert_refused(oauth_client.exchange(code)) == INVALID_GRANT
    assert not AccessToken.objects.exists()
    assert "token_rejected" in kinds()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        pytest.param("&".join(f"f{n}=x" for n in range(31)), 400, id="D20-fields"),
        pytest.param("a=" + "x" * 17_000, 413, id="D20-size"),
        pytest.param("a=%ff%fe", 400, id="D20-bytes"),
        pytest.param("grant_type", 400, id="D20-no-value"),
        pytest.param("a=%zz", 400, id="D20-percent"),
        pytest.param("a=%00", 400, id="D20-nul"),
        pytest.param("", 400, id="D20-empty"),
        pytest.param(b"\xff\xfe", 400, id="D20-raw"),
    ],
)
@pytest.mark.usefixtures("db")
def test_a_form_that_makes_no_sense_is_refused(body: str | bytes, status: int) -> None:
    assert assert_refused(OAuthClient().post_form(TOKEN, body)) == (status, "invalid_request")


@pytest.mark.parametrize(
    "grant", ["password", "implicit", "Authorization_Code", "Client_Credentials", "x" * 1_000]
)
def test_an_unknown_grant_is_refused(grant: str, oauth_client: OAuthClient) -> None:
    response = oauth_client.exchange("x", grant_type=grant)
    assert assert_refused(response) == (400, "unsupported_grant_type")


@pytest.mark.parametrize(
    "shown", ["x", "halo_ac_", "halo_ac_" + "A" * 43, "halo_ac_" + "A" * 44, "HASH", "\u00e9" * 51]
)
def test_a_code_out_of_thin_air_is_no_grant(
    shown: str, code: str, oauth_client: OAuthClient
) -> None:
    shown = ids.sha256_hex(code) if shown == "HASH" else shown
    assert assert_refused(oauth_client.exchange(shown)) == INVALID_GRANT


@pytest.mark.parametrize("case", [pytest.param("invalid_grant", id="V10")])
def test_a_token_family_that_is_deleted_meanwhile_is_no_server_error(
    case: str, code: str, oauth_client: OAuthClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_given: object) -> None:
        raise IntegrityError

    with monkeypatch.context() as meanwhile:
        meanwhile.setattr(tokens, "_write", fail)
        assert assert_refused(oauth_client.exchange(code)) == (400, case)
    pair = tokens_of(oauth_client.exchange(code))
    monkeypatch.setattr(tokens, "_write", fail)
    assert assert_refused(oauth_client.refresh(pair.refresh)) == (400, case)


def test_a_code_for_this_server_is_for_no_other(code: str, oauth_client: OAuthClient) -> None:
    other = oauth_client.exchange(code, resource="https://evil.example/mcp")
    assert assert_refused(other) == (400, "invalid_target")
    assert oauth_client.exchange(code).status_code == 200
