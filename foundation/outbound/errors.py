"""The errors of outgoing requests.

Messages name the host and a fixed reason: never a path, a header, a body or a credential.
"""

from collections.abc import Mapping


class OutboundError(Exception):
    """An outgoing request got no response. `was_sent`: some of it was, so it may have arrived."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"{host or 'The address'}: {reason}")
        self.host = host
        self.reason = reason
        self.was_sent = False


class RefusedUrl(OutboundError):
    """The policy does not permit the URL, or the target of its redirect."""


class RefusedRedirect(RefusedUrl):
    """A redirect leads to a URL that is not fetched; `status` and `headers` are the response's."""

    def __init__(self, refused: RefusedUrl, status: int, headers: Mapping[str, str]) -> None:
        super().__init__(refused.host, refused.reason)
        self.status = status
        self.headers = headers


class RefusedAddress(OutboundError):
    """The host is, or resolves to, an address outside the public internet."""


class RefusedRequest(OutboundError):
    """The method or a header is not permitted."""


class ResponseTooLarge(OutboundError):
    """The response is larger than the policy allows, encoded or decoded."""


class TimedOut(OutboundError):
    """The deadline, or the timeout of one step, has passed."""


class Unwanted(OutboundError):
    """The caller has cancelled the request."""


class Unreachable(OutboundError):
    """There was no usable response: no such host, no connection, no trust, or invalid HTTP."""
