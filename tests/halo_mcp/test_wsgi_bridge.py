"""The bridge from ASGI to WSGI, called as a server calls it."""

import asyncio
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from halo_mcp.server.wsgi_bridge import (
    CHUNK_BYTES,
    MAX_MEMORY_BYTES,
    MAX_UPLOADS,
    OwnThreads,
    WsgiBridge,
)
from tests.drivers.asgi import Wire, exchange, scope_of

TIMEOUT = 20


class Body:
    """A WSGI iterable that counts how often it was closed."""

    def __init__(self, parts: Iterable[bytes]) -> None:
        self.parts = parts
        self.closed = 0

    def __iter__(self) -> Iterator[bytes]:
        return iter(self.parts)

    def close(self) -> None:
        self.closed += 1


def replying(body: Iterable[bytes], status: str = "200 OK", *headers: tuple[str, str]) -> Any:
    def application(_environ: Any, start_response: Any) -> Iterable[bytes]:
        start_response(status, [("Content-Type", "text/plain"), *headers])
        return body

    return application


def bridge(application: Any, **options: Any) -> WsgiBridge:
    return WsgiBridge(application, **{"threads": 1, "max_body": 1000, **options})


def get(application: Any, method: str = "GET") -> Wire:
    return exchange(bridge(application), scope_of(method, []))


@pytest.mark.parametrize("size", [0, 1, CHUNK_BYTES, CHUNK_BYTES + 1, 2 * MAX_MEMORY_BYTES + 1])
def test_a_body_of_any_size_arrives_whole_with_its_length(size: int) -> None:
    body = Body([b"x" * (size // 2), b"x" * (size - size // 2)])
    wire = get(replying(body))
    assert (wire.status, wire.body == b"x" * size) == (200, True)
    assert wire.headers["content-length"] == str(size)
    assert body.closed == 1


def test_head_declares_the_length_of_get_and_sends_nothing() -> None:
    wire = get(replying([b"four"]), "HEAD")
    assert (wire.headers["content-length"], wire.body) == ("4", b"")


def test_head_keeps_a_length_that_the_application_declares() -> None:
    wire = get(replying([], "200 OK", ("Content-Length", "42")), "HEAD")
    assert (wire.headers["content-length"], wire.body) == ("42", b"")


@pytest.mark.parametrize("status", ["204 No Content", "304 Not Modified"])
def test_a_response_without_a_body_has_no_length(status: str) -> None:
    wire = get(replying([], status))
    assert "content-length" not in wire.headers
    assert wire.body == b""


def test_an_application_that_fails_before_its_response_is_a_500() -> None:
    def failing(_environ: Any, _start_response: Any) -> list[bytes]:
        raise RuntimeError("broken")

    assert get(failing).status == 500


def test_an_application_that_fails_within_its_body_is_a_500_and_its_body_is_closed() -> None:
    def parts() -> Iterator[bytes]:
        yield b"begun"
        raise SystemExit

    body = Body(parts())
    wire = get(replying(body))
    assert (wire.status, wire.body) == (500, b"Internal Server Error\n")
    assert body.closed == 1


def test_an_application_that_never_starts_a_response_is_a_500() -> None:
    assert get(lambda _environ, _start_response: []).status == 500


def test_an_error_may_replace_a_response_that_was_started() -> None:
    def application(_environ: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("X-First", "1")])
        start_response("503 Unavailable", [("X-Second", "2")], (RuntimeError, None, None))
        return [b"sorry"]

    wire = get(application)
    assert wire.status == 503
    assert "x-first" not in wire.headers


def test_the_environment_says_what_the_request_was() -> None:
    seen: dict[str, Any] = {}

    def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
        seen.update(environ, body=environ["wsgi.input"].read())
        start_response("200 OK", [])
        return []

    headers = [
        ("Host", "example.com"),
        ("Content-Type", "text/plain"),
        ("Transfer-Encoding", "chunked"),
        ("Cookie", "a=1"),
        ("Cookie", "b=2"),
        ("X-Note", "caf\xe9"),
        ("X-Note", "two"),
    ]
    scope = scope_of("POST", headers, query="q=%41\xff", client=("192.0.2.7", 1234))
    scope |= {
        "path": "/app/caf\u00e9",
        "root_path": "/app",
        "scheme": "https",
        "server": ("198.51.100.1", 8443),
    }
    exchange(bridge(application), scope, [b"one ", b"two"])

    expected = {
        "REQUEST_METHOD": "POST",
        "SCRIPT_NAME": "/app",
        "PATH_INFO": "/caf\xc3\xa9",
        "QUERY_STRING": "q=%41\xff",
        "CONTENT_TYPE": "text/plain",
        "CONTENT_LENGTH": "7",
        "HTTP_HOST": "example.com",
        "HTTP_COOKIE": "a=1; b=2",
        "HTTP_X_NOTE": "caf\xe9,two",
        "REMOTE_ADDR": "192.0.2.7",
        "SERVER_NAME": "198.51.100.1",
        "SERVER_PORT": "8443",
        "wsgi.url_scheme": "https",
        "body": b"one two",
    }
    assert {name: seen[name] for name in expected} == expected
    assert "HTTP_TRANSFER_ENCODING" not in seen


class Holding:
    """An application whose requests wait until they are released, but for those of `/own/`."""

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.begun = threading.Event()
        self.released = threading.Event()

    def __call__(self, environ: dict[str, Any], start_response: Any) -> list[bytes]:
        self.paths.append(environ["PATH_INFO"])
        self.begun.set()
        assert environ["PATH_INFO"].startswith("/own/") or self.released.wait(TIMEOUT)
        start_response("200 OK", [])
        return [b"done"]


Sender = Callable[[str], "asyncio.Task[Wire]"]


def run_at_once(
    application: Holding, act: Callable[[Sender, WsgiBridge], Any], **options: Any
) -> None:
    """Run `act` with a way to send requests that do not wait for each other."""

    async def run() -> None:
        app = bridge(application, **options)
        running: list[asyncio.Task[Wire]] = []

        async def one(path: str, wire: Wire) -> Wire:
            await app({**scope_of("GET", []), "path": path}, wire.receive, wire.send)
            return wire

        def send(path: str) -> asyncio.Task[Wire]:
            wire = Wire(ends="gone" if path == "/gone" else "whole")
            running.append(asyncio.ensure_future(one(path, wire)))
            return running[-1]

        try:
            await act(send, app)
        finally:
            application.released.set()
            await asyncio.gather(*running)
            app.close()

    asyncio.run(run())


def test_c1_a_queued_request_whose_client_has_left_is_not_run() -> None:
    application = Holding()

    async def act(send: Sender, _app: WsgiBridge) -> None:
        first = send("/first")
        await asyncio.to_thread(application.begun.wait, TIMEOUT)
        gone = await asyncio.wait_for(send("/gone"), TIMEOUT)
        assert gone.status == 0
        last = send("/last")
        application.released.set()
        assert [(await task).status for task in (first, last)] == [200, 200]

    run_at_once(application, act)
    assert application.paths == ["/first", "/last"]


def test_c1_more_than_may_queue_is_refused_at_once() -> None:
    application = Holding()

    async def act(send: Sender, _app: WsgiBridge) -> None:
        kept = [send("/kept"), send("/kept")]
        await asyncio.to_thread(application.begun.wait, TIMEOUT)
        refused = await asyncio.wait_for(send("/refused"), TIMEOUT)
        assert (refused.status, refused.headers["connection"]) == (503, "close")
        application.released.set()
        assert [(await task).status for task in kept] == [200, 200]

    run_at_once(application, act, max_queued=1)


def test_u10_a_path_with_threads_of_its_own_waits_for_no_other_path() -> None:
    application = Holding()
    own = OwnThreads("own", 1, re.compile("/own/.*"))

    async def act(send: Sender, _app: WsgiBridge) -> None:
        kept = [send("/kept"), send("/kept")]
        await asyncio.to_thread(application.begun.wait, TIMEOUT)
        assert (await asyncio.wait_for(send("/refused"), TIMEOUT)).status == 503
        assert (await asyncio.wait_for(send("/own/path"), TIMEOUT)).status == 200
        application.released.set()
        assert [(await task).status for task in kept] == [200, 200]

    run_at_once(application, act, max_queued=1, apart=[own])


@pytest.mark.parametrize(
    ("cookies", "status"),
    [
        (["sid=ada"], 429),
        (["other=1; sid=ada ", "more=sid=bob"], 429),
        (["sid=bob", "sid=ada"], 429),
        (['sid="ada"'], 429),
        (['sid="\\141da"'], 429),
        (["sid=ada; sid=bob"], 200),
        (["xsid=ada; sid=bob"], 200),
        ([], 200),
    ],
)
def test_u10_a_session_has_few_requests_where_that_is_limited(
    cookies: list[str], status: int
) -> None:
    application = Holding()
    own = OwnThreads("own", 2, re.compile("/(?:own/)?limited"), of_session=1)

    async def run() -> None:
        app = bridge(application, apart=[own], session_cookie="sid")

        async def get(path: str, *cookies: str) -> int | None:
            wire = Wire()
            scope = scope_of("GET", [("Cookie", one) for one in cookies], path=path)
            await app(scope, wire.receive, wire.send)
            return wire.status

        first = asyncio.ensure_future(get("/limited", "sid=ada"))
        await asyncio.to_thread(application.begun.wait, TIMEOUT)
        assert await get("/own/limited", *cookies) == status
        assert await get("/own/another", *cookies) == 200
        application.released.set()
        assert await first == 200
        assert await get("/own/limited", *cookies) == 200
        app.close()

    asyncio.run(run())


@pytest.mark.parametrize("error", [OSError, RuntimeError])
def test_c1_an_error_while_sending_means_that_the_client_has_left(error: type[Exception]) -> None:
    body = Body([b"x"])

    async def send(_event: Any) -> None:
        raise error("the handler is closed")

    async def run() -> None:
        app = bridge(replying(body))
        await app(scope_of("GET", []), Wire().receive, send)
        app.close()

    asyncio.run(run())
    assert body.closed == 1


@pytest.mark.parametrize(
    ("path", "size", "status"),
    [("/upload", 3000, 200), ("/upload", 3001, 413), ("/page", 1001, 413), ("/page", 1000, 200)],
)
def test_only_pages_of_uploads_accept_larger_bodies(path: str, size: int, status: int) -> None:
    app = bridge(replying([b"done"]), uploads={"/upload": 3000})
    scope = scope_of("PUT", [("Content-Length", str(size))], path=path)
    assert exchange(app, scope, [b"x" * size]).status == status


def test_uploads_above_their_number_are_refused_at_once() -> None:
    app = bridge(replying([b"done"]), uploads={"/upload": 3000})
    app._running_uploads = MAX_UPLOADS
    scope = scope_of("PUT", [("Content-Length", "3000")], path="/upload")
    assert exchange(app, scope, [b"x" * 3000]).status == 503
