"""An MCP client that speaks JSON-RPC at one revision, with the headers and `_meta` it asks for.

What it speaks through is a transport: the application of `./run serve` in process, or HTTP.
Headers given per request replace the client's own; a value of None takes a header away.
"""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypeAlias

import httpx2

from mcp_protocol.headers import encode_header_value
from mcp_protocol.revisions import MODERN, Revision
from tests.drivers import in_process_server, schema_validation

PATH = "/api/mcp"
HOST = "127.0.0.1:8000"
CLIENT = {"name": "driver", "version": "1.0"}
NAMED_BY = {
    "tools/call": "name",
    "prompts/get": "name",
    "resources/read": "uri",
    **dict.fromkeys(("tasks/get", "tasks/update", "tasks/cancel"), "taskId"),
}

Headers: TypeAlias = Mapping[str, str | None]
Json: TypeAlias = Any


@dataclass(frozen=True)
class Reply:
    """An HTTP answer; header names are lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def json(self) -> Json:
        return json.loads(self.body)

    @property
    def result(self) -> Json:
        assert "result" in self.json, self.body
        return self.json["result"]

    @property
    def error(self) -> Json:
        assert "error" in self.json, self.body
        return self.json["error"]

    @property
    def code(self) -> int:
        code: int = self.error["code"]
        return code

    @property
    def facts(self) -> Json:
        """The JSON value in the one text block of a successful call."""
        assert self.result["isError"] is False, self.body
        (block,) = self.result["content"]
        return json.loads(block["text"])

    @cached_property
    def events(self) -> list[Json]:
        return events_in(self.body)


def events_in(stream: bytes) -> list[Json]:
    """The JSON messages of an event stream; comments are passed over, as the standard asks."""
    lines = (line for line in stream.decode().splitlines() if line.startswith("data: "))
    return [json.loads(line.removeprefix("data: ")) for line in lines]


Transport: TypeAlias = Callable[[str, Mapping[str, str], bytes], Reply]


def send_in_process(method: str, headers: Mapping[str, str], body: bytes) -> Reply:
    """Through the application that a server runs, in this process."""
    return Reply(*in_process_server.request(method, PATH, headers.items(), body))


def http_transport(url: str, request: Callable[..., httpx2.Response] = httpx2.request) -> Transport:
    """To a server that listens, each request on a connection of its own.

    With the `request` of an `httpx2.Client`, connections are kept for the next one.
    """

    def send(method: str, headers: Mapping[str, str], body: bytes) -> Reply:
        sent = {name: value for name, value in headers.items() if name != "Host"}
        response = request(method, url, headers=sent, content=body, timeout=30)
        return Reply(response.status_code, dict(response.headers), response.content)

    return send


@dataclass(frozen=True)
class McpClient:
    """One client with one token, or none, at one revision."""

    token: str | None = None
    revision: Revision = Revision.V2025_03_26
    transport: Transport = send_in_process
    headers: Headers = field(default_factory=dict)

    def with_revision(self, revision: Revision) -> "McpClient":
        return replace(self, revision=revision)

    def holding(self, token: str | None) -> "McpClient":
        return replace(self, token=token)

    def with_transport(self, transport: Transport) -> "McpClient":
        return replace(self, transport=transport)

    def asking_for_events(self) -> "McpClient":
        return replace(self, headers={**self.headers, "Accept": BOTH})

    def request(
        self,
        method: str,
        params: Json = None,
        *,
        headers: Headers | None = None,
        request_id: Json = 1,
    ) -> Reply:
        """Send a request as this revision writes it."""
        message = {"jsonrpc": "2.0", "id": request_id, "method": method}
        params = self.params(params)
        if params is not None:
            message["params"] = params
        return self.send(message, headers={**self.mirror(method, params), **(headers or {})})

    def notify(self, method: str, params: Json = None) -> Reply:
        return self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def call(
        self,
        name: Json,
        arguments: Json = None,
        *,
        meta: Mapping[str, Json] | None = None,
        headers: Headers | None = None,
    ) -> Reply:
        """Call a tool."""
        params: dict[str, Json] = {"name": name, "arguments": arguments or {}}
        if meta is not None:
            params["_meta"] = dict(meta)
        return self.request("tools/call", params, headers=headers)

    def tool_names(self) -> list[str]:
        return [tool["name"] for tool in self.request("tools/list").result["tools"]]

    def send(self, message: Json, *, headers: Headers | None = None) -> Reply:
        """Post a body: bytes as they are, anything else as JSON. Every reply is judged."""
        body = message if isinstance(message, bytes) else json.dumps(message).encode()
        reply = self.http("POST", body, headers=headers)
        kind = reply.headers.get("content-type", "")
        schema_validation.judge_body(
            kind, reply.body, body, self._merge_headers(headers).get("MCP-Protocol-Version")
        )
        return reply

    def http(self, method: str, body: bytes = b"", *, headers: Headers | None = None) -> Reply:
        """Send any HTTP request to the endpoint with this client's headers."""
        given = self._merge_headers(headers)
        kept = {name: value for name, value in given.items() if value is not None}
        return self.transport(method, kept, body)

    def params(self, params: Json) -> Json:
        """The params with the `_meta` that this revision requires."""
        if self.revision not in MODERN or not isinstance(params, dict | None):
            return params
        meta = {
            "io.modelcontextprotocol/protocolVersion": self.revision.value,
            "io.modelcontextprotocol/clientInfo": CLIENT,
            "io.modelcontextprotocol/clientCapabilities": {},
        }
        given = params or {}
        return {**given, "_meta": {**meta, **given.get("_meta", {})}}

    def mirror(self, method: str, params: Json) -> Headers:
        """The headers that repeat the body, at revisions that have them."""
        if self.revision not in MODERN:
            return {}
        named = (params or {}).get(NAMED_BY.get(method, ""))
        name = {"Mcp-Name": encode_header_value(named)} if isinstance(named, str) else {}
        return {"Mcp-Method": method, **name}

    def _merge_headers(self, headers: Headers | None) -> Headers:
        return {**self._usual_headers(), **self.headers, **(headers or {})}

    def _usual_headers(self) -> Headers:
        # A request without the version header speaks 2025-03-26.
        undeclared = self.revision == Revision.V2025_03_26
        return {
            "Host": HOST,
            "Content-Type": "application/json",
            "Accept": "application/json",
            "Authorization": f"Bearer {self.token}" if self.token else None,
            "MCP-Protocol-Version": None if undeclared else self.revision.value,
        }


BOTH = "application/json, text/event-stream"
