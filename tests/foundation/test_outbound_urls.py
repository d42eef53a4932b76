import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from foundation.outbound import Policy, RefusedUrl, vet
from foundation.outbound.target import Target

at_any_pace = settings(deadline=None)

ANY_SCHEME = Policy(https_only=False)


@pytest.mark.parametrize(
    ("url", "target"),
    [
        ("https://example.com", Target("https", "example.com", 443, "/")),
        ("HTTPS://EXAMPLE.com./a?b=c", Target("https", "example.com", 443, "/a?b=c")),
        ("https://example.com:/", Target("https", "example.com", 443, "/")),
        ("https://example.com:80/", Target("https", "example.com", 80, "/")),
        ("http://example.com/%2e%2e/x", Target("http", "example.com", 80, "/%2e%2e/x")),
        ("https://8.8.8.8/", Target("https", "8.8.8.8", 443, "/")),
        ("https://[2606:4700::1111]/", Target("https", "2606:4700::1111", 443, "/")),
        ("https://xn--bcher-kva.example/", Target("https", "xn--bcher-kva.example", 443, "/")),
        (
            "https://_dmarc.a-b.example/?a[]=1",
            Target("https", "_dmarc.a-b.example", 443, "/?a[]=1"),
        ),
        ("https://1password.com/", Target("https", "1password.com", 443, "/")),
    ],
)
def test_an_ordinary_url_is_read(url: str, target: Target) -> None:
    assert Target.parse(url, ANY_SCHEME) == target


@pytest.mark.parametrize(
    "url",
    [
        *(
            "",
            "/a",
            "//example.com/a",
            "example.com",
            "https:example.com",
            "https:///a",
            "https://",
        ),
        *("file:///etc/passwd", "gopher://example.com/", "ftp://example.com/", "data:,x"),
        *("javascript:alert(1)", "ws://example.com/", "https+unix://example.com/"),
        "http://example.com/",
    ],
)
def test_only_absolute_https_urls_are_fetched(url: str) -> None:
    with pytest.raises(RefusedUrl):
        vet(url)


@pytest.mark.parametrize(
    "url",
    [
        *(
            "https://user@example.com/",
            "https://user:hunter2@example.com/",
            "https://@example.com/",
        ),
        *("https://good.example\\@evil.example/", "https://evil.example#@good.example/"),
        *("https://example.com/#f", "https://example.com/#", "https://example.com#"),
        *("https://example.com/a b", " https://example.com/", "https://example.com/\n"),
        *("https://exa\tmple.com/", "https://example.com/\x00", "https://example.com/\x7f"),
        *("https://bücher.example/", "https://example.com/ü", "https://example\u3002com/"),
        *("https://exam%70le.com/", "https://example..com/", "https://.example.com/"),
        *("https://-example.com/", "https://example-.com/", "https://exa$mple.com/"),
        *(f"https://{'a' * 64}.example/", f"https://{'a.' * 127}example/", "https://..../"),
        *(
            "https://[::1]evil.example/",
            "https://evil.example[::1]/",
            "https://[::1/",
            "https://::1/",
        ),
        *("https://[fe80::1%25eth0]/", "https://[v1.x]/", "https://[]/", "https://[127.0.0.1]/"),
        f"https://example.com/{'a' * 8192}",
    ],
)
def test_what_two_parsers_could_read_differently_is_refused(url: str) -> None:
    with pytest.raises(RefusedUrl) as caught:
        vet(url)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    "host",
    [
        *("2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "127.1", "127.0.1", "1.2.3.4.5"),
        *("0", "0x", "0X7F.0.0.1", "256.1.1.1", "1.1.1", "08.8.8.8", "4294967296", "a.1", "a.0x1"),
        "2130706433.",
    ],
)
def test_a_number_that_is_no_plain_ipv4_address_is_refused(host: str) -> None:
    with pytest.raises(RefusedUrl):
        vet(f"https://{host}/a")


@pytest.mark.parametrize(
    "port", ["0", "22", "8443", "6379", "65536", "99999", "-1", "1e2", "\uff14\uff14\uff13"]
)
def test_only_web_ports_are_reached(port: str) -> None:
    with pytest.raises(RefusedUrl):
        vet(f"https://example.com:{port}/")


def test_a_policy_may_allow_another_port() -> None:
    vet("https://example.com:8443/", policy=Policy(allowed_ports=frozenset({8443})))
    with pytest.raises(RefusedUrl):
        vet("https://example.com/", policy=Policy(allowed_ports=frozenset({8443})))


@pytest.mark.parametrize(
    ("url", "authority"),
    [
        ("https://example.com/", "example.com"),
        ("https://example.com:80/", "example.com:80"),
        ("http://example.com:443/", "example.com:443"),
        ("https://[2606:4700::1111]:80/", "[2606:4700::1111]:80"),
    ],
)
def test_the_host_header_names_the_port_unless_it_is_the_usual_one(
    url: str, authority: str
) -> None:
    assert Target.parse(url, ANY_SCHEME).authority == authority


@at_any_pace
@given(st.text(max_size=60) | st.text(max_size=60).map("https://{}".format))
def test_any_text_is_refused_or_read_to_a_url_that_reads_the_same(text: str) -> None:
    try:
        target = Target.parse(text, ANY_SCHEME)
    except RefusedUrl:
        return
    assert Target.parse(target.url, ANY_SCHEME) == target


@pytest.mark.parametrize(
    "location", ["/b", "b", "?x=1", "https://example.com/b", "/b#part", "//example.com/"]
)
def test_a_redirect_within_the_origin_is_understood(location: str) -> None:
    start = Target.parse("https://example.com/a", ANY_SCHEME)
    assert start.resolve_redirect(location, ANY_SCHEME).host == "example.com"


@pytest.mark.parametrize(
    "location",
    [
        *("http://example.com/", "https://example.com:80/", "https://www.example.com/"),
        *("http://169.254.169.254/", "//169.254.169.254/", "https://user@example.com/"),
        *("file:///etc/passwd", "https://[::1", "/a b", "\\\\evil.example", "/ü"),
    ],
)
def test_a_redirect_out_of_the_origin_is_refused(location: str) -> None:
    start = Target.parse("https://example.com/a", ANY_SCHEME)
    with pytest.raises(RefusedUrl):
        start.resolve_redirect(location, ANY_SCHEME)
