"""The walk of the gateway's page: import the demo API, read, write, approve in a browser.

The client learns of the decision in each of three ways.
"""

import asyncio
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
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
from tests.drivers.server import Server, evaluate
from tests.drivers.websocket_client import WebSocketClient, address
from tests.gateway.test_demo_api import ROOT, started

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.sqlite]

SLUG = """
from workspace.models import Membership
print(Membership.objects.get(user__email="ada@example.com").organization.slug)
"""


@dataclass(frozen=True)
class Project:
    """The demo API, imported by the command: its addresses and the token that was printed."""

    id: str
    mcp_url: str
    token: str
    tools: list[str]

    @property
    def headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.token}"}

    def call(self, tool: str, **arguments: Any) -> Any:
        """What a call by the official client returns as structured content."""
        # The thread of a browser has an event loop of its own.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(self._called(tool, arguments))).result()

    async def _called(self, tool: str, arguments: dict[str, Any]) -> Any:
        async with httpx2.AsyncClient(timeout=30, headers=self.headers) as http:
            transport = streamable_http_client(self.mcp_url, http_client=http)
            async with Client(transport) as client:
                return (await client.call_tool(tool, arguments)).structured_content


@pytest.fixture(scope="module")
def project(server: Server, browser: Browser) -> Iterator[Project]:
    """A project whose owner has added a credential and may approve their own requests."""
    with started() as (_process, api):
        words = ["gateway", "import", f"{api}/openapi.json", "--target", api, "--json"]
        slug = evaluate(server.env, SLUG).strip()
        done = subprocess.run(
            [sys.executable, "manage.py", *words, "--organization", slug],
            cwd=ROOT,
            env=server.env,
            capture_output=True,
            check=True,
            text=True,
            timeout=60,
        )
        made = json.loads(done.stdout)
        assert made["unmapped"] == []
        tools = [tool["name"] for tool in made["tools"]]
        with chromium.visiting(browser, server.url) as visitor:
            visitor.signed_in()
            page = visitor.page
            visitor.open(f"/projects/{made['project_id']}/credentials")
            page.get_by_label("API key").fill("demo")
            page.get_by_role("button", name="Save credential").click()
            expect(page.get_by_text("Credential saved.")).to_be_visible()
            visitor.open(f"/projects/{made['project_id']}/policy")
            page.get_by_label("Requesters may approve their own requests").check()
            page.get_by_role("button", name="Save", exact=True).click()
            assert visitor.problems == []
        yield Project(made["project_id"], made["mcp_url"], made["token"], tools)


def approve(page: Page, pictures: Path, name: str) -> None:
    page.get_by_role("button", name="Approve").dblclick()
    expect(page.get_by_text("Approved. The operation was executed.")).to_be_visible()
    page.screenshot(path=pictures / f"{name}.png", full_page=True)


def first(socket: WebSocketClient, wanted: Callable[[Any], bool]) -> Any:
    """The first such message; decisions of the minute before the socket opened come, too."""
    return next(filter(wanted, iter(socket.receive, None)))


def test_a_retry_of_the_call_returns_the_result(
    browser: Browser, server: Server, project: Project, pictures: Path
) -> None:
    assert "list_books" in project.tools
    before = project.call("list_books")["total"]
    book = {"title": "A retry", "author": "Ada", "price_cents": 900}
    pending = project.call("create_book", **book)
    assert pending["status"] == "PENDING_APPROVAL"
    assert project.call("list_books")["total"] == before
    assert project.call("create_book", **book) == pending

    with chromium.visiting(browser, server.url) as visitor:
        visitor.signed_in()
        visitor.open("/requests")
        visitor.page.get_by_role("link", name="create_book").first.click()
        approve(visitor.page, pictures, "approved")
        assert visitor.problems == []

    assert project.call("create_book", **book)["title"] == "A retry"
    assert project.call("list_books")["total"] == before + 1


def test_the_status_url_returns_the_result(
    browser: Browser, server: Server, project: Project, pictures: Path
) -> None:
    pending = project.call("create_book", title="A page", author="Ada", price_cents=900)
    headers = {**project.headers, "Accept": "application/json"}
    asked = httpx2.get(pending["statusUrl"], headers=headers)
    assert asked.json() == {"requestId": pending["requestId"], "status": "PENDING_APPROVAL"}

    with chromium.visiting(browser, server.url) as visitor:
        visitor.signed_in()
        visitor.page.goto(pending["approvalUrl"])
        approve(visitor.page, pictures, "approved-status")

    answered = httpx2.get(pending["statusUrl"], headers=headers).json()
    assert answered["status"] == "EXECUTED"
    assert answered["result"]["structuredContent"]["title"] == "A page"


def test_a_websocket_receives_the_result(
    browser: Browser, server: Server, project: Project, pictures: Path
) -> None:
    port = int(server.url.rpartition(":")[2])
    with connect(address(port, project=project.id, token=project.token)) as connection:
        socket = WebSocketClient(connection)
        book = {"title": "A socket", "author": "Ada", "price_cents": 900}
        called = socket.call("create_book", book)
        response = first(socket, lambda message: message.get("id") == called)
        pending = json.loads(response["result"]["content"][0]["text"])

        with chromium.visiting(browser, server.url) as visitor:
            visitor.signed_in()
            visitor.page.goto(pending["approvalUrl"])
            approve(visitor.page, pictures, "approved-socket")

        pushed = first(
            socket, lambda message: message["params"]["requestId"] == pending["requestId"]
        )
    assert pushed["method"] == "notifications/tool-execution-result"
    sent = pushed["params"]
    assert (sent["toolName"], sent["status"]) == ("create_book", "EXECUTED")
    assert sent["result"]["structuredContent"]["title"] == "A socket"
