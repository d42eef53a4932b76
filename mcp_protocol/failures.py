"""The errors of calls, reads and prompts: refused, unknown, or failed.

Source: transport document, Error codes; MCP of each revision, server/tools and server/resources,
Error Handling.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from foundation.json_text import dumps_indented
from mcp_protocol.errors import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    METHOD_NOT_FOUND,
    ErrorCodes,
    ProtocolError,
    quote_text,
)
from mcp_protocol.revisions import Revision, revisions_since
from mcp_protocol.shapes import call_result, text_block
from mcp_protocol.strict_json import JsonObject

# The kind of a tool's failure, and its code; `unauthorized` differs by revision.
_KIND_CODES: Final[Mapping[str, int]] = {
    "validation": INVALID_PARAMS,
    "not_found": METHOD_NOT_FOUND,
}

# From this revision on a failure is a result, so that the model reads it and can correct itself
# (MCP 2025-11-25, changelog, SEP-1303).
_SENT_AS_RESULT: Final = revisions_since(Revision.V2025_11_25)


def refusal(
    reason: str,
    layer: str,
    message: str,
    revision: Revision,
    codes: ErrorCodes,
    *,
    http_status: int | None = None,
    headers: Iterable[tuple[str, str]] = (),
) -> ProtocolError:
    """Returns the error for a call that a gate, a flag or a rate limit refused.

    `data` holds reason and layer, which distinguishes it from resource-not-found (also -32002
    before 2026-07-28). A status is given for scope_denied (403), the flag (403) and rate limits
    (429).
    """
    return ProtocolError(
        codes.forbidden[revision],
        message,
        data=None if reason in codes.without_data else {"reason": reason, "layer": layer},
        http_status=http_status,
        headers=headers,
    )


def unknown_tool(
    name: str, revision: Revision, codes: ErrorCodes, nearest: str = ""
) -> ProtocolError:
    """Returns the error for a tool that does not exist for the caller; always HTTP 200.

    `nearest` is the tool that the caller may have meant, or empty.
    """
    perhaps = f", perhaps {quote_text(nearest)}" if nearest else ""
    return ProtocolError(
        codes.unknown_tool[revision], f"Unknown tool: {quote_text(name)}{perhaps}."
    )


def unknown_resource(uri: str, revision: Revision, codes: ErrorCodes) -> ProtocolError:
    """Returns the error for a resource that does not exist for the caller; always HTTP 200."""
    return ProtocolError(
        codes.unknown_resource[revision], f"Unknown resource: {quote_text(uri)}.", data={"uri": uri}
    )


def unknown_prompt(name: str) -> ProtocolError:
    """Returns the error for a prompt that does not exist for the caller; always HTTP 200."""
    return ProtocolError(
        INVALID_PARAMS, f"Unknown prompt: {quote_text(name)}.", data={"field": "name"}
    )


def invalid_field(field: str, message: str, reason: str = "") -> ProtocolError:
    """Returns the error for one invalid member of params; always HTTP 200."""
    return ProtocolError(
        INVALID_PARAMS, message, data={"field": field} | ({"reason": reason} if reason else {})
    )


def failed_call(
    kind: str,
    message: str,
    field: str | None,
    reason: str | None,
    *,
    revision: Revision,
    codes: ErrorCodes,
) -> ProtocolError | JsonObject:
    """Returns a tool's failure: an error up to 2025-06-18, a result with isError after.

    Kinds: `unauthorized`, `validation`, `not_found`; any other is an internal error. Both forms
    have the same code, field and reason. The error is returned, not raised.
    """
    code = _failure_code(kind, revision, codes)
    if code == INVALID_PARAMS and codes.invalid_params:
        # The message says more than the fixed one, and is kept where there is no reason.
        message, reason = codes.invalid_params, reason or message
    error = ProtocolError(code, message, data=_details(field, reason) or None)
    if revision not in _SENT_AS_RESULT:
        return error
    text = dumps_indented({"code": error.code, "message": message, **_details(field, reason)})
    return call_result([text_block(text)], revision, is_error=True)


def refused_call(reason: str, message: str, revision: Revision) -> JsonObject:
    """Returns a refusal as the result of a tool, for what the caller can correct."""
    text = dumps_indented({"message": message, "reason": reason})
    return call_result([text_block(text)], revision, is_error=True)


def failed_request(
    kind: str,
    message: str,
    field: str | None,
    reason: str | None,
    *,
    revision: Revision,
    codes: ErrorCodes,
) -> ProtocolError:
    """Returns the error for a failed read of a resource or a failed prompt, at every revision."""
    # The code of an unknown method would mean to a modern client that the method does not exist.
    code = INVALID_PARAMS if kind == "not_found" else _failure_code(kind, revision, codes)
    return ProtocolError(code, message, data=_details(field, reason) or None)


def unavailable(message: str, code: str, retry_after: int) -> ProtocolError:
    """Returns the error while the server cannot answer; nothing was done, and HTTP 503.

    `data` repeats what HTTP has in a header, for WebSockets and streams.
    """
    return ProtocolError(
        INTERNAL_ERROR,
        message,
        data={"reason": code, "retryAfterSeconds": retry_after},
        http_status=503,
        headers=[("Retry-After", str(retry_after))],
    )


def _details(field: str | None, reason: str | None) -> JsonObject:
    details = {"field": field, "reason": reason}
    return {key: value for key, value in details.items() if value is not None}


def _failure_code(kind: str, revision: Revision, codes: ErrorCodes) -> int:
    if kind == "unauthorized":
        return codes.forbidden[revision]
    return _KIND_CODES.get(kind, INTERNAL_ERROR)
