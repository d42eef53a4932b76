"""GET /authorize: what a person is shown, what is sent to the client, and what neither gets."""

from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

import pytest

from audit.models import SecurityEvent
from oauth.models import AuthorizationRequest, Client
from tests.drivers.oauth_client import (
    AUTHORIZE,
    CALLBACK,
    FORM,
    ORIGIN,
    Browser,
    OAuthClient,
    Response,
    answer,
    encode_form,
)
from tests.drivers.person import form_with
from tests.oauth.conftest import PASSWORD

CHALLENGE = "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWBuGJSstw-cM"  # RFC 7636 appendix B
LOOPBACK = "http://127.0.0.1/cb"
DEAL = "actions:hubspot:create_deal"
MANY_SCOPES = " ".join(f"actions:crm:a{number}" for number in range(5_000))
ODD_RESOURCES = (
    f" {ORIGIN}/api/mcp",
    f"{ORIGIN}/api/mcp\n",
    f"{ORIGIN}/api\t/mcp",
    f"{ORIGIN}\\@evil.example/api/mcp",
    f"{ORIGIN}/api%2fmcp",
    f"{ORIGIN}/x/../api/mcp",
    f"{ORIGIN}/api/mcp;x",
    "http://ada@127.0.0.1:8000/api/mcp",
    "http://127.1:8000/api/mcp",
    "http://localhost.:8000/api/mcp",
    "http://[::1%25lo]:8000/api/mcp",
    "http://127.0.0.1:\uff18000/api/mcp",
)


def is_page(response: Response) -> bool:
    """A page of ours with status 400 that leads nowhere and that no cache keeps."""
    return (
        response.status_code == 400
        and "Location" not in response
        and response["Content-Type"].startswith("text/html")
        and response["Cache-Control"] == "no-store"
        and "halo_ac_" not in response.content.decode()
    )


def case(name: str, **changes: Any) -> Any:
    return pytest.param(changes, id=name)


@pytest.mark.parametrize(
    "changes",
    [
        case("C01-absent", client_id=None),
        case("C01-unknown", client_id="halo_client_nobody"),
        case("C01-nul", client_id="a\0b"),
        case("C01-long", client_id="c" * 300),
        case("C01-empty", client_id=""),
        case("C02-query", redirect_uri=f"{CALLBACK}?x=1"),
        case("C02-slash", redirect_uri=f"{CALLBACK}/"),
        case("C02-dots", redirect_uri=f"{CALLBACK}/../evil"),
        case("C02-fragment", redirect_uri=f"{CALLBACK}#"),
        case("C02-parameter", redirect_uri=f"{CALLBACK};p"),
        case("C02-at-behind", redirect_uri=f"{CALLBACK}@"),
        case("C02-at", redirect_uri="https://app.example@evil.example/callback"),
        case("C02-case", redirect_uri="https://app.example/Callback"),
        case("C02-encoded", redirect_uri="https://app.example/%2fcallback"),
        case("C02-nul", redirect_uri=f"{CALLBACK}\0"),
        case("C02-empty-and-real", redirect_uri=["", CALLBACK]),
        case("C08-client", client_id=["halo_client_a", "halo_client_b"]),
        case("C08-redirect", redirect_uri=[CALLBACK, CALLBACK]),
        case("C17", prompt="none", redirect_uri="https://evil.example/cb"),
    ],
)
def test_a_request_without_a_safe_way_back_is_answered_by_a_page(
    changes: dict[str, Any], oauth_client: OAuthClient
) -> None:
    assert is_page(Browser().open(oauth_client.authorize_address(**changes)))
    assert SecurityEvent.objects.get().kind == "authorize_rejected"
    assert not AuthorizationRequest.objects.exists()


@pytest.mark.parametrize(
    "query",
    [
        pytest.param("client_id=%zz", id="C25"),
        "client_id=%ff",
        "client_id=\u00e9",
        "%",
        "=",
        "&&&",
        "client_id[]=x",
        "",
    ],
)
@pytest.mark.usefixtures("db")
def test_a_query_that_makes_no_sense_is_answered_by_a_page(query: str) -> None:
    assert is_page(Browser().http.get(AUTHORIZE, QUERY_STRING=query))


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        pytest.param({"code_challenge": None}, "invalid_request", id="C05"),
        *(
            pytest.param({"code_challenge": value}, "invalid_request", id=f"C07-{len(value)}")
            for value in ("a", CHALLENGE[:42], f"{CHALLENGE}A", CHALLENGE[:42] + "=", "+" * 43)
        ),
        pytest.param({"code_challenge_method": "plain"}, "invalid_request", id="C05-plain"),
        pytest.param({"code_challenge_method": None}, "invalid_request", id="C05-no-method"),
        pytest.param({"code_challenge": ["a", "b"]}, "invalid_request", id="C08-challenge"),
        pytest.param({"scope": ["docs:read", "docs:read"]}, "invalid_request", id="C08-scope"),
        pytest.param({"zzz": ["1", "2"]}, "invalid_request", id="C08-anything"),
        pytest.param({"response_mode": "fragment"}, "invalid_request", id="C10-fragment"),
        pytest.param({"response_mode": "form_post"}, "invalid_request", id="C10-form"),
        pytest.param({"request": "e30."}, "request_not_supported", id="C10-request"),
        pytest.param(
            {"request_uri": "http://169.254.169.254"}, "request_uri_not_supported", id="C10-uri"
        ),
        pytest.param({"response_type": None}, "invalid_request", id="no-type"),
        pytest.param({"response_type": "token"}, "unsupported_response_type", id="implicit"),
        pytest.param({"response_type": "code token"}, "unsupported_response_type", id="hybrid"),
        pytest.param({"scope": "x" * 9_000}, "invalid_scope", id="C13-long"),
        pytest.param({"scope": "docs:read " * 6_554}, "invalid_scope", id="C13-64-KB"),
        pytest.param({"scope": MANY_SCOPES}, "invalid_scope", id="C13-5000-scopes"),
        pytest.param({"resource": "https://evil.example/mcp"}, "invalid_target", id="C14-foreign"),
        pytest.param({"resource": "notauri"}, "invalid_target", id="C14-no-uri"),
        pytest.param({"resource": f"{ORIGIN}/api/mcp#f"}, "invalid_target", id="C14-fragment"),
        pytest.param({"resource": f"{ORIGIN}/api/mcp?"}, "invalid_target", id="C14-query"),
        pytest.param({"resource": f"{ORIGIN}/api"}, "invalid_target", id="C14-path"),
        pytest.param({"resource": "http://127.0.0.1:0/api/mcp"}, "invalid_target", id="C14-port"),
        pytest.param({"resource": "http://[::1"}, "invalid_target", id="C14-bracket"),
        *(
            pytest.param({"resource": odd}, "invalid_target", id=f"C14-odd-{place}")
            for place, odd in enumerate(ODD_RESOURCES)
        ),
        pytest.param(
            {"resource": [f"{ORIGIN}/api/mcp", f"{ORIGIN}/api/mcp"]}, "invalid_target", id="C14-two"
        ),
        pytest.param({"prompt": "none"}, "interaction_required", id="prompt-none"),
        pytest.param({"resource": "a\0b"}, "invalid_request", id="nul"),
    ],
)
def test_the_client_is_shown_its_own_mistakes(
    changes: dict[str, Any], error: str, oauth_client: OAuthClient
) -> None:
    sent = answer(Browser().open(oauth_client.authorize_address(**changes)))
    assert sent.pop("error_description")
    assert sent == {"error": error, "state": "st4te", "iss": ORIGIN}
    assert SecurityEvent.objects.get().detail == error
    assert not AuthorizationRequest.objects.exists()


@pytest.mark.parametrize("changes", [case("C08-state", state=["a", "b"])])
def test_a_repeated_state_is_a_mistake_too(
    changes: dict[str, Any], oauth_client: OAuthClient
) -> None:
    sent = answer(Browser().open(oauth_client.authorize_address(**changes)))
    assert (sent["error"], sent["iss"]) == ("invalid_request", ORIGIN)


@pytest.mark.parametrize(
    "state", ["a b+c&d=e%20/?#", "\u00e9\U0001f600", "{}'\"\\<script>", "s" * 2_000, "\r\nX: y"]
)
def test_a_state_comes_back_verbatim(
    state: str, oauth_client: OAuthClient, browser: Browser
) -> None:
    message = answer(browser.open(oauth_client.authorize_address(state=state, response_type="x")))
    page = browser.open(oauth_client.authorize_address(state=state))
    given = answer(browser.decide(page))
    assert message["state"] == given["state"] == state


def test_without_a_state_none_comes_back(oauth_client: OAuthClient, browser: Browser) -> None:
    page = browser.open(oauth_client.authorize_address(state=None))
    assert set(answer(browser.decide(page))) == {"code", "iss"}


def test_a_mistake_does_not_ask_anybody_to_sign_in(oauth_client: OAuthClient) -> None:
    response = Browser().open(oauth_client.authorize_address(code_challenge=None))
    assert response["Location"].startswith(CALLBACK)


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param("http://127.0.0.1:51234/cb", id="C04-port"),
        pytest.param(LOOPBACK, id="C04-same"),
    ],
)
def test_a_program_on_this_computer_chooses_its_port(asked: str, browser: Browser) -> None:
    client = OAuthClient(redirect_uri=LOOPBACK)
    client.register()
    page = browser.open(client.authorize_address(redirect_uri=asked))
    assert set(answer(browser.decide(page), asked)) == {"code", "state", "iss"}


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param("https://127.0.0.1:51234/cb", id="C04-https"),
        pytest.param("http://127.0.0.1.evil.example/cb", id="C04-suffix"),
        pytest.param("http://127.0.0.1:0/cb", id="C04-port-0"),
        pytest.param("http://127.0.0.1:99999/cb", id="C04-port-99999"),
        pytest.param("http://localhost:51234/cb", id="C04-other-name"),
        pytest.param("http://127.0.0.1:51234/other", id="C04-other-path"),
    ],
)
def test_nothing_but_the_port_may_differ(asked: str, browser: Browser) -> None:
    client = OAuthClient(redirect_uri=LOOPBACK)
    client.register()
    assert is_page(browser.open(client.authorize_address(redirect_uri=asked)))


def test_the_only_registered_redirect_need_not_be_named(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address(redirect_uri=None))
    code = answer(browser.decide(page))["code"]
    assert oauth_client.exchange(code, redirect_uri=None).status_code == 200


def test_with_two_registered_redirects_one_has_to_be_named(browser: Browser) -> None:
    client = OAuthClient()
    client.register(redirect_uris=[CALLBACK, "https://app.example/other"])
    assert is_page(browser.open(client.authorize_address(redirect_uri=None)))


@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        pytest.param("docs:read bogus setup:read", "docs:read setup:read", id="C11"),
        pytest.param(f"docs:read bogus {DEAL}", f"docs:read {DEAL}", id="C11-action"),
        pytest.param(f"docs:read {DEAL}:x", "docs:read", id="C13-too-long"),
        pytest.param("docs:read actions:*:* actions:HubSpot:*", "docs:read", id="C13-grammar"),
        pytest.param("docs:read actions:: actions:a:b:c actions:hub*:*", "docs:read", id="C13-odd"),
        pytest.param("docs:read\tdata:read setup:read", "setup:read", id="C13-tab"),
        pytest.param("docs:read\0data:read setup:read", "setup:read", id="C13-nul"),
        pytest.param("docs:read docs:read", "docs:read", id="repeated"),
        pytest.param(None, "docs:read setup:read data:read", id="default"),
        # RFC 6749 section 3.1: a parameter without a value is treated as omitted.
        pytest.param("", "docs:read setup:read data:read", id="C12-empty"),
    ],
)
def test_what_nobody_knows_is_never_granted(
    asked: str | None, granted: str, oauth_client: OAuthClient, browser: Browser
) -> None:
    page = browser.open(oauth_client.authorize_address(scope=asked))
    fields = form_with(page.content.decode(), "request").fields
    assert [value for name, value in fields if name == "scope"] == granted.split()
    assert oauth_client.connect(browser, scope=asked).scope == granted


@pytest.mark.parametrize(
    "resource",
    [
        pytest.param("HTTP://127.0.0.1:8000/api/mcp", id="C14-case"),
        pytest.param(f"{ORIGIN}/api/mcp/", id="C14-slash"),
        pytest.param("http://LOCALHOST:8000/api/mcp", id="C14-localhost"),
        pytest.param(ORIGIN, id="C14-origin"),
        None,
    ],
)
def test_this_server_is_known_under_each_of_its_names(
    resource: str | None, oauth_client: OAuthClient, browser: Browser
) -> None:
    access = oauth_client.connect(browser, resource=resource).access
    assert oauth_client.ping(access) == 200


@pytest.mark.parametrize("state", [pytest.param("a b&c=//evil.example", id="C16")])
def test_who_is_not_signed_in_comes_back_to_the_same_request(
    state: str, oauth_client: OAuthClient, acme: Any
) -> None:
    browser = Browser()
    bounce = browser.open(oauth_client.authorize_address(state=state))
    back = parse_qs(urlsplit(bounce["Location"]).query)["next"]
    assert urlsplit(bounce["Location"]).path == "/signin"
    assert back == [oauth_client.authorize_address(state=state)]
    page = browser.sign_in(bounce, "ada@acme.example", PASSWORD)
    assert answer(browser.decide(page))["state"] == state
    assert AuthorizationRequest.objects.get().user.memberships.get().organization == acme


@pytest.mark.usefixtures("acme")
def test_the_request_is_checked_again_after_signing_in(oauth_client: OAuthClient) -> None:
    browser = Browser()
    bounce = browser.open(oauth_client.authorize_address())
    Client.objects.update(redirect_uris=["https://app.example/moved"])
    assert is_page(browser.sign_in(bounce, "ada@acme.example", PASSWORD))


def test_a_disabled_client_looks_unknown(oauth_client: OAuthClient, browser: Browser) -> None:
    unknown = browser.open(oauth_client.authorize_address(client_id="halo_client_nobody"))
    Client.objects.update(disabled_at="2026-01-01T00:00:00Z")
    disabled = browser.open(oauth_client.authorize_address())
    assert is_page(disabled)
    assert b"Unknown client" in disabled.content
    assert b"Unknown client" in unknown.content


@pytest.mark.parametrize(
    "method", [pytest.param(method, id=f"C28-{method}") for method in ("HEAD", "PUT", "DELETE")]
)
@pytest.mark.usefixtures("db")
def test_the_page_has_two_methods(method: str) -> None:
    response = Browser().http.generic(method, AUTHORIZE)
    assert (response.status_code, response["Allow"]) == (405, "GET, POST")


@pytest.mark.parametrize("kind", ["text/plain", "multipart/form-data; boundary=x", ""])
def test_a_body_that_is_no_form_is_not_read(
    kind: str, oauth_client: OAuthClient, browser: Browser
) -> None:
    asked = urlsplit(oauth_client.authorize_address()).query
    assert is_page(browser.http.generic("POST", AUTHORIZE, asked, content_type=kind))
    assert not AuthorizationRequest.objects.exists()


@pytest.mark.parametrize("changes", [case("C28-POST")])
def test_a_request_may_come_by_post(
    changes: dict[str, Any], oauth_client: OAuthClient, browser: Browser
) -> None:
    query = urlsplit(oauth_client.authorize_address(**changes)).query
    page = browser.http.post(AUTHORIZE, query, content_type=FORM)
    assert set(answer(browser.decide(page))) == {"code", "state", "iss"}


def test_a_post_that_nobody_is_signed_in_for_bounces_as_a_get_would(
    oauth_client: OAuthClient,
) -> None:
    address = oauth_client.authorize_address()
    response = Browser().http.post(AUTHORIZE, urlsplit(address).query, content_type=FORM)
    assert response["Location"] == f"/signin?next={quote(address)}"


@pytest.mark.parametrize(
    "body", [b"\xff\xfe", b"{}", b"client_id=%zz", b"a=b&" * 5_000, b"x" * 100_000, b""]
)
def test_a_post_that_makes_no_sense_is_answered_by_a_page(
    body: bytes, oauth_client: OAuthClient
) -> None:
    assert is_page(oauth_client.http.post(AUTHORIZE, body, content_type=FORM))


def test_a_page_that_explains_leaves_its_reference_in_the_log(
    oauth_client: OAuthClient, caplog: pytest.LogCaptureFixture
) -> None:
    page = Browser().open(oauth_client.authorize_address(client_id="nobody"))
    reference = page.content.decode().rpartition("<code>")[2].partition("</code>")[0]
    assert len(reference) == 32
    assert reference in caplog.text


def test_parameters_the_server_does_not_know_are_ignored(
    oauth_client: OAuthClient, browser: Browser
) -> None:
    extra = encode_form(
        {"login_hint": "ada", "ui_locales": "de", "nonce": "n", "prompt": "consent"}
    )
    page = browser.open(f"{oauth_client.authorize_address()}&{extra}")
    assert set(answer(browser.decide(page))) == {"code", "state", "iss"}
