"""Client metadata, parsed once at the edge (RFC 7591 section 2)."""

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final, Self

from foundation.db.storable import has_unstorable_text
from oauth import scopes
from oauth.clients import redirects
from oauth.consent import grantable
from oauth.errors import InvalidClientMetadata, InvalidRedirectUri

GRANT_TYPES: Final = ("authorization_code", "refresh_token")
AUTH_METHODS: Final = ("none", "client_secret_basic", "client_secret_post")
# Of assertions, by the type of the key (RFC 7518 section 6.1, RFC 8037). No HMAC: the secret of a
# client is stored as a hash.
BY_KEY_TYPE: Final = {"EC": ("ES256",), "RSA": ("RS256", "PS256"), "OKP": ("EdDSA",)}
ALGORITHMS: Final = tuple(name for names in BY_KEY_TYPE.values() for name in names)
APPLICATION_TYPES: Final = ("web", "native")
UNNAMED: Final = "Unnamed client"

_MAX_TEXT = 200  # characters of a name or any other short text
_MAX_RAW_NAME = 1_000  # with marks and spaces that its normal form has not
_MAX_REDIRECT_URIS = 10  # VS Code registers four, more than any other known client
_MAX_ITEMS = 32  # members of any other list


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMetadata:
    """The validated metadata of a client; each field has the registered name of its member.

    `is_native` is the exception: it is derived, and true if the client runs on the user's device
    according to `application_type` or its redirect URIs. `scope` contains only scopes that may be
    granted. The name is a claim of the client and is not verified. Source: RFC 7591 section 2.
    """

    redirect_uris: tuple[str, ...]
    is_native: bool
    client_name: str
    application_type: str
    token_endpoint_auth_method: str
    grant_types: tuple[str, ...]
    response_types: tuple[str, ...]
    scope: str
    contacts: tuple[str, ...]
    client_uri: str | None
    logo_uri: str | None
    tos_uri: str | None
    policy_uri: str | None
    jwks_uri: str | None
    software_id: str | None
    software_version: str | None

    @classmethod
    def parse(cls, document: object, *, app_schemes: frozenset[str]) -> Self:
        """Parse a registration request or a client id metadata document, already JSON-decoded.

        `app_schemes` are the private-use redirect schemes that every client may use. A member
        that is null counts as absent; unknown members are ignored. Raises InvalidRedirectUri if
        `redirect_uris` is invalid, otherwise InvalidClientMetadata naming the member.
        Source: RFC 7591 sections 2 and 3.2.2.
        """
        given = _members(document)
        application_type = _choice(given, "application_type", APPLICATION_TYPES, default="web")
        uris = _redirect_uris(given)
        native = application_type == "native" or _any_local(uris, app_schemes)
        for uri in uris:
            redirects.check(uri, app_schemes=app_schemes, native=native)
        return cls(
            redirect_uris=uris,
            is_native=native,
            client_name=_client_name(given),
            application_type=application_type,
            # RFC 7591 2 names this default.
            token_endpoint_auth_method=_choice(
                given, "token_endpoint_auth_method", AUTH_METHODS, default="client_secret_basic"
            ),
            grant_types=_grant_types(given),
            response_types=_response_types(given),
            scope=_scope(given),
            contacts=_texts(given, "contacts") or (),
            client_uri=_https(given, "client_uri"),
            logo_uri=_https(given, "logo_uri"),
            tos_uri=_https(given, "tos_uri"),
            policy_uri=_https(given, "policy_uri"),
            jwks_uri=_https(given, "jwks_uri"),
            software_id=_text(given, "software_id"),
            software_version=_text(given, "software_version"),
        )

    def members(self) -> dict[str, Any]:
        """Return the registered members as JSON values, without nulls; `parse` accepts them."""
        stated = asdict(self)
        del stated["is_native"]
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in stated.items()
            if value
        }


def registration_reply(
    metadata: ClientMetadata, *, client_id: str, issued_at: int, secret: str | None
) -> dict[str, Any]:
    """Return the body of a 201 response: the registered metadata and the client id.

    `issued_at` is in Unix seconds. Secrets do not expire: RFC 7591 section 3.2.1 has 0 for that.
    """
    issued: dict[str, Any] = {"client_id": client_id, "client_id_issued_at": issued_at}
    if secret is not None:
        issued |= {"client_secret": secret, "client_secret_expires_at": 0}
    return issued | metadata.members()


def _members(document: object) -> dict[str, object]:
    if not isinstance(document, dict):
        raise InvalidClientMetadata("The client metadata must be a JSON object.")
    known = {field.name for field in fields(ClientMetadata)} - {"is_native"}
    # Some serializers write absent members as null (RFC 7592 section 2.2 treats null as omitted).
    given = {name: document[name] for name in known if document.get(name) is not None}
    for name in sorted(given.keys() - {"redirect_uris"}):
        if has_unstorable_text(given[name]):
            raise InvalidClientMetadata(
                f"{name} must not contain a NUL character or a lone surrogate."
            )
    return given


def _redirect_uris(given: Mapping[str, object]) -> tuple[str, ...]:
    uris = given.get("redirect_uris")
    if not isinstance(uris, list) or not uris or not all(isinstance(uri, str) for uri in uris):
        raise InvalidRedirectUri("", "redirect_uris must be a non-empty list of strings.")
    if len(uris) > _MAX_REDIRECT_URIS:
        raise InvalidRedirectUri(
            "", f"redirect_uris must contain at most {_MAX_REDIRECT_URIS} URIs."
        )
    return tuple(uris)


def _any_local(uris: tuple[str, ...], app_schemes: frozenset[str]) -> bool:
    return any(redirects.is_local(uri, app_schemes=app_schemes) for uri in uris)


def _client_name(given: Mapping[str, object]) -> str:
    name = _string(given, "client_name") or ""
    # Marks in a row take the square of their number to normalize.
    if len(name) > _MAX_RAW_NAME or len(name := _plain(name)) > _MAX_TEXT:
        raise InvalidClientMetadata(f"client_name must be at most {_MAX_TEXT} characters long.")
    return name or UNNAMED


def _plain(text: str) -> str:
    """Return the text as one line in normal form, without invisible characters.

    Bidirectional overrides and zero-width characters would let one name look like another.
    Source: Unicode TR36 section 3; Unicode categories C*.
    """
    spaced = " ".join(text.split())
    visible = "".join(char for char in spaced if unicodedata.category(char)[0] != "C")
    return " ".join(unicodedata.normalize("NFKC", visible).split())


def _grant_types(given: Mapping[str, object]) -> tuple[str, ...]:
    # A code is always exchanged for an access and a refresh token, so every client is registered
    # for both grants and for nothing else; RFC 7591 section 3.2.1 lets the server replace values.
    grants = _texts(given, "grant_types")
    if grants is not None and "authorization_code" not in grants:
        raise InvalidClientMetadata("grant_types must contain authorization_code.")
    return GRANT_TYPES


def _response_types(given: Mapping[str, object]) -> tuple[str, ...]:
    types = _texts(given, "response_types")
    if types is not None and "code" not in types:
        raise InvalidClientMetadata("response_types must contain code.")
    return ("code",)


def _scope(given: Mapping[str, object]) -> str:
    try:
        return str(grantable.parse(_string(given, "scope") or ""))
    except scopes.ScopeTooLong as refused:
        raise InvalidClientMetadata(refused.hint) from None


def _https(given: Mapping[str, object], member: str) -> str | None:
    url = _string(given, member)
    if not url:  # an empty string counts as absent, as null does
        return None
    try:
        redirects.check_https(url)
    except redirects.RefusedRedirectUri as refused:
        raise InvalidClientMetadata(f"{member} is not a valid URL: {refused.why}") from None
    return url


def _choice(
    given: Mapping[str, object], member: str, allowed: tuple[str, ...], *, default: str
) -> str:
    value = given.get(member, default)
    if not isinstance(value, str) or value not in allowed:
        raise InvalidClientMetadata(f"{member} must be one of: {', '.join(allowed)}.")
    return value


def _texts(given: Mapping[str, object], member: str) -> tuple[str, ...] | None:
    items = given.get(member)
    if items is None:
        return None
    if not isinstance(items, list) or not all(isinstance(item, str) for item in items):
        raise InvalidClientMetadata(f"{member} must be a list of strings.")
    if len(items) > _MAX_ITEMS:
        raise InvalidClientMetadata(f"{member} must contain at most {_MAX_ITEMS} strings.")
    for item in items:
        _check_short(item, member)
    return tuple(items)


def _text(given: Mapping[str, object], member: str) -> str | None:
    text = _string(given, member)
    if text is not None:
        _check_short(text, member)
    return text or None


def _check_short(text: str, member: str) -> None:
    if len(text) > _MAX_TEXT:
        raise InvalidClientMetadata(f"{member} is longer than {_MAX_TEXT} characters.")
    if not text.isprintable():
        raise InvalidClientMetadata(f"{member} must not contain control characters.")


def _string(given: Mapping[str, object], member: str) -> str | None:
    value = given.get(member)
    if value is not None and not isinstance(value, str):
        raise InvalidClientMetadata(f"{member} must be a string.")
    return value
