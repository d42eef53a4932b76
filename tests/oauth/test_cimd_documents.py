"""What a metadata document may say, and what it is refused for."""

import json
from typing import Any

import pytest

from oauth.clients.cimd import document
from oauth.clients.client_metadata import ClientMetadata
from oauth.errors import InvalidClient

URL = "https://app.example/client.json"
GOOD: dict[str, Any] = {
    "client_id": URL,
    "client_name": "Example Editor",
    "redirect_uris": ["https://app.example/callback"],
}

# What these clients publish, as far as it is read here.
CLAUDE_CODE: dict[str, Any] = {
    "client_id": "https://claude.ai/oauth/claude-code-client-metadata",
    "client_name": "Claude Code",
    "client_uri": "https://claude.ai",
    "redirect_uris": ["http://localhost/callback", "http://127.0.0.1/callback"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}
VS_CODE: dict[str, Any] = {
    "client_id": "https://vscode.dev/oauth/client-metadata.json",
    "client_name": "Visual Studio Code",
    "application_type": "native",
    "redirect_uris": ["http://127.0.0.1:33418/", "https://vscode.dev/redirect"],
    "grant_types": [
        "authorization_code",
        "refresh_token",
        "urn:ietf:params:oauth:grant-type:device_code",
    ],
    "response_types": ["code"],
    "token_endpoint_auth_method": "none",
}
CHATGPT: dict[str, Any] = {
    "client_id": "https://chatgpt.com/oauth/client.json",
    "client_name": "ChatGPT",
    "redirect_uris": ["https://chatgpt.com/connector_platform_oauth_redirect"],
    "grant_types": ["authorization_code", "refresh_token"],
    "response_types": ["code"],
    "token_endpoint_auth_method": "private_key_jwt",
    "token_endpoint_auth_methods_supported": ["none", "private_key_jwt"],
    "token_endpoint_auth_signing_alg": "RS256",
    "jwks_uri": "https://chatgpt.com/oauth/jwks.json",
}


def parse(published: object, url: str = URL) -> ClientMetadata:
    return document.parse(json.dumps(published).encode(), url)


def refusal(published: object) -> str:
    with pytest.raises(InvalidClient) as refused:
        parse(published)
    return refused.value.hint


def test_id_name_and_redirects_are_all_that_a_document_must_hold() -> None:
    metadata = parse(GOOD)
    assert metadata.client_name == "Example Editor"
    assert metadata.redirect_uris == ("https://app.example/callback",)
    assert metadata.token_endpoint_auth_method == "none"
    assert metadata.grant_types == ("authorization_code", "refresh_token")


@pytest.mark.parametrize(
    "published", [CLAUDE_CODE, VS_CODE, CHATGPT], ids=lambda one: str(one["client_name"])
)
def test_the_documents_of_known_clients_are_accepted_as_public_ones(
    published: dict[str, Any],
) -> None:
    metadata = parse(published, published["client_id"])
    assert metadata.client_name == published["client_name"]
    assert list(metadata.redirect_uris) == published["redirect_uris"]
    assert metadata.token_endpoint_auth_method == "none"
    assert metadata.grant_types == ("authorization_code", "refresh_token")


@pytest.mark.parametrize(
    "client_id",
    [
        pytest.param(value, id=f"B05-{value}")
        for value in (
            None,
            1,
            [URL],
            "",
            f"{URL}/",
            f"{URL}?",
            f" {URL}",
            "https://APP.example/client.json",
            "https://app.example:443/client.json",
            "https://evil.example/client.json",
        )
    ],
)
def test_a_document_must_name_its_own_address_character_by_character(client_id: object) -> None:
    assert "not its address" in refusal({**GOOD, "client_id": client_id})


@pytest.mark.parametrize(
    "name", [pytest.param(name, id=f"B05-{name!r}") for name in (None, "", "  ", "\u200b\u202e")]
)
def test_a_document_must_name_the_client(name: str | None) -> None:
    assert refusal({**GOOD, "client_name": name}) == "The metadata document holds no client_name."


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"client_name": ["a"]}, "client_name"),
        ({"client_name": "a" * 201}, "client_name"),
        ({"redirect_uris": None}, "redirect_uris"),
        ({"redirect_uris": []}, "redirect_uris"),
        ({"redirect_uris": "https://app.example/cb"}, "redirect_uris"),
        ({"redirect_uris": ["http://evil.example/cb"]}, "http is allowed for localhost"),
        ({"redirect_uris": ["https://app.example/cb", "javascript:alert(1)"]}, "javascript"),
        ({"logo_uri": "javascript:1"}, "logo_uri"),
        ({"logo_uri": "http://169.254.169.254/"}, "logo_uri"),
        ({"client_uri": "data:text/html,x"}, "client_uri"),
        ({"policy_uri": 1}, "policy_uri"),
        ({"grant_types": ["client_credentials"]}, "grant_types"),
        ({"grant_types": ["refresh_token"]}, "grant_types"),
        ({"grant_types": "authorization_code"}, "grant_types"),
        ({"response_types": ["token"]}, "response_types"),
        ({"application_type": "toaster"}, "application_type"),
        ({"scope": "docs:read " * 1000}, "scope"),
    ],
)
def test_what_a_registration_is_refused_for_a_document_is_refused_for(
    changes: dict[str, Any], named: str
) -> None:
    hint = refusal({**GOOD, **changes})
    assert hint.startswith("The metadata document cannot be accepted. ")
    assert named in hint


def test_a_refused_redirect_is_not_repeated_to_the_person() -> None:
    assert "evil" not in refusal({**GOOD, "redirect_uris": ["http://evil.example/call-us-now"]})


@pytest.mark.parametrize(
    "changes",
    [
        {"token_endpoint_auth_method": "client_secret_basic"},
        {"token_endpoint_auth_method": "client_secret_post"},
        {"token_endpoint_auth_method": "client_secret_jwt"},
        {"token_endpoint_auth_method": "private_key_jwt"},
        {"token_endpoint_auth_method": "tls_client_auth"},
        {"token_endpoint_auth_method": ["none"]},
        {"token_endpoint_auth_method": "None"},
        {"jwks_uri": "https://app.example/jwks.json"},
        {"jwks": {"keys": []}},
        {"jwks": {"keys": []}, "token_endpoint_auth_method": None},
        {
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_methods_supported": ["private_key_jwt", ["none"]],
        },
        {
            "token_endpoint_auth_method": "private_key_jwt",
            "token_endpoint_auth_methods_supported": "none",
        },
    ],
    ids=json.dumps,
)
def test_a_client_that_would_prove_itself_is_not_taken_for_a_public_one(
    changes: dict[str, Any],
) -> None:
    assert "must be none" in refusal({**GOOD, **changes})


@pytest.mark.parametrize(
    "changes",
    [
        {"token_endpoint_auth_method": "none"},
        {"token_endpoint_auth_method": None},
        {"token_endpoint_auth_method": "none", "jwks_uri": "https://app.example/jwks.json"},
        {"jwks": {"keys": []}, "token_endpoint_auth_methods_supported": ["none"]},
        {"client_secret": None},
        {"response_types": ["code", "code id_token"]},
        {"grant_types": ["authorization_code", "client_credentials"]},
    ],
    ids=json.dumps,
)
def test_what_is_only_meant_for_other_servers_is_passed_over(changes: dict[str, Any]) -> None:
    metadata = parse({**GOOD, **changes})
    assert metadata.token_endpoint_auth_method == "none"
    assert metadata.response_types == ("code",)
    assert set(metadata.grant_types) <= {"authorization_code", "refresh_token"}


@pytest.mark.parametrize("member", ["client_secret", "client_secret_expires_at"])
def test_a_document_holds_no_secret(member: str) -> None:
    assert refusal({**GOOD, member: 0}) == "A metadata document must hold no client secret."


def test_scopes_that_are_not_known_here_are_dropped() -> None:
    assert parse({**GOOD, "scope": "docs:read openid offline_access"}).scope == "docs:read"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b"[" * 8000, id="B05-nested"),
        pytest.param(b'{"a":' * 2000 + b"1" + b"}" * 2000, id="B05-nested-objects"),
        b"",
        b" ",
        b"<html></html>",
        b"\xef\xbb\xbf{}",
        b"\xff\xfe{}",
        b"{} {}",
        b'{"client_id": NaN}',
        b'{"client_id": 1e999}',
        f'{{"client_id": "https://evil.example/", "client_id": "{URL}"}}'.encode(),
    ],
)
def test_what_two_parsers_could_read_differently_is_not_json_here(body: bytes) -> None:
    with pytest.raises(InvalidClient, match="not valid JSON"):
        document.parse(body, URL)


@pytest.mark.parametrize("published", [[], "x", 1, None, True, [GOOD]])
def test_a_document_is_an_object(published: object) -> None:
    assert refusal(published) == "The metadata document is not a JSON object."
