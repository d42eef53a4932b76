"""How a call, a read or a prompt that does not succeed is told: refused, unknown, or failed.

Source: transport document, Error codes; MCP of each revision, server/tools and server/resources,
Error Handling.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from mcp_protocol.errors import (
    FORBIDDEN,
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ProtocolError,
    forbidden_code,
    shown,
)
from mcp_protocol.revisions import MODERN, REVISIONS, Revision, since
from mcp_protocol.shapes import call_result, text_block
from mcp_protocol.strict_json import JsonObject, indented

# The tool's own word for what went wrong, and its code; `unauthorized` differs by revision.
_KIND_CODES: Final[Mapping[str, int]] = {
    "validation": INVALID_PARAMS,
    "not_found": METHOD_NOT_FOUND,
}

# From here on a failure is a result, so that the model reads it and can correct itself
# (MCP 2025-11-25, changelog, SEP-1303).
_TOLD_AS_RESULT: Final = since(Revision.V2025_11_25)

_UNKNOWN_TOOL: Final[Mapping[Revision, int]] = {
    **dict.fromkeys(REVISIONS, METHOD_NOT_FOUND),
    **dict.fromkeys(MODERN, INVALID_PARAMS),
}

# The number that MCP gave to "resource not found" before it took it back is Halo's own for a
# refusal; `data` tells them apart (MCP 2025-11-25 and 2026-07-28, server/resources).
_UNKNOWN_RESOURCE: Final[Mapping[Revision, int]] = {
    **dict.fromkeys(REVISIONS, FORBIDDEN),
    **dict.fromkeys(MODERN, INVALID_PARAMS),
}


def refusal(
    reason: str,
    layer: str,
    message: str,
    revision: Revision,
    *,
    http_status: int | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> ProtocolError:
    """Return the error for a call that a gate, a flag or a rate limit refused.

    `data` holds reason and layer, which tells it from resource-not-found (also -32002 before
    2026-07-28). A status is given for scope_denied (403), the flag (403) and rate limits (429).
    """
    return ProtocolError(
        forbidden_code(revision),
        message,
        data={"reason": reason, "layer": layer},
        http_status=http_status,
        headers=headers,
    )


def unknown_tool(name: str, revision: Revision) -> ProtocolError:
    """Return the error for a tool that does not exist for the caller; always HTTP 200."""
    return ProtocolError(_UNKNOWN_TOOL[revision], f"Unknown tool: {shown(name)}.")


def unknown_resource(uri: str, revision: Revision) -> ProtocolError:
    """Return the error for a resource that does not exist for the caller; always HTTP 200."""
    return ProtocolError(
        _UNKNOWN_RESOURCE[revision], f"Unknown resource: {shown(uri)}.", data={"uri": uri}
    )


def unknown_prompt(name: str) -> ProtocolError:
    """Return the error for a prompt that does not exist for the caller; always HTTP 200."""
    return ProtocolError(INVALID_PARAMS, f"Unknown prompt: {shown(name)}.", data={"field": "name"})


def invalid_field(field: str, message: str, reason: str = "") -> ProtocolError:
    """Return the error for one member of params that cannot be; always HTTP 200."""
    return ProtocolError(
        INVALID_PARAMS, message, data={"field": field} | ({"reason": reason} if reason else {})
    )


def failed_call(
    kind: str, message: str, field: str | None, reason: str | None, revision: Revision
) -> ProtocolError | JsonObject:
    """Return how a tool's failure is told: an error up to 2025-06-18, a result with isError after.

    Kinds: `unauthorized`, `validation`, `not_found`; any other is an internal error. Both forms
    carry the same code, field and reason. The error is returned, not raised.
    """
    error = ProtocolError(
        _failure_code(kind, revision), message, data=_details(field, reason) or None
    )
    if revision not in _TOLD_AS_RESULT:
        return error
    text = indented({"code": error.code, "message": message, **_details(field, reason)})
    return call_result([text_block(text)], revision, is_error=True)


def failed_request(
    kind: str, message: str, field: str | None, reason: str | None, revision: Revision
) -> ProtocolError:
    """Return how reading a resource or getting a prompt fails: an error at every revision."""
    # The code of an unknown method would tell a modern client that the method does not exist.
    code = INVALID_PARAMS if kind == "not_found" else _failure_code(kind, revision)
    return ProtocolError(code, message, data=_details(field, reason) or None)


def _details(field: str | None, reason: str | None) -> JsonObject:
    details = {"field": field, "reason": reason}
    return {key: value for key, value in details.items() if value is not None}


def _failure_code(kind: str, revision: Revision) -> int:
    if kind == "unauthorized":
        return forbidden_code(revision)
    return _KIND_CODES.get(kind, INTERNAL_ERROR)
