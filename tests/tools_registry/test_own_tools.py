"""The tools that every workspace has: what they answer fits the output schema that is listed."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from documentation.index import refresh
from mcp_protocol.revisions import Revision
from tests.drivers.fixture_tools import NOTHING
from tests.drivers.mcp import McpClient
from tools_registry import registry
from tools_registry.api import Facts, Toolset
from tools_registry.api.schemas import validator_of

PAGES = Path(__file__).parent.parent / "fixtures" / "documentation"
CALLS: Mapping[str, dict[str, Any]] = {
    "search_docs": {"query": "token"},
    "read_doc": {"page": "tokens"},
    "setup_get_install_snippet": {},
    "setup_get_jwt_sample": {},
}


@pytest.fixture
def client(mcp: McpClient) -> McpClient:
    refresh(PAGES)
    return mcp.with_revision(Revision.V2025_11_25)


def test_every_listed_tool_has_an_output_schema(client: McpClient) -> None:
    tools = client.request("tools/list").result["tools"]
    assert len(tools) > len(CALLS)
    assert [tool["name"] for tool in tools if "outputSchema" not in tool] == []


@pytest.mark.parametrize("name", CALLS)
def test_what_a_tool_answers_fits_its_output_schema(client: McpClient, name: str) -> None:
    (tool,) = (one for one in client.request("tools/list").result["tools"] if one["name"] == name)
    reply = client.call(name, CALLS[name])
    structured = reply.result["structuredContent"]
    assert structured == reply.facts
    validator_of(tool["outputSchema"]).validate(structured)
    assert set(structured) == set(tool["outputSchema"]["properties"])


@pytest.mark.parametrize("absent", ["", " ", None], ids=["empty", "blank", "null"])
@pytest.mark.parametrize(
    ("name", "argument"),
    [("search_docs", "page_size"), ("setup_get_jwt_sample", "language")],
)
def test_empty_text_for_an_optional_argument_counts_as_absent(
    client: McpClient, name: str, argument: str, absent: str | None
) -> None:
    usual = client.call(name, CALLS[name])
    assert client.call(name, {**CALLS[name], argument: absent}).facts == usual.facts


def test_a_required_argument_that_is_empty_is_refused(client: McpClient) -> None:
    refused = client.call("search_docs", {"query": ""}).result
    assert refused["isError"]
    assert "must not be empty" in refused["content"][0]["text"]


def test_numbers_that_clients_would_round_are_text_in_structured_content(
    client: McpClient,
) -> None:
    toolset = Toolset(scope="docs:read", title="Numbers")
    kept = {"half": 0.5, "long": 0.30000000000000004, "most": 2**53 - 1}

    @toolset.tool(
        title="Get numbers",
        description="Get numbers.",
        input_schema=NOTHING,
        output_schema={"type": "object"},
    )
    def get_numbers(_context: Any, _arguments: Any) -> Facts:
        return Facts({**kept, "ids": [2**60, -(2**53)], "text": "9007199254740993"})

    with registry.including(toolset):
        reply = client.call("get_numbers")
    assert reply.facts == {**kept, "ids": [2**60, -(2**53)], "text": "9007199254740993"}
    assert reply.result["structuredContent"] == {
        **kept,
        "ids": [str(2**60), str(-(2**53))],
        "text": "9007199254740993",
    }
