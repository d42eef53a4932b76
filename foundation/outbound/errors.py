"""What can go wrong on the way out.

Messages name the host and a fixed reason: never a path, a header, a body or a credential.
"""


class OutboundError(Exception):
    """An outgoing request did not come back with an answer."""

    def __init__(self, host: str, reason: str) -> None:
        super().__init__(f"{host or 'The address'}: {reason}")
        self.host = host
        self.reason = reason


class RefusedUrl(OutboundError):
    """The URL, or where it redirects to, is not one this policy fetches."""


class RefusedAddress(OutboundError):
    """The host is, or resolves to, an address outside the public internet."""


class RefusedRequest(OutboundError):
    """The method or a header is not one that may be sent."""


class TooLarge(OutboundError):
    """The answer is larger than the policy allows, as sent or once decompressed."""


class TimedOut(OutboundError):
    """The deadline, or the time for one step, has passed."""


class Unwanted(OutboundError):
    """Whoever asked has said meanwhile that the answer is not wanted any more."""


class Unreachable(OutboundError):
    """No usable answer came: no such host, no connection, no trust, or no valid HTTP."""
