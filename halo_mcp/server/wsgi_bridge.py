"""Runs a WSGI application behind an ASGI server; no thread ever waits for a client.

A request body is read on the event loop before the application starts. A thread of a bounded pool
then runs the application to its end and collects the response, and the event loop sends what was
collected. Clients that send or read slowly, or leave early, hold memory but never a thread.

Source: PEP 3333; ASGI specification, "HTTP & WebSocket".
"""

import asyncio
import contextvars
import io
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import IO, Any, Final, TypeAlias
from wsgiref.util import FileWrapper

import structlog
from django.http import HttpResponse, parse_cookie

from foundation.asgi import Bodies, Disconnected, Receive, RequestBody, Scope, Send
from foundation.concurrency.concurrency_limit import ConcurrencyLimit, ConcurrencyLimitReached
from foundation.concurrency.thread_pool import ThreadPool
from foundation.headers import combine_repeated

log = structlog.get_logger(__name__)

Environ: TypeAlias = dict[str, Any]
RawHeaders: TypeAlias = list[tuple[bytes, bytes]]
StartResponse: TypeAlias = Callable[..., Callable[[bytes], object]]
WsgiApplication: TypeAlias = Callable[[Environ, StartResponse], Iterable[bytes]]

# A response is kept in memory up to this size, and in a temporary file beyond it.
MAX_MEMORY_BYTES: Final = 1_048_576
# The server waits for the client before each chunk, so this bounds what it buffers in addition.
CHUNK_BYTES: Final = 65_536
# Requests that may wait for a thread. More are refused with 503.
MAX_QUEUED: Final = 1000
# These never have a body (RFC 9110 sections 15.3.5 and 15.4.5).
BODYLESS: Final = frozenset({204, 304})

TOO_SLOW: Final = (408, b"The request body did not arrive in time.\n")
# Uploads of more than `max_body` bytes at a time: each is in memory as a whole.
MAX_UPLOADS: Final = 4
NO_UPLOADS: Final[Mapping[str, int]] = MappingProxyType({})
MAX_DIGITS: Final = 15
TOO_LARGE: Final = (413, b"The request body is too large.\n")
# The paths of programs, which read the response as JSON.
PROGRAMS: Final = "/api/"
TOO_LARGE_JSON: Final = (
    413,
    b'{"error": "payload_too_large", "reason": "The request body is too large."}',
    b"application/json",
)
TOO_MANY: Final = (429, b"Too many requests at the same time. Try again in a moment.\n")
FAILED: Final = (500, b"Internal Server Error\n")
OVERLOADED: Final = (503, b"The server is overloaded. Try again later.\n")
OVERLOADED_SECONDS: Final = b"5"


@dataclass(frozen=True, slots=True)
class OwnThreads:
    """Threads for the paths that match, so that no other path can hold them.

    `of_session` is how many requests with the same session cookie may run or wait there.
    """

    name: str
    threads: int
    paths: re.Pattern[str]
    of_session: int | None = None


class WsgiBridge:
    """An ASGI application that runs `application` in at most `threads` threads.

    Paths of `apart` have threads of their own. Bodies have at most `max_body` bytes and arrive
    within `seconds`. `uploads` permits more bytes for the paths of uploads, of which `MAX_UPLOADS`
    run at a time. `overloaded` makes the refusal of a path while too many requests wait, None for a
    text. Pages of every origin may read the refusals of paths that match `cross_origin`;
    the application sets headers of its own.
    """

    def __init__(
        self,
        application: WsgiApplication,
        *,
        threads: int,
        max_body: int,
        seconds: float = 30,
        max_queued: int = MAX_QUEUED,
        apart: Sequence[OwnThreads] = (),
        uploads: Mapping[str, int] = NO_UPLOADS,
        overloaded: Callable[[str], HttpResponse | None] = lambda _path: None,
        cross_origin: re.Pattern[str] | None = None,
        session_cookie: str = "",
    ) -> None:
        self._application = application
        self._uploads = uploads
        self._overloaded = overloaded
        self._cross_origin = cross_origin
        self._running_uploads = 0
        self._max_body = max_body
        self._bodies = Bodies(seconds)
        rest = OwnThreads("rest", threads, re.compile(""))
        self._rest = _Threads(rest, max_queued)
        self._apart = [(own.paths, _Threads(own, max_queued)) for own in apart]
        self._session_cookie = session_cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        body = RequestBody(self._bodies, receive)
        try:
            response = await self._response(scope, body, receive)
        except Disconnected:
            return
        with closing(response):
            await _send(send, response, body, is_head=scope["method"] == "HEAD")

    def end(self) -> None:
        """Stop waiting for request bodies soon, because the server is about to stop."""
        self._bodies.hurry()

    def close(self) -> None:
        """Stop the threads; requests that still wait for one are dropped."""
        for threads in (self._rest, *(threads for _paths, threads in self._apart)):
            threads.pool.close()

    async def _response(self, scope: Scope, body: RequestBody, receive: Receive) -> "_Response":
        """The response to send, a refusal included. Raises Disconnected."""
        sessions = self._threads_of(scope["path"]).sessions
        session = self._session_of(scope) if sessions else ""
        if not sessions or not session:
            return await self._response_within_uploads(scope, body, receive)
        try:
            with sessions.hold(session):
                return await self._response_within_uploads(scope, body, receive)
        except ConcurrencyLimitReached:
            return self._refusal_response(scope, *TOO_MANY)

    async def _response_within_uploads(
        self, scope: Scope, body: RequestBody, receive: Receive
    ) -> "_Response":
        max_upload = self._uploads.get(scope["path"])
        if max_upload is None or _declared_length(scope) <= self._max_body:
            return await self._response_within(self._max_body, scope, body, receive)
        if self._running_uploads >= MAX_UPLOADS:
            return self._overload_response(scope)
        self._running_uploads += 1
        try:
            return await self._response_within(max_upload, scope, body, receive)
        finally:
            self._running_uploads -= 1

    async def _response_within(
        self, max_body: int, scope: Scope, body: RequestBody, receive: Receive
    ) -> "_Response":
        too_large = TOO_LARGE_JSON if scope["path"].startswith(PROGRAMS) else TOO_LARGE
        if _declared_length(scope) > max_body:
            return self._refusal_response(scope, *too_large)
        try:
            sent = await body.read(max_body + 1)
        except TimeoutError:
            return self._refusal_response(scope, *TOO_SLOW)
        if len(sent) > max_body:
            return self._refusal_response(scope, *too_large)
        threads = self._threads_of(scope["path"])
        if threads.unfinished >= threads.max_unfinished:
            return self._overload_response(scope)
        return await self._run(threads, _environ(scope, sent), receive)

    def _threads_of(self, path: str) -> "_Threads":
        return next((own for paths, own in self._apart if paths.fullmatch(path)), self._rest)

    def _session_of(self, scope: Scope) -> str:
        """The session cookie as Django reads it, whatever else is sent."""
        cookies = [value for name, value in scope["headers"] if name == b"cookie"]
        return parse_cookie(b"; ".join(cookies).decode("latin-1")).get(self._session_cookie, "")

    def _overload_response(self, scope: Scope) -> "_Response":
        form = self._overloaded(scope["path"])
        if form is None:
            response = self._refusal_response(scope, *OVERLOADED)
            response.headers.append((b"retry-after", OVERLOADED_SECONDS))
            return response
        media_type = form["Content-Type"].encode("latin-1")
        response = self._refusal_response(scope, form.status_code, form.content, media_type)
        response.headers.append((b"retry-after", form["Retry-After"].encode("latin-1")))
        return response

    def _refusal_response(self, scope: Scope, *refusal: Any) -> "_Response":
        """A refusal before the application; without this header a browser hides it from a page."""
        response = _refusal(*refusal)
        if self._cross_origin and self._cross_origin.match(scope["path"]):
            response.headers.append((b"access-control-allow-origin", b"*"))
        return response

    async def _run(self, threads: "_Threads", environ: Environ, receive: Receive) -> "_Response":
        """Run the application in a thread. Raises Disconnected if the client left before."""
        owner = environ.get("HTTP_AUTHORIZATION") or environ.get("HTTP_COOKIE")
        collect = partial(_collect, self._application, environ)
        work = threads.pool.submit(collect, owner=owner or environ.get("REMOTE_ADDR"))
        # Watching for the disconnect costs a task, so only a request that has to wait gets one.
        is_queued = threads.unfinished >= threads.size
        watch = asyncio.ensure_future(_cancel_on_disconnect(work, receive)) if is_queued else None
        threads.unfinished += 1
        try:
            return await work
        except asyncio.CancelledError:
            if watch is not None and watch.done():
                raise Disconnected from None
            raise
        finally:
            threads.unfinished -= 1
            if watch is not None:
                watch.cancel()


class _Threads:
    """A pool of threads, and how many requests it has not finished."""

    def __init__(self, own: OwnThreads, max_queued: int) -> None:
        self.pool = ThreadPool(own.threads, f"wsgi_{own.name}")
        self.size = own.threads
        self.max_unfinished = own.threads + max_queued
        self.unfinished = 0
        self.sessions = ConcurrencyLimit(per_key=own.of_session) if own.of_session else None


async def _cancel_on_disconnect(work: "asyncio.Future[_Response]", receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    work.cancel()


class _Response:
    """A collected response. `close` it to remove its temporary file."""

    def __init__(self, status: int = 0, headers: RawHeaders | None = None) -> None:
        self.status = status
        self.headers: RawHeaders = headers or []
        self.length = 0
        # Whether it was made ahead of the application, maybe before all of the request was read.
        self.is_refusal = False
        self._body: IO[bytes] = tempfile.SpooledTemporaryFile(  # noqa: SIM115  `close` does it
            MAX_MEMORY_BYTES
        )

    def close(self) -> None:
        self._body.close()

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], None]:
        """WSGI's `start_response`. Nothing is sent yet, so an error may replace what it set."""
        if self.status and exc_info is None:
            raise AssertionError("start_response was called twice.")
        self.status = int(status.split(" ", 1)[0])
        self.headers = [
            (name.strip().lower().encode("latin-1"), value.strip().encode("latin-1"))
            for name, value in headers
        ]
        return self.write

    def write(self, data: bytes) -> None:
        self._body.write(data)
        self.length += len(data)

    def chunks(self) -> Iterator[bytes]:
        self._body.seek(0)
        return iter(partial(self._body.read, CHUNK_BYTES), b"")

    def has_header(self, name: bytes) -> bool:
        return any(key == name for key, _ in self.headers)

    def set_length(self, *, is_head: bool) -> None:
        """Send the length that was counted, unless the response has none.

        The response to HEAD may declare the length of what GET returns (RFC 9110 section 8.6).
        """
        if self.status in BODYLESS or (is_head and self.has_header(b"content-length")):
            return
        self.headers = [pair for pair in self.headers if pair[0] != b"content-length"]
        self.headers.append((b"content-length", b"%d" % self.length))


class _FileWrapper(FileWrapper):
    """Reads a file in large blocks; Django's own are 4 KB."""

    def __init__(self, file: IO[bytes], _block_size: int = 0) -> None:
        super().__init__(file, CHUNK_BYTES)


def _collect(application: WsgiApplication, environ: Environ) -> _Response:
    """The application's response, or a plain 500 if it failed; runs in a thread."""
    # In a context of its own, so that no request sees what another one left in the thread's.
    return contextvars.copy_context().run(_collect_here, application, environ)


def _collect_here(application: WsgiApplication, environ: Environ) -> _Response:
    response = _Response()
    try:
        _fill(response, application, environ)
    except (Exception, SystemExit):
        # Nothing was sent yet, so an error can still be reported. A library that calls sys.exit()
        # must not end the thread.
        log.exception("wsgi_application_failed", path=environ["PATH_INFO"])
        response.close()
        response = _refusal(*FAILED)
    response.set_length(is_head=environ["REQUEST_METHOD"] == "HEAD")
    return response


def _fill(response: _Response, application: WsgiApplication, environ: Environ) -> None:
    body = application(environ, response.start)
    try:
        for data in body:
            response.write(data)
    finally:
        getattr(body, "close", lambda: None)()  # exactly once (PEP 3333)
    if not response.status:
        raise AssertionError("The application did not call start_response.")


async def _send(send: Send, response: _Response, request: RequestBody, *, is_head: bool) -> None:
    """Send a response; every send error means that the client has left.

    uvloop raises RuntimeError for a connection that is closed; ASGI allows OSError.
    """
    start = {
        "type": "http.response.start",
        "status": response.status,
        "headers": response.headers,
    }
    try:
        await send(start)
        if not is_head and response.status not in BODYLESS:
            for chunk in response.chunks():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        if response.is_refusal:
            await request.discard()
        await send({"type": "http.response.body", "body": b""})
    except (OSError, RuntimeError) as error:
        log.info("response_not_sent", error=str(error))


def _declared_length(scope: Scope) -> int:
    """The declared length of a body; a number with very many digits counts as very large."""
    declared = dict(scope["headers"]).get(b"content-length", b"0")
    return int(declared[:MAX_DIGITS])


def _refusal(
    status: int, text: bytes, media_type: bytes = b"text/plain; charset=utf-8"
) -> _Response:
    headers = [
        (b"content-type", media_type),
        (b"content-length", b"%d" % len(text)),
        # The rest of the request body may still arrive, so no other request can follow.
        (b"connection", b"close"),
    ]
    response = _Response(status, headers)
    response.is_refusal = True
    response.write(text)
    return response


def _environ(scope: Scope, body: bytes) -> Environ:
    """The WSGI environment of a request whose body is complete (PEP 3333, "environ Variables")."""
    root = _wsgi_text(scope.get("root_path", ""))
    server = scope.get("server") or ("localhost", 80)
    client = scope.get("client") or ("", 0)
    return {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": root,
        "PATH_INFO": _wsgi_text(scope["path"]).removeprefix(root),
        "QUERY_STRING": scope.get("query_string", b"").decode("latin-1"),
        "SERVER_PROTOCOL": f"HTTP/{scope.get('http_version', '1.1')}",
        "SERVER_NAME": server[0],
        "SERVER_PORT": str(server[1] or 0),
        "REMOTE_ADDR": client[0],
        "REMOTE_PORT": str(client[1]),
        "CONTENT_LENGTH": str(len(body)),
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope.get("scheme", "http"),
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.file_wrapper": _FileWrapper,
        "wsgi.multithread": True,
        "wsgi.multiprocess": True,
        "wsgi.run_once": False,
        **_header_variables(scope["headers"]),
    }


def _header_variables(headers: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    """The headers under their CGI names; repeated ones are joined as WSGI servers do.

    Names with an underscore are left out: CGI spells `X_Forwarded_For` like `X-Forwarded-For`, so
    one that a client made up would join what a trusted proxy sent (RFC 3875 section 4.1.18).
    """
    # The body has been decoded, and CONTENT_LENGTH is counted.
    fields = [
        (name.decode("latin-1"), value.decode("latin-1"))
        for name, value in headers
        if b"_" not in name and name not in {b"content-length", b"transfer-encoding"}
    ]
    return {_variable(name): value for name, value in combine_repeated(fields, ",").items()}


def _variable(name: str) -> str:
    variable = name.upper().replace("-", "_")
    return variable if variable == "CONTENT_TYPE" else f"HTTP_{variable}"


def _wsgi_text(text: str) -> str:
    """Text as WSGI passes it: each byte of its UTF-8 form as one character (PEP 3333)."""
    return text.encode("utf-8", "surrogateescape").decode("latin-1")
