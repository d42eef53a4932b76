"""What the transport document prints, held to the byte: JSON compared as text, order included."""

import json
from typing import Any

import pytest

from mcp_protocol.revisions import Revision
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient

DESCRIPTOR = """
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
INITIALIZE = """
{
  "jsonrpc": "2.0",
  "id": 1,
  "result": {
    "protocolVersion": "2025-03-26",
    "serverInfo": { "name": "halo-agents", "version": "1.0.0" },
    "capabilities": {
      "tools": { "listChanged": false }
    }
  }
}
"""
SEARCH_DOCS_INPUT = """
{
  "type": "object",
  "properties": {
    "query": { "type": "string" },
    "page_size": { "type": "number" }
  },
  "required": ["query"],
  "additionalProperties": false
}
"""
WALKTHROUGH = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize"}',
    b'{"jsonrpc":"2.0","id":2,"method":"tools/list"}',
    b"""{
    "jsonrpc":"2.0","id":3,"method":"tools/call",
    "params": {
      "name":"search_docs",
      "arguments": {"query":"escalation policy","page_size":5}
    }
  }""",
)
BARE = {"Accept": "*/*"}


def compact(printed: str) -> str:
    return json.dumps(json.loads(printed), separators=(",", ":"))


@pytest.mark.parametrize("accept", [None, "*/*", "application/json", "text/html"])
def test_g08_a_bare_get_returns_the_descriptor(settings: Any, accept: str | None) -> None:
    settings.HALO_PUBLIC_URL = "https://app.haloagents.ai"
    reply = McpClient().http("GET", headers={"Accept": accept, "Content-Type": None})
    assert reply.body.decode() == compact(DESCRIPTOR)
    assert (reply.status, reply.headers["content-type"]) == (200, "application/json")


def test_i20_initialize_without_params_is_answered_as_printed(mcp: McpClient) -> None:
    reply = mcp.send(b'{\n  "jsonrpc": "2.0",\n  "id": 1,\n  "method": "initialize"\n}')
    assert reply.body.decode() == compact(INITIALIZE)


def test_ping_returns_an_empty_object(mcp: McpClient) -> None:
    reply = mcp.send(b'{ "jsonrpc": "2.0", "id": 2, "method": "ping" }')
    assert reply.body == b'{"jsonrpc":"2.0","id":2,"result":{}}'


def test_search_docs_is_described_as_printed(mcp: McpClient) -> None:
    listed = mcp.send(b'{ "jsonrpc": "2.0", "id": 3, "method": "tools/list" }')
    (tool,) = [tool for tool in listed.result["tools"] if tool["name"] == "search_docs"]
    assert tool["description"].startswith("Search the public Halo Agents documentation")
    assert json.dumps(tool["inputSchema"], separators=(",", ":")) == compact(SEARCH_DOCS_INPUT)
    assert list(tool)[:3] == ["name", "description", "inputSchema"]


@pytest.mark.usefixtures("lab")
def test_a_tool_that_changes_something_carries_the_printed_hint(
    mcp: McpClient, grant: Grant
) -> None:
    grant.connect("crm", enabled=("create_deal", "find_contact"))
    listed = {tool["name"]: tool for tool in mcp.request("tools/list").result["tools"]}
    assert listed["crm.create_deal"]["annotations"]["destructiveHint"] is True
    assert "destructiveHint" not in listed["crm.find_contact"]["annotations"]


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize(
    "value",
    [{"deal_id": "deal_xyz"}, {"é": "</script>", "bell": "\x1b[31m\u0007"}, [1, [2]], "plain"],
    ids=["printed", "j16-markup-and-controls", "nested", "text"],
)
def test_j16_a_result_is_one_text_block_of_json_with_two_spaces(mcp: McpClient, value: Any) -> None:
    result = mcp.call("echo", {"value": value}).result
    text = json.dumps(value, indent=2, ensure_ascii=False)
    assert result == {"content": [{"type": "text", "text": text}], "isError": False}


def test_the_walkthrough_works_word_for_word(mcp: McpClient) -> None:
    initialized, listed, called = (mcp.send(body, headers=BARE) for body in WALKTHROUGH)
    assert initialized.result["serverInfo"]["name"] == "halo-agents"
    assert "search_docs" in [tool["name"] for tool in listed.result["tools"]]
    assert called.facts["query"] == "escalation policy"


@pytest.mark.parametrize(
    ("body", "code", "status"),
    [
        (b"{", -32700, 400),
        (b'{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600, 400),
        (b'{"jsonrpc":"2.0","id":1,"method":"nope"}', -32601, 200),
        (b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"nope"}}', -32601, 200),
        (
            b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"search_docs"}}',
            -32602,
            200,
        ),
    ],
    ids=["parse", "invalid-request", "unknown-method", "unknown-tool", "invalid-params"],
)
def test_each_error_has_its_code_and_nothing_but_the_members_of_an_error(
    mcp: McpClient, body: bytes, code: int, status: int
) -> None:
    reply = mcp.send(body)
    assert (reply.code, reply.status) == (code, status)
    assert list(reply.json) == ["jsonrpc", "id", "error"]
    assert set(reply.error) <= {"code", "message", "data"}


def test_the_printed_revision_is_spoken_without_any_header(mcp: McpClient) -> None:
    assert mcp.revision == Revision.V2025_03_26
    assert mcp.request("ping").status == 200
