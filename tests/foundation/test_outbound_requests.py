import socket

import pytest

from foundation.outbound import RefusedRequest, fetch


@pytest.fixture(autouse=True)
def offline(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is refused is refused before a name is looked up."""

    def look_up(*_: object, **__: object) -> None:
        pytest.fail("a name was looked up")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)


@pytest.mark.parametrize("method", ["CONNECT", "TRACE", "get", "", "GET / HTTP/1.1\r\nX: y", "GÉT"])
def test_only_known_methods_are_sent(method: str) -> None:
    with pytest.raises(RefusedRequest):
        fetch(method, "https://example.com/")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("Host", "evil.example"), ("content-length", "5"), ("Transfer-Encoding", "chunked")),
        *(("Connection", "keep-alive"), ("Proxy-Authorization", "x"), ("Accept-Encoding", "br")),
        *(("X", "a\r\nY: b"), ("X", "a\nb"), ("X", "a\x00"), ("X", " a"), ("X", "a "), ("X", "é")),
        *(("X\r\n", "a"), ("X Y", "a"), ("X:", "a"), ("", "a"), ("É", "a")),
    ],
)
def test_a_header_that_could_reframe_the_request_is_not_sent(name: str, value: str) -> None:
    with pytest.raises(RefusedRequest):
        fetch("GET", "https://example.com/", headers={name: value})
