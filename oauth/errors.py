"""The error tree of the authorization server, named as the RFCs name their error codes.

Raise the member that carries the meaning; one place per endpoint turns it into JSON or a redirect.
"""

import re
from typing import ClassVar

# RFC 6749 5.2 allows %x20-21 / %x23-5B / %x5D-7E in a description: printable ASCII without " and \.
_UNPRINTABLE = re.compile(r"[^\x20-\x21\x23-\x5b\x5d-\x7e]")
_SHOWN_URI = 120  # characters of a refused URI that an error repeats


class OAuthError(Exception):
    """An error that a client or a person may be told about.

    `code` is the registered error code, `status` the HTTP status of a JSON answer, `hint` the
    public description, `debug` what only the log may hold. Source: RFC 6749 4.1.2.1 and 5.2.
    """

    code: ClassVar[str] = "server_error"
    status: ClassVar[int] = 400

    def __init__(self, hint: str = "", *, debug: str = "") -> None:
        super().__init__(hint)
        self.hint = hint
        self.debug = debug

    def body(self) -> dict[str, str]:
        """Return the members of the JSON answer, which are also the parameters of a redirect.

        The description holds only the characters RFC 6749 5.2 allows; without a hint it is absent.
        """
        told = {"error": self.code}
        if self.hint:
            told["error_description"] = _UNPRINTABLE.sub("?", self.hint.replace('"', "'"))
        return told


class InvalidRequest(OAuthError):
    code = "invalid_request"


class InvalidClient(OAuthError):
    """Client authentication failed; the endpoint adds its challenge (RFC 6749 5.2)."""

    code = "invalid_client"
    status = 401


class InvalidGrant(OAuthError):
    code = "invalid_grant"


class InvalidScope(OAuthError):
    code = "invalid_scope"


class InvalidTarget(OAuthError):
    """The `resource` is not one this server issues tokens for (RFC 8707 2)."""

    code = "invalid_target"


class UnsupportedGrantType(OAuthError):
    code = "unsupported_grant_type"


class UnsupportedResponseType(OAuthError):
    code = "unsupported_response_type"


class AccessDenied(OAuthError):
    code = "access_denied"


class InteractionRequired(OAuthError):
    """`prompt=none` cannot be honoured (OpenID Connect Core 3.1.2.6).

    Never `login_required` or `consent_required`: anybody may register a client, and the difference
    would tell any web site whether its visitor is signed in here.
    """

    code = "interaction_required"


class RequestNotSupported(OAuthError):
    """A request object was sent by value (OpenID Connect Core 3.1.2.6)."""

    code = "request_not_supported"


class RequestUriNotSupported(OAuthError):
    """A request object was sent by reference; it is never fetched (OpenID Connect Core 3.1.2.6)."""

    code = "request_uri_not_supported"


class InvalidClientMetadata(OAuthError):
    """A member of a client's metadata cannot be accepted (RFC 7591 3.2.2)."""

    code = "invalid_client_metadata"


class InvalidRedirectUri(OAuthError):
    """A redirect URI cannot be accepted; `uri` is empty where there is none to name.

    Source: RFC 7591 3.2.2.
    """

    code = "invalid_redirect_uri"

    def __init__(self, uri: str, why: str, *, debug: str = "") -> None:
        super().__init__(f"{why} Refused: {uri[:_SHOWN_URI]}" if uri else why, debug=debug)
        self.uri = uri
        self.why = why


class MethodNotAllowed(InvalidRequest):
    """The endpoint does not answer this method (RFC 9110 15.5.6)."""

    status = 405


class BodyTooLarge(OAuthError):
    code = "invalid_request"
    status = 413


class ServerBusy(OAuthError):
    code = "temporarily_unavailable"
    status = 503


class TooManyRequests(OAuthError):
    """A rate limit refused the request.

    No registered code fits: `slow_down` belongs to the polling of RFC 8628 3.5. RFC 6749 4.1.2.1
    has `temporarily_unavailable`, and the status tells a limit from an outage (RFC 6585 4).
    """

    code = "temporarily_unavailable"
    status = 429
