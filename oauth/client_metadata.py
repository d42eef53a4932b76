"""What a client says of itself, read once at the edge (RFC 7591 2)."""

import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final, Self

from oauth import redirects, scopes
from oauth.errors import InvalidClientMetadata, InvalidRedirectUri

GRANT_TYPES: Final = ("authorization_code", "refresh_token")
AUTH_METHODS: Final = ("none", "client_secret_basic", "client_secret_post")
APPLICATION_TYPES: Final = ("web", "native")
UNNAMED: Final = "Unnamed client"

_MAX_TEXT = 200  # characters of a name or any other short text
_MAX_ITEMS = 32  # members of a list; VS Code, the richest client known, registers four URIs


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientMetadata:
    """The metadata of a client, checked; the fields bear the registered names of the members.

    Only `is_native` is no member: the client runs on the person's device, by its own word or by
    where its redirects lead. `scope` holds known scopes, or nothing. The name is a claim, not a
    fact. Source: RFC 7591 2.
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
        """Read a registration request or a client id metadata document, already JSON-decoded.

        `app_schemes` are the private-use redirect schemes accepted from everyone. A member that
        is null counts as absent, an unknown one is ignored. Raises InvalidRedirectUri for
        whatever is wrong with `redirect_uris`, else InvalidClientMetadata naming the member.
        Source: RFC 7591 2 and 3.2.2.
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
        """Return the registered members as JSON values, without nulls; `parse` reads them back."""
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
    """Return the body of a 201 answer: what was registered, under which id.

    `issued_at` in Unix seconds. A secret never expires, which RFC 7591 3.2.1 writes as 0.
    """
    issued: dict[str, Any] = {"client_id": client_id, "client_id_issued_at": issued_at}
    if secret is not None:
        issued |= {"client_secret": secret, "client_secret_expires_at": 0}
    return issued | metadata.members()


def _members(document: object) -> dict[str, object]:
    if not isinstance(document, dict):
        raise InvalidClientMetadata("The client metadata must be a JSON object.")
    # Serializers write what they do not know as null (RFC 7592 2.2 reads null as omitted).
    return {member: value for member, value in document.items() if value is not None}


def _redirect_uris(given: Mapping[str, object]) -> tuple[str, ...]:
    uris = given.get("redirect_uris")
    if not isinstance(uris, list) or not uris or not all(isinstance(uri, str) for uri in uris):
        raise InvalidRedirectUri("", "redirect_uris must be a list of at least one string.")
    if len(uris) > _MAX_ITEMS:
        raise InvalidRedirectUri("", f"redirect_uris holds more than {_MAX_ITEMS} URIs.")
    return tuple(uris)


def _any_local(uris: tuple[str, ...], app_schemes: frozenset[str]) -> bool:
    return any(redirects.is_local(uri, app_schemes=app_schemes) for uri in uris)


def _client_name(given: Mapping[str, object]) -> str:
    name = _plain(_string(given, "client_name") or "")
    if len(name) > _MAX_TEXT:
        raise InvalidClientMetadata(f"client_name is longer than {_MAX_TEXT} characters.")
    return name or UNNAMED


def _plain(text: str) -> str:
    """Return the text in one line and one normal form, without characters that nobody sees.

    Bidirectional overrides and zero-width characters let one name pass for another; lone
    surrogates cannot be stored. Source: Unicode TR36 3; Unicode categories C*.
    """
    spaced = " ".join(text.split())
    visible = "".join(char for char in spaced if unicodedata.category(char)[0] != "C")
    return " ".join(unicodedata.normalize("NFKC", visible).split())


def _grant_types(given: Mapping[str, object]) -> tuple[str, ...]:
    # Every code is exchanged for a pair of tokens, so every client is registered for both grants,
    # whichever it named; RFC 7591 3.2.1 lets the server set what it registers.
    grants = _texts(given, "grant_types")
    if grants is not None and not {"authorization_code"} <= set(grants) <= set(GRANT_TYPES):
        raise InvalidClientMetadata(
            "grant_types must hold authorization_code and may hold refresh_token, nothing else."
        )
    return GRANT_TYPES


def _response_types(given: Mapping[str, object]) -> tuple[str, ...]:
    if _texts(given, "response_types") not in {None, ("code",)}:
        raise InvalidClientMetadata('response_types must be ["code"].')
    return ("code",)


def _scope(given: Mapping[str, object]) -> str:
    try:
        return str(scopes.parse(_string(given, "scope") or ""))
    except scopes.ScopeTooLong as refused:
        raise InvalidClientMetadata(refused.hint) from None


def _https(given: Mapping[str, object], member: str) -> str | None:
    url = _string(given, member)
    if not url:  # an empty text says nothing, as null does
        return None
    try:
        redirects.check_https(url)
    except redirects.RefusedRedirect as refused:
        raise InvalidClientMetadata(f"{member} is refused: {refused.why}") from None
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
    if len(items) > _MAX_ITEMS or not all(map(_is_short, items)):
        raise InvalidClientMetadata(f"{member} is too long or holds a control character.")
    return tuple(items)


def _text(given: Mapping[str, object], member: str) -> str | None:
    text = _string(given, member)
    if text is not None and not _is_short(text):
        raise InvalidClientMetadata(f"{member} is too long or holds a control character.")
    return text or None


def _is_short(text: str) -> bool:
    # Printable excludes NUL and lone surrogates, which PostgreSQL cannot store.
    return len(text) <= _MAX_TEXT and text.isprintable()


def _string(given: Mapping[str, object], member: str) -> str | None:
    value = given.get(member)
    if value is not None and not isinstance(value, str):
        raise InvalidClientMetadata(f"{member} must be a string.")
    return value
