"""How a client proves itself at the token endpoint, and how often it may ask."""

from collections.abc import Callable
from typing import Any

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec

from audit.models import SecurityEvent
from foundation.limits import Limit
from oauth.clients import assertions
from oauth.models import Client
from tests.drivers.oauth_client import (
    TOKEN,
    Browser,
    OAuthClient,
    assert_refused,
    basic,
    encode_form,
    read,
)

INVALID_REQUEST = (400, "invalid_request")
INVALID_CLIENT = (401, "invalid_client")


def form(oauth_client: OAuthClient, code: str) -> str:
    sent = {"client_id": oauth_client.client_id, "code_verifier": oauth_client.verifier}
    return encode_form(sent | {"grant_type": "authorization_code", "code": code})


def wrong_secret(client: OAuthClient) -> str:
    return basic(client.client_id, "wrong")


def no_secret(client: OAuthClient) -> str:
    return basic(client.client_id, "")


@pytest.mark.parametrize(
    "header_of",
    [
        pytest.param(wrong_secret, id="D13-wrong"),
        pytest.param(no_secret, id="D13-empty"),
        pytest.param(lambda _client: basic("halo_client_unknown", "x"), id="D13-unknown"),
        pytest.param(lambda _client: "Basic !!!", id="D13-no-base64"),
        pytest.param(lambda _client: "Bearer x", id="D13-bearer"),
        pytest.param(lambda _client: "Basic", id="D13-bare"),
    ],
)
def test_a_confidential_client_has_to_prove_itself(
    header_of: Callable[[OAuthClient], str], confidential: OAuthClient, browser: Browser
) -> None:
    code = confidential.code(browser)
    sent = {"grant_type": "authorization_code", "code": code, "code_verifier": "v" * 43}
    header = header_of(confidential)
    response = confidential.post_form(TOKEN, encode_form(sent), Authorization=header)
    assert assert_refused(response) == INVALID_CLIENT
    assert response["WWW-Authenticate"] == 'Basic realm="halo-mcp"'
    assert confidential.exchange(code).status_code == 200


@pytest.mark.parametrize("client_id", [pytest.param(None, id="D13-none")])
def test_a_confidential_client_without_a_secret_is_refused(
    client_id: str | None, confidential: OAuthClient, browser: Browser
) -> None:
    code = confidential.code(browser)
    response = confidential.post_form(TOKEN, form(confidential, code))
    assert assert_refused(response) == INVALID_CLIENT
    assert response["WWW-Authenticate"] == 'Basic realm="halo-mcp"'
    assert confidential.exchange(code, client_id=client_id).status_code == 200


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param({"client_secret": "wrong"}, id="D14-two-secrets"),
        pytest.param({"client_id": "halo_client_other"}, id="D14-two-ids"),
    ],
)
def test_two_ways_of_authentication_are_refused(
    extra: dict[str, str], confidential: OAuthClient, browser: Browser
) -> None:
    code = confidential.code(browser)
    assert assert_refused(confidential.exchange(code, **extra)) == INVALID_REQUEST
    assert confidential.exchange(code, client_id=confidential.client_id).status_code == 200


@pytest.mark.parametrize(
    ("registered", "sent"),
    [
        pytest.param("client_secret_basic", "client_secret_post", id="D16-post"),
        pytest.param("client_secret_post", "client_secret_basic", id="D16-basic"),
        pytest.param("none", "client_secret_post", id="D16-public-post"),
        pytest.param("none", "client_secret_basic", id="D16-public-basic"),
    ],
)
def test_a_client_authenticates_as_it_registered(
    registered: str, sent: str, browser: Browser
) -> None:
    client = OAuthClient(auth_method=registered)
    client.register()
    code = client.code(browser)
    client.auth_method, client.secret = sent, client.secret or "anything"
    response = client.exchange(code)
    assert assert_refused(response) == INVALID_CLIENT
    named = f"token_endpoint_auth_method of this client is {registered}."
    assert named in read(response)["error_description"]
    client.auth_method = registered
    assert client.exchange(code).status_code == 200


@pytest.mark.parametrize(
    ("registered", "sent"),
    [
        pytest.param("client_secret_post", "none", id="D16-none"),
        pytest.param("client_secret_basic", "none", id="D16-basic-none"),
        pytest.param("private_key_jwt", "none", id="D16-key-none"),
        pytest.param("private_key_jwt", "client_secret_post", id="D16-key-post"),
        pytest.param("client_secret_basic", "private_key_jwt", id="D16-basic-key"),
    ],
)
def test_who_proves_nothing_does_not_read_the_method_of_the_client(
    registered: str, sent: str, browser: Browser
) -> None:
    client = OAuthClient(auth_method="client_secret_basic")
    client.register()
    code = client.code(browser)
    Client.objects.filter(client_id=client.client_id).update(auth_method=registered)
    signed = jwt.encode({"sub": client.client_id}, ec.generate_private_key(ec.SECP256R1()), "ES256")
    proof = {
        "none": {},
        "client_secret_post": {"client_secret": "guessed"},
        "private_key_jwt": {"client_assertion_type": assertions.TYPE, "client_assertion": signed},
    }[sent]
    fields = {"grant_type": "authorization_code", "code": code, "client_id": client.client_id}
    response = client.post_form(TOKEN, encode_form(fields | proof))
    assert assert_refused(response) == INVALID_CLIENT
    said = read(response)["error_description"]
    assert said.endswith("this is not the token_endpoint_auth_method of the client.")


def test_the_error_of_a_wrong_secret_does_not_name_the_method(browser: Browser) -> None:
    client = OAuthClient(auth_method="client_secret_basic")
    client.register()
    client.auth_method, client.secret = "client_secret_post", "wrong"
    said = read(client.exchange(client.code(browser)))["error_description"]
    assert said == "Client authentication failed."


def test_a_client_whose_secret_is_still_to_be_created_cannot_prove_itself(
    confidential: OAuthClient, browser: Browser
) -> None:
    Client.objects.filter(client_id=confidential.client_id).update(secret_sha256="")
    code = confidential.code(browser)
    for secret in ("anything", ""):
        confidential.secret = secret
        assert assert_refused(confidential.exchange(code)) == INVALID_CLIENT


@pytest.mark.parametrize("limit", [pytest.param("3/m", id="T10")])
def test_one_address_cannot_spend_the_share_of_another(
    limit: str, oauth_client: OAuthClient, browser: Browser, settings: Any
) -> None:
    code = oauth_client.code(browser)
    settings.HALO_RATE_TOKEN = Limit.parse(limit)
    codes = [assert_refused(oauth_client.exchange("x"))[0] for _ in range(5)]
    elsewhere = oauth_client.http.post(
        TOKEN,
        form(oauth_client, code),
        content_type="application/x-www-form-urlencoded",
        REMOTE_ADDR="198.51.100.7",
    )
    assert codes == [400, 400, 400, 429, 429]
    assert elsewhere.status_code == 200
    event = SecurityEvent.objects.get(kind="rate_limited")
    # What the process knows to be refused still is refused without a write.
    assert (event.detail, event.count) == ("token", 1)


@pytest.mark.usefixtures("db")
def test_forms_that_make_no_sense_are_counted_by_address(settings: Any) -> None:
    settings.HALO_RATE_IP = Limit.parse("2/m")
    statuses = [OAuthClient().post_form(TOKEN, "x").status_code for _ in range(3)]
    assert statuses == [400, 400, 429]
