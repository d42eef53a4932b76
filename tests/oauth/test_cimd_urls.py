"""Client ids that are URLs: which are taken, and where a fetch of one may go."""

from typing import Any

import pytest

from oauth.clients import cimd
from oauth.clients.cimd import client_url
from oauth.errors import InvalidClient

CLAUDE_CODE = "https://claude.ai/oauth/claude-code-client-metadata"


@pytest.fixture(autouse=True)
def _nothing_private(settings: Any) -> None:
    settings.HALO_CIMD_PRIVATE_HOSTS = frozenset()


@pytest.mark.parametrize(
    "client_id",
    [
        None,
        "",
        "halo_client_A1b2",
        "http://app.example/client.json",
        "HTTPS://app.example/client.json",
        " https://app.example/client.json",
        "https:/app.example/client.json",
    ],
)
def test_only_what_begins_as_an_https_url_is_looked_at_as_one(client_id: str | None) -> None:
    assert not cimd.is_metadata_url(client_id)


@pytest.mark.parametrize(
    "url",
    [
        CLAUDE_CODE,
        "https://vscode.dev/oauth/client-metadata.json",
        "https://app.example/a?version=2",
        "https://App.Example/a",
        "https://app.example:443/a",
        "https://app.example:8443/a",
        "https://xn--bcher-kva.example/a/",
        "https://app.example/" + "a" * (255 - len("https://app.example/")),
    ],
)
def test_a_url_with_a_public_host_and_a_path_is_a_client_id(url: str) -> None:
    assert cimd.is_metadata_url(url)
    client_url.check(url)


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("https://app.example", id="no-path"),
        pytest.param("https://app.example/", id="root"),
        pytest.param("https://app.example/?a=b", id="root-with-query"),
        pytest.param("https:///a", id="no-host"),
        pytest.param("https://app.example/a#b", id="fragment"),
        pytest.param("https://app.example/a#", id="empty-fragment"),
        pytest.param("https://user:pw@app.example/a", id="user-and-password"),
        pytest.param("https://@app.example/a", id="empty-user"),
        pytest.param("https://app.example/a/../b", id="two-dots"),
        pytest.param("https://app.example/./a", id="one-dot"),
        pytest.param("https://app.example/a/%2e%2E/b", id="encoded-dots"),
        pytest.param("https://app.example/a/..", id="dots-at-the-end"),
        pytest.param("https://app.example:0/a", id="port-0"),
        pytest.param("https://app.example:65536/a", id="port-too-high"),
        pytest.param("https://app.example:x/a", id="port-of-letters"),
        pytest.param("https://app.example\\@evil.example/a", id="backslash"),
        pytest.param("https://app.example/a b", id="space"),
        pytest.param("https://app.example/a\nb", id="line-break"),
        pytest.param("https://app.example/\0", id="nul"),
        pytest.param("https://app.example/\ud800", id="surrogate"),
        pytest.param("https://b\u00fccher.example/a", id="not-ascii"),
        pytest.param("https://app.example/%zz", id="bad-percent"),
        pytest.param("https://app.example./a", id="final-dot"),
        pytest.param(
            "https://app.example/" + "a" * (256 - len("https://app.example/")), id="256-characters"
        ),
    ],
)
def test_any_other_shape_is_refused_in_one_sentence(url: str) -> None:
    with pytest.raises(InvalidClient, match="must be an https URL with a host and a path"):
        client_url.check(url)


@pytest.mark.parametrize(
    "host",
    [
        pytest.param(host, id=f"B01-{host}")
        for host in (
            "127.0.0.1",
            "[::1]",
            "localhost",
            "169.254.169.254",
            "[::ffff:127.0.0.1]",
            "93.184.215.14",
            "[2606:2800:21f:cb07:6820:80da:af6b:8b2c]",
            "intranet",
            "app.localhost",
            "printer.local",
            "metadata.google.internal",
            "router.home.arpa",
            "hidden.onion",
            "a.test",
            "APP.LOCALHOST",
        )
    ],
)
def test_an_address_or_a_special_name_is_no_host_of_a_client(host: str) -> None:
    with pytest.raises(InvalidClient, match="host of the public internet"):
        client_url.check(f"https://{host}/a")


@pytest.mark.parametrize("host", ["2130706433", "0x7f.1", "127.1", "0177.0.0.1", "1.2.3.4.5"])
def test_other_spellings_of_an_address_are_no_host_at_all(host: str) -> None:
    with pytest.raises(InvalidClient, match="must be an https URL"):
        client_url.check(f"https://{host}/a")


@pytest.mark.parametrize(
    ("approved", "url"),
    [
        ("crm.internal", "https://crm.internal/a"),
        ("crm.internal", "https://CRM.internal:443/a"),
        ("crm.internal:443", "https://crm.internal/a"),
        ("crm.internal:8443", "https://crm.internal:8443/a"),
        ("127.0.0.1:8443", "https://127.0.0.1:8443/a"),
        ("[::1]:8443", "https://[::1]:8443/a"),
        ("[::1]", "https://[::1]/a"),
    ],
)
def test_an_approved_host_may_be_private_at_the_port_it_is_approved_for(
    approved: str, url: str, settings: Any
) -> None:
    settings.HALO_CIMD_PRIVATE_HOSTS = frozenset({approved})
    client_url.check(url)
    policy = client_url.policy(url)
    assert [policy.approves(host) for host in policy.allowed_private_hosts] == [True]
    assert policy.allowed_ports == {8443 if ":8443" in url else 443}


@pytest.mark.parametrize(
    ("approved", "url"),
    [
        ("crm.internal", "https://crm.internal:8443/a"),
        ("crm.internal:8443", "https://crm.internal/a"),
        ("crm.internal:8443", "https://crm.internal:9443/a"),
        ("crm.internal", "https://a.crm.internal/a"),
        ("internal", "https://crm.internal/a"),
        ("127.0.0.1", "https://localhost/a"),
    ],
)
def test_an_approval_holds_for_no_other_host_and_port(
    approved: str, url: str, settings: Any
) -> None:
    settings.HALO_CIMD_PRIVATE_HOSTS = frozenset({approved})
    with pytest.raises(InvalidClient, match="host of the public internet"):
        client_url.check(url)


@pytest.mark.parametrize("url", [CLAUDE_CODE, "https://app.example:8443/a"])
def test_the_public_internet_is_fetched_from_at_port_443_only_and_within_bounds(url: str) -> None:
    policy = client_url.policy(url)
    assert policy.https_only
    assert policy.allowed_ports == {443}
    assert policy.allowed_private_hosts == frozenset()
    assert policy.max_redirects == 0
    assert policy.max_bytes == 16_384
    assert policy.deadline < 5


def test_a_query_is_left_out_where_the_url_is_written_down() -> None:
    written = client_url.strip_query("https://app.example/a?key=s3cret")
    assert written == "https://app.example/a"
    assert client_url.strip_query(CLAUDE_CODE) == CLAUDE_CODE
