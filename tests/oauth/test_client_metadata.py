"""What a client may say of itself, and what a registration answers."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oauth.clients.client_metadata import ClientMetadata, registration_reply
from oauth.errors import InvalidClientMetadata, InvalidRedirectUri, OAuthError

APPS = frozenset({"cursor", "vscode", "claude"})
URLS = ("client_uri", "logo_uri", "tos_uri", "policy_uri", "jwks_uri")
at_any_pace = settings(deadline=None)


def storable_text(max_size: int) -> st.SearchStrategy[str]:
    return st.text(
        st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=max_size
    )


def parse(**members: object) -> ClientMetadata:
    document = {"redirect_uris": ["https://claude.ai/api/mcp/auth_callback"], **members}
    return ClientMetadata.parse(document, app_schemes=APPS)


def test_a_redirect_uri_is_all_that_a_client_must_say() -> None:
    metadata = parse()
    assert metadata.redirect_uris == ("https://claude.ai/api/mcp/auth_callback",)
    assert metadata.client_name == "Unnamed client"
    assert metadata.token_endpoint_auth_method == "client_secret_basic"
    assert metadata.application_type == "web"
    assert metadata.grant_types == ("authorization_code", "refresh_token")
    assert metadata.response_types == ("code",)
    assert not metadata.is_native


def test_cursor_registers_its_three_redirects_as_a_web_application() -> None:
    uris = [
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "http://localhost:8787/callback",
        "https://www.cursor.com/agents/mcp/oauth/callback",
    ]
    metadata = parse(
        redirect_uris=uris,
        application_type="web",
        client_name="Cursor",
        token_endpoint_auth_method="none",
        grant_types=["authorization_code", "refresh_token"],
        response_types=["code"],
    )
    assert list(metadata.redirect_uris) == uris
    assert metadata.is_native
    assert "is_native" not in metadata.members()


@pytest.mark.parametrize(
    "redirect_uris", [None, [], "https://x.example/", {}, [None], [1], [["https://x.example/"]]]
)
def test_redirect_uris_are_a_list_of_at_least_one_text(redirect_uris: object) -> None:
    with pytest.raises(InvalidRedirectUri, match="redirect_uris"):
        parse(redirect_uris=redirect_uris)
    with pytest.raises(InvalidRedirectUri, match="redirect_uris"):
        ClientMetadata.parse({}, app_schemes=APPS)


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(document.domain)",
        "http://evil.example/cb",
        "https://good.example/cb https://evil.example/cb",
        "https://good.example\\@evil.example/cb",
        "https://e.example:99999/cb",
        "myapp:/cb",
    ],
)
def test_one_bad_uri_is_named_and_the_good_one_next_to_it_is_not_kept(uri: str) -> None:
    with pytest.raises(InvalidRedirectUri) as refused:
        parse(redirect_uris=["https://good.example/cb", uri])
    assert refused.value.uri == uri
    assert refused.value.body()["error"] == "invalid_redirect_uri"


def test_a09_a_client_has_at_most_ten_redirect_uris() -> None:
    uris = [f"https://e.example/{number}" for number in range(11)]
    assert len(parse(redirect_uris=uris[:10]).redirect_uris) == 10
    with pytest.raises(InvalidRedirectUri, match="at most 10"):
        parse(redirect_uris=uris)


def test_a_reverse_domain_scheme_needs_a_client_that_is_native() -> None:
    app = "com.example.app:/cb"
    assert parse(redirect_uris=[app], application_type="native").is_native
    assert parse(redirect_uris=[app, "http://127.0.0.1/cb"]).is_native
    with pytest.raises(InvalidRedirectUri):
        parse(redirect_uris=[app], application_type="web")
    with pytest.raises(InvalidRedirectUri):
        parse(redirect_uris=["myapp:/cb"], application_type="native")


@pytest.mark.parametrize(
    ("given_name", "shown"),
    [
        (None, "Unnamed client"),
        ("", "Unnamed client"),
        (" \u200b\n", "Unnamed client"),
        ("  Claude\tCode\n", "Claude Code"),
        ("Claude\u202egpj.exe", "Claudegpj.exe"),
        ("Cla\u200bude\ufeff\u2066", "Claude"),
        ("Claude\u2028Code", "Claude Code"),
        ("Claude\U000e0041", "Claude"),
        ("\uff23\uff4c\uff41\uff55\uff44\uff45", "Claude"),
        ("Сlaude", "Сlaude"),  # noqa: RUF001  a homoglyph is kept: the page calls it unverified
        ("<script>", "<script>"),
        ("a" * 200, "a" * 200),
    ],
)
def test_a_name_is_one_line_without_what_nobody_sees(given_name: object, shown: str) -> None:
    assert parse(client_name=given_name).client_name == shown


@at_any_pace
@given(storable_text(60))
def test_a_cleaned_name_is_stable_and_free_of_control_characters(name: str) -> None:
    shown = parse(client_name=name).client_name
    assert parse(client_name=shown).client_name == shown
    assert not {unicodedata.category(char) for char in shown} & {"Cc", "Cf", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("member", "value"),
    [
        ("client_name", ["a"]),
        ("client_name", {"a": 1}),
        ("client_name", 1),
        ("client_name", False),
        ("client_name", "a" * 201),
        ("client_name", "\ufdfa" * 20),  # NFKC makes eighteen characters of each
        ("grant_types", ["implicit"]),
        ("grant_types", ["client_credentials"]),
        ("grant_types", ["urn:ietf:params:oauth:grant-type:device_code"]),
        ("grant_types", ["refresh_token"]),
        ("grant_types", []),
        ("grant_types", "authorization_code"),
        ("grant_types", [["authorization_code"]]),
        ("response_types", ["token"]),
        ("response_types", []),
        ("response_types", "code"),
        ("token_endpoint_auth_method", "private_key_jwt"),
        ("token_endpoint_auth_method", "client_secret_jwt"),
        ("token_endpoint_auth_method", ["none"]),
        ("token_endpoint_auth_method", ""),
        ("application_type", "desktop"),
        ("application_type", 5),
        ("contacts", "me@e.example"),
        ("contacts", [1]),
        ("contacts", ["a"] * 33),
        ("contacts", ["a\0"]),
        ("client_name", "Claude\0"),
        ("client_name", "Cla\ud800ude"),
        ("scope", ["docs:read"]),
        ("scope", "docs:read\0"),
        ("software_id", 7),
        ("software_id", "a" * 201),
        ("software_version", {"major": 1}),
        ("software_version", "1\ud800"),
        *((url, "http://169.254.169.254/") for url in URLS),
        *((url, "javascript:1") for url in URLS),
        *((url, ["https://e.example/"]) for url in URLS),
        ("client_uri", "data:text/html,x"),
        ("client_uri", "http://localhost/"),
        ("logo_uri", "https://user@e.example/logo.png"),
        ("logo_uri", "https://e.example/a b.png"),
        ("logo_uri", "https:///logo.png"),
    ],
)
def test_a_member_that_cannot_be_accepted_is_named(member: str, value: object) -> None:
    with pytest.raises(InvalidClientMetadata) as refused:
        parse(**{member: value})
    assert member in refused.value.hint
    assert refused.value.body()["error"] == "invalid_client_metadata"


def test_a_scope_longer_than_the_cap_is_invalid_metadata() -> None:
    with pytest.raises(InvalidClientMetadata, match="longer than 8192"):
        parse(scope="x" * 8_193)


def test_an_unsupported_method_is_answered_with_the_supported_ones() -> None:
    with pytest.raises(InvalidClientMetadata) as refused:
        parse(token_endpoint_auth_method="private_key_jwt")
    for method in ("none", "client_secret_basic", "client_secret_post"):
        assert method in refused.value.hint


@pytest.mark.parametrize("document", [None, [], "{}", 5, True])
def test_metadata_is_a_json_object(document: object) -> None:
    with pytest.raises(InvalidClientMetadata, match="JSON object"):
        ClientMetadata.parse(document, app_schemes=APPS)


@pytest.mark.parametrize(
    "member",
    [
        *URLS,
        "application_type",
        "contacts",
        "grant_types",
        "response_types",
        "scope",
        "software_id",
        "token_endpoint_auth_method",
    ],
)
def test_null_says_as_little_as_silence(member: str) -> None:
    assert parse(**{member: None}) == parse()


@pytest.mark.parametrize("member", [*URLS, "scope", "software_id", "software_version"])
def test_an_empty_text_says_as_little_as_silence(member: str) -> None:
    assert parse(**{member: ""}) == parse()


def test_urls_about_the_client_are_kept_as_written() -> None:
    urls = {member: f"https://e.example/{member}#top" for member in URLS}
    metadata = parse(**urls)
    assert {member: getattr(metadata, member) for member in URLS} == urls


def test_the_registered_scope_holds_known_scopes_only() -> None:
    assert parse(scope="actions:* admin:root ../../x offline_access").scope == "actions:*"
    assert parse(scope="offline_access").scope == ""


def test_unknown_members_are_ignored() -> None:
    assert parse(jwks={"keys": []}, client_id="mine", is_native=True, nonsense=[{}]) == parse()


def test_a_public_client_is_sent_its_id_and_no_nulls() -> None:
    metadata = parse(token_endpoint_auth_method="none", client_name="Claude", scope="docs:read x")
    reply = registration_reply(metadata, client_id="c1", issued_at=1_700_000_000, secret=None)
    assert reply == {
        "client_id": "c1",
        "client_id_issued_at": 1_700_000_000,
        "redirect_uris": ["https://claude.ai/api/mcp/auth_callback"],
        "client_name": "Claude",
        "application_type": "web",
        "token_endpoint_auth_method": "none",
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "scope": "docs:read",
    }


def test_a_secret_is_answered_with_an_expiry_of_never() -> None:
    metadata = parse(token_endpoint_auth_method="client_secret_post")
    reply = registration_reply(metadata, client_id="c1", issued_at=1, secret="hush")
    assert reply["token_endpoint_auth_method"] == "client_secret_post"
    assert reply["client_secret"] == "hush"
    assert reply["client_secret_expires_at"] == 0
    assert "registration_access_token" not in reply


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=8,
)
plausible: dict[str, st.SearchStrategy[Any]] = {
    "redirect_uris": st.just(["http://127.0.0.1/cb", "https://e.example/cb"]),
    "client_name": storable_text(30),
    "grant_types": st.permutations(["authorization_code", "refresh_token"]),
    "scope": st.sampled_from(["docs:read", "actions:* x", ""]),
    "contacts": st.lists(st.sampled_from(["a@e.example", "b"]), max_size=2),
    "tos_uri": st.sampled_from(["https://e.example/tos", ""]),
    "software_id": st.sampled_from(["s", None]),
}
documents = st.fixed_dictionaries(
    {}, optional={member: value | json_values for member, value in plausible.items()}
)


@at_any_pace
@given(documents | json_values)
def test_any_json_is_accepted_or_refused_by_one_of_two_codes(document: object) -> None:
    try:
        ClientMetadata.parse(document, app_schemes=APPS)
    except OAuthError as refused:
        code = refused.code
    else:
        code = "accepted"
    assert code in {"accepted", "invalid_client_metadata", "invalid_redirect_uri"}


@at_any_pace
@given(st.fixed_dictionaries(plausible))
def test_what_was_registered_reads_back_as_the_same_metadata(document: dict[str, Any]) -> None:
    metadata = ClientMetadata.parse(document, app_schemes=APPS)
    members = metadata.members()
    assert ClientMetadata.parse(members, app_schemes=APPS) == metadata
    assert None not in members.values()


@pytest.mark.parametrize(
    "surplus",
    [
        "urn:ietf:params:oauth:grant-type:device_code",
        "client_credentials",
        "implicit",
        "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "password",
    ],
)
def test_p6_grants_that_are_not_supported_are_dropped(surplus: str) -> None:
    metadata = parse(
        grant_types=["authorization_code", "refresh_token", surplus],
        response_types=["code", "token"],
    )
    assert metadata.grant_types == ("authorization_code", "refresh_token")
    assert metadata.response_types == ("code",)
