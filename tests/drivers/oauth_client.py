"""An MCP client and the browser it opens, in process, speaking as real ones do.

The two share nothing: the browser keeps cookies and is held to CSRF, the client has neither.
"""

import json
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any, TypeAlias
from urllib.parse import parse_qsl, urlencode, urlsplit

from django.test import Client

from tests.drivers.person import form_with
from workspace.models import User

ORIGIN = "http://127.0.0.1:8000"
REGISTER = "/api/mcp/oauth/register"
AUTHORIZE = "/api/mcp/oauth/authorize"
CONSENT = "/api/mcp/oauth/consent"
TOKEN = "/api/mcp/oauth/token"
REVOKE = "/api/mcp/oauth/revoke"
MCP = "/api/mcp"
SERVER_DOCUMENT = "/.well-known/oauth-authorization-server"

CALLBACK = "https://app.example/callback"
FORM = "application/x-www-form-urlencoded"
# What Django's test client returns has no public name.
Response: TypeAlias = Any

HERE: dict[str, Any] = {"HTTP_HOST": "127.0.0.1:8000"}


@dataclass(frozen=True)
class Tokens:
    access: str
    refresh: str
    scope: str


@dataclass
class Browser:
    """A person's browser, signed in as `user` where one is given."""

    user: User | None = None
    http: Client = field(default_factory=lambda: Client(enforce_csrf_checks=True, **HERE))

    def __post_init__(self) -> None:
        if self.user is not None:
            self.http.force_login(self.user)

    def open(self, address: str) -> Response:
        return self.http.get(address)

    def sign_in(self, bounce: Response, email: str, password: str) -> Response:
        """Follow a bounce to the sign-in page, fill it in and come back to where it leads."""
        page = self.open(bounce["Location"])
        sent = self.submit(page, "login", login=email, password=password)
        return self.open(sent["Location"])

    def decide(self, page: Response, decision: str = "approve", **changes: Any) -> Response:
        return self.submit(page, "request", decision=decision, **changes)

    def submit(self, page: Response, named: str, **changes: Any) -> Response:
        """Send the form that has a field of this name, as filled in, save for the changes."""
        form = form_with(page.content.decode(), named)
        sent: dict[str, list[str]] = {}
        for name, value in form.fields:
            sent.setdefault(name, []).append(value)
        return self.post(form.action, sent | changes)

    def post(self, address: str, fields: Mapping[str, Any], **headers: str) -> Response:
        return self.http.post(address, encode_form(fields), content_type=FORM, headers=headers)


@dataclass
class OAuthClient:
    """A client: public, with one https callback, unless it registers otherwise."""

    client_id: str = ""
    secret: str = ""
    auth_method: str = "none"
    redirect_uri: str = CALLBACK
    verifier: str = field(default_factory=lambda: token_urlsafe(48))
    http: Client = field(default_factory=lambda: Client(**HERE))

    @property
    def challenge(self) -> str:
        return challenge_of(self.verifier)

    def register(self, **metadata: object) -> Response:
        """Register (RFC 7591) and remember what was issued; None leaves a member out."""
        sent = {
            "client_name": "Test client",
            "redirect_uris": [self.redirect_uri],
            "token_endpoint_auth_method": self.auth_method,
        } | metadata
        response = self.post_json(REGISTER, {k: v for k, v in sent.items() if v is not None})
        if response.status_code == 201:
            self._remember(read(response))
        return response

    def post_json(self, address: str, body: object, **headers: str) -> Response:
        return self.http.post(
            address, json.dumps(body), content_type="application/json", headers=headers
        )

    def authorize_address(self, **changes: Any) -> str:
        """The address a browser is sent to; None leaves a parameter out, a list repeats it."""
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_challenge": self.challenge,
            "code_challenge_method": "S256",
            "scope": "docs:read setup:read",
            "state": "st4te",
        }
        return f"{AUTHORIZE}?{encode_form(asked | changes)}"

    def exchange(self, code: str, /, **changes: Any) -> Response:
        grant = {
            "grant_type": "authorization_code",
            "code": code,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
        }
        return self.send(TOKEN, grant | changes)

    def refresh(self, token: str, /, **changes: Any) -> Response:
        grant = {"grant_type": "refresh_token", "refresh_token": token}
        return self.send(TOKEN, grant | changes)

    def revoke(self, token: str, /, **changes: Any) -> Response:
        return self.send(REVOKE, {"token": token} | changes)

    def send(self, address: str, fields: Mapping[str, Any]) -> Response:
        """Post a form with the client's own authentication; `fields` may override it."""
        proof: dict[str, str] = {}
        headers: dict[str, str] = {}
        if self.auth_method == "client_secret_basic":
            headers["Authorization"] = basic(self.client_id, self.secret)
        else:
            proof["client_id"] = self.client_id
        if self.auth_method == "client_secret_post":
            proof["client_secret"] = self.secret
        return self.post_form(address, encode_form(proof | dict(fields)), **headers)

    def post_form(self, address: str, body: str | bytes, **headers: str) -> Response:
        return self.http.post(address, body, content_type=FORM, headers=headers)

    def ping(self, access: str) -> int:
        """The status with which the MCP endpoint answers this bearer."""
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        status: int = self.post_json(MCP, ping, Authorization=f"Bearer {access}").status_code
        return status

    def code(self, browser: Browser, **asked: Any) -> str:
        """Ask, have everything approved, and take the code home."""
        page = browser.open(self.authorize_address(**asked))
        return answer(browser.decide(page))["code"]

    def connect(self, browser: Browser, **asked: Any) -> Tokens:
        return tokens_of(self.exchange(self.code(browser, **asked)))

    def _remember(self, registered: Mapping[str, Any]) -> None:
        self.client_id = registered["client_id"]
        self.secret = registered.get("client_secret", "")
        self.auth_method = registered["token_endpoint_auth_method"]
        self.redirect_uri = registered["redirect_uris"][0]


def challenge_of(verifier: str) -> str:
    """The S256 challenge, worked out apart from the product (RFC 7636 section 4.2)."""
    return urlsafe_b64encode(sha256(verifier.encode()).digest()).decode().rstrip("=")


def basic(client_id: str, secret: str) -> str:
    return "Basic " + b64encode(f"{client_id}:{secret}".encode()).decode()


def encode_form(fields: Mapping[str, Any]) -> str:
    present = {name: value for name, value in fields.items() if value is not None}
    return urlencode(present, doseq=True)


def read(response: Response) -> dict[str, Any]:
    body: dict[str, Any] = json.loads(response.content)
    return body


def tokens_of(response: Response) -> Tokens:
    assert response.status_code == 200, response.content
    body = read(response)
    return Tokens(body["access_token"], body["refresh_token"], body["scope"])


def answer(response: Response, redirect_uri: str = CALLBACK) -> dict[str, str]:
    """The parameters an authorization response carries, each of them once."""
    assert response.status_code == 302, (response.status_code, response.content)
    location = response["Location"]
    assert location.startswith(f"{redirect_uri}?"), location
    pairs = parse_qsl(urlsplit(location).query, keep_blank_values=True, strict_parsing=True)
    assert len(pairs) == len(dict(pairs)), location
    return dict(pairs)


def assert_refused(response: Response) -> tuple[int, str]:
    """Status and error code of a refusal in JSON, which no cache may keep."""
    assert response["Content-Type"] == "application/json"
    assert response["Cache-Control"] == "no-store"
    assert response["Pragma"] == "no-cache"
    return response.status_code, read(response)["error"]
