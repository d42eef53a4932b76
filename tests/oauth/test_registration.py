"""Dynamic client registration over HTTP (RFC 7591)."""

import json
from typing import Any

import pytest

from audit.models import SecurityEvent
from foundation import ids
from foundation.limits import Limit
from oauth.clients import clients
from oauth.models import Client
from tests.drivers.oauth_client import CALLBACK, REGISTER, OAuthClient, assert_refused, read

pytestmark = pytest.mark.django_db

NOT_WEB = [
    "javascript:alert(document.domain)",
    "data:text/html,x",
    "vbscript:x",
    "file:///etc/passwd",
    "blob:https://e.example/1",
    "JaVaScRiPt:alert(1)",
    " javascript:alert(1)",
    "\tjavascript:alert(1)",
    "\x01javascript:alert(1)",
]
SMUGGLED = [
    f"https://good.example/cb{gap}https://evil.example/cb" for gap in " \n\t\u00a0\u2028\x00"
]
CONFUSING = [
    "https://good.example\\@evil.example/cb",
    "https://user:pw@e.example/cb",
    "https://e.example/cb#f",
    "https://e.example/a/../cb",
    "https://e.example:99999/cb",
]
WILDCARDS = [
    "https://example.com/*",
    "https://*.example.com/cb",
    "https://example.com/cb?next=*",
    "http://localhost:*/cb",
    "cursor://anysphere/*",
]
UNSTORABLE = ["Claude\0", "\0", "Cla\ud800ude", "\udfff"]
NO_LIST: list[object] = [None, [], "https://x", [None], [1], [["https://x"]], {}]


@pytest.fixture(autouse=True)
def _room(settings: Any) -> None:
    settings.HALO_RATE_REGISTER = settings.HALO_RATE_REGISTER_ATTEMPTS = Limit.parse("100/h")


def register(**metadata: object) -> Any:
    return OAuthClient().register(**metadata)


def ids_of(case: str, values: list[Any]) -> list[Any]:
    return [pytest.param(value, id=f"{case}-{place}") for place, value in enumerate(values)]


@pytest.mark.parametrize(
    "uri",
    [
        *ids_of("A01", NOT_WEB),
        pytest.param("http://evil.example/cb", id="A02"),
        *ids_of("A04", SMUGGLED),
        *ids_of("A05", CONFUSING),
        pytest.param("myapp:/cb", id="A07"),
        *ids_of("A06", WILDCARDS),
        pytest.param("com.example.app:/cb", id="A07-not-native"),
    ],
)
def test_an_unsafe_redirect_uri_registers_nothing(uri: str) -> None:
    response = register(redirect_uris=[CALLBACK, uri])
    assert assert_refused(response) == (400, "invalid_redirect_uri")
    assert not Client.objects.exists()
    assert SecurityEvent.objects.get().kind == "register_rejected"


@pytest.mark.parametrize("uris", ids_of("A08", NO_LIST))
def test_redirect_uris_are_a_list_of_strings(uris: object) -> None:
    assert assert_refused(register(redirect_uris=uris)) == (400, "invalid_redirect_uri")


@pytest.mark.parametrize("count", [pytest.param(11, id="A09")])
def test_a_client_registers_at_most_ten_redirect_uris(count: int) -> None:
    uris = [f"https://app.example/{number}" for number in range(count)]
    response = register(redirect_uris=uris)
    assert assert_refused(response) == (400, "invalid_redirect_uri")
    assert "at most 10 URIs" in read(response)["error_description"]
    assert register(redirect_uris=uris[:10]).status_code == 201


@pytest.mark.parametrize("member", ids_of("A15", ["client_name", "scope", "software_id"]))
@pytest.mark.parametrize("text", UNSTORABLE, ids=ascii)
def test_text_that_cannot_be_stored_is_refused_and_the_member_named(member: str, text: str) -> None:
    response = register(**{member: text})
    assert assert_refused(response) == (400, "invalid_client_metadata")
    assert member in read(response)["error_description"]
    assert assert_refused(register(contacts=[text])) == (400, "invalid_client_metadata")
    assert assert_refused(register(redirect_uris=[CALLBACK + text])) == (
        400,
        "invalid_redirect_uri",
    )
    assert not Client.objects.exists()


def test_spec18_no_error_shows_a_python_value() -> None:
    wrong: list[dict[str, Any]] = [
        {"response_types": ["token"]},
        {"grant_types": ["password"]},
        {"contacts": {"a": 1}},
        {"application_type": ["web"]},
        {"token_endpoint_auth_method": None, "scope": 7},
        {"logo_uri": "http://a.example/"},
    ]
    message = [read(register(**members))["error_description"] for members in wrong]
    assert message[0] == "response_types must contain code."
    assert not [text for text in message if set(text) & set("[]{}'")]


@pytest.mark.parametrize(
    "redirect_uri",
    [pytest.param("com.example.app:/cb", id="A07-dotted"), "cursor://anysphere/cb"],
)
def test_an_app_registers_a_scheme_of_its_own(redirect_uri: str) -> None:
    response = register(redirect_uris=[redirect_uri], application_type="native")
    assert response.status_code == 201
    assert Client.objects.get().is_native


@pytest.mark.parametrize(
    "metadata",
    [
        *ids_of(
            "A10",
            [
                {"grant_types": ["implicit"]},
                {"grant_types": ["password"]},
                {"grant_types": ["client_credentials"]},
                {"grant_types": ["urn:ietf:params:oauth:grant-type:device_code"]},
            ],
        ),
        *ids_of("A11", [{"response_types": ["token"]}, {"grant_types": ["refresh_token"]}]),
        *ids_of(
            "A14", [{"client_name": n} for n in (["a"], {"a": 1}, 1, "n" * 300, f"{' ' * 1_000}n")]
        ),
        *ids_of(
            "A17",
            [
                {"logo_uri": "javascript:1"},
                {"client_uri": "data:text/html,x"},
                {"logo_uri": "http://169.254.169.254/"},
                {"jwks_uri": "http://localhost/jwks"},
            ],
        ),
    ],
)
def test_metadata_this_server_cannot_honour_is_refused(metadata: dict[str, Any]) -> None:
    assert assert_refused(register(**metadata)) == (400, "invalid_client_metadata")
    assert not Client.objects.exists()


@pytest.mark.parametrize(
    "method", [pytest.param("client_secret_post", id="A13"), "client_secret_basic"]
)
def test_a_secret_is_shown_once_and_only_its_hash_is_kept(method: str) -> None:
    response = register(token_endpoint_auth_method=method)
    body, row = read(response), Client.objects.get()
    assert response["Cache-Control"] == "no-store"
    assert body["token_endpoint_auth_method"] == method
    assert body["client_secret_expires_at"] == 0
    assert body["client_id_issued_at"] == int(row.created.timestamp())
    assert row.secret_sha256 == ids.sha256_hex(body["client_secret"])
    columns = {field.name: str(getattr(row, field.attname)) for field in row._meta.concrete_fields}
    assert not [name for name, value in columns.items() if body["client_secret"] in value]


def test_a_public_client_gets_no_secret() -> None:
    body = read(register())
    assert body["token_endpoint_auth_method"] == "none"
    assert not {"client_secret", "client_secret_expires_at"} & set(body)


def test_an_answer_is_not_cached_and_holds_no_null() -> None:
    response = register(logo_uri=None, client_uri="", contacts=[])
    assert response.status_code == 201
    assert response["Cache-Control"] == "no-store"
    assert response["Pragma"] == "no-cache"
    assert None not in read(response).values()


@pytest.mark.parametrize("name", ids_of("A14", [None, "", "\u202e", "  "]))
def test_a_client_without_a_name_is_called_unnamed(name: str | None) -> None:
    body = read(
        OAuthClient().post_json(REGISTER, {"client_name": name, "redirect_uris": [CALLBACK]})
    )
    assert body["client_name"] == "Unnamed client"


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        pytest.param("Claude\u202egpj.exe", "Claudegpj.exe", id="A16-bidi"),
        pytest.param("Cla\u200bude", "Claude", id="A16-zero-width"),
        pytest.param("\uff23laude", "Claude", id="A16-compatibility"),
        pytest.param("\u0421laude", "\u0421laude", id="A16-homoglyph"),
        pytest.param("<script>", "<script>", id="A16-markup"),
    ],
)
def test_a_name_keeps_no_character_that_nobody_sees(given: str, kept: str) -> None:
    register(client_name=given)
    assert Client.objects.get().name == kept


def test_what_a_client_says_of_itself_is_stored_and_never_fetched() -> None:
    body = read(register(logo_uri="https://cdn.example/logo.png", jwks_uri="https://a.example/j"))
    assert body["logo_uri"] == "https://cdn.example/logo.png"
    assert Client.objects.get().metadata["jwks_uri"] == "https://a.example/j"


@pytest.mark.parametrize("scope", [pytest.param("actions:* admin:root ../../x", id="A23")])
def test_scopes_nobody_knows_are_not_registered(scope: str) -> None:
    assert read(register(scope=scope))["scope"] == "actions:*"


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        (b"", "application/json"),
        (b"{", "application/json"),
        (b"[]", "application/json"),
        (b"null", "application/json"),
        (b"\xff\xfe", "application/json"),
        (b'{"a":1,"a":2}', "application/json"),
        (b"[" * 8000, "application/json"),
        (b'{"client_name": NaN}', "application/json"),
        (b"{}", "text/plain"),
        (b"redirect_uris=https://a.example/", "application/x-www-form-urlencoded"),
        (b"", "multipart/form-data; boundary=x"),
    ],
)
def test_a_body_that_is_no_json_object_is_refused(body: bytes, content_type: str) -> None:
    response = OAuthClient().http.post(REGISTER, body, content_type=content_type)
    assert assert_refused(response) == (400, "invalid_client_metadata")


def test_a_body_of_64_kib_is_read_and_one_byte_more_is_not() -> None:
    document = json.dumps({"redirect_uris": [CALLBACK]}).encode()
    full = document.ljust(65_536)
    post = OAuthClient().http.post
    assert post(REGISTER, full, content_type="application/json").status_code == 201
    over = post(REGISTER, full + b" ", content_type="application/json")
    assert assert_refused(over) == (413, "invalid_request")


@pytest.mark.parametrize("length", ["-1", "\u00b2", "1e3", "9" * 5_000])
def test_a_length_that_is_no_number_is_refused(length: str) -> None:
    response = OAuthClient().http.post(
        REGISTER, b"{}", content_type="application/json", CONTENT_LENGTH=length
    )
    assert response.status_code in {400, 413}


@pytest.mark.parametrize("limit", [pytest.param("10/h", id="A19")])
def test_the_eleventh_registration_of_an_hour_is_refused(limit: str, settings: Any) -> None:
    settings.HALO_RATE_REGISTER = Limit.parse(limit)
    assert [register().status_code for _ in range(10)] == [201] * 10
    over = register()
    elsewhere = OAuthClient().http.post(
        REGISTER,
        json.dumps({"redirect_uris": [CALLBACK]}),
        content_type="application/json",
        REMOTE_ADDR="198.51.100.7",
    )
    assert assert_refused(over) == (429, "temporarily_unavailable")
    assert 0 < int(over["Retry-After"]) <= 3_600
    assert (over["X-RateLimit-Limit"], over["X-RateLimit-Remaining"]) == ("10", "0")
    assert int(over["X-RateLimit-Reset"]) > Client.objects.latest("created").created.timestamp()
    assert Client.objects.count() == 11
    assert SecurityEvent.objects.get().kind == "rate_limited"
    assert elsewhere.status_code == 201


def test_spec6_a_refused_registration_uses_up_nothing_of_the_limit(settings: Any) -> None:
    settings.HALO_RATE_REGISTER = Limit.parse("2/h")
    refusals = [register(redirect_uris=None).status_code for _ in range(5)]
    made = [register().status_code for _ in range(3)]
    assert (refusals, made) == ([400] * 5, [201, 201, 429])
    assert register(redirect_uris=None).status_code == 400


def test_spec6_attempts_have_a_limit_of_their_own(settings: Any) -> None:
    settings.HALO_RATE_REGISTER_ATTEMPTS = Limit.parse("3/h")
    statuses = [register(redirect_uris=None).status_code for _ in range(4)]
    over = register()
    assert (statuses, over.status_code) == ([400, 400, 400, 429], 429)
    assert 0 < int(over["Retry-After"]) <= 3_600
    assert over["X-RateLimit-Limit"] == "3"
    assert not Client.objects.exists()
    events = SecurityEvent.objects.values_list("kind", "detail")
    assert ("rate_limited", "register_attempt") in events


@pytest.mark.parametrize("limited", ["HALO_RATE_REGISTER", "HALO_RATE_REGISTER_ATTEMPTS"])
def test_spec6_beyond_a_limit_nothing_is_hashed_and_no_row_is_written(
    limited: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    setattr(settings, limited, Limit.parse("1/h"))
    assert register().status_code == 201
    hashed: list[str] = []
    monkeypatch.setattr(clients.ids, "sha256_hex", hashed.append)
    assert register(token_endpoint_auth_method="client_secret_basic").status_code == 429
    assert (hashed, Client.objects.count()) == ([], 1)


def test_spec6_a_registration_that_fails_in_the_database_is_not_counted(
    settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.HALO_RATE_REGISTER = Limit.parse("1/h")
    with monkeypatch.context() as broken:
        broken.setattr(clients, "register", fail)
        with pytest.raises(ConnectionError):
            register()
    assert [register().status_code for _ in range(2)] == [201, 429]


def fail(*_given: object, **_named: object) -> None:
    raise ConnectionError("no row was written")


@pytest.mark.parametrize(
    "method", [pytest.param("GET", id="A20-get"), "HEAD", "PUT", "PATCH", "DELETE"]
)
def test_only_post_registers(method: str) -> None:
    response = OAuthClient().http.generic(method, REGISTER)
    assert (response.status_code, response["Allow"]) == (405, "POST, OPTIONS")


@pytest.mark.parametrize("method", ids_of("A20", ["GET", "PUT", "DELETE"]))
def test_a_registration_cannot_be_managed_afterwards(method: str) -> None:
    client = OAuthClient()
    body = read(client.register())
    assert not {"registration_access_token", "registration_client_uri"} & set(body)
    assert client.http.generic(method, f"{REGISTER}/{client.client_id}").status_code == 404
