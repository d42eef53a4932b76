"""Strict parsing of WebAuthn responses from the browser.

The format is that of WebAuthn Level 3, sections 5.1.3 and 5.1.4, every buffer in base64url as
static/halo/passkeys.js writes it. Other members are dropped, never stored. `second_factors`
verifies the signature.
"""

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final
from uuid import UUID

from django.conf import settings

from mcp_protocol import strict_json
from mcp_protocol.errors import ProtocolError

MAX_CHARACTERS: Final = 32_768
"""No attestation of a real device comes near it."""
MAX_ID_BYTES: Final = 1023  # WebAuthn Level 3, section 4: credential id
BASE64URL: Final = re.compile(r"[A-Za-z0-9_-]+")
HANDLE_BYTES: Final = 16


class BadAnswer(Exception):
    """This is no valid response of a browser; the text names the first error."""


@dataclass(frozen=True, slots=True)
class PasskeyAnswer:
    """A credential that was created or used; `parts` are base64url by name."""

    credential_id: str
    parts: Mapping[str, str]

    def document(self) -> dict[str, Any]:
        """Returns the response as WebAuthn's JSON, without other members."""
        known = {"id": self.credential_id, "rawId": self.credential_id, "type": "public-key"}
        return known | {"response": dict(self.parts)}

    @property
    def user_id(self) -> UUID:
        """Returns the user id that the response claims. Raises BadAnswer if there is none."""
        handle = _decode_base64url(self.parts.get("userHandle"), "userHandle")
        if len(handle) != HANDLE_BYTES:
            raise BadAnswer("userHandle is not one of ours")
        return UUID(bytes=handle)


def parse_registration(text: str) -> PasskeyAnswer:
    """Parses the response to a request for a new passkey. Raises BadAnswer."""
    return _read(text, "webauthn.create", ("attestationObject",))


def parse_authentication(text: str) -> PasskeyAnswer:
    """Parses the response to a request to use a passkey. Raises BadAnswer."""
    return _read(text, "webauthn.get", ("authenticatorData", "signature"), ("userHandle",))


def _read(
    text: str, act: str, needed: tuple[str, ...], optional: tuple[str, ...] = ()
) -> PasskeyAnswer:
    answer = _object(text.encode(), "the answer")
    if answer.get("type") != "public-key" or answer.get("id") != answer.get("rawId"):
        raise BadAnswer("type or id is wrong")
    credential = _decode_base64url(answer.get("id"), "id")
    if len(credential) > MAX_ID_BYTES:
        raise BadAnswer("id is too long")
    response = answer.get("response")
    if not isinstance(response, dict):
        raise BadAnswer("response is not an object")
    _check_client_data(_decode_base64url(response.get("clientDataJSON"), "clientDataJSON"), act)
    present = [name for name in optional if response.get(name) not in (None, "")]
    names = ("clientDataJSON", *needed, *present)
    # Encoded again: two spellings of the same bytes must not count as two passkeys.
    known = base64.urlsafe_b64encode(credential).decode().rstrip("=")
    return PasskeyAnswer(
        known, {name: _require_base64url(response.get(name), name) for name in names}
    )


def _check_client_data(raw: bytes, act: str) -> None:
    """Compares the browser's client data with the request (sections 7.1 and 7.2).

    The whole origin is compared: the library would accept any subdomain and any port.
    """
    client = _object(raw, "clientDataJSON")
    if client.get("type") != act:
        raise BadAnswer("another act than was asked for")
    if client.get("origin") != settings.HALO_PUBLIC_URL:
        raise BadAnswer("another origin")
    if client.get("crossOrigin", False) is not False or "topOrigin" in client:
        raise BadAnswer("inside a page of another site")
    _require_base64url(client.get("challenge"), "challenge")


def _object(raw: bytes, name: str) -> dict[str, Any]:
    if len(raw) > MAX_CHARACTERS:
        raise BadAnswer(f"{name} is too long")
    try:
        value = strict_json.parse(raw)
    except ProtocolError as error:
        raise BadAnswer(f"{name} is not JSON") from error
    if not isinstance(value, dict):
        raise BadAnswer(f"{name} is not an object")
    return value


def _require_base64url(value: object, name: str) -> str:
    _decode_base64url(value, name)
    return str(value)


def _decode_base64url(value: object, name: str) -> bytes:
    # Four characters encode three bytes; a remainder of one encodes nothing (RFC 4648 section 5).
    if not isinstance(value, str) or not BASE64URL.fullmatch(value) or len(value) % 4 == 1:
        raise BadAnswer(f"{name} is not base64url")
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4))
