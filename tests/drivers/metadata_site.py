"""A web site over TLS on the loopback that serves the metadata documents of clients."""

import datetime as dt
import functools
import ipaddress
import json
import socket
import ssl
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, TypeAlias

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from foundation.outbound import client

HOST = "app.example"
CALLBACK = "https://app.example/callback"
PATH = "/client.json"

Answer: TypeAlias = Callable[[BaseHTTPRequestHandler], None]


class MetadataSite:
    """Answers each path as configured, and notes which were asked for."""

    def __init__(self) -> None:
        self.seen: list[str] = []
        self.asked = threading.Event()
        self.answers: dict[str, Answer] = {}
        self.names: dict[str, list[str]] = {HOST: ["127.0.0.1"]}
        self.server = MetadataServer(("127.0.0.1", 0), self._handler())
        self.port = int(self.server.server_address[1])
        # The handshake is left to the thread of the connection: the accepting one must not wait.
        self.server.socket = _serving().wrap_socket(
            self.server.socket, server_side=True, do_handshake_on_connect=False
        )

    @property
    def place(self) -> str:
        return f"{HOST}:{self.port}"

    def url(self, path: str = PATH) -> str:
        return f"https://{self.place}{path}"

    def document(self, path: str = PATH, **changes: Any) -> dict[str, Any]:
        """A document that is fit to be accepted, save for the changes; None leaves one out."""
        members = {
            "client_id": self.url(path),
            "client_name": "Example Editor",
            "redirect_uris": [CALLBACK],
            "token_endpoint_auth_method": "none",
        } | changes
        return {name: value for name, value in members.items() if value is not None}

    def publish(
        self, path: str = PATH, *, headers: Mapping[str, str] | None = None, **changes: Any
    ) -> str:
        """Serve a document from now on; returns its URL, which is the client id."""
        body = json.dumps(self.document(path, **changes)).encode()
        self.answers[path] = answering(body, headers=headers or {})
        return self.url(path)

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class MetadataHandler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:  # the server's own naming
                site.seen.append(self.path)
                site.asked.set()
                site.answers[self.path](self)

            def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  inherited
                """Keep the terminal quiet."""

        return MetadataHandler


class MetadataServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """A caller that hangs up on a slow answer is what the tests are about."""


def answering(
    body: bytes,
    *,
    status: int = 200,
    content_type: str = "application/json",
    headers: Mapping[str, str] | None = None,
) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response_only(status)
        for name, value in {"Content-Type": content_type, **(headers or {})}.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    return answer


def dripping(handler: BaseHTTPRequestHandler) -> None:
    """Send a byte of the body every 20 ms until the client disconnects.

    The time is the subject: each read returns soon, and only the whole takes too long.
    """
    handler.send_response_only(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "16000")
    handler.end_headers()
    for _ in range(16_000):
        handler.wfile.write(b" ")
        time.sleep(0.02)  # no event: the pace of the answer


def delay_answer(until: threading.Event, answer: Answer) -> Answer:
    """Give an answer only once the event is set."""

    def answer_then(handler: BaseHTTPRequestHandler) -> None:
        until.wait(10)
        answer(handler)

    return answer_then


@contextmanager
def serving(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[MetadataSite]:
    """A site that this server trusts, resolves and has approved; nothing else resolves."""
    site = MetadataSite()
    monkeypatch.setattr(client, "tls_context", _trusting)
    monkeypatch.setattr(socket, "getaddrinfo", _resolving(site.names))
    settings.HALO_CIMD = True
    settings.HALO_CIMD_PRIVATE_HOSTS = frozenset({site.place})
    # In this process: entries lapse by the clock that tests move.
    settings.CACHES = {"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}}
    thread = threading.Thread(target=site.server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield site
    finally:
        site.server.shutdown()
        thread.join()
        site.server.server_close()


def _resolving(names: Mapping[str, list[str]]) -> Callable[..., list[Any]]:
    usual = socket.getaddrinfo

    def resolve(host: str, port: int, *rest: Any, **more: Any) -> list[Any]:
        if host in names:
            return [(0, 0, 0, "", (address, port)) for address in names[host]]
        try:
            ipaddress.ip_address(host)
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return list(usual(host, port, *rest, **more))

    return resolve


@functools.cache
def _certificate() -> tuple[bytes, bytes]:
    """Key and certificate of the site, which is its own authority."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(dt.datetime(2000, 1, 1, tzinfo=dt.UTC))
        .not_valid_after(dt.datetime(2100, 1, 1, tzinfo=dt.UTC))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    return private, made.public_bytes(serialization.Encoding.PEM)


@functools.cache
def _serving() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    with tempfile.NamedTemporaryFile() as chain:  # a context takes keys from files only
        chain.write(b"".join(_certificate()))
        chain.flush()
        context.load_cert_chain(chain.name)
    return context


@functools.cache
def _trusting() -> ssl.SSLContext:
    return ssl.create_default_context(cadata=_certificate()[1].decode())
