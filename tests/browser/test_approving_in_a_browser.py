"""The walk of docs/gateway.md: import the demo API on a page, read, write, approve in a browser.

The client learns of the decision in each of three ways.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from playwright.sync_api import Browser, Page, expect
from websockets.sync.client import connect

from tests.browser import chromium
from tests.browser.chromium import Visitor
from tests.drivers.server import Server
from tests.drivers.websocket_client import WebSocketClient, address
from tests.gateway.test_demo_api import start_demo_api

pytestmark = [pytest.mark.browser, pytest.mark.process]


@dataclass(frozen=True)
class DemoProject:
    """The demo API as a project: its id, its address and a token of its owner."""

    id: str
    mcp_url: str
    token: str

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def tools(self) -> list[str]:
        """The names that the official client lists."""
        listed = self._run_with_client(lambda client: client.list_tools())
        return [tool.name for tool in listed.tools]

    def call(self, tool: str, **arguments: Any) -> Any:
        """What a call by the official client returns as structured content."""
        return self._run_with_client(
            lambda client: client.call_tool(tool, arguments)
        ).structured_content

    def _run_with_client(self, ask: Callable[[Client], Awaitable[Any]]) -> Any:
        async def connect_and_ask() -> Any:
            async with httpx2.AsyncClient(timeout=30, headers=self.headers) as http:
                transport = streamable_http_client(self.mcp_url, http_client=http)
                async with Client(transport) as client:
                    return await ask(client)

        # The thread of a browser has an event loop of its own.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(connect_and_ask())).result()


@pytest.fixture(scope="module")
def project(server: Server, browser: Browser, pictures: Path) -> Iterator[DemoProject]:
    """A project whose owner has added a credential and may approve their own requests."""
    with start_demo_api() as (_process, api):
        with chromium.visiting(browser, server.url) as visitor:
            visitor.open_and_sign_in().open("/projects")
            mcp_url = import_document(visitor.page, f"{api}/openapi.json", pictures)
            project_id = visitor.page.url.rpartition("/")[2]
            prepare(visitor.page, pictures)
            token = create_token(visitor, project_id)
            assert visitor.problems == []
        yield DemoProject(project_id, mcp_url, token)


def import_document(page: Page, url: str, pictures: Path) -> str:
    """Create a project from the list of projects; returns its MCP address."""
    page.get_by_role("link", name="New project").click()
    page.get_by_label("URL of the document").fill(url)
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_role("heading", name="Check the import")).to_be_visible()
    expect(page.get_by_label("Target URL")).to_have_value(url.removesuffix("/openapi.json"))
    page.screenshot(path=pictures / "import.png")
    page.get_by_role("button", name="Create project").click()
    return page.locator("#mcp-address").inner_text()


def prepare(page: Page, pictures: Path) -> None:
    """Add the credential, and let requesters approve their own requests."""
    here = page.url
    page.get_by_role("link", name="Credentials for the API").click()
    page.get_by_label("API key").fill("demo")
    page.get_by_role("button", name="Save credential").click()
    expect(page.get_by_text("Credential saved.")).to_be_visible()
    page.goto(here)
    page.get_by_role("link", name="Policy", exact=True).click()
    page.get_by_label("Requesters may approve their own requests").check()
    page.screenshot(path=pictures / "policy.png", full_page=True)
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_role("button", name="Save anyway").click()
    page.goto(here)
    page.screenshot(path=pictures / "project.png", full_page=True)


def create_token(visitor: Visitor, project_id: str) -> str:
    visitor.open("/projects-tokens")
    visitor.page.get_by_label("Project").select_option(project_id)
    visitor.page.get_by_label("Name").fill("Laptop")
    visitor.page.get_by_role("button", name="Create token").click()
    return visitor.page.locator("#token").inner_text()


def approve(page: Page, pictures: Path, name: str) -> None:
    page.screenshot(path=pictures / f"{name}-request.png", full_page=True)
    page.get_by_role("button", name="Approve", exact=True).dblclick()
    expect(page.get_by_text("Approved. The operation is being executed.")).to_be_visible()
    expect(page.locator("#decision").get_by_text("Done", exact=True)).to_be_visible()
    page.screenshot(path=pictures / f"{name}.png", full_page=True)


def first(socket: WebSocketClient, wanted: Callable[[Any], bool]) -> Any:
    """The first such message; decisions of the minute before the socket opened come, too."""
    return next(filter(wanted, iter(socket.receive, None)))


@pytest.mark.sqlite
def test_a_retry_of_the_call_returns_the_result(
    browser: Browser, server: Server, project: DemoProject, pictures: Path
) -> None:
    assert {"list_books", "create_book"} <= {*project.tools()}
    before = project.call("list_books")["total"]
    book = {"title": "A retry", "author": "Ada", "price_cents": 900}
    pending = project.call("create_book", **book)
    assert pending["status"] == "PENDING_APPROVAL"
    assert project.call("list_books")["total"] == before
    assert project.call("create_book", **book) == pending

    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in()
        visitor.open("/requests")
        visitor.page.get_by_role("link", name="create_book").first.click()
        approve(visitor.page, pictures, "approved")
        assert visitor.problems == []

    assert project.call("create_book", **book)["title"] == "A retry"
    assert project.call("list_books")["total"] == before + 1


def test_the_status_url_returns_the_result(
    browser: Browser, server: Server, project: DemoProject, pictures: Path
) -> None:
    pending = project.call("create_book", title="A page", author="Ada", price_cents=900)
    headers = {**project.headers, "Accept": "application/json"}
    asked = httpx2.get(pending["statusUrl"], headers=headers)
    assert asked.json() == {"requestId": pending["requestId"], "status": "PENDING_APPROVAL"}

    with chromium.visiting(browser, server.url) as visitor:
        visitor.open_and_sign_in()
        visitor.page.goto(pending["approvalUrl"])
        approve(visitor.page, pictures, "approved-status")

    answered = httpx2.get(pending["statusUrl"], headers=headers).json()
    assert answered["status"] == "EXECUTED"
    assert answered["result"]["structuredContent"]["title"] == "A page"


def test_a_websocket_receives_the_result(
    browser: Browser, server: Server, project: DemoProject, pictures: Path
) -> None:
    port = int(server.url.rpartition(":")[2])
    with connect(address(port, project=project.id, token=project.token)) as connection:
        socket = WebSocketClient(connection)
        book = {"title": "A socket", "author": "Ada", "price_cents": 900}
        called = socket.call("create_book", book)
        response = first(socket, lambda message: message.get("id") == called)
        pending = json.loads(response["result"]["content"][0]["text"])

        with chromium.visiting(browser, server.url) as visitor:
            visitor.open_and_sign_in()
            visitor.page.goto(pending["approvalUrl"])
            approve(visitor.page, pictures, "approved-socket")

        pushed = first(
            socket, lambda message: message["params"]["requestId"] == pending["requestId"]
        )
    assert pushed["method"] == "notifications/tool-execution-result"
    sent = pushed["params"]
    assert (sent["toolName"], sent["status"]) == ("create_book", "EXECUTED")
    assert sent["result"]["structuredContent"]["title"] == "A socket"
