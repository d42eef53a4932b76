"""Network connections to checked addresses only, with a deadline."""

import socket
import ssl
import time
from collections.abc import Iterable, Sequence
from typing import Any, Final

import httpcore2

from foundation.outbound.addresses import Address
from foundation.outbound.deadline import Deadline
from foundation.outbound.errors import TimedOut, Unreachable

LOOK: Final = 0.5  # seconds


class Pinned(httpcore2.NetworkBackend):
    """A network backend that connects to the given addresses and never resolves a name.

    The host name reaches TLS (SNI, certificate) and the Host header unchanged.
    """

    def __init__(self, addresses: Sequence[Address], deadline: Deadline) -> None:
        self._addresses = addresses
        self._deadline = deadline

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,  # noqa: ARG002 - the interface passes it, no caller sets it
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,  # noqa: ARG002 - as above
    ) -> "Wire":
        """Returns a connection to the first address that accepts one."""
        failure: OSError = OSError()
        for address in self._addresses:
            try:
                return self._connect(address, port, timeout)
            except OSError as error:
                failure = error
        raise _meaning_of(failure, host)

    def _connect(self, address: Address, port: int, timeout: float | None) -> "Wire":
        connected = socket.create_connection(
            (str(address), port), self._deadline.seconds_left(timeout)
        )
        connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return Wire(connected, self._deadline)


class Wire(httpcore2.NetworkStream):
    """A connection that checks the deadline at every read and write.

    A timeout per read would let a server send one byte at a time without end.
    """

    def __init__(self, connected: socket.socket, deadline: Deadline) -> None:
        self._socket = connected
        self._deadline = deadline

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        until = time.monotonic() + self._deadline.seconds_left(timeout)
        while True:
            # In short reads: the wait for a silent server ends soon after the request is cancelled.
            self._socket.settimeout(min(self._deadline.seconds_left(timeout), LOOK))
            try:
                return self._socket.recv(max_bytes)
            except OSError as error:
                if not isinstance(error, TimeoutError) or time.monotonic() >= until:
                    raise _meaning_of(error, self._deadline.host) from None

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._deadline.has_begun = True
        rest = memoryview(buffer)
        while rest:
            self._socket.settimeout(self._deadline.seconds_left(timeout))
            rest = rest[self._send(rest) :]

    def _send(self, rest: memoryview) -> int:
        try:
            return self._socket.send(rest)
        except TimeoutError as error:
            raise _meaning_of(error, self._deadline.host) from None
        except OSError:
            # A server may respond and close before it has read the whole request (RFC 9112 §9.5):
            # after this exception httpcore2 still reads the response.
            raise httpcore2.WriteError from None

    def start_tls(
        self,
        ssl_context: ssl.SSLContext,
        server_hostname: str | None = None,
        timeout: float | None = None,
    ) -> "Wire":
        self._socket.settimeout(self._deadline.seconds_left(timeout))
        try:
            secured = ssl_context.wrap_socket(self._socket, server_hostname=server_hostname)
        except OSError as error:
            self.close()
            raise _meaning_of(error, self._deadline.host) from None
        return Wire(secured, self._deadline)

    def close(self) -> None:
        self._socket.close()

    def get_extra_info(self, info: str) -> Any:
        if info == "ssl_object" and isinstance(self._socket, ssl.SSLSocket):
            return self._socket
        return None


def _meaning_of(error: OSError, host: str) -> TimedOut | Unreachable:
    if isinstance(error, TimeoutError):
        return TimedOut(host, "it did not respond in time")
    if isinstance(error, ssl.SSLCertVerificationError):
        return Unreachable(host, "its certificate is not to be trusted")
    if isinstance(error, ssl.SSLError):
        return Unreachable(host, "it does not speak TLS properly")
    return Unreachable(host, "the connection failed")
