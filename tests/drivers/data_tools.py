"""Calls of the data tools, as a client of the newest revision makes them."""

import json
from typing import Any

from mcp_protocol.revisions import Revision
from tests.drivers.mcp import McpClient, Reply
from tests.drivers.records import Records
from tools_registry import registry
from tools_registry.api import Tool

TOOLS = sorted(
    (
        tool
        for toolset in registry.native_toolsets()
        for tool in toolset.tools
        if tool.name.startswith("data_")
    ),
    key=lambda tool: tool.name,
)
# The names of what a new installation offers, in the order of its list.
BUILT_IN = [
    *(tool.name for tool in TOOLS),
    "read_doc",
    "search_docs",
    "setup_get_install_snippet",
    "setup_get_jwt_sample",
]


def call(mcp: McpClient, tool: str, meta: Any = None, **arguments: Any) -> Reply:
    """Calls a data tool; an argument with an underscore at its end is one that Python reserves."""
    given = {name.removesuffix("_"): value for name, value in arguments.items()}
    return mcp.with_revision(Revision.V2026_07_28).call(tool, given, meta=meta)


def answer(mcp: McpClient, tool: str, meta: Any = None, **arguments: Any) -> Any:
    """The result of a call that succeeds, the same as text and as structured content."""
    result = call(mcp, tool, meta, **arguments).result
    (block,) = result["content"]
    assert result["isError"] is False, block["text"]
    assert json.loads(block["text"]) == result["structuredContent"]
    return result["structuredContent"]


def refusal(mcp: McpClient, tool: str, meta: Any = None, **arguments: Any) -> Any:
    """What a failed call returns: code, message, field and reason."""
    result = call(mcp, tool, meta, **arguments).result
    (block,) = result["content"]
    assert result["isError"] is True, block["text"]
    return json.loads(block["text"])


def ids(result: Any) -> list[str]:
    return [item["id"] for item in result["items"]]


def naming(tool: Tool, records: Records) -> dict[str, str]:
    """For each argument of a tool that names a row: the id of a row of these records."""
    rows = {
        "user": records.customers[0].pk,
        "company": records.companies[0].pk,
        "agent": str(records.agent.pk),
        "ticket_id": records.tickets[0].pk,
        "transcript_id": records.conversations[0].pk,
        "session_id": records.conversations[0].session_id,
    }
    return {name: rows[name] for name in tool.input_schema["properties"] if name in rows}


def required_arguments(tool: Tool, records: Records) -> dict[str, Any]:
    """The arguments that a tool requires."""
    rows: dict[str, Any] = {**naming(tool, records), "query": records.word}
    required = tool.input_schema.get("required", ())
    properties = tool.input_schema["properties"]
    return {name: rows[name] if name in rows else properties[name]["enum"][0] for name in required}


def widest(tool: Tool, records: Records) -> dict[str, Any]:
    """The arguments that a tool requires, with the longest page."""
    page = tool.input_schema["properties"].get("page_size", {})
    arguments = required_arguments(tool, records)
    return {**arguments, "page_size": page["maximum"]} if page else arguments
