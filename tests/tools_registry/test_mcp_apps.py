"""MCP Apps of the workspace server: what a client that shows them gets, and any other does not."""

import re
from typing import Any
from uuid import uuid4

import pytest

from audit.models import ActionExecution
from mcp_protocol.revisions import MODERN, Revision
from people.mcp import tools as hr_tools
from tests.drivers.app_client import EXTENSION, HTML, REVISIONS, SHOWS_APPS, AppClient
from tests.drivers.elicitation_client import EVERYTHING, start_session
from tests.drivers.grants import Grant
from tests.drivers.mcp import CLIENT, McpClient
from tools_registry.endpoint.mcp_apps import APPS
from tools_registry.registry import WORKSPACE_CATALOGUE

SERIES = "data_query_activity_time_series"
PLOT = "ui://halo/figures"
MAX_BYTES = 15_000
DISCOVER = "server/discover"


@pytest.fixture
def mcp(grant: Grant) -> McpClient:
    return McpClient(grant.token())


def others(mcp: McpClient, revision: Revision) -> AppClient:
    """A client that declares other capabilities, and this extension for another type."""
    extensions = {EXTENSION: {"mimeTypes": ["text/html"]}}
    return AppClient(mcp, revision, {**EVERYTHING, "extensions": extensions})


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_a_client_that_shows_apps_gets_the_app_of_a_tool_and_its_document(
    mcp: McpClient, revision: Revision
) -> None:
    client = AppClient(mcp, revision)
    assert client.tools()[SERIES]["_meta"] == {"ui": {"resourceUri": PLOT}}
    (listed,) = [
        one for one in client.request("resources/list").result["resources"] if one["uri"] == PLOT
    ]
    (read,) = client.request("resources/read", uri=PLOT).result["contents"]
    assert (listed["mimeType"], read["mimeType"], read["uri"]) == (HTML, HTML, PLOT)
    assert listed["size"] == len(read["text"].encode())
    assert listed["_meta"] == read["_meta"]
    assert read["_meta"]["ui"]["csp"] == {
        "connectDomains": [],
        "resourceDomains": [],
        "frameDomains": [],
        "baseUriDomains": [],
    }
    assert read["text"].startswith("<!doctype html>")


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_any_other_client_gets_what_it_got_without_apps(mcp: McpClient, revision: Revision) -> None:
    client, shown = others(mcp, revision), AppClient(mcp, revision)
    plain = {
        name: {key: value for key, value in tool.items() if key != "_meta"}
        for name, tool in shown.tools().items()
    }
    assert client.tools() == plain
    assert client.uris() == [uri for uri in shown.uris() if not uri.startswith("ui://")]
    code = -32602 if revision in MODERN else -32002
    unknown = client.request("resources/read", uri=PLOT)
    assert unknown.code == code
    nothing = client.request("resources/read", uri="ui://halo/none").error["message"]
    assert unknown.error["message"] == nothing.replace("none", "figures")
    assert shown.request("resources/read", uri="ui://halo/none").code == code


@pytest.mark.parametrize("revision", REVISIONS, ids=str)
def test_the_result_of_a_call_is_the_same_with_and_without_an_app(
    mcp: McpClient, revision: Revision
) -> None:
    arguments = {"metric": "tickets", "from": "2026-11-01", "to": "2026-11-10"}
    clients = others(mcp, revision), AppClient(mcp, revision)
    with_apps, without = (client.call(SERIES, **arguments).result for client in clients)
    for result in (with_apps, without):
        result["structuredContent"].pop("as_of")
        result.pop("content")
    assert with_apps == without


def test_the_extension_is_announced_to_clients_that_declare_it_alone(mcp: McpClient) -> None:
    def handshake(capabilities: Any) -> Any:
        params = {
            "protocolVersion": "2025-11-25",
            "capabilities": capabilities,
            "clientInfo": CLIENT,
        }
        return mcp.with_revision(Revision.V2025_11_25).request("initialize", params).result

    announced, plain = handshake(SHOWS_APPS), handshake(EVERYTHING)
    further = plain["capabilities"].pop("extensions", {})
    assert EXTENSION not in further
    assert announced["capabilities"].pop("extensions") == {**further, EXTENSION: {}}
    assert announced == plain


def test_a_discovery_with_the_extension_is_not_cached_for_other_clients(mcp: McpClient) -> None:
    announced = AppClient(mcp, MODERN[-1]).request(DISCOVER).result
    plain = others(mcp, MODERN[-1]).request(DISCOVER).result
    extensions = plain["capabilities"].pop("extensions", {})
    assert EXTENSION not in extensions
    assert announced["capabilities"].pop("extensions") == {**extensions, EXTENSION: {}}
    assert (announced.pop("cacheScope"), plain.pop("cacheScope")) == ("private", "public")
    assert announced == plain


@pytest.mark.parametrize(
    "declared",
    [
        {},
        {"extensions": None},
        {"extensions": []},
        {"extensions": {EXTENSION: {}}},
        {"extensions": {EXTENSION: {"mimeTypes": HTML}}},
        {"extensions": {EXTENSION: [HTML]}},
        {"experimental": {EXTENSION: {"mimeTypes": [HTML]}}},
    ],
    ids=str,
)
def test_a_declaration_of_another_form_is_none(mcp: McpClient, declared: Any) -> None:
    client = start_session(mcp, Revision.V2025_11_25, declared)
    tools = {tool["name"]: tool for tool in client.request("tools/list").result["tools"]}
    assert "_meta" not in tools[SERIES]


def test_a_revision_whose_tools_cannot_name_an_app_has_none(mcp: McpClient) -> None:
    client = start_session(mcp, Revision.V2025_03_26, SHOWS_APPS)
    assert "_meta" not in client.request("tools/list").body.decode()
    assert "ui://" not in client.request("resources/list").body.decode()


@pytest.mark.parametrize("scope", ["docs:read", "setup:read"])
def test_an_app_is_there_for_those_who_see_one_of_its_tools(grant: Grant, scope: str) -> None:
    client = AppClient(McpClient(grant.token(scope)), Revision.V2025_11_25)
    assert not [uri for uri in client.uris() if uri.startswith("ui://")]
    assert client.request("resources/read", uri=PLOT).code == -32002


def test_reading_a_document_leaves_no_row_and_an_unknown_one_does(mcp: McpClient) -> None:
    client = AppClient(mcp, Revision.V2025_11_25)
    client.request("resources/read", uri=PLOT)
    assert not ActionExecution.objects.filter(tool=PLOT).exists()
    client.request("resources/read", uri="ui://halo/none")
    assert ActionExecution.objects.filter(tool="ui://halo/none").exists()


@pytest.mark.parametrize("app", APPS.values(), ids=lambda app: app.name)
def test_a_document_is_small_complete_and_names_no_other_place(app: Any) -> None:
    html = app.contents.body
    assert len(html.encode()) < MAX_BYTES
    assert not re.search(r"<(link|img|iframe|object|embed|base|form)\b", html)
    assert not re.search(r"<script\s|<style\s|\son[a-z]+\s*=\s*[\"']", html)
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|DOMParser|srcdoc", html)
    assert not re.search(r"document\.write|\beval\(|new Function|fetch\(|XMLHttp|import\(", html)
    places = set(re.findall(r"https?://[^\s\"'`)]+", html))
    assert places <= {"http://www.w3.org/2000/svg"}  # a name, which nothing is loaded from
    assert html.count("<script>") == html.count("<style>") == 1


def test_every_app_that_a_tool_names_exists_and_every_app_has_a_tool() -> None:
    named = {tool.app for tool in (*WORKSPACE_CATALOGUE.tools(uuid4()), *hr_tools.all_tools())}
    assert named - {""} == set(APPS)
