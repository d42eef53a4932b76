"""An authenticator app, a device with passkeys, and the pages of second factors."""

import base64
import hashlib
import hmac
import json
import secrets
import struct
import time
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from fido2 import cbor

from tests.console import markup
from tests.console.markup import Element

PASSWORD = "correct horse battery staple"
EMAIL = "ada@acme.example"
SECURITY = "/account/security"
PERIOD = 30  # seconds
USER_PRESENT, USER_VERIFIED, KEY_ATTACHED = 0x01, 0x04, 0x40
# What Django's test client returns has no public name.
Response: TypeAlias = Any


def code(secret: str, *, steps: int = 0) -> str:
    """The six digits an app shows now, or some steps away, worked out apart (RFC 6238)."""
    counter = struct.pack(">Q", int(time.time()) // PERIOD + steps)
    digest = hmac.new(base64.b32decode(secret), counter, hashlib.sha1).digest()
    (value,) = struct.unpack(">I", digest[digest[-1] & 15 :][:4])
    return f"{(value & 0x7FFFFFFF) % 10**6:06}"


def page(response: Response) -> Element:
    assert response.status_code == 200, (response.status_code, response.headers)
    return markup.read(response.content)


def alerts(shown: Element) -> str:
    """What is announced as wrong."""
    return " ".join(one.text for one in shown if one.attributes.get("role") == "alert")


@dataclass
class FactorVisitor:
    """A person at the pages; every act returns the answer as the browser gets it."""

    browser: Client = field(default_factory=Client)
    email: str = EMAIL

    def sign_in(self, **fields: str) -> Response:
        return self.browser.post("/signin", {"login": self.email, "password": PASSWORD} | fields)

    def enter(self, typed: str, **fields: str) -> Response:
        """The second step."""
        return self.browser.post("/signin/code", {"code": typed} | fields)

    def confirm(self) -> None:
        """Say again who is at the keyboard; what follows may change factors for five minutes."""
        answer = self.browser.post("/signin/confirm", {"password": PASSWORD, "next": SECURITY})
        assert answer.headers["Location"] == SECURITY

    def add_app(self) -> tuple[str, list[str]]:
        """Turn the app on; its secret, and the recovery codes."""
        self.confirm()
        secret = page(self.browser.get(f"{SECURITY}/app")).one("code").text
        done = self.browser.post(f"{SECURITY}/app", {"code": code(secret)})
        assert done.headers["Location"] == f"{SECURITY}/codes"
        return secret, self.recovery_codes()

    def recovery_codes(self) -> list[str]:
        """The codes, the one time that they are shown."""
        shown = page(self.browser.get(f"{SECURITY}/codes")).one("code")
        return [one for one in shown.children if isinstance(one, str)]

    def sign_out(self) -> None:
        self.browser.post("/signout")

    @property
    def is_signed_in(self) -> bool:
        return "_auth_user_id" in self.browser.session


@dataclass
class Device:
    """Keeps one passkey and answers for it as a browser would, or refuses if configured so."""

    origin: str = "http://localhost:8000"
    relying_party: str = "localhost"
    flags: int = USER_PRESENT | USER_VERIFIED
    client: dict[str, Any] = field(default_factory=dict)
    user_handle: str = ""
    credential_id: bytes = field(default_factory=lambda: secrets.token_bytes(16))
    key: Any = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))

    def but(self, **changes: Any) -> "Device":
        return replace(self, **changes)

    def make(self, options: Any) -> str:
        """Answer a registration (WebAuthn Level 3, section 6.3.2)."""
        asked = options["publicKey"]
        self.user_handle = asked["user"]["id"]
        point = self.key.public_key().public_numbers()
        # A COSE key: elliptic curve, ES256, P-256 (RFC 9053 section 7.1.1).
        curve = {1: 2, 3: -7, -1: 1}
        public = cbor.encode(curve | {-2: point.x.to_bytes(32), -3: point.y.to_bytes(32)})
        length = struct.pack(">H", len(self.credential_id))
        attached = bytes(16) + length + self.credential_id + public
        data = self._authenticator_data(self.flags | KEY_ATTACHED) + attached
        statement = cbor.encode({"fmt": "none", "attStmt": {}, "authData": data})
        client = self._client_data("webauthn.create", asked["challenge"])
        return self._answer(clientDataJSON=client, attestationObject=statement)

    def use(self, options: Any) -> str:
        """Answer a sign-in (WebAuthn Level 3, section 6.3.3)."""
        client = self._client_data("webauthn.get", options["publicKey"]["challenge"])
        data = self._authenticator_data(self.flags)
        signed = data + hashlib.sha256(client).digest()
        signature = self.key.sign(signed, ec.ECDSA(hashes.SHA256()))
        answer = json.loads(
            self._answer(clientDataJSON=client, authenticatorData=data, signature=signature)
        )
        answer["response"]["userHandle"] = self.user_handle
        return json.dumps(answer)

    def _client_data(self, kind: str, challenge: str) -> bytes:
        said = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(said | self.client).encode()

    def _authenticator_data(self, flags: int) -> bytes:
        party = hashlib.sha256(self.relying_party.encode()).digest()
        return party + struct.pack(">BI", flags, 0)

    def _answer(self, **parts: bytes) -> str:
        identifier = encode_base64(self.credential_id)
        response = {name: encode_base64(part) for name, part in parts.items()}
        known = {"id": identifier, "rawId": identifier, "type": "public-key"}
        return json.dumps(known | {"response": response})


def encode_base64(part: bytes) -> str:
    return base64.urlsafe_b64encode(part).decode().rstrip("=")


def options_of(shown: Element) -> Any:
    """What a page gives the script for the browser."""
    (element,) = shown.all("script", id="passkey-options")
    options = json.loads(str(element.children[0]))
    return options.get("creation_options") or options["request_options"]


def sign_in_options(browser: Client) -> Any:
    answer = browser.get("/signin/passkey", headers={"Accept": "application/json"})
    return json.loads(answer.content)["request_options"]


def add_passkey(visitor: FactorVisitor, device: Device, **fields: str) -> Response:
    asked = page(visitor.browser.get(f"{SECURITY}/passkeys/add"))
    sent = {"credential": device.make(options_of(asked))} | fields
    return visitor.browser.post(f"{SECURITY}/passkeys/add", sent)


def sign_in_with(device: Device, browser: Client, **fields: str) -> Response:
    sent = {"credential": device.use(sign_in_options(browser))} | fields
    return browser.post("/signin/passkey", sent)


def notices(browser: Client) -> str:
    """What the sign-in page says on top."""
    return " ".join(one.text for one in markup.read(browser.get("/signin").content).all("li"))
