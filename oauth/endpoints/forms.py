"""Parses parameters of the OAuth endpoints strictly.

With a lenient parser, two components may disagree: the last of two values is used by one, the first
by the other. RFC 6749 3.1 and 3.2 therefore forbid repeated parameters.
"""

import binascii
import re
from base64 import b64decode
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote_to_bytes

from oauth.errors import InvalidClient, InvalidRequest

_FORM_TYPE = "application/x-www-form-urlencoded"
_SHOWN_NAME = 60  # characters of a parameter's name that an error repeats
_BAD_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")


@dataclass(frozen=True, slots=True)
class FormParameters:
    """The parameters of a form body, each sent once and none empty.

    `repr` shows no values: a token request contains secrets.
    """

    values: Mapping[str, str] = field(repr=False)

    def get(self, name: str) -> str | None:
        return self.values.get(name)

    def require(self, name: str) -> str:
        """Returns the value of a parameter. Raises InvalidRequest with its name (RFC 6749 5.2)."""
        value = self.values.get(name)
        if value is None:
            raise InvalidRequest(f"{name} is required.")
        return value


@dataclass(frozen=True, slots=True)
class QueryParameters:
    """The parameters of a query string; `duplicated` names those sent more than once."""

    values: Mapping[str, str] = field(repr=False)
    duplicated: frozenset[str]

    def once(self, name: str) -> str | None:
        """Returns the value of a parameter, or None if it was omitted.

        Raises InvalidRequest if it was repeated (RFC 6749 3.1) or contains a NUL, which PostgreSQL
        cannot store.
        """
        value = self.verbatim(name)
        if value is not None and "\0" in value:
            raise InvalidRequest(f"{name} must not contain a NUL character.")
        return value

    def verbatim(self, name: str) -> str | None:
        """Returns the value of a parameter with its own grammar, `scope`; it may contain a NUL."""
        if name in self.duplicated:
            raise InvalidRequest(f"{name} must not be sent more than once.")
        return self.values.get(name)


def parse_form(
    body: bytes, content_type: str, *, max_bytes: int = 16_384, max_fields: int = 30
) -> FormParameters:
    """Parses the body of a token or revocation request.

    Raises InvalidRequest for another media type, a body over `max_bytes`, more than `max_fields`
    parameters, a repeated one, one without "=", a NUL, bad percent-encoding and anything but UTF-8.
    Source: RFC 6749 3.2 and appendix B.
    """
    check_media_type(content_type)
    if len(body) > max_bytes:
        raise InvalidRequest(f"The body is longer than {max_bytes} bytes.")
    pieces = _pieces(_utf8(body))
    if len(pieces) > max_fields:
        raise InvalidRequest(f"The body has more than {max_fields} parameters.")
    if not all("=" in piece for piece in pieces):
        raise InvalidRequest("Each parameter must have the form name=value.")
    return _form([_pair(piece) for piece in pieces])


def parse_query(query: str) -> QueryParameters:
    """Parses a raw query string without its question mark.

    Raises InvalidRequest for bad percent-encoding, anything but UTF-8 under it and anything but
    ASCII outside (RFC 3986 2). Repeated parameters are collected and not raised: an authorization
    request reports some errors to the user and others to the client (RFC 6749 4.1.2.1).
    """
    if not query.isascii():
        raise InvalidRequest("Non-ASCII characters must be percent-encoded.")
    pairs = [_pair(piece) for piece in _pieces(query)]
    return QueryParameters(values=_present(pairs), duplicated=_repeated_names(pairs))


def parse_basic(header: str) -> tuple[str, str]:
    """Returns client id and secret of an Authorization header of the Basic scheme.

    Both are form-encoded before they are joined by a colon. Raises InvalidClient on anything else.
    Source: RFC 6749 2.3.1, RFC 7617 2.
    """
    scheme, _, encoded = header.partition(" ")
    if scheme.lower() != "basic":
        raise InvalidClient(
            "This endpoint takes client credentials with the Basic scheme or in the body, and no "
            "other Authorization header."
        )
    try:
        joined = b64decode(encoded.strip(" ").encode(), validate=True).decode()
        client_id, colon, secret = joined.partition(":")
        credentials = _decode_component(client_id), _decode_component(secret)
    except (binascii.Error, UnicodeError, InvalidRequest):
        raise InvalidClient("The Authorization header is malformed.") from None
    if not client_id or not colon or "\0" in "".join(credentials):
        raise InvalidClient("The Authorization header is malformed.")
    return credentials


def check_media_type(content_type: str) -> None:
    """Raises InvalidRequest for a body that is no form in UTF-8 (RFC 6749 appendix B)."""
    media_type, *parameters = (part.strip().lower() for part in content_type.split(";"))
    if media_type != _FORM_TYPE:
        raise InvalidRequest(f"The Content-Type must be {_FORM_TYPE}.")
    charsets = [text for text in parameters if text.startswith("charset=")]
    if any(text.replace('"', "") != "charset=utf-8" for text in charsets):
        raise InvalidRequest("The charset must be UTF-8.")


def _form(pairs: list[tuple[str, str]]) -> FormParameters:
    if repeated := _repeated_names(pairs):
        raise InvalidRequest(f"{min(repeated)[:_SHOWN_NAME]} must not be sent more than once.")
    if any("\0" in name + value for name, value in pairs):
        raise InvalidRequest("Parameters must not contain NUL characters.")
    return FormParameters(values=_present(pairs))


def _repeated_names(pairs: list[tuple[str, str]]) -> frozenset[str]:
    # An empty value counts too: a proxy may use the other one.
    counts = Counter(name for name, _ in pairs)
    return frozenset(name for name, count in counts.items() if count > 1)


def _present(pairs: list[tuple[str, str]]) -> dict[str, str]:
    # A parameter without a value is treated as omitted (RFC 6749 3.1).
    return {name: value for name, value in pairs if value}


def _pieces(text: str) -> list[str]:
    return [piece for piece in text.split("&") if piece]


def _pair(piece: str) -> tuple[str, str]:
    name, _, value = piece.partition("=")
    return _decode_component(name), _decode_component(value)


def _decode_component(text: str) -> str:
    if _BAD_PERCENT.search(text):
        raise InvalidRequest("A percent sign must be followed by two hexadecimal digits.")
    try:
        return _utf8(unquote_to_bytes(text.replace("+", " ")))
    except UnicodeEncodeError:  # a lone surrogate has no bytes
        raise InvalidRequest("Parameters must be encoded as UTF-8.") from None


def _utf8(raw: bytes) -> str:
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise InvalidRequest("Parameters must be encoded as UTF-8.") from None
