import gzip
import re
import socket
import threading
import time
import traceback
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler
from typing import Any, Protocol

import pytest

from foundation.outbound import (
    OutboundError,
    OutboundReply,
    Policy,
    RefusedRedirect,
    ResponseTooLarge,
    TimedOut,
    Unreachable,
    fetch,
    lookup,
)
from foundation.outbound.deadline import Deadline
from foundation.outbound.wire import Pinned, Wire

Answer = Callable[[BaseHTTPRequestHandler], None]

CAP = 1000


class FetchedSite(Protocol):
    port: int
    seen: list[tuple[str, str, dict[str, str], bytes]]
    answers: dict[str, Answer]

    def url(self, path: str, host: str = ...) -> str: ...

    def policy(self, **changes: Any) -> Policy: ...


def raw(*pieces: bytes, pause: float = 0) -> Answer:
    """Answer with these bytes and hang up; a client that has gone away is no error.

    A pause is the pace of a slow answer, which no single read is too long for.
    """

    def answer(handler: BaseHTTPRequestHandler) -> None:
        for piece in pieces:
            handler.wfile.write(piece)
            handler.wfile.flush()
            time.sleep(pause)  # no event: the pace of the answer

    return answer


def ok(body: bytes, *headers: str) -> Answer:
    head = "\r\n".join(["HTTP/1.1 200 OK", f"Content-Length: {len(body)}", *headers, "", ""])
    return raw(head.encode("latin-1") + body)


def redirect(location: str, status: int = 302) -> Answer:
    head = f"HTTP/1.1 {status} Moved\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n"
    return raw(head.encode("latin-1"))


def test_a_reply_brings_status_headers_body_and_url(site: FetchedSite) -> None:
    site.answers["/a?b=c"] = ok(b"{}", "Content-Type: application/json", "X-Two: 1", "X-Two: 2")
    reply = fetch("GET", site.url("/a?b=c"), policy=site.policy())
    assert (reply.status, reply.body, reply.url) == (200, b"{}", site.url("/a?b=c"))
    assert (reply.headers["content-type"], reply.headers["x-two"]) == ("application/json", "1, 2")


def test_a_path_is_sent_with_what_is_behind_its_semicolon(site: FetchedSite) -> None:
    site.answers["/a/;v=1;w=2?b=c"] = ok(b"matrix")
    reply = fetch("GET", site.url("/a/;v=1;w=2?b=c"), policy=site.policy())
    assert (reply.status, reply.body) == (200, b"matrix")


def test_a_request_carries_our_headers_and_the_callers(site: FetchedSite) -> None:
    site.answers["/a"] = ok(b"")
    fetch(
        "POST",
        site.url("/a"),
        headers={"Authorization": "Bearer x", "Content-Type": "application/json"},
        body=b'{"n": 1}',
        policy=site.policy(user_agent="tester/2"),
    )
    [(method, _, headers, body)] = site.seen
    assert (method, body) == ("POST", b'{"n": 1}')
    assert headers == {
        "host": f"127.0.0.1:{site.port}",
        "user-agent": "tester/2",
        "accept-encoding": "gzip",
        "connection": "close",
        "authorization": "Bearer x",
        "content-type": "application/json",
        "content-length": "8",
    }


@pytest.mark.parametrize(
    ("method", "length"), [("POST", "0"), ("PUT", "0"), ("GET", None), ("DELETE", None)]
)
def test_an_empty_body_is_announced_where_one_is_expected(
    site: FetchedSite, method: str, length: str | None
) -> None:
    site.answers["/a"] = ok(b"")
    fetch(method, site.url("/a"), policy=site.policy())
    assert site.seen[0][2].get("content-length") == length


def test_an_error_status_is_an_answer_too(site: FetchedSite) -> None:
    site.answers["/a"] = raw(b"HTTP/1.1 503 Busy\r\nContent-Length: 4\r\n\r\nbusy")
    reply = fetch("GET", site.url("/a"), policy=site.policy())
    assert (reply.status, reply.body) == (503, b"busy")


def test_a_head_request_and_an_empty_answer_have_no_body(site: FetchedSite) -> None:
    site.answers["/a"] = raw(
        b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\nContent-Encoding: gzip\r\n\r\n"
    )
    site.answers["/b"] = raw(b"HTTP/1.1 204 No Content\r\n\r\n")
    assert fetch("HEAD", site.url("/a"), policy=site.policy()).body == b""
    assert fetch("GET", site.url("/b"), policy=site.policy()).body == b""


def test_a_reply_shows_only_its_status(site: FetchedSite) -> None:
    site.answers["/a?token=hunter2"] = ok(b"hunter2", "X-Secret: hunter2")
    reply = fetch("GET", site.url("/a?token=hunter2"), policy=site.policy())
    assert repr(reply) == "OutboundReply(status=200)"


def test_neither_cookies_nor_proxies_are_picked_up(
    site: FetchedSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    site.answers["/a"] = ok(b"", "Set-Cookie: a=b; Path=/")
    for _ in range(2):
        assert fetch("GET", site.url("/a"), policy=site.policy()).status == 200
    assert all("cookie" not in headers for _, _, headers, _ in site.seen)


def test_a_name_is_resolved_once_and_its_address_pinned(
    site: FetchedSite, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    names["crm.internal"] = ["127.0.0.1"]
    site.answers["/a"] = redirect("/b")
    site.answers["/b"] = ok(b"here")
    asked: list[str] = []
    resolve = socket.getaddrinfo

    def listen(host: str, *rest: Any, **more: Any) -> Any:
        asked.append(host)
        return resolve(host, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", listen)
    policy = site.policy(allowed_private_hosts=frozenset({"CRM.internal"}), max_redirects=1)
    reply = fetch("GET", site.url("/a", "crm.internal"), policy=policy)
    assert (reply.body, reply.url) == (b"here", site.url("/b", "crm.internal"))
    assert asked.count("crm.internal") == 1
    assert [seen[2]["host"] for seen in site.seen] == [f"crm.internal:{site.port}"] * 2


def test_the_next_address_is_tried_when_one_takes_no_connection(
    site: FetchedSite, names: dict[str, list[str]]
) -> None:
    names["crm.internal"] = ["127.9.9.9", "127.0.0.1"]
    site.answers["/a"] = ok(b"here")
    policy = site.policy(allowed_private_hosts=frozenset({"crm.internal"}))
    assert fetch("GET", site.url("/a", "crm.internal"), policy=policy).body == b"here"


def test_a_redirect_is_not_followed_unless_asked_for(site: FetchedSite) -> None:
    site.answers["/a"] = redirect("/b")
    assert fetch("GET", site.url("/a"), policy=site.policy()).status == 302
    assert len(site.seen) == 1


def test_redirects_are_followed_as_often_as_allowed(site: FetchedSite) -> None:
    site.answers.update({"/1": redirect("/2"), "/2": redirect("3#x", 308), "/3": ok(b"end")})
    for enough in (2, 5):
        reply = fetch("GET", site.url("/1"), policy=site.policy(max_redirects=enough))
        assert (reply.body, reply.url) == (b"end", site.url("/3"))
    reply = fetch("GET", site.url("/1"), policy=site.policy(max_redirects=1))
    assert (reply.status, reply.url) == (308, site.url("/2"))


@pytest.mark.parametrize(
    "location",
    ["http://169.254.169.254/latest", "http://localhost:{port}/b", "https://127.0.0.1/b"],
)
def test_a_redirect_elsewhere_is_refused(site: FetchedSite, location: str) -> None:
    site.answers["/a"] = redirect(location.format(port=site.port))
    with pytest.raises(RefusedRedirect) as refused:
        fetch("GET", site.url("/a"), policy=site.policy(max_redirects=5))
    assert refused.value.status == 302
    assert refused.value.headers["location"] == location.format(port=site.port)
    assert len(site.seen) == 1


def test_a_write_is_never_repeated_at_another_place(site: FetchedSite) -> None:
    site.answers["/a"] = redirect("/b", 307)
    assert fetch("POST", site.url("/a"), policy=site.policy(max_redirects=5)).status == 307
    assert len(site.seen) == 1


@pytest.mark.parametrize(
    "answer",
    [
        ok(b"x" * (CAP + 1)),
        raw(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x" * 100] * 11),
        raw(
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n",
            *[b"64\r\n" + b"x" * 100 + b"\r\n"] * 11,
        ),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000000\r\n\r\n", *[b"x" * 65_536] * 9),
        ok(gzip.compress(b"x" * (CAP + 1)), "Content-Encoding: gzip"),
        ok(gzip.compress(bytes(500_000)), "Content-Encoding: x-gzip"),
    ],
    ids=["declared", "undeclared", "chunked", "a gigabyte", "gzip", "bomb"],
)
def test_an_answer_over_the_cap_is_cut_off(site: FetchedSite, answer: Answer) -> None:
    site.answers["/a"] = answer
    with pytest.raises(ResponseTooLarge):
        fetch("GET", site.url("/a"), policy=site.policy(max_bytes=CAP))


@pytest.mark.parametrize("coding", ["identity", "gzip", "GZIP"])
def test_an_answer_of_exactly_the_cap_comes_through(site: FetchedSite, coding: str) -> None:
    body = b"x" * CAP
    sent = body if coding == "identity" else gzip.compress(body)
    site.answers["/a"] = ok(sent, f"Content-Encoding: {coding}")
    assert fetch("GET", site.url("/a"), policy=site.policy(max_bytes=CAP)).body == body


@pytest.mark.parametrize(
    "answer",
    [
        ok(gzip.compress(b"x" * 500)[:-9], "Content-Encoding: gzip"),
        ok(gzip.compress(b"x") + b"more", "Content-Encoding: gzip"),
        ok(b"plain", "Content-Encoding: gzip"),
        ok(b"x", "Content-Encoding: br"),
        ok(gzip.compress(gzip.compress(b"x")), "Content-Encoding: gzip, gzip"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nshort"),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxx"),
        raw(b"HTTP/1.1 200 OK\r\nX: " + b"x" * 200_000 + b"\r\n\r\n"),
        raw(b"SSH-2.0-OpenSSH_9.2\r\n"),
        raw(b""),
    ],
    ids=["cut", "tail", "not gzip", "br", "twice", "short", "lengths", "head", "ssh", "nothing"],
)
def test_an_answer_that_is_not_proper_http_is_no_answer(site: FetchedSite, answer: Answer) -> None:
    site.answers["/a"] = answer
    with pytest.raises(Unreachable):
        fetch("GET", site.url("/a"), policy=site.policy())


@pytest.mark.parametrize(
    "answer",
    [
        raw(b"HTTP/1.1 200 OK\r\n\r\n", *[b"x"] * 200, pause=0.02),
        raw(b"HTTP/1.1 200 OK\r\n", *[b"X: x\r\n"] * 200, pause=0.02),
        raw(*[b"HTTP/1.1 100 Continue\r\n\r\n"] * 200, pause=0.02),
    ],
    ids=["body", "head", "interim answers"],
)
def test_a_dripping_answer_ends_at_the_deadline(site: FetchedSite, answer: Answer) -> None:
    site.answers["/a"] = answer
    with pytest.raises(TimedOut):
        fetch("GET", site.url("/a"), policy=site.policy(read_timeout=10, deadline=0.2))


def test_a_silent_server_runs_into_the_read_timeout(site: FetchedSite) -> None:
    gone = threading.Event()

    def say_nothing(_: BaseHTTPRequestHandler) -> None:
        gone.wait(30)

    site.answers["/a"] = say_nothing
    try:
        with pytest.raises(TimedOut, match="respond in time"):
            fetch("GET", site.url("/a"), policy=site.policy(read_timeout=0.1))
    finally:
        gone.set()


def test_a_server_that_stops_reading_runs_into_the_deadline() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(TimedOut):
        Wire(ours, Deadline("crm.internal", 0.1)).write(bytes(50_000_000))


def test_no_step_begins_after_the_deadline() -> None:
    with pytest.raises(TimedOut, match=r"^crm\.internal: it did not respond in time$"):
        Deadline("crm.internal", 0).seconds_left(10)


def test_an_early_refusal_is_read_although_the_body_was_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours, theirs = socket.socketpair()
    monkeypatch.setattr(Pinned, "_connect", lambda self, *_: Wire(ours, self._deadline))
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\n\r\nno")
        theirs.close()
        policy = Policy(https_only=False, allowed_private_hosts=frozenset({"127.0.0.1"}))
        reply = fetch("POST", "http://127.0.0.1/", body=b"never read", policy=policy)
    assert (reply.status, reply.body) == (413, b"no")


def test_a_name_that_does_not_resolve_is_unreachable(names: dict[str, list[str]]) -> None:
    names["nowhere.example"] = []
    with pytest.raises(Unreachable, match=r"^nowhere\.example: "):
        fetch("GET", "https://nowhere.example/")


def test_a_slow_name_server_cannot_outlast_the_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    gone, lookups = threading.Event(), list[threading.Thread]()

    def stall(*_: Any, **__: Any) -> list[Any]:
        lookups.append(threading.current_thread())
        gone.wait(30)
        return []

    monkeypatch.setattr(socket, "getaddrinfo", stall)
    try:
        with pytest.raises(TimedOut, match="not resolved in time"):
            fetch("GET", "https://slow.example/", policy=Policy(deadline=0.1))
    finally:
        gone.set()
        for each in lookups:  # it gives its place back, which the next test must not get
            each.join()


def test_lookups_that_linger_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lookup, "_lookups", threading.BoundedSemaphore(1))
    lookup._lookups.acquire()
    with pytest.raises(TimedOut, match="too many"):
        fetch("GET", "https://slow.example/", policy=Policy(deadline=0.1))


def test_a_lookup_that_cannot_start_gives_its_place_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(lookup, "_lookups", threading.BoundedSemaphore(1))
    for _ in range(2):
        with pytest.raises(Unreachable, match="no thread is free"):
            fetch("GET", "https://slow.example/")


def test_a_closed_port_is_unreachable(site: FetchedSite) -> None:
    policy = site.policy(allowed_ports=frozenset({1}))
    with pytest.raises(Unreachable, match=r"^127\.0\.0\.1: the connection failed$"):
        fetch("GET", "http://127.0.0.1:1/", policy=policy)


@pytest.mark.parametrize(
    "answer", [raw(b"hunter2\r\n\r\n"), redirect("/?hunter2 x"), ok(b"x" * 2000)]
)
def test_an_error_names_the_host_and_no_secret(site: FetchedSite, answer: Answer) -> None:
    site.answers["/?key=hunter2"] = answer
    policy = site.policy(max_bytes=CAP, max_redirects=1)
    headers = {"Authorization": "Bearer hunter2"}
    with pytest.raises(OutboundError) as caught:
        fetch("GET", site.url("/?key=hunter2"), headers=headers, policy=policy)
    assert re.match(r"127\.0\.0\.1: ", str(caught.value))
    assert "hunter2" not in "".join(traceback.format_exception_only(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_a_reply_keeps_the_body_as_bytes(site: FetchedSite) -> None:
    site.answers["/a"] = ok(bytes(range(256)))
    reply: OutboundReply = fetch("GET", site.url("/a"), policy=site.policy())
    assert reply.body == bytes(range(256))
