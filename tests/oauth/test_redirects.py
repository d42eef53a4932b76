"""Redirect URIs: the policy, the match, and the words for the consent page."""

import re

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from oauth.clients import redirects
from oauth.errors import InvalidRedirectUri

APPS = frozenset({"cursor", "vscode", "claude"})
VS_CODE = (
    "http://127.0.0.1/",
    "http://127.0.0.1:33418/",
    "https://vscode.dev/redirect",
    "https://insiders.vscode.dev/redirect",
)
at_any_pace = settings(deadline=None)


@pytest.mark.parametrize(
    "uri",
    [
        *VS_CODE,
        "cursor://anysphere.cursor-mcp/oauth/callback",
        "http://localhost/callback",
        "http://127.0.0.1/callback",
        "http://[::1]:8080/cb",
        "http://localhost:3334/oauth/callback",
        "https://claude.ai/api/mcp/auth_callback",
        "https://chatgpt.com/connector/oauth/abc123",
        "https://127.0.0.1:6276/oauth/callback",
        "https://[2001:db8::1]:8443/cb",
        "https://e.example:1/cb",
        "https://e.example:65535/cb",
        "https://e.example",
        "https://e.example/cb?tenant=a&x=%2F..%2F",
        "https://e.example/a..b/...",
        "https://xn--e1afmkfd.example/cb",
        "HTTPS://E.example/cb",
    ],
)
def test_what_real_clients_register_is_accepted_from_a_web_client(uri: str) -> None:
    redirects.check(uri, app_schemes=APPS, native=False)


@pytest.mark.parametrize(
    "uri",
    [
        "javascript:alert(document.domain)",
        "JaVaScRiPt:alert(1)",
        "data:text/html,x",
        "vbscript:x",
        "file:///etc/passwd",
        "blob:https://e.example/x",
        "about:blank",
        " javascript:alert(1)",
        "\tjavascript:alert(1)",
        "\x01javascript:alert(1)",
        "java\nscript:alert(1)",
        "http://evil.example/cb",
        "http://127.0.0.1.evil.example/cb",
        "http://localhost.evil.example/cb",
        "http://127.0.0.2/cb",
        "http://127.1/cb",
        "http://2130706433/cb",
        "http://0x7f.1/cb",
        "http://[::ffff:127.0.0.1]/cb",
        "https://0x7f.1/cb",
        "https://1.2.3.400/cb",
        "https://01.2.3.4/cb",
        "https://good.example/cb https://evil.example/cb",
        "https://good.example/cb\nhttps://evil.example/cb",
        "https://good.example/cb\thttps://evil.example/cb",
        "https://good.example/cb\u00a0https://evil.example/cb",
        "https://good.example/cb\u2028https://evil.example/cb",
        "https://good.example\\@evil.example/cb",
        "https://good.example\\.evil.example/cb",
        "https://user:pw@e.example/cb",
        "https://user@e.example/cb",
        "https://@e.example/cb",
        "cursor://user@host/cb",
        "https://e.example/cb#f",
        "https://e.example/cb#",
        "cursor://host/cb#f",
        "https://e.example/a/../cb",
        "https://e.example/./cb",
        "https://e.example/..",
        "https://e.example/a/%2e%2E/cb",
        "https://e.example/a/.%2e/cb",
        "https://e.example/a%2f..%2fcb",
        "https://e.example/a%5c..%5ccb",
        "https://e.example/a/..;p=1/cb",
        "cursor://host/a/../cb",
        "https://e.example:99999/cb",
        "https://e.example:65536/cb",
        "https://e.example:0/cb",
        "https://e.example:/cb",
        "https://e.example:+80/cb",
        "https://e.example:80:80/cb",
        "http://127.0.0.1:0/cb",
        "https:///cb",
        "https:/cb",
        "https:cb",
        "https://",
        "https://.example/cb",
        "https://a..example/cb",
        "https://-a.example/cb",
        "https://*.example/cb",
        "https://e.example;x/cb",
        "https://e.example'/cb",
        "https://e%2eexample/cb",
        "https://е.example/cb",  # noqa: RUF001  a Cyrillic letter is the point
        "https://[::1/cb",
        "https://[[::1]/cb",
        "https://[127.0.0.1]/cb",
        "https://[fe80::1%25eth0]/cb",
        "https://e.example/%zz",
        "https://e.example/%4",
        "https://e.example/{x}",
        'https://e.example/"x',
        "//e.example/cb",
        "/cb",
        "e.example/cb",
        "",
        "myapp:/cb",
        "com.example.app:/cb",
        "cursor:callback",
        "ftp://e.example/cb",
        "https://e.example/" + "a" * 2_000,
    ],
)
def test_a_uri_that_could_lead_astray_is_refused_with_a_reason(uri: str) -> None:
    with pytest.raises(redirects.RefusedRedirectUri) as refused:
        redirects.check(uri, app_schemes=APPS, native=False)
    assert refused.value.uri == uri
    assert refused.value.why.endswith(".")
    assert refused.value.code == "invalid_redirect_uri"


def test_the_longest_uri_is_two_thousand_characters() -> None:
    redirects.check("https://e.example/".ljust(2_000, "a"), app_schemes=APPS, native=False)
    with pytest.raises(redirects.RefusedRedirectUri, match="at most 2000"):
        redirects.check("https://e.example/".ljust(2_001, "a"), app_schemes=APPS, native=False)


def test_a_reverse_domain_scheme_is_for_native_clients() -> None:
    redirects.check("com.example.app:/cb", app_schemes=APPS, native=True)
    for refused in ("myapp:/cb", "com.example.app:cb"):
        with pytest.raises(redirects.RefusedRedirectUri):
            redirects.check(refused, app_schemes=APPS, native=True)


@pytest.mark.parametrize("scheme", sorted(redirects.FORBIDDEN_SCHEMES))
def test_no_setting_and_no_client_makes_a_dangerous_scheme_acceptable(scheme: str) -> None:
    with pytest.raises(redirects.RefusedRedirectUri, match="is not allowed in a redirect URI"):
        redirects.check(f"{scheme}:/cb", app_schemes=APPS | {scheme}, native=True)


def test_a_url_about_the_client_is_https_and_may_carry_a_fragment() -> None:
    redirects.check_https("https://e.example/terms#privacy")
    for refused in ("http://localhost/logo.png", "javascript:1", "data:,", "https://u@e.example/"):
        with pytest.raises(InvalidRedirectUri):
            redirects.check_https(refused)


@pytest.mark.parametrize(
    ("uri", "local"),
    [
        ("http://localhost/cb", True),
        ("https://127.0.0.1:5/cb", True),
        ("cursor://anysphere.cursor-mcp/oauth/callback", True),
        ("https://claude.ai/cb", False),
        ("com.example.app:/cb", False),
    ],
)
def test_loopback_and_listed_schemes_lead_to_the_persons_device(uri: str, local: bool) -> None:  # noqa: FBT001  the table's verdict
    assert redirects.is_local(uri, app_schemes=APPS) is local


@pytest.mark.parametrize(
    ("registered", "requested"),
    [
        ("https://claude.ai/api/mcp/auth_callback", "https://claude.ai/api/mcp/auth_callback"),
        ("http://127.0.0.1/cb", "http://127.0.0.1:51234/cb"),
        ("http://127.0.0.1:33418/", "http://127.0.0.1:40000/"),
        ("http://127.0.0.1:33418/", "http://127.0.0.1/"),
        ("http://localhost/callback", "http://localhost:3118/callback"),
        ("http://[::1]/cb?a=1", "http://[::1]:9/cb?a=1"),
    ],
)
def test_a_loopback_client_chooses_its_port_and_nothing_else(
    registered: str, requested: str
) -> None:
    assert redirects.matches(["https://other.example/", registered], requested) == registered


def test_an_exact_match_wins_over_a_match_without_the_port() -> None:
    assert redirects.matches(VS_CODE, "http://127.0.0.1:33418/") == "http://127.0.0.1:33418/"


@pytest.mark.parametrize(
    "requested",
    [
        "https://e.example/cb?x=1",
        "https://e.example/cb/",
        "https://e.example/cb/../evil",
        "https://e.example/cb#",
        "https://e.example/cb;p",
        "https://e.example/cb@",
        "https://e.example/CB",
        "https://e.example/%63b",
        "https://e.example/c%2fb",
        "https://e.example:443/cb",
        "https://E.example/cb",
        "https://e.example/cb ",
        "https://e.example/cb\n",
        "http://e.example/cb",
        "https://e.example@evil.example/cb",
        "https://127.0.0.1:51234/cb",
        "http://127.0.0.1:51234/cb?x=1",
        "http://127.0.0.1:51234/cb/",
        "http://127.0.0.1:51234/cb#",
        "http://127.0.0.1:51234/cb\n",
        "http://127.0.0.1:51234/%63b",
        "http://127.0.0.1:51234",
        "http://127.0.0.1.evil.example/cb",
        "http://127.0.0.1:80@evil.example/cb",
        "http://evil.example\\@127.0.0.1/cb",
        "http://user@127.0.0.1:51234/cb",
        "http://localhost:51234/cb",
        "http://[::1]:51234/cb",
        "http://127.0.0.1:0/cb",
        "http://127.0.0.1:99999/cb",
        "http://127.0.0.1:/cb",
        "http://127.0.0.1:5x/cb",
        "",
    ],
)
def test_anything_but_the_registered_uri_finds_no_match(requested: str) -> None:
    registered = ["https://e.example/cb", "http://127.0.0.1/cb", "https://127.0.0.1/cb"]
    assert redirects.matches(registered, requested) is None


hosts = st.sampled_from(["127.0.0.1", "localhost", "[::1]", "e.example", "127.0.0.1.e.example"])
ports = st.sampled_from(["", ":1", ":80", ":51234", ":65535", ":0", ":99999", ":", ":a"])
rests = st.sampled_from(["", "/", "/cb", "/cb/", "/cb?x=1", "/cb#f", "/a/../cb", "@e.example/cb"])
uris = st.builds("{}://{}{}{}".format, st.sampled_from(["http", "https"]), hosts, ports, rests)


def is_accepted(uri: str) -> bool:
    try:
        redirects.check(uri, app_schemes=APPS, native=True)
    except redirects.RefusedRedirectUri:
        return False
    return True


@at_any_pace
@given(st.lists(uris, max_size=4), uris)
@example(["http://127.0.0.1/cb"], "http://127.0.0.1:80@e.example/cb")
def test_a_match_never_leads_to_another_host_or_path(registered: list[str], requested: str) -> None:
    found = redirects.matches(registered, requested)
    if found is not None and found != requested:
        loopback = r"http://(127\.0\.0\.1|localhost|\[::1\])(?::\d+)?((?:[/?].*)?)"
        asked, known = re.fullmatch(loopback, requested), re.fullmatch(loopback, found)
        assert asked is not None
        assert known is not None
        assert asked.groups() == known.groups()
        assert not requested.startswith(("http://127.0.0.1:0", "http://127.0.0.1:99999"))


@at_any_pace
@given(st.lists(uris.filter(is_accepted), max_size=4), uris | st.text(max_size=60))
def test_what_matches_would_itself_have_been_accepted(registered: list[str], uri: str) -> None:
    assert redirects.matches(registered, uri) is None or is_accepted(uri)


@at_any_pace
@given(uris | st.text(max_size=60))
def test_an_accepted_uri_has_a_host_to_show_and_one_source_expression(uri: str) -> None:
    if is_accepted(uri):
        assert redirects.describe(uri).display_host
        assert not set(redirects.origin_for_csp(uri)) & set(" ;,'\"*")


@pytest.mark.parametrize(
    ("uri", "kind", "host"),
    [
        ("https://Claude.ai/api/mcp/auth_callback", "web", "claude.ai"),
        ("https://e.example:8443/cb", "web", "e.example:8443"),
        ("http://127.0.0.1:33418/", "loopback", "127.0.0.1"),
        ("https://localhost:1/", "loopback", "localhost"),
        ("http://[::1]/cb", "loopback", "[::1]"),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "app", "cursor"),
        ("com.example.app:/cb", "app", "com.example.app"),
    ],
)
def test_the_consent_page_is_shown_where_the_code_goes(uri: str, kind: str, host: str) -> None:
    assert redirects.describe(uri) == (kind, host)


def test_a_web_uri_without_a_host_cannot_be_described() -> None:
    with pytest.raises(redirects.RefusedRedirectUri):
        redirects.describe("https:///cb")


@pytest.mark.parametrize(
    ("uri", "expression"),
    [
        ("https://claude.ai/api/mcp/auth_callback", "https://claude.ai"),
        ("https://e.example:8443/cb", "https://e.example:8443"),
        ("http://127.0.0.1:33418/", "http://127.0.0.1:33418"),
        ("http://localhost/cb", "http://localhost"),
        ("http://[::1]:5/cb", "http:"),
        ("https://192.0.2.1/cb", "https:"),
        ("cursor://anysphere.cursor-mcp/oauth/callback", "cursor:"),
        ("com.example.app:/cb", "com.example.app:"),
    ],
)
def test_form_action_names_what_the_browser_can_match(uri: str, expression: str) -> None:
    assert redirects.origin_for_csp(uri) == expression


@pytest.mark.parametrize(
    ("uri", "expected"),
    [
        ("https://e.example/cb", "https://e.example/cb?code=c%26d&state=a%20b%2F"),
        ("https://e.example/cb?", "https://e.example/cb?code=c%26d&state=a%20b%2F"),
        ("https://e.example/cb?x=1&y", "https://e.example/cb?x=1&y&code=c%26d&state=a%20b%2F"),
        (
            "https://e.example/cb?code=evil&x=1",
            "https://e.example/cb?x=1&code=c%26d&state=a%20b%2F",
        ),
        ("https://e.example/cb?c%6Fde=evil", "https://e.example/cb?code=c%26d&state=a%20b%2F"),
        ("com.example.app:/cb", "com.example.app:/cb?code=c%26d&state=a%20b%2F"),
    ],
)
def test_response_parameters_join_the_query_each_once(uri: str, expected: str) -> None:
    assert redirects.with_parameters(uri, [("code", "c&d"), ("state", "a b/")]) == expected
