"""A vendor on the loopback that judges every request by the contract its vendor published."""

import json
import threading
from collections import deque
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl, unquote, urlsplit

from jsonschema_rs import Draft4Validator

CONTRACTS = Path(__file__).parents[2] / "fixtures" / "vendors"
JSON_TYPE, FORM_TYPE = "application/json", "application/x-www-form-urlencoded"


@dataclass(frozen=True)
class Request:
    """One request as it came over the wire; `variables` stand in the path of the contract."""

    method: str
    path: str
    query: Mapping[str, str]
    headers: Mapping[str, str]
    body: bytes
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def form(self) -> dict[str, str]:
        return dict(parse_qsl(self.body.decode(), keep_blank_values=True, strict_parsing=True))

    @property
    def line(self) -> str:
        return f"{self.method} {self.path}"


@dataclass(frozen=True)
class VendorReply:
    status: int
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


class Breach(AssertionError):
    """A request, or an answer of the fake vendor itself, that the contract does not have."""


class FakeVendor:
    """Answers as its vendor would; `say` puts other answers in front, for a vendor in trouble."""

    contract: ClassVar[str]
    token = "the-organizations-token"

    def __init__(self, port: int = 0) -> None:
        self.document = json.loads((CONTRACTS / self.contract).read_text("utf-8"))
        self.seen: list[Request] = []
        self.breaches: list[str] = []
        self.said: deque[VendorReply] = deque()
        self.server = ThreadingHTTPServer(("127.0.0.1", port), _handler(self))
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def say(self, status: int, body: Any, **headers: str) -> None:
        """Answer the next request so; bytes go out as they are."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        self.said.append(VendorReply(status, body, named))

    def list_writes(self) -> list[Request]:
        """The requests that change something."""
        return [request for request in self.seen if request.method != "GET"]

    def answer(self, request: Request) -> VendorReply:
        """What the vendor answers to a request that its contract has."""
        raise NotImplementedError

    def unauthorized_reply(self) -> VendorReply:
        raise NotImplementedError

    def judge(self, operation: Mapping[str, Any], request: Request) -> None:
        """Raise Breach for a request that the operation does not take."""
        raise NotImplementedError

    def response_schema(self, operation: Mapping[str, Any], status: int) -> Any:
        """The schema of an answer with this status."""
        raise NotImplementedError

    def handle(self, request: Request) -> VendorReply:
        try:
            return self._handle(request)
        except Exception as breach:  # noqa: BLE001  a fake vendor that breaks is a failed test too
            self.breaches.append(f"{request.line}: {breach!r}")
            return VendorReply(599, {})

    def _handle(self, request: Request) -> VendorReply:
        operation, variables = self._operation(request)
        request = Request(**{**vars(request), "variables": variables})
        self.seen.append(request)
        self.judge(operation, request)
        if self.said:
            return self.said.popleft()
        known = request.headers.get("authorization") == f"Bearer {self.token}"
        reply = self.answer(request) if known else self.unauthorized_reply()
        self.conforms(reply.body, self.response_schema(operation, reply.status), closed=False)
        return reply

    def _operation(self, request: Request) -> tuple[Mapping[str, Any], Mapping[str, str]]:
        base = self.document.get("basePath", "")
        for template, methods in self.document["paths"].items():
            variables = _match_path(base + template, request.path)
            if variables is not None and request.method.lower() in methods:
                return methods[request.method.lower()], variables
        raise Breach("the contract has no such operation")

    def conforms(self, value: Any, schema: Any, *, closed: bool) -> None:
        """Raise Breach unless a value is what a schema says; `closed` allows nothing unnamed."""
        shared = {name: self.document.get(name, {}) for name in ("components", "definitions")}
        rule = {"allOf": [schema], **shared}
        judge = Draft4Validator(_close_schema(rule) if closed else rule, validate_formats=True)
        problem = next(iter(judge.iter_errors(value)), None)
        if problem is not None:
            raise Breach(f"{problem.instance_path}: {problem.message}")


def _match_path(template: str, path: str) -> dict[str, str] | None:
    """The variables of a path, or None for another one."""
    ours, theirs = template.split("/"), path.split("/")
    if len(ours) != len(theirs):
        return None
    variables = {}
    for name, given in zip(ours, theirs, strict=True):
        if name.startswith("{"):
            variables[name.strip("{}")] = unquote(given)
        elif name != given:
            return None
    return variables


def _close_schema(schema: Any) -> Any:
    """The schema without room for what it does not name: a misspelt key is a breach."""
    if isinstance(schema, list):
        return [_close_schema(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inner = {name: _close_schema(one) for name, one in schema.items()}
    if schema.get("type") == "object" and "properties" in schema:
        return {"additionalProperties": False, **inner}
    return inner


def _handler(fake: FakeVendor) -> type[BaseHTTPRequestHandler]:
    class VendorHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:  # the server's own naming, as below
            self._handle()

        def do_POST(self) -> None:
            self._handle()

        def do_PATCH(self) -> None:
            self._handle()

        def _handle(self) -> None:
            place = urlsplit(self.path)
            reply = fake.handle(
                Request(
                    self.command,
                    place.path,
                    dict(parse_qsl(place.query, keep_blank_values=True)),
                    {name.lower(): value for name, value in self.headers.items()},
                    self.rfile.read(int(self.headers.get("Content-Length", 0))),
                )
            )
            body = reply.body if isinstance(reply.body, bytes) else json.dumps(reply.body).encode()
            self.send_response_only(reply.status)
            for name, value in {"Content-Type": JSON_TYPE, **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  inherited
            """Keep the terminal quiet."""

    return VendorHandler


@contextmanager
def serving(fake: FakeVendor) -> Iterator[None]:
    """Serve for as long as the block runs; afterwards, no request may have broken the contract."""
    thread = threading.Thread(target=fake.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield
    finally:
        fake.server.shutdown()
        thread.join()
        fake.server.server_close()
    assert fake.breaches == []
