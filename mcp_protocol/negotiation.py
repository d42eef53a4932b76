"""Determines the revision of a message and the declarations of its client.

Source: MCP 2026-07-28, basic/versioning and basic, `_meta`; MCP 2025-06-18, basic/transports.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from mcp_protocol import mcp_apps, meta_keys
from mcp_protocol.envelope import JsonRpcNotification, JsonRpcRequest, RequestId, as_id
from mcp_protocol.errors import INVALID_PARAMS, ProtocolError, header_mismatch, unsupported_version
from mcp_protocol.headers import VERSION_HEADER
from mcp_protocol.revisions import BY_TEXT, MODERN, UNDECLARED, Revision, answer_to_initialize, find
from mcp_protocol.strict_json import JsonObject

# RFC 5424, section 6.2.1, as the specification spells them, least severe first.
LOG_LEVELS: Final = (
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
)

# The one revision that has batches, and the maximum number of messages in one.
_BATCH_LIMITS: Final[Mapping[Revision, int]] = {Revision.V2025_03_26: 100}


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one message: its revision, and what its client declared with it.

    Legacy clients declare capabilities in `initialize` alone; `session` names the session that
    stores them, if there is one.
    """

    revision: Revision
    client_capabilities: JsonObject = field(default_factory=dict)
    log_level: str | None = None
    progress_token: RequestId | None = None
    session: str = ""

    @property
    def shows_apps(self) -> bool:
        """Whether the client shows MCP Apps, at a revision in which tools can name them."""
        has_tool_meta = self.revision in mcp_apps.REVISIONS
        return has_tool_meta and mcp_apps.has_declared_apps(self.client_capabilities)


def batch_limit(header: str | None, undeclared: Revision = UNDECLARED) -> int:
    """Returns the maximum number of messages in an array at this version; 0 for no arrays."""
    revision = undeclared if header is None else find(header)
    return 0 if revision is None else _BATCH_LIMITS.get(revision, 0)


def accepts_forms(client_capabilities: Mapping[str, object]) -> bool:
    """Returns whether a client can show a form: an empty elicitation capability means form mode.

    Source: MCP 2025-11-25 and 2026-07-28, client/elicitation, Capabilities.
    """
    elicitation = client_capabilities.get("elicitation")
    return isinstance(elicitation, dict) and (not elicitation or "form" in elicitation)


def negotiate(
    header: str | None,
    message: JsonRpcRequest | JsonRpcNotification,
    undeclared: Revision = UNDECLARED,
) -> Terms:
    """Returns the terms of one message from its MCP-Protocol-Version header and its body.

    `undeclared` is the revision of a message with neither: the server may know by other means, "for
    example, by relying on the protocol version negotiated during initialization" (MCP 2025-06-18,
    basic/transports, Protocol Version Header). Raises ProtocolError, mostly with HTTP 400:
    HEADER_MISMATCH if header and `_meta` disagree, UNSUPPORTED_VERSION for an unknown revision,
    INVALID_PARAMS for missing or mistyped fields.
    """
    meta = _meta(header, message)
    declared = _declared_version(meta)
    if declared is not None:
        _check_agreement(header, declared, message)
    if header in MODERN or declared in MODERN:
        return _modern_terms(message, meta, declared)
    if message.method == "initialize":
        return _handshake_terms(message.params, meta)
    revision = undeclared if header is None else _parse_revision(header)
    return Terms(revision, progress_token=_progress_token(meta))


def _meta(header: str | None, message: JsonRpcRequest | JsonRpcNotification) -> JsonObject:
    meta = message.params.get(meta_keys.META, {})
    if not isinstance(meta, dict):
        status = 400 if header in MODERN else None
        raise ProtocolError(INVALID_PARAMS, "`_meta` must be an object.", http_status=status)
    return meta


def _declared_version(meta: JsonObject) -> str | None:
    declared = meta.get(meta_keys.PROTOCOL_VERSION)
    if declared is None or isinstance(declared, str):
        return declared
    raise _bad_field(meta_keys.PROTOCOL_VERSION, "must be a string")


def _check_agreement(
    header: str | None, declared: str, message: JsonRpcRequest | JsonRpcNotification
) -> None:
    if header is not None and header != declared:
        raise header_mismatch(f"{VERSION_HEADER} differs from `_meta`.")
    _parse_revision(declared)
    # The specification does not define the metadata of a notification (streamable-http, Sending
    # Messages, note).
    if header is None and isinstance(message, JsonRpcRequest):
        raise header_mismatch(f"the {VERSION_HEADER} header is missing.")


def _parse_revision(text: str) -> Revision:
    revision = BY_TEXT.get(text)
    if revision is None:
        raise unsupported_version(text)
    return revision


def _modern_terms(
    message: JsonRpcRequest | JsonRpcNotification, meta: JsonObject, declared: str | None
) -> Terms:
    if isinstance(message, JsonRpcRequest):
        if declared is None:
            raise _bad_field(meta_keys.PROTOCOL_VERSION, "is required")
        if meta_keys.CLIENT_CAPABILITIES not in meta:
            raise _bad_field(meta_keys.CLIENT_CAPABILITIES, "is required")
    _object(meta, meta_keys.CLIENT_INFO)  # has to be an object, and is not kept
    return Terms(
        revision=MODERN[-1],
        client_capabilities=_object(meta, meta_keys.CLIENT_CAPABILITIES) or {},
        log_level=_log_level(meta),
        progress_token=_progress_token(meta),
    )


def _object(meta: JsonObject, key: str) -> JsonObject | None:
    if key not in meta:
        return None
    if isinstance(meta[key], dict):
        return dict(meta[key])
    raise _bad_field(key, "must be an object")


def _log_level(meta: JsonObject) -> str | None:
    if meta_keys.LOG_LEVEL not in meta:
        return None
    level = meta[meta_keys.LOG_LEVEL]
    if isinstance(level, str) and level in LOG_LEVELS:
        return level
    raise _bad_field(meta_keys.LOG_LEVEL, "must be a log level")


def _bad_field(key: str, why: str) -> ProtocolError:
    return ProtocolError(INVALID_PARAMS, f"`_meta` field {key} {why}.", http_status=400)


def _handshake_terms(params: JsonObject, meta: JsonObject) -> Terms:
    # The handshake names its revision in the body; an earlier one in the header is ignored.
    asked = params.get("protocolVersion")
    if asked is not None and not isinstance(asked, str):
        raise ProtocolError(INVALID_PARAMS, "`protocolVersion` must be a string.")
    _declared_object(params, "clientInfo")  # has to be an object, and is not kept
    return Terms(
        revision=UNDECLARED if asked is None else answer_to_initialize(asked),
        client_capabilities=_declared_object(params, "capabilities") or {},
        progress_token=_progress_token(meta),
    )


def _declared_object(params: JsonObject, key: str) -> JsonObject | None:
    value = params.get(key)
    if value is None or isinstance(value, dict):
        return value
    raise ProtocolError(INVALID_PARAMS, f"`{key}` must be an object.")


def _progress_token(meta: JsonObject) -> RequestId | None:
    # Progress is optional: a token of another type is ignored, not refused.
    return as_id(meta.get(meta_keys.PROGRESS_TOKEN))
