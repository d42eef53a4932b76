"""The common parts of all results: their members, their pages and their content blocks.

Differences between revisions are in tables. Source: MCP schema of each revision.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from foundation.json_text import SerializedJson
from mcp_protocol import meta_keys
from mcp_protocol.capabilities import bare_implementation
from mcp_protocol.description import Row, unless_empty
from mcp_protocol.revisions import HANDSHAKE, MODERN, REVISIONS, Revision, revisions_since
from mcp_protocol.strict_json import JsonObject

# Contents of resources depend on the client, and must reflect a change at once (MCP 2026-07-28,
# server/utilities/caching).
_UNCACHED: Final[Mapping[Revision, JsonObject]] = {
    revision: {"ttlMs": 0, "cacheScope": "private"} for revision in MODERN
}
# With 0, clients list before each turn. A list may be a few seconds old, since each call is checked
# against the switches of its moment.
_LIST_CACHE: Final[Mapping[Revision, JsonObject]] = {
    revision: {"ttlMs": 5_000, "cacheScope": "private"} for revision in MODERN
}

# The type of `structuredContent`; a revision that is absent does not have this member.
_STRUCTURED_TYPE: Final[Mapping[Revision, type]] = {
    Revision.V2025_06_18: dict,
    Revision.V2025_11_25: dict,
    Revision.V2026_07_28: object,
}

# The content blocks that a revision supports (ContentBlock in its schema).
_BLOCK_TYPES: Final[Mapping[str, tuple[Revision, ...]]] = {
    "text": REVISIONS,
    "image": REVISIONS,
    "resource": REVISIONS,
    "audio": revisions_since(Revision.V2025_03_26),
    "resource_link": revisions_since(Revision.V2025_06_18),
}

# What every result at 2026-07-28 says of the server.
_SERVER: Final = bare_implementation()

# The last members of every listed object.
DECORATION: Final[tuple[Row, ...]] = (
    ("icons", revisions_since(Revision.V2025_11_25), unless_empty("icons")),
    ("_meta", revisions_since(Revision.V2025_06_18), unless_empty("meta")),
)


def name_server(result: JsonObject, name: str) -> JsonObject:
    """Returns a result that names the server of its surface, where it names a server.

    Source: MCP 2026-07-28, basic, Per-response protocol fields.
    """
    meta = result.get(meta_keys.META)
    if not meta or meta_keys.SERVER_INFO not in meta:
        return result
    info = {**meta[meta_keys.SERVER_INFO], "name": name}
    return {**result, meta_keys.META: {**meta, meta_keys.SERVER_INFO: info}}


def complete(result: JsonObject, revision: Revision) -> JsonObject:
    """Returns a result with the members that the revision requires of every one.

    Source: MCP 2026-07-28, basic, ResultType and Per-response protocol fields.
    """
    if revision in HANDSHAKE:
        return result
    meta = {meta_keys.SERVER_INFO: {**_SERVER}}
    return {"resultType": "complete", **result, meta_keys.META: meta}


def uncached_result(result: JsonObject, revision: Revision) -> JsonObject:
    """Returns a complete result that must not be cached, for the methods that have to say so."""
    return complete(result | _UNCACHED.get(revision, {}), revision)


def page_result(
    member: str,
    things: Sequence[JsonObject | SerializedJson],
    revision: Revision,
    next_cursor: str | None,
) -> JsonObject:
    """Returns one page of a list; a cursor means that more follow."""
    more = {} if next_cursor is None else {"nextCursor": next_cursor}
    return list_result({member: things} | more, revision)


def list_result(result: JsonObject, revision: Revision) -> JsonObject:
    """Returns a complete result that may be cached as long as a list."""
    return complete(result | _LIST_CACHE.get(revision, {}), revision)


def empty_result(revision: Revision) -> JsonObject:
    """Returns an empty result, as of ping."""
    return complete({}, revision)


def input_required_result(requests: Mapping[str, JsonObject], state: str) -> JsonObject:
    """Returns the result that requests input; it is not cached (MCP 2026-07-28, patterns/mrtr)."""
    asked: JsonObject = {"inputRequests": dict(requests), "requestState": state}
    return complete(asked, MODERN[-1]) | {"resultType": "input_required"}


def text_block(text: str) -> JsonObject:
    """Returns one block of text content."""
    return {"type": "text", "text": text}


def call_result(
    content: Iterable[Mapping[str, Any]],
    revision: Revision,
    *,
    structured: object = None,
    is_error: bool = False,
) -> JsonObject:
    """Returns the result of tools/call from content blocks and, if the revision has it, a value.

    Blocks that the revision does not support become text; None means no structured content.
    """
    result: JsonObject = {"content": [to_supported_block(block, revision) for block in content]}
    structured_type = _STRUCTURED_TYPE.get(revision)
    if structured is not None and structured_type and isinstance(structured, structured_type):
        result["structuredContent"] = structured
    return complete(result | {"isError": is_error}, revision)


def to_supported_block(block: Mapping[str, Any], revision: Revision) -> JsonObject:
    """Returns a content block if the revision supports it, else the block as text."""
    kind = str(block.get("type"))
    if revision in _BLOCK_TYPES.get(kind, ()):
        return dict(block)
    return text_block(str(block.get("uri", f"[{kind} content that this revision cannot carry]")))
