"""The server's side of one HTTP connection: uvicorn's protocol with bounds on what a client may do.

uvicorn has no bounds of its own with httptools, and that parser reports trailer fields as if they
were headers. Each connection has one timer that checks the times, so that a request sets none.
"""

import fcntl
import sys
import termios
from asyncio import TimerHandle, Transport
from contextlib import suppress
from typing import ClassVar, Final

import httptools
from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

# A head is the request line and the header fields. What browsers and clients send is below 16 KB.
MAX_HEAD_BYTES: Final = 65_536
MAX_HEADER_FIELDS: Final = 200
# Requests that may wait on one connection for the response to the first.
MAX_PIPELINED: Final = 200

TOO_LARGE: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-type: text/plain; charset=utf-8\r\n"
    b"content-length: 35\r\n"
    b"connection: close\r\n"
    b"\r\n"
    b"The request headers are too large.\n"
)


INVALID: Final = "Invalid HTTP request received."
# What belongs to an offer, next to the word in `Connection` (RFC 9110 section 7.8, RFC 7540 3.2.1).
OFFER_FIELDS: Final = frozenset({b"upgrade", b"http2-settings"})


class _LimitExceeded(Exception):
    """The client exceeded a bound; stops the parser."""


class HttpProtocol(HttpToolsProtocol):
    """Closes a connection whose client exceeds one of these bounds.

    - A head has at most `MAX_HEAD_BYTES` bytes and `MAX_HEADER_FIELDS` fields; otherwise 431. The
      trailer section of a chunked body is bounded likewise.
    - While no request is being answered, a head or the rest of a body has to arrive within
      `head_seconds`. This includes the first head on a new connection.
    - A response of which the client reads nothing for `write_seconds` is cut off. A client that
      reads slowly gets all of it.
    - At most `MAX_PIPELINED` requests wait behind the one that is being answered.

    An offer to upgrade to anything but a WebSocket is ignored, as RFC 9110 section 7.8 permits: the
    request is read and answered as if it had not been made. Java's HTTP client makes one (h2c) with
    each first request.

    The two times are kept to within a third of `head_seconds`. An idle connection between two
    requests is closed by uvicorn's `timeout_keep_alive`.
    """

    head_seconds: ClassVar[float] = 15
    write_seconds: ClassVar[float] = 30

    _timer: TimerHandle | None = None
    # The request that is being answered; `cycle` is the one that was parsed last.
    _answering: RequestResponseCycle | None = None
    _is_in_message = False
    _is_head_complete = False
    _is_head_too_large = False
    _is_refused = False
    # Of the head, what the parser has reported; and what was received since it last reported.
    _head_bytes = 0
    _unreported_bytes = 0
    # Since when, in the loop's time, the client has to send or to read; None while it does.
    _owing_since: float | None = None
    _stalled_since: float | None = None
    _unsent = 0

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as uvicorn
        super().connection_made(transport)
        self._owing_since = self.loop.time()
        self._look_later()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_timer()
        self.pipeline.clear()
        super().connection_lost(exc)
        # uvicorn notifies only the request that was parsed last.
        if self._answering is not None and not self._answering.response_complete:
            self._answering.disconnected = True
            self._answering.message_event.set()

    def data_received(self, data: bytes) -> None:
        if self._is_refused:
            return
        # The parser keeps a field until it is complete, however long it becomes.
        self._unreported_bytes += len(data)
        self._unset_keepalive_if_required()
        while data:
            data = self._parse(data)
        if self._is_in_message and self._unreported_bytes > MAX_HEAD_BYTES:
            self._refuse_head()

    def _parse(self, data: bytes) -> bytes:
        """Feed the parser; return what it has to be fed next."""
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserError:
            self.logger.warning(INVALID)
            self.send_400_response(INVALID)
        except httptools.HttpParserUpgrade as stopped:
            if self._should_upgrade():
                self.handle_websocket_upgrade()
            elif self._is_offer_to_ignore():
                return self._remove_offer(data[stopped.args[0] :])
            else:
                self._unsupported_upgrade_warning()
        return b""

    def _should_upgrade(self) -> bool:
        # A handshake is a GET (RFC 6455 section 4.1).
        return self.parser.get_method() == b"GET" and super()._should_upgrade()

    def _is_offer_to_ignore(self) -> bool:
        """Whether the parser will stop behind this head, for an offer that is not accepted."""
        return (
            self.parser.should_upgrade()
            and self.parser.get_method() != b"CONNECT"
            and not self._should_upgrade()
        )

    def _remove_offer(self, rest: bytes) -> bytes:
        """The request whose head was read, written again without its offer, and what follows it.

        The parser takes the body of such a request for another protocol, which no option
        changes; a new parser reads it.
        """
        version = self.parser.get_http_version().encode()
        lines = [b"%s %s HTTP/%s" % (self.parser.get_method(), self.url, version)]
        for name, value in self.headers:
            kept = _strip_upgrade(value) if name == b"connection" else value
            if kept and name not in OFFER_FIELDS:
                lines.append(b"%s: %s" % (name, kept))
        self.parser = httptools.HttpRequestParser(self)
        self.parser.set_dangerous_leniencies(lenient_data_after_close=True)  # as uvicorn
        return b"\r\n".join([*lines, b"", rest])

    def send_400_response(self, msg: str) -> None:
        if self._is_head_too_large or not self._may_refuse():
            self._refuse_head()
            return
        super().send_400_response(msg)
        self._drop_request()

    def resume_writing(self) -> None:
        self._stalled_since = None
        super().resume_writing()

    def handle_websocket_upgrade(self) -> None:
        self._end_timer()
        super().handle_websocket_upgrade()
        # It refers to this object, which a socket would otherwise keep until cycles are collected.
        del self.parser

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        # Unreported bytes stay counted: a whole endless field may arrive with the beginning.
        self._is_in_message, self._is_head_complete = True, False
        self._head_bytes = 0
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        self._count(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        # After the head these are the trailer fields of a chunked body, which must not be merged
        # into the headers (RFC 9110 section 6.5.1).
        if self._is_head_complete:
            return
        self._count(len(name) + len(value))
        if len(self.headers) >= MAX_HEADER_FIELDS:
            self._exceed()
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        self._is_head_complete = True
        self._unreported_bytes = 0
        self._owing_since = None
        if self._is_offer_to_ignore():
            return
        super().on_headers_complete()
        if len(self.pipeline) > MAX_PIPELINED:
            raise _LimitExceeded

    def on_body(self, body: bytes) -> None:
        self._unreported_bytes = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        if self._is_offer_to_ignore():
            return
        self._is_in_message = False
        super().on_message_complete()

    def _count(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._exceed()

    def _exceed(self) -> None:
        self._is_head_too_large = True
        raise _LimitExceeded

    # The request that is being answered

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        self._answering = cycle
        super()._start_asgi_task(cycle, app)

    def _is_answering(self) -> bool:
        return self._answering is not None and not self._answering.response_complete

    # Refusing and timing out

    def _refuse_head(self) -> None:
        if not self._may_refuse():
            self.transport.close()
            return
        self.transport.write(TOO_LARGE)
        # What the client still sends is discarded until the timer's next look: closing with data
        # unread would reset the connection before the client has read why (RFC 9112 section 9.6).
        self._is_refused = True
        self.transport.write_eof()
        self._drop_request()

    def _may_refuse(self) -> bool:
        """Whether a refusal would be read as the response to the message that has the error.

        Before or within the response to another message it would be read as part of that.
        """
        if not self._is_answering():
            return True
        has_begun = self._is_in_message and self._is_head_complete
        return has_begun and self._answering is self.cycle and not self.cycle.response_started

    def _drop_request(self) -> None:
        """Let the application send nothing more, if the refused message has reached it."""
        if self.cycle is not None:
            self.cycle.disconnected = True
            self.cycle.message_event.set()

    def _look_later(self) -> None:
        self._timer = self.loop.call_later(self.head_seconds / 3, self._look)

    def _end_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _look(self) -> None:
        now = self.loop.time()
        if self._is_refused or self._is_stalled(now):
            self.transport.abort()
            return
        if self._is_owing(now):
            self.transport.close()
        self._look_later()

    def _is_owing(self, now: float) -> bool:
        """Whether the client has not sent for too long what it began, or anything at all."""
        if self._is_answering() or self.timeout_keep_alive_task or self.transport.is_closing():
            self._owing_since = None
            return False
        if self._owing_since is None:
            self._owing_since = now
        return now - self._owing_since >= self.head_seconds

    def _count_unsent(self) -> int:
        """The bytes that the client has not acknowledged; 0 once the kernel has all of them.

        The kernel takes more only when a third of its own buffer is free, which a slow reader may
        need minutes for. So its buffer is counted too (SIOCOUTQ: Linux, tcp(7)).
        """
        unsent = self.transport.get_write_buffer_size()
        if unsent == 0:
            return 0
        queued = bytearray(4)
        with suppress(OSError):
            fcntl.ioctl(self.transport.get_extra_info("socket").fileno(), termios.TIOCOUTQ, queued)
        return unsent + int.from_bytes(queued, sys.byteorder)

    def _is_stalled(self, now: float) -> bool:
        """Whether the client has read nothing for too long of what waits to be sent.

        Events of an open stream may gather: the server waits once they are too many.
        """
        before, self._unsent = self._unsent, self._count_unsent()
        may_gather = self._is_answering() and not self.flow.write_paused
        if may_gather or self._unsent == 0 or self._unsent < before:
            self._stalled_since = None
            return False
        if self._stalled_since is None:
            self._stalled_since = now
        return now - self._stalled_since >= self.write_seconds


def _strip_upgrade(connection: bytes) -> bytes:
    """The options of a Connection field that are about the connection itself."""
    options = [option.strip() for option in connection.split(b",")]
    return b", ".join(each for each in options if each.lower() not in OFFER_FIELDS and each)
