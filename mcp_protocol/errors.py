"""Errors as the wire knows them: a JSON-RPC code, a sentence, and an HTTP status."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, Final

from mcp_protocol.revisions import MODERN, REVISIONS, Revision

# JSON-RPC 2.0, section 5.1.
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600
METHOD_NOT_FOUND: Final = -32601
INVALID_PARAMS: Final = -32602
INTERNAL_ERROR: Final = -32603

# Halo's own codes (transport document, Error codes).
UNAUTHORIZED: Final = -32001
FORBIDDEN: Final = -32002
# MCP 2026-07-28 (basic, Error Codes) forbids -32002 and wants new codes outside the reserved range.
FORBIDDEN_MODERN: Final = -31002

# MCP 2026-07-28, basic, Error Codes.
HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

_SHOWN_CHARACTERS: Final = 100

_FORBIDDEN: Final[Mapping[Revision, int]] = {
    **dict.fromkeys(REVISIONS, FORBIDDEN),
    **dict.fromkeys(MODERN, FORBIDDEN_MODERN),
}

_STATUS: Final[Mapping[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    UNAUTHORIZED: 401,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}
# 404 tells a modern client that the method, not the endpoint, is absent
# (MCP 2026-07-28, basic/transports/streamable-http, Protocol Version Header).
_STATUS_AT: Final[Mapping[tuple[int, Revision], int]] = {
    (METHOD_NOT_FOUND, revision): 404 for revision in MODERN
}


def http_status(code: int, revision: Revision) -> int:
    """Return the HTTP status that carries a JSON-RPC error code at a revision; 200 if none is set.

    Scope denials, the flag and rate limits share one code; they state their status themselves.
    """
    return _STATUS_AT.get((code, revision)) or _STATUS.get(code, 200)


def forbidden_code(revision: Revision) -> int:
    """Return the JSON-RPC code of a refusal at a revision."""
    return _FORBIDDEN[revision]


class ProtocolError(Exception):
    """A refusal ready for the wire: JSON-RPC code, one sentence, and optional data.

    `http_status` is set where the code alone does not decide it; `headers` go out with the
    response (challenges, rate limits). Source: JSON-RPC 2.0, section 5.1.
    """

    def __init__(
        self,
        code: int,
        message: str,
        *,
        data: object = None,
        http_status: int | None = None,
        headers: Iterable[tuple[str, str]] = (),
    ) -> None:
        # Both arguments reach Exception so that the error survives pickling between processes.
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
        self.http_status = http_status
        self.headers = tuple(headers)

    def __str__(self) -> str:
        return self.message

    def status(self, revision: Revision) -> int:
        """Return the HTTP status to send: the error's own, else the one its code has."""
        return self.http_status or http_status(self.code, revision)


def shown(text: str) -> str:
    """Return a client's text in quotes for use in a message: ASCII, at most 100 characters of it.

    What a client sends is never repeated raw: control characters and bidirectional marks would
    reach logs and terminals.
    """
    cut = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
    return json.dumps(cut)


def invalid_request(message: str) -> ProtocolError:
    """Return the error for an envelope that is not JSON-RPC 2.0 as MCP narrows it."""
    return ProtocolError(INVALID_REQUEST, message)


def method_not_found(method: str) -> ProtocolError:
    """Return the error for a method that this server does not answer at the revision in use."""
    return ProtocolError(METHOD_NOT_FOUND, f"Method not found: {shown(method)}.")


def header_mismatch(message: str) -> ProtocolError:
    """Return the error for headers that are missing, malformed or differ from the body.

    Source: MCP 2026-07-28, basic/transports/streamable-http, Server Validation.
    """
    return ProtocolError(HEADER_MISMATCH, f"Header mismatch: {message}", http_status=400)


def missing_capability(required: Mapping[str, Any]) -> ProtocolError:
    """Return the error for a request that needs client capabilities which were not declared.

    `required` has the shape of ClientCapabilities, such as {"elicitation": {"form": {}}}.
    Source: MCP 2026-07-28, schema, MissingRequiredClientCapabilityError.
    """
    return ProtocolError(
        MISSING_CAPABILITY,
        "The request needs a client capability that was not declared.",
        data={"requiredCapabilities": dict(required)},
        http_status=400,
    )


def unsupported_version(requested: str) -> ProtocolError:
    """Return the error for a revision that this server does not speak, newest supported first.

    Source: MCP 2026-07-28, basic/versioning, Protocol Version Negotiation.
    """
    return ProtocolError(
        UNSUPPORTED_VERSION,
        "Unsupported protocol version.",
        data={
            "supported": [revision.value for revision in reversed(REVISIONS)],
            "requested": requested[:_SHOWN_CHARACTERS],
        },
        http_status=400,
    )
