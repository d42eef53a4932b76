"""A client of the WebSocket transport, over a real socket."""

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from mcp_protocol.revisions import Revision

PROJECT: Final = "prj_" + "a" * 22
TIMEOUT: Final = 20


def address(port: int, *, path: str = "/", project: str = PROJECT, token: str = "") -> str:
    given = f"&token={token}" if token else ""
    return f"ws://127.0.0.1:{port}{path}?projectId={project}{given}"


def refusal(url: str, **options: Any) -> tuple[int, Mapping[str, str], bytes]:
    """The status, headers and body with which a handshake is refused."""
    try:
        with connect(url, open_timeout=TIMEOUT, **options):
            raise AssertionError("the handshake was accepted")
    except InvalidStatus as refused:
        response = refused.response
        return response.status_code, response.headers, bytes(response.body or b"")


class WebSocketClient:
    """One open socket: requests and notifications out, messages in."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket
        self._ids = itertools.count(1)

    def initialize(
        self,
        revision: Revision = Revision.V2025_11_25,
        capabilities: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        params = {
            "protocolVersion": revision.value,
            "capabilities": dict(capabilities or {}),
            "clientInfo": {"name": "test", "version": "1"},
        }
        answered = self.request("initialize", params)
        self.notify("notifications/initialized")
        return answered

    def request(self, method: str, params: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Send a request and return the next message, which has to be its response."""
        identifier = self.begin(method, params)
        answered = self.receive()
        assert answered["id"] == identifier, answered
        return answered

    def begin(
        self, method: str, params: Mapping[str, Any] | None = None, identifier: Any = None
    ) -> Any:
        identifier = next(self._ids) if identifier is None else identifier
        self.send({"id": identifier, "method": method, "params": dict(params or {})})
        return identifier

    def call(self, tool: str, arguments: Mapping[str, Any], **more: Any) -> Any:
        return self.begin("tools/call", {"name": tool, "arguments": dict(arguments), **more})

    def notify(self, method: str, params: Mapping[str, Any] | None = None) -> None:
        self.send({"method": method, "params": dict(params or {})})

    def send(self, message: Mapping[str, Any]) -> None:
        self.socket.send(json.dumps({"jsonrpc": "2.0", **message}))

    def receive(self, seconds: float = TIMEOUT) -> dict[str, Any]:
        text = self.socket.recv(seconds)
        assert isinstance(text, str)
        message: dict[str, Any] = json.loads(text)
        return message

    def close_code(self) -> int | None:
        """The code that the server closes the socket with; messages before that are dropped."""
        try:
            while True:
                self.socket.recv(TIMEOUT)
        except ConnectionClosed as closed:
            return closed.rcvd.code if closed.rcvd else None


@contextmanager
def open_socket(port: int, token: str, **options: Any) -> Iterator[WebSocketClient]:
    """An open socket with the token in the query."""
    with connect(
        address(port, token=token), open_timeout=TIMEOUT, close_timeout=1, **options
    ) as socket:
        yield WebSocketClient(socket)
