"""Results: each has the shape its revision's schema asks for, and says what was promised."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from foundation.json_text import dumps
from mcp_protocol.capabilities import ServerInfo
from mcp_protocol.envelope import success
from mcp_protocol.handshake_shapes import (
    bare_initialize_result,
    descriptor,
    discover_result,
    initialize_result,
)
from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision, revisions_since
from mcp_protocol.shapes import call_result, empty_result, text_block
from mcp_protocol.tool_shapes import tool_descriptor, tools_list_result

Conforms = Callable[[object, Revision, str], None]

SERVER = ServerInfo("https://app.haloagents.ai", ({"src": "data:image/svg+xml;base64,AA=="},))
MODERN = Revision.V2026_07_28
SERVER_INFO = {"io.modelcontextprotocol/serverInfo": {"name": "halo-agents", "version": "1.0.0"}}


@dataclass(frozen=True)
class ExampleTool:
    name: str = "linear.create_bug"
    title: str | None = "Create a bug"
    description: str = "File a bug ticket in Linear."
    input_schema: dict[str, Any] = field(default_factory=lambda: {"type": "object"})
    output_schema: dict[str, Any] | None = None
    mutates: bool = True
    open_world: bool = True
    icons: Sequence[Any] = ()
    meta: dict[str, Any] = field(default_factory=dict)


WRITER = ExampleTool()
READER = ExampleTool(
    name="search_docs",
    title=None,
    output_schema={"type": "object", "properties": {"hits": {"type": "array"}}},
    mutates=False,
    open_world=False,
)
LISTER = replace(READER, name="list_rows", output_schema={"type": "array"})


def test_i20_initialize_without_params_is_answered_byte_for_byte() -> None:
    body = dumps(success(1, bare_initialize_result()))
    assert body == (
        b'{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-03-26",'
        b'"serverInfo":{"name":"halo-agents","version":"1.0.0"},'
        b'"capabilities":{"tools":{"listChanged":false}}}}'
    )


def test_the_bare_answer_has_the_shape_of_its_revision(conforms: Conforms) -> None:
    conforms(bare_initialize_result(), Revision.V2025_03_26, "InitializeResult")


@pytest.mark.parametrize("revision", HANDSHAKE)
def test_initialize_is_answered_in_the_agreed_revision(
    revision: Revision, conforms: Conforms
) -> None:
    result = initialize_result(revision, SERVER, "Search before you write.")
    conforms(result, revision, "InitializeResult")
    assert result["protocolVersion"] == revision.value
    assert result["instructions"] == "Search before you write."
    completions = {} if revision == Revision.V2024_11_05 else {"completions": {}}
    assert result["capabilities"] == {
        "tools": {"listChanged": False},
        "resources": {"listChanged": False},
        "prompts": {"listChanged": False},
        "logging": {},
        **completions,
    }


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        (Revision.V2024_11_05, {"name", "version"}),
        (Revision.V2025_03_26, {"name", "version"}),
        (Revision.V2025_06_18, {"name", "version", "title"}),
        (
            Revision.V2025_11_25,
            {"name", "version", "title", "description", "websiteUrl", "icons"},
        ),
    ],
)
def test_the_server_is_serialized_as_far_as_the_revision_can(
    revision: Revision, message: set[str]
) -> None:
    assert set(initialize_result(revision, SERVER)["serverInfo"]) == message


def test_no_instructions_are_no_member() -> None:
    assert "instructions" not in initialize_result(Revision.V2025_11_25, SERVER)
    assert "instructions" not in discover_result(SERVER)


def test_discovery_lists_what_is_spoken_and_may_be_kept_by_anybody(conforms: Conforms) -> None:
    result = discover_result(SERVER, "Search before you write.")
    conforms(result, MODERN, "DiscoverResult")
    assert result == {
        "resultType": "complete",
        "supportedVersions": [
            "2026-07-28",
            "2025-11-25",
            "2025-06-18",
            "2025-03-26",
            "2024-11-05",
        ],
        "capabilities": {
            "tools": {"listChanged": True},
            "resources": {},
            "prompts": {},
            "completions": {},
            "logging": {},
            "extensions": {"io.modelcontextprotocol/skills": {"directoryRead": True}},
        },
        "instructions": "Search before you write.",
        "ttlMs": 3_600_000,
        "cacheScope": "public",
        "_meta": {
            "io.modelcontextprotocol/serverInfo": {
                "name": "halo-agents",
                "title": "Halo Agents",
                "version": "1.0.0",
                "description": "The tools, documentation and prompts of one organization.",
                "websiteUrl": "https://app.haloagents.ai",
                "icons": SERVER.icons,
            }
        },
    }


@pytest.mark.parametrize("revision", REVISIONS)
def test_an_empty_result_has_the_shape_of_its_revision(
    revision: Revision, conforms: Conforms
) -> None:
    conforms(empty_result(revision), revision, "EmptyResult")


def test_an_empty_result_is_an_empty_object_before_2026() -> None:
    assert [empty_result(revision) for revision in HANDSHAKE] == [{}, {}, {}, {}]
    assert empty_result(MODERN) == {"resultType": "complete", "_meta": SERVER_INFO}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("tool", [WRITER, READER, LISTER], ids=lambda tool: tool.name)
def test_a_tool_is_described_in_the_shape_of_the_revision(
    tool: ExampleTool, revision: Revision, conforms: Conforms
) -> None:
    message = tool_descriptor(tool, revision)
    conforms(message, revision, "Tool")
    assert (message["name"], message["description"]) == (tool.name, tool.description)
    assert message["inputSchema"] == tool.input_schema


def keys(tool: ExampleTool, revision: Revision) -> list[str]:
    return list(tool_descriptor(tool, revision))


def test_facts_appear_with_the_revision_that_brought_them() -> None:
    basic = ["name", "description", "inputSchema"]
    titled = ["name", "title", "description", "inputSchema", "annotations"]
    assert keys(WRITER, Revision.V2024_11_05) == basic
    assert keys(WRITER, Revision.V2025_03_26) == [*basic, "annotations"]
    assert keys(WRITER, Revision.V2025_06_18) == titled
    assert keys(WRITER, Revision.V2025_11_25) == titled
    assert keys(WRITER, MODERN) == titled


@pytest.mark.parametrize("revision", revisions_since(Revision.V2025_03_26))
def test_hints_say_whether_a_tool_changes_anything(revision: Revision) -> None:
    writer = tool_descriptor(WRITER, revision)["annotations"]
    reader = tool_descriptor(READER, revision)["annotations"]
    assert writer == {"destructiveHint": True, "openWorldHint": True}
    assert reader == {"readOnlyHint": True, "openWorldHint": False}


def test_an_output_schema_is_shown_where_the_revision_can_hold_it() -> None:
    message = [r for r in REVISIONS if "outputSchema" in tool_descriptor(READER, r)]
    assert message == [Revision.V2025_06_18, Revision.V2025_11_25, MODERN]
    with_array = [r for r in REVISIONS if "outputSchema" in tool_descriptor(LISTER, r)]
    assert with_array == [MODERN]


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_list_of_tools_has_the_shape_of_its_revision_and_keeps_order(
    revision: Revision, conforms: Conforms
) -> None:
    message = [tool_descriptor(tool, revision) for tool in (WRITER, READER)]
    result = tools_list_result(message, revision, "page-2")
    conforms(result, revision, "ListToolsResult")
    assert [tool["name"] for tool in result["tools"]] == ["linear.create_bug", "search_docs"]
    assert result["nextCursor"] == "page-2"


@pytest.mark.parametrize("revision", REVISIONS)
def test_the_last_page_has_no_cursor(revision: Revision, conforms: Conforms) -> None:
    result = tools_list_result([], revision)
    conforms(result, revision, "ListToolsResult")
    assert "nextCursor" not in result


def test_k10_a_list_of_tools_is_private_and_kept_for_seconds() -> None:
    result = tools_list_result([], MODERN)
    assert (result["ttlMs"], result["cacheScope"]) == (5_000, "private")
    assert set(tools_list_result([], Revision.V2025_11_25)) == {"tools"}


@pytest.mark.parametrize("revision", REVISIONS)
def test_a_call_result_has_the_shape_of_its_revision(
    revision: Revision, conforms: Conforms
) -> None:
    result = call_result([text_block("{}")], revision, structured={"a": 1})
    conforms(result, revision, "CallToolResult")
    assert result["content"] == [{"type": "text", "text": "{}"}]
    assert result["isError"] is False
    assert call_result([], revision, is_error=True)["isError"] is True


def test_j16_a_plain_call_result_is_what_the_document_prints() -> None:
    result = call_result([text_block('{\n  "deal_id": "d"\n}')], Revision.V2025_03_26)
    assert dumps(result) == (
        b'{"content":[{"type":"text","text":"{\\n  \\"deal_id\\": \\"d\\"\\n}"}],"isError":false}'
    )


@pytest.mark.parametrize(
    ("structured", "revisions"),
    [
        ({"a": 1}, [Revision.V2025_06_18, Revision.V2025_11_25, MODERN]),
        ({}, [Revision.V2025_06_18, Revision.V2025_11_25, MODERN]),
        ([1, 2], [MODERN]),
        (0, [MODERN]),
        (None, []),
    ],
    ids=["object", "empty-object", "array", "zero", "none"],
)
def test_structured_content_goes_out_where_the_revision_can_hold_it(
    structured: object, revisions: list[Revision], conforms: Conforms
) -> None:
    message = []
    for revision in REVISIONS:
        result = call_result([text_block("x")], revision, structured=structured)
        conforms(result, revision, "CallToolResult")
        if "structuredContent" in result:
            assert result["structuredContent"] == structured
            message.append(revision)
    assert message == revisions


BLOCKS: dict[str, dict[str, Any]] = {
    "image": {"type": "image", "data": "AA==", "mimeType": "image/png"},
    "audio": {"type": "audio", "data": "AA==", "mimeType": "audio/wav"},
    "resource": {"type": "resource", "resource": {"uri": "halo://a", "text": "a"}},
    "resource_link": {"type": "resource_link", "uri": "halo://a", "name": "a"},
}


@pytest.mark.parametrize("revision", REVISIONS)
@pytest.mark.parametrize("kind", [*BLOCKS, "hologram"])
def test_every_content_block_leaves_in_a_form_the_revision_can_carry(
    kind: str, revision: Revision, conforms: Conforms
) -> None:
    result = call_result([BLOCKS.get(kind, {"type": kind})], revision)
    conforms(result, revision, "CallToolResult")


@pytest.mark.parametrize(
    ("kind", "first"),
    [
        ("image", Revision.V2024_11_05),
        ("resource", Revision.V2024_11_05),
        ("audio", Revision.V2025_03_26),
        ("resource_link", Revision.V2025_06_18),
    ],
)
def test_a_block_goes_out_as_it_is_from_the_revision_that_brought_it(
    kind: str, first: Revision
) -> None:
    block = BLOCKS[kind]
    unchanged = [r for r in REVISIONS if call_result([block], r)["content"] == [block]]
    assert unchanged == list(revisions_since(first))


def test_a_block_the_revision_cannot_carry_becomes_text() -> None:
    link, audio = BLOCKS["resource_link"], BLOCKS["audio"]
    assert call_result([link], Revision.V2025_06_18)["content"] == [link]
    assert call_result([link], Revision.V2025_03_26)["content"] == [text_block("halo://a")]
    assert call_result([audio], Revision.V2024_11_05)["content"] == [
        text_block("[audio content that this revision cannot carry]")
    ]


def test_results_share_nothing_that_a_caller_could_spoil() -> None:
    for build in (
        bare_initialize_result,
        lambda: discover_result(SERVER),
        lambda: empty_result(MODERN),
    ):
        spoiled = build()
        for value in spoiled.values():
            if isinstance(value, dict):
                value.clear()
        assert build() != spoiled


@pytest.mark.parametrize("url", ["https://app.haloagents.ai", "https://app.haloagents.ai/"])
def test_g08_the_descriptor_is_the_printed_one_key_for_key(url: str) -> None:
    printed = """
    {
      "name": "halo-agents",
      "version": "1.0.0",
      "protocolVersion": "2025-03-26",
      "transport": "http+jsonrpc",
      "methods": ["initialize", "ping", "tools/list", "tools/call"],
      "authentication": {
        "type": "oauth2",
        "authorization_server": "https://app.haloagents.ai/.well-known/oauth-authorization-server",
        "protected_resource_metadata": "https://app.haloagents.ai/.well-known/oauth-protected-resource"
      },
      "mcp_url": "https://app.haloagents.ai/api/mcp"
    }
    """
    assert json.dumps(descriptor(url)) == json.dumps(json.loads(printed))
