"""JSON-RPC errors: a code, a sentence, and an HTTP status."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class ErrorCodes:
    """The JSON-RPC codes that a server chooses itself, by revision where they differ.

    `forbidden` is the code of a refusal. Refusals for a reason in `without_data` have no `data`.
    `invalid_params`, if set, is the message of all errors about arguments, whose `data` has the
    details.
    """

    unauthorized: int
    forbidden: Mapping[Revision, int]
    unknown_tool: Mapping[Revision, int]
    unknown_resource: Mapping[Revision, int]
    without_data: frozenset[str] = frozenset()
    invalid_params: str = ""


HALO: Final = ErrorCodes(
    unauthorized=UNAUTHORIZED,
    forbidden={
        **dict.fromkeys(REVISIONS, FORBIDDEN),
        **dict.fromkeys(MODERN, FORBIDDEN_MODERN),
    },
    unknown_tool={
        **dict.fromkeys(REVISIONS, METHOD_NOT_FOUND),
        **dict.fromkeys(MODERN, INVALID_PARAMS),
    },
    # MCP used this code for "resource not found" and later withdrew it; Halo uses it for a refusal.
    # `data` distinguishes them (MCP 2025-11-25 and 2026-07-28, server/resources).
    unknown_resource={
        **dict.fromkeys(REVISIONS, FORBIDDEN),
        **dict.fromkeys(MODERN, INVALID_PARAMS),
    },
)

# The gateway's document has the codes of JSON-RPC only ("Error Codes"), and prints the error of a
# spent quota without data ("Rate Limiting").
AIRLOCK: Final = ErrorCodes(
    unauthorized=UNAUTHORIZED,
    forbidden=dict.fromkeys(REVISIONS, INTERNAL_ERROR),
    unknown_tool=HALO.unknown_tool,
    unknown_resource=HALO.unknown_resource,
    without_data=frozenset({"quota_exceeded"}),
    invalid_params="Invalid params",
)

_STATUS: Final[Mapping[int, int]] = {
    PARSE_ERROR: 400,
    INVALID_REQUEST: 400,
    UNAUTHORIZED: 401,
    HEADER_MISMATCH: 400,
    MISSING_CAPABILITY: 400,
    UNSUPPORTED_VERSION: 400,
}
# 404 means to a modern client that the method, not the endpoint, is missing (MCP 2026-07-28,
# basic/transports/streamable-http, Protocol Version Header).
_STATUS_AT: Final[Mapping[tuple[int, Revision], int]] = {
    (METHOD_NOT_FOUND, revision): 404 for revision in MODERN
}


def http_status(code: int, revision: Revision) -> int:
    """Returns the HTTP status of a JSON-RPC error code at a revision; 200 if none is set.

    Refusals by scope, flag and rate limit have the same code; they set their status themselves.
    """
    return _STATUS_AT.get((code, revision)) or _STATUS.get(code, 200)


class ProtocolError(Exception):
    """A refusal: JSON-RPC code, one sentence, and optional data.

    `http_status` is set if the code alone does not determine it; `headers` are sent with the
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
        # Both arguments are passed to Exception so that the error can be pickled.
        super().__init__(code, message)
        self.code = code
        self.message = message
        self.data = data
        self.http_status = http_status
        self.headers = tuple(headers)

    def __str__(self) -> str:
        return self.message

    def status(self, revision: Revision) -> int:
        """Returns the HTTP status to send: the error's own, else the one of its code."""
        return self.http_status or http_status(self.code, revision)


def quote_text(text: str) -> str:
    """Returns a client's text in quotes for a message: ASCII, at most 100 characters of it.

    Text of a client is never repeated unescaped: control characters and bidirectional marks would
    reach logs and terminals.
    """
    cut = text if len(text) <= _SHOWN_CHARACTERS else text[:_SHOWN_CHARACTERS] + "..."
    return json.dumps(cut)


def invalid_request(message: str) -> ProtocolError:
    """Returns the error for an envelope that is not JSON-RPC 2.0 as restricted by MCP."""
    return ProtocolError(INVALID_REQUEST, message)


def method_not_found(method: str) -> ProtocolError:
    """Returns the error for a method that does not exist at the revision in use."""
    return ProtocolError(METHOD_NOT_FOUND, f"Method not found: {quote_text(method)}.")


def header_mismatch(message: str) -> ProtocolError:
    """Returns the error for headers that are missing, malformed or differ from the body.

    Source: MCP 2026-07-28, basic/transports/streamable-http, Server Validation.
    """
    return ProtocolError(HEADER_MISMATCH, f"Header mismatch: {message}", http_status=400)


def missing_capability(required: Mapping[str, Any]) -> ProtocolError:
    """Returns the error for a request that needs client capabilities which were not declared.

    `required` has the form of ClientCapabilities, such as {"elicitation": {"form": {}}}. Source:
    MCP 2026-07-28, schema, MissingRequiredClientCapabilityError.
    """
    return ProtocolError(
        MISSING_CAPABILITY,
        "The request requires a client capability that was not declared.",
        data={"requiredCapabilities": dict(required)},
        http_status=400,
    )


def unsupported_version(requested: str) -> ProtocolError:
    """Returns the error for an unsupported revision; lists the supported ones, newest first.

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
