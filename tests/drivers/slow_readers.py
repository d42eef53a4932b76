"""Clients that do not read their responses, read slowly, or disconnect half-way."""

import socket
import struct
from typing import Final

# A file that Django serves, of about 285 KB.
LARGE: Final = "/static/admin/js/vendor/jquery/jquery.js"
# The smallest that Linux grants, so that little of a response leaves the server.
RECEIVE_BUFFER: Final = 2304


def get(path: str, *headers: str) -> bytes:
    """A GET request as bytes."""
    return "\r\n".join([f"GET {path} HTTP/1.1", "Host: 127.0.0.1", *headers, "", ""]).encode()


def post(path: str, body: bytes, *headers: str) -> bytes:
    """A POST request of JSON as bytes."""
    framing = ["Host: 127.0.0.1", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([f"POST {path} HTTP/1.1", *framing, *headers, "", ""]).encode() + body


class BadReader:
    """One connection that has sent a request several times at once and has read nothing."""

    def __init__(self, port: int, request: bytes = get(LARGE), *, times: int = 1) -> None:
        self.socket = socket.socket()
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BUFFER)
        self.socket.settimeout(30)
        self.socket.connect(("127.0.0.1", port))
        self.socket.sendall(request * times)

    def begin(self) -> None:
        """Read the first bytes of a response, which the server has begun to send by then."""
        assert self.socket.recv(12) == b"HTTP/1.1 200"

    def read(self, size: int = 65_536) -> bytes:
        return self.socket.recv(size)

    def reset(self) -> None:
        """Close with RST, as a client does that crashes."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def is_cut_off(self) -> bool:
        """Read whatever has arrived; whether the server ended the connection with that."""
        try:
            while self.socket.recv(65_536, socket.MSG_DONTWAIT):
                pass
        except BlockingIOError:
            return False
        except ConnectionError:
            return True
        return True
