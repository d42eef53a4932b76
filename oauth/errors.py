"""The errors of the authorization server, one class for each error code of the RFCs.

Each endpoint converts them to JSON or to a redirect in one place.
"""

import re
from typing import ClassVar

# RFC 6749 5.2 allows %x20-21 / %x23-5B / %x5D-7E in a description: printable ASCII without " and \.
_UNPRINTABLE = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")
_SHOWN_URI = 120  # characters of an invalid URI that the error message repeats


class OAuthError(Exception):
    """An error that is reported to the client or shown to the user.

    `code` is the registered error code, `status` the HTTP status of a JSON response, `hint` the
    public description and `debug` a detail for the log only.
    Source: RFC 6749 sections 4.1.2.1 and 5.2.
    """

    code: ClassVar[str] = "server_error"
    status: ClassVar[int] = 400

    def __init__(self, hint: str = "", *, debug: str = "") -> None:
        super().__init__(hint)
        self.hint = hint
        self.debug = debug

    def body(self) -> dict[str, str]:
        """Return the members of the JSON response, which are also the parameters of a redirect.

        The description contains only the characters that RFC 6749 section 5.2 allows, and is
        absent without a hint.
        """
        members = {"error": self.code}
        if self.hint:
            members["error_description"] = _UNPRINTABLE.sub("?", self.hint.replace('"', "'"))
        return members


class InvalidRequest(OAuthError):
    code = "invalid_request"


class InvalidClient(OAuthError):
    """Client authentication failed; the endpoint adds its challenge (RFC 6749 5.2)."""

    code = "invalid_client"
    status = 401


class UnreadableClient(InvalidClient):
    """The metadata document of a client is not read here; the client has to register."""

    def __init__(self, hint: str, *, client_id: str, debug: str = "") -> None:
        super().__init__(hint, debug=debug)
        self.client_id = client_id


class UnreachableClient(UnreadableClient):
    """The host of a client's metadata document cannot be reached from this server."""

    def __init__(self, hint: str, *, client_id: str, host: str, debug: str = "") -> None:
        super().__init__(hint, client_id=client_id, debug=debug)
        self.host = host


class InvalidGrant(OAuthError):
    code = "invalid_grant"


class UnauthorizedClient(OAuthError):
    """The client may not use this grant (RFC 6749 section 5.2)."""

    code = "unauthorized_client"


class InvalidScope(OAuthError):
    code = "invalid_scope"


class InvalidTarget(OAuthError):
    """This server issues no tokens for the `resource` (RFC 8707 section 2)."""

    code = "invalid_target"


class UnsupportedGrantType(OAuthError):
    code = "unsupported_grant_type"


class UnsupportedTokenType(OAuthError):
    """Clients do not revoke tokens of this kind (RFC 7009 section 2.2.1)."""

    code = "unsupported_token_type"


class UnsupportedResponseType(OAuthError):
    code = "unsupported_response_type"


class AccessDenied(OAuthError):
    code = "access_denied"


class InteractionRequired(OAuthError):
    """`prompt=none` cannot be honoured (OpenID Connect Core 3.1.2.6).

    Never `login_required` or `consent_required`: registration is open, so the difference would tell
    any web site whether its visitor is signed in here.
    """

    code = "interaction_required"


class RequestNotSupported(OAuthError):
    """A request object was sent by value (OpenID Connect Core 3.1.2.6)."""

    code = "request_not_supported"


class RequestUriNotSupported(OAuthError):
    """A request object was sent by reference; it is never fetched (OpenID Connect Core 3.1.2.6)."""

    code = "request_uri_not_supported"


class InvalidClientMetadata(OAuthError):
    """A member of the client metadata is invalid (RFC 7591 section 3.2.2)."""

    code = "invalid_client_metadata"


class InvalidRedirectUri(OAuthError):
    """A redirect URI is invalid; `uri` is empty if the list itself is.

    Source: RFC 7591 section 3.2.2.
    """

    code = "invalid_redirect_uri"

    def __init__(self, uri: str, why: str, *, debug: str = "") -> None:
        super().__init__(f"{why} Redirect URI: {uri[:_SHOWN_URI]}" if uri else why, debug=debug)
        self.uri = uri
        self.why = why


class UnsupportedMethod(InvalidRequest):
    """The endpoint does not support this method (RFC 9110 section 15.5.6)."""

    status = 405


class BodyTooLarge(OAuthError):
    code = "invalid_request"
    status = 413


class ServerBusy(OAuthError):
    code = "temporarily_unavailable"
    status = 503


class TooManyRequests(OAuthError):
    """A rate limit refused the request.

    No registered code fits: `slow_down` is for the polling of RFC 8628 section 3.5. RFC 6749
    section 4.1.2.1 has `temporarily_unavailable`; the status 429 distinguishes a rate limit from
    an outage (RFC 6585 section 4).
    """

    code = "temporarily_unavailable"
    status = 429
