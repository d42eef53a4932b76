"""The least a client can be: it registers, sends a browser away and redeems the code."""

from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from hashlib import sha256
from secrets import token_urlsafe
from typing import Any
from urllib.parse import parse_qsl, urlencode, urlsplit

import httpx2

from tests.drivers.person import Person
from tests.drivers.server import Server

CALLBACK = "http://127.0.0.1:33418/callback"


@dataclass
class BareClient:
    """A public client of one server, known to it from the start."""

    server: Server
    name: str = "Bare client"
    redirect_uri: str = CALLBACK
    scope: str = "docs:read setup:read data:read"
    state: str = field(default_factory=token_urlsafe)
    verifier: str = field(default_factory=lambda: token_urlsafe(48))
    client_id: str = ""

    def __post_init__(self) -> None:
        asked = {
            "client_name": self.name,
            "redirect_uris": [self.redirect_uri],
            "token_endpoint_auth_method": "none",
        }
        reply = httpx2.post(f"{self.server.mcp_url}/oauth/register", json=asked, timeout=30)
        assert reply.status_code == 201, reply.text
        self.client_id = reply.json()["client_id"]

    @property
    def authorize_url(self) -> str:
        challenge = urlsafe_b64encode(sha256(self.verifier.encode()).digest()).decode().rstrip("=")
        asked = {
            "response_type": "code",
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "scope": self.scope,
            "state": self.state,
            "code_challenge": challenge,
            "code_challenge_method": "S256",
        }
        return f"{self.server.mcp_url}/oauth/authorize?{urlencode(asked)}"

    def redeem(self, answer: str) -> dict[str, Any]:
        """What the token endpoint gives for the address that the browser was sent back to."""
        given = dict(parse_qsl(urlsplit(answer).query))
        assert given["state"] == self.state
        asked = {
            "grant_type": "authorization_code",
            "code": given["code"],
            "client_id": self.client_id,
            "redirect_uri": self.redirect_uri,
            "code_verifier": self.verifier,
        }
        reply = httpx2.post(f"{self.server.mcp_url}/oauth/token", data=asked, timeout=30)
        assert reply.status_code == 200, reply.text
        tokens: dict[str, Any] = reply.json()
        return tokens

    def connect(self, person: Person) -> str:
        """An access token for what the person approves, who then closes the browser."""
        with person.browser:
            token: str = self.redeem(person.open(self.authorize_url))["access_token"]
        return token
