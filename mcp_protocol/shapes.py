"""Results as each revision shapes them. What differs between revisions stands in tables.

Source: transport document, JSON-RPC methods; MCP schema of each revision.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Any, Final, Protocol, TypeAlias

from mcp_protocol import meta_keys
from mcp_protocol.revisions import HANDSHAKE, MODERN, REVISIONS, UNDECLARED, Revision, since
from mcp_protocol.strict_json import JsonObject

SERVER_NAME: Final = "halo-agents"
SERVER_VERSION: Final = "1.0.0"
ENDPOINT_PATH: Final = "/api/mcp"

# Nothing in a discovery answer depends on who asks, so anybody may keep it for an hour; a list
# of tools does, and must show a switched-off action gone at once (MCP 2026-07-28, server/caching).
_DISCOVER_CACHE: Final[JsonObject] = {"ttlMs": 3_600_000, "cacheScope": "public"}
_LIST_CACHE: Final[Mapping[Revision, JsonObject]] = {
    revision: {"ttlMs": 0, "cacheScope": "private"} for revision in MODERN
}

# What `structuredContent` may be; a revision that is absent has no such member.
_STRUCTURED_TYPE: Final[Mapping[Revision, type]] = {
    Revision.V2025_06_18: dict,
    Revision.V2025_11_25: dict,
    Revision.V2026_07_28: object,
}

# Which content blocks a revision can carry (ContentBlock in its schema).
_BLOCK_TYPES: Final[Mapping[str, tuple[Revision, ...]]] = {
    "text": REVISIONS,
    "image": REVISIONS,
    "resource": REVISIONS,
    "audio": since(Revision.V2025_03_26),
    "resource_link": since(Revision.V2025_06_18),
}


class ToolFacts(Protocol):
    """What the wire tells about a tool; any object with these attributes will do.

    `mutates` says that a call changes state somewhere, `open_world` that it reaches outside.
    """

    @property
    def name(self) -> str: ...
    @property
    def title(self) -> str | None: ...
    @property
    def description(self) -> str: ...
    @property
    def input_schema(self) -> Mapping[str, Any]: ...
    @property
    def output_schema(self) -> Mapping[str, Any] | None: ...
    @property
    def mutates(self) -> bool: ...
    @property
    def open_world(self) -> bool: ...


def _annotations(tool: ToolFacts) -> JsonObject:
    hint = "destructiveHint" if tool.mutates else "readOnlyHint"
    return {hint: True, "openWorldHint": tool.open_world}


def _object_output(tool: ToolFacts) -> Mapping[str, Any] | None:
    # Before 2026-07-28 an output schema describes an object or cannot be told at all.
    schema = tool.output_schema
    return schema if schema and schema.get("type") == "object" else None


_Teller: TypeAlias = Callable[[ToolFacts], object]

_DESCRIPTOR: Final[Sequence[tuple[str, tuple[Revision, ...], _Teller]]] = (
    ("name", REVISIONS, attrgetter("name")),
    ("title", since(Revision.V2025_06_18), attrgetter("title")),
    ("description", REVISIONS, attrgetter("description")),
    ("inputSchema", REVISIONS, attrgetter("input_schema")),
    ("outputSchema", (Revision.V2025_06_18, Revision.V2025_11_25), _object_output),
    ("outputSchema", MODERN, attrgetter("output_schema")),
    ("annotations", since(Revision.V2025_03_26), _annotations),
)
_DESCRIPTOR_AT: Final[Mapping[Revision, Sequence[tuple[str, _Teller]]]] = {
    revision: [(key, tell) for key, revisions, tell in _DESCRIPTOR if revision in revisions]
    for revision in REVISIONS
}


def tool_descriptor(tool: ToolFacts, revision: Revision) -> JsonObject:
    """Return a tool as tools/list describes it; facts that are None are left out.

    `destructiveHint` marks tools that change state (transport document, tools/list), which is
    not the registry's `destructive`: those tools never reach a list.
    """
    told = ((key, tell(tool)) for key, tell in _DESCRIPTOR_AT[revision])
    return {key: value for key, value in told if value is not None}


def _server_info() -> JsonObject:
    return {"name": SERVER_NAME, "version": SERVER_VERSION}


def _capabilities() -> JsonObject:
    return {"tools": {"listChanged": False}}


def _complete(result: JsonObject, revision: Revision) -> JsonObject:
    if revision in HANDSHAKE:
        return result
    # MCP 2026-07-28, basic, ResultType and Per-response protocol fields.
    meta = {meta_keys.SERVER_INFO: _server_info()}
    return {"resultType": "complete", **result, meta_keys.META: meta}


def bare_initialize_result() -> JsonObject:
    """Return the answer to `initialize` without params, byte for byte as the document prints it."""
    return {
        "protocolVersion": UNDECLARED.value,
        "serverInfo": _server_info(),
        "capabilities": _capabilities(),
    }


def initialize_result(revision: Revision, instructions: str = "") -> JsonObject:
    """Return the answer to `initialize` with params, for the revision agreed on."""
    result = bare_initialize_result() | {"protocolVersion": revision.value}
    return result | ({"instructions": instructions} if instructions else {})


def discover_result(instructions: str = "") -> JsonObject:
    """Return the answer to server/discover, newest version first.

    The answer is cached publicly: instructions must not depend on who asks.
    Source: MCP 2026-07-28, server/discover.
    """
    result: JsonObject = {
        "supportedVersions": [revision.value for revision in reversed(REVISIONS)],
        # Log messages go to those requests that name a level (server/utilities/logging).
        "capabilities": _capabilities() | {"logging": {}},
        **({"instructions": instructions} if instructions else {}),
        **_DISCOVER_CACHE,
    }
    return _complete(result, MODERN[-1])


def empty_result(revision: Revision) -> JsonObject:
    """Return the result of a method that has nothing to say, such as ping."""
    return _complete({}, revision)


def tools_list_result(
    tools: Iterable[ToolFacts], revision: Revision, next_cursor: str | None = None
) -> JsonObject:
    """Return one page of tools in the order given; a cursor says that more follow."""
    result: JsonObject = {"tools": [tool_descriptor(tool, revision) for tool in tools]}
    if next_cursor is not None:
        result["nextCursor"] = next_cursor
    return _complete(result | _LIST_CACHE.get(revision, {}), revision)


def text_block(text: str) -> JsonObject:
    """Return one block of text content."""
    return {"type": "text", "text": text}


def call_result(
    content: Iterable[JsonObject],
    revision: Revision,
    *,
    structured: object = None,
    is_error: bool = False,
) -> JsonObject:
    """Return the result of tools/call from content blocks and, where the revision has it, a value.

    Blocks that the revision cannot carry become text; None means no structured content.
    """
    result: JsonObject = {"content": [_carried(block, revision) for block in content]}
    structured_type = _STRUCTURED_TYPE.get(revision)
    if structured is not None and structured_type and isinstance(structured, structured_type):
        result["structuredContent"] = structured
    return _complete(result | {"isError": is_error}, revision)


def _carried(block: JsonObject, revision: Revision) -> JsonObject:
    kind = str(block.get("type"))
    if revision in _BLOCK_TYPES.get(kind, ()):
        return block
    return text_block(str(block.get("uri", f"[{kind} content that this revision cannot carry]")))


def descriptor(public_url: str) -> JsonObject:
    """Return the body of GET /api/mcp for a public origin such as https://app.haloagents.ai.

    Keys and their order are those the transport document prints (Discovery URLs).
    """
    origin = public_url.rstrip("/")
    return {
        "name": SERVER_NAME,
        "version": SERVER_VERSION,
        "protocolVersion": UNDECLARED.value,
        "transport": "http+jsonrpc",
        "methods": ["initialize", "ping", "tools/list", "tools/call"],
        "authentication": {
            "type": "oauth2",
            "authorization_server": f"{origin}/.well-known/oauth-authorization-server",
            "protected_resource_metadata": f"{origin}/.well-known/oauth-protected-resource",
        },
        "mcp_url": f"{origin}{ENDPOINT_PATH}",
    }
