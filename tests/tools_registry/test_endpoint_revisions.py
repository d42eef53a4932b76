"""Every method at every revision, judged by that revision's published schema."""

from typing import Any

import pytest

from mcp_protocol.revisions import HANDSHAKE, REVISIONS, Revision
from tests.drivers.data_tools import BUILT_IN
from tests.drivers.mcp import McpClient, Reply
from tests.drivers.schemas import conforms

MODERN = Revision.V2026_07_28
HANDSHAKE_PARAMS = {
    "capabilities": {},
    "clientInfo": {"name": "driver", "version": "1"},
}


@pytest.fixture(params=REVISIONS, ids=str)
def revision(request: pytest.FixtureRequest) -> Revision:
    revision: Revision = request.param
    return revision


@pytest.fixture
def client(mcp: McpClient, revision: Revision) -> McpClient:
    return mcp.with_revision(revision)


def check_result(reply: Reply, revision: Revision, definition: str) -> Any:
    """The result, once both it and the envelope around it have the published shape."""
    envelope = "JSONRPCResultResponse" if revision >= Revision.V2025_11_25 else "JSONRPCResponse"
    conforms(reply.json, revision, envelope)
    conforms(reply.result, revision, definition)
    return reply.result


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_initialize_agrees_on_the_revision_asked_for(client: McpClient, revision: Revision) -> None:
    params = {**HANDSHAKE_PARAMS, "protocolVersion": revision.value}
    reply = client.request("initialize", params, headers={"MCP-Protocol-Version": None})
    assert reply.status == 200
    assert check_result(reply, revision, "InitializeResult")["protocolVersion"] == revision.value


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_ping_is_answered_with_nothing(client: McpClient, revision: Revision) -> None:
    assert check_result(client.request("ping"), revision, "Result") == {}


def test_a_notification_is_accepted_without_a_body(client: McpClient) -> None:
    reply = client.notify("notifications/initialized")
    assert (reply.status, reply.body) == (202, b"")


def test_the_list_has_the_shape_of_its_revision(client: McpClient, revision: Revision) -> None:
    result = check_result(client.request("tools/list"), revision, "ListToolsResult")
    assert [tool["name"] for tool in result["tools"]] == BUILT_IN


def test_a_call_has_the_shape_of_its_revision(client: McpClient, revision: Revision) -> None:
    reply = client.call("search_docs", {"query": "scopes"})
    result = check_result(reply, revision, "CallToolResult")
    assert result["isError"] is False
    assert [block["type"] for block in result["content"]] == ["text"]


@pytest.mark.usefixtures("lab")
def test_facts_of_a_tool_with_an_output_schema_are_sent_twice_where_they_may_be(
    client: McpClient, revision: Revision
) -> None:
    reply = client.call("describe")
    result = check_result(reply, revision, "CallToolResult")
    assert reply.facts == {"answer": 42}
    message = {"answer": 42} if revision >= Revision.V2025_06_18 else None
    assert result.get("structuredContent") == message


@pytest.mark.usefixtures("lab")
def test_blocks_are_passed_on_as_they_are(client: McpClient, revision: Revision) -> None:
    result = check_result(client.call("draw"), revision, "CallToolResult")
    assert [block["text"] for block in result["content"]] == ["a", "b"]


def test_an_error_has_the_shape_of_its_revision(client: McpClient, revision: Revision) -> None:
    reply = client.request("tools/nonsense")
    definition = "JSONRPCErrorResponse" if revision >= Revision.V2025_11_25 else "JSONRPCError"
    conforms(reply.json, revision, definition)
    assert reply.code == -32601
    assert reply.status == (404 if revision == MODERN else 200)


def test_an_unknown_tool_is_an_error_of_its_revision(client: McpClient, revision: Revision) -> None:
    reply = client.call("no_such_tool")
    assert reply.code == (-32602 if revision == MODERN else -32601)
    assert reply.status == 200


def test_discovery_names_every_revision_newest_first(mcp: McpClient) -> None:
    result = check_result(
        mcp.with_revision(MODERN).request("server/discover"), MODERN, "DiscoverResult"
    )
    assert result["supportedVersions"] == [str(revision) for revision in reversed(REVISIONS)]


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_discovery_is_unknown_before_it_existed(mcp: McpClient, revision: Revision) -> None:
    assert mcp.with_revision(revision).request("server/discover").code == -32601


@pytest.mark.parametrize(
    "method", ["initialize", "ping", "logging/setLevel", "resources/subscribe"]
)
def test_what_the_newest_revision_removed_is_not_found(mcp: McpClient, method: str) -> None:
    reply = mcp.with_revision(MODERN).request(method)
    assert (reply.status, reply.code) == (404, -32601)


def test_results_of_the_newest_revision_say_what_they_are(mcp: McpClient) -> None:
    result = mcp.with_revision(MODERN).request("tools/list").result
    assert result["resultType"] == "complete"
    assert (result["ttlMs"], result["cacheScope"]) == (5_000, "private")
    assert result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"] == "halo-agents"


def test_i20_initialize_offers_its_own_version_for_an_unknown_one(mcp: McpClient) -> None:
    params = {**HANDSHAKE_PARAMS, "protocolVersion": "x"}
    first, again = (mcp.request("initialize", params) for _ in range(2))
    assert first.result["protocolVersion"] == Revision.V2025_11_25.value
    assert first.body == again.body


def test_nothing_needs_a_handshake_first(mcp: McpClient, revision: Revision) -> None:
    assert mcp.with_revision(revision).request("tools/list").status == 200


LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")


@pytest.mark.usefixtures("lab", "books")
@pytest.mark.parametrize("method", LISTS)
@pytest.mark.parametrize("params", [None, {}, {"cursor": None}, {"_meta": {"progressToken": 0}}])
def test_a_list_is_the_same_each_time_however_an_inspector_asks(
    client: McpClient, method: str, params: Any
) -> None:
    first, again = (client.request(method, params) for _ in range(2))
    assert first.status == 200
    assert first.body == again.body


@pytest.mark.parametrize("revision", HANDSHAKE, ids=str)
def test_what_is_promised_in_the_handshake_is_answered(mcp: McpClient, revision: Revision) -> None:
    client = mcp.with_revision(revision)
    params = {**HANDSHAKE_PARAMS, "protocolVersion": revision.value}
    capabilities = client.request("initialize", params).result["capabilities"]
    for name, method in (("tools", "tools/list"), ("resources", "resources/list")):
        assert name in capabilities
        assert client.request(method).status == 200
    assert "prompts" in capabilities
    assert client.request("prompts/list").result["prompts"]
    assert ("completions" in capabilities) == (revision >= Revision.V2025_03_26)


@pytest.mark.parametrize("revision", [Revision.V2025_11_25, MODERN], ids=str)
def test_the_server_s_icon_is_in_the_answer_itself(mcp: McpClient, revision: Revision) -> None:
    client = mcp.with_revision(revision)
    if revision == MODERN:
        meta = client.request("server/discover").result["_meta"]
        info = meta["io.modelcontextprotocol/serverInfo"]
    else:
        params = {**HANDSHAKE_PARAMS, "protocolVersion": revision.value}
        info = client.request("initialize", params).result["serverInfo"]
    # Clients must support PNG and should support SVG (MCP 2025-11-25, basic, Icons).
    png, svg = info["icons"]
    assert png["src"].startswith("data:image/png;base64,iVBOR")
    assert (png["mimeType"], png["sizes"]) == ("image/png", ["96x96"])
    assert svg["src"].startswith("data:image/svg+xml;base64,PHN2Zy")
    assert info["websiteUrl"] == "http://127.0.0.1:8000"
