"""An unmodified official client signs in and works, against the real server process."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from urllib.parse import parse_qsl, urlsplit

import httpx2
import pytest
from mcp import Client, MCPError
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientMetadata
from mcp.types import ResourceTemplateReference

from tests.clients.token_storage import MemoryTokenStorage
from tests.drivers.data_tools import BUILT_IN
from tests.drivers.person import Person
from tests.drivers.server import Server

pytestmark = pytest.mark.process

CALLBACK = "http://127.0.0.1:33418/callback"


class ConsentBrowser:
    """What the client opens for consent, and where it waits for the answer."""

    def __init__(self, person: Person) -> None:
        self.person = person
        self.answer = ""

    async def redirect(self, url: str) -> None:
        self.answer = await asyncio.to_thread(self.person.open, url)

    async def callback(self) -> AuthorizationCodeResult:
        return AuthorizationCodeResult(**dict(parse_qsl(urlsplit(self.answer).query)))


@asynccontextmanager
async def connect(
    server: Server, mode: str, person: Person, *, host: str = "127.0.0.1"
) -> AsyncIterator[Client]:
    browser = ConsentBrowser(person)
    address = server.mcp_url.replace("127.0.0.1", host)
    sign_in = OAuthClientProvider(
        address,
        OAuthClientMetadata(
            client_name="End to end",
            redirect_uris=[CALLBACK],
            grant_types=["authorization_code", "refresh_token"],
            token_endpoint_auth_method="none",
        ),
        MemoryTokenStorage(),
        redirect_handler=browser.redirect,
        callback_handler=browser.callback,
    )
    async with httpx2.AsyncClient(auth=sign_in, timeout=30) as http:
        transport = streamable_http_client(address, http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client
    person.browser.close()


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28", "auto"])
def test_a_client_signs_in_lists_tools_and_gets_ranked_documentation(
    server: Server, mode: str
) -> None:
    async def session() -> tuple[list[str], dict[str, object]]:
        async with connect(server, mode, Person()) as client:
            tools = await client.list_tools()
            found = await client.call_tool("search_docs", {"query": "how do scopes work"})
            return [tool.name for tool in tools.tools], json.loads(found.content[0].text)

    names, found = asyncio.run(session())

    assert names == BUILT_IN
    hits = found["results"]
    assert isinstance(hits, list)
    assert hits[0]["page"] == "scopes"
    assert [hit["score"] for hit in hits] == sorted((hit["score"] for hit in hits), reverse=True)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
def test_a_client_reads_pages_gets_prompts_and_is_completed(server: Server, mode: str) -> None:
    async def session() -> None:
        async with connect(server, mode, Person()) as client:
            listed = [str(one.uri) for one in (await client.list_resources()).resources]
            assert "docs://tokens" in listed
            (template,) = (await client.list_resource_templates()).resource_templates
            assert template.uri_template == "docs://{page}"
            (page,) = (await client.read_resource("docs://tokens")).contents
            assert page.text.startswith("# Tokens")
            with pytest.raises(MCPError, match="Unknown resource"):
                await client.read_resource("docs://no-such-page")
            prompts = [one.name for one in (await client.list_prompts()).prompts]
            assert prompts == ["plan_lookups", "review_write"]
            plan = await client.get_prompt("plan_lookups", {"question": "Which scopes are there?"})
            assert "Which scopes are there?" in plan.messages[0].content.text
            reference = ResourceTemplateReference(type="ref/resource", uri="docs://{page}")
            found = await client.complete(reference, {"name": "page", "value": "tok"})
            assert found.completion.values == ["tokens"]

    asyncio.run(session())


def test_what_the_person_unticks_is_missing_from_the_token(server: Server) -> None:
    async def session() -> list[str]:
        person = Person(untick=frozenset({"setup:read", "data:read"}))
        async with connect(server, "legacy", person) as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert asyncio.run(session()) == ["read_doc", "search_docs"]


def test_a_person_who_typed_localhost_is_let_in_too(server: Server) -> None:
    async def session() -> list[str]:
        async with connect(server, "auto", Person(), host="localhost") as client:
            return [tool.name for tool in (await client.list_tools()).tools]

    assert "search_docs" in asyncio.run(session())
