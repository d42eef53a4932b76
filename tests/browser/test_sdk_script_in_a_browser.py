"""The script for pages, on a page of another origin with a strict policy and the tool's snippet."""

import base64
import hashlib
import json
import re
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import jwt
import pytest
from playwright.sync_api import Browser

from tests.browser import chromium
from tests.browser.chromium import Visitor
from tests.drivers.evaluation import evaluate
from tests.drivers.mcp import McpClient, http_transport
from tests.drivers.person import Person
from tests.drivers.server import Server
from tests.end_to_end.bare_client import BareClient

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.once]

SECONDS = 30
PAGE = """<!DOCTYPE html><html lang="en"><head><title>Shop</title></head><body>
<button id="buy">Buy</button>
<form id="order" action="/thanks"><input name="id" value="private"><button>Send</button></form>
%s</body></html>"""
EVENTS = """
import json
from workspace.models import Event
columns = ("event_type", "page_url", "element_selector", "customer__external_id", "metadata")
rows = Event.objects.filter(session_id__gt="").order_by("at", "pk").values_list(*columns)
print(json.dumps(list(rows)))
"""
SECRET = """
from workspace import organizations
from workspace.models import Organization
print(organizations.identity_secret(Organization.objects.get(pk="{}")))
"""


@dataclass
class SnippetSite:
    """A site of an organization: one page, with this snippet, under a strict policy."""

    snippet: str
    script_origin: str
    url: str = ""

    @property
    def policy(self) -> str:
        inline = re.findall(r"<script>(.*?)</script>", self.snippet, re.DOTALL)
        digests = [
            base64.b64encode(hashlib.sha256(one.encode()).digest()).decode() for one in inline
        ]
        hashes = " ".join(f"'sha256-{one}'" for one in digests)
        to = self.script_origin
        return f"default-src 'none'; script-src {to} {hashes}; connect-src {to}; form-action 'self'"


@pytest.fixture(scope="module")
def keys(server: Server) -> dict[str, Any]:
    """What the tool returns to a connected client."""
    token = BareClient(server, scope="setup:read").connect(Person())
    client = McpClient(token, transport=http_transport(server.mcp_url))
    facts: dict[str, Any] = client.call("setup_get_install_snippet").facts
    return facts


@pytest.fixture
def shop(server: Server, keys: dict[str, Any]) -> Iterator[SnippetSite]:
    site = SnippetSite(keys["snippet"], server.url)

    class SnippetHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = (PAGE % site.snippet).encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", site.policy)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), SnippetHandler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        site.url = f"http://127.0.0.1:{listening.server_address[1]}"
        yield site
        listening.shutdown()
        thread.join()


def events(server: Server, shop: SnippetSite, count: int) -> list[list[Any]]:
    """The stored events of the pages before the last one, once there are so many of them.

    The last page sends its own events at some later moment.
    """
    end = time.monotonic() + SECONDS
    while True:
        stored: list[list[Any]] = json.loads(evaluate(server.env, EVENTS))
        rows = [
            [kind, where.removeprefix(shop.url), *rest]
            for kind, where, *rest in stored
            if where.startswith(f"{shop.url}/") and not where.endswith("/thanks")
        ]
        if len(rows) >= count or time.monotonic() > end:
            return rows
        time.sleep(0.2)  # no event: the rows are in another process


def open_shop(visitor: Visitor, shop: SnippetSite) -> None:
    visitor.open(f"{shop.url}/prices?email=private#top")
    chromium.wait_until(visitor.page, "window.HaloAgents !== undefined")


def test_the_snippet_of_the_tool_records_what_a_person_does(
    visitor: Visitor, server: Server, shop: SnippetSite, keys: dict[str, Any]
) -> None:
    secret = evaluate(server.env, SECRET.format(keys["organization_id"])).strip()
    token = jwt.encode({"user_id": "42", "exp": time.time() + 600}, secret, algorithm="HS256")
    open_shop(visitor, shop)
    visitor.page.evaluate("token => HaloAgents.identify({ userToken: token })", token)
    visitor.page.locator("#buy").click()
    visitor.page.evaluate("HaloAgents.track('exported', { format: 'csv' })")
    visitor.page.evaluate("history.pushState({}, '', '/cart')")
    # The page is left before the next batch is due: a beacon carries the rest.
    visitor.page.get_by_role("button", name="Send").click()
    visitor.page.wait_for_url("**/thanks**")

    rows = events(server, shop, 6)
    assert sorted((kind, where, at) for kind, where, at, *_ in rows) == [
        ("click", "/cart", "#order > button"),
        ("click", "/prices", "#buy"),
        ("exported", "/prices", ""),
        ("form_submit", "/cart", "#order"),
        ("page_view", "/cart", ""),
        ("page_view", "/prices", ""),
    ]
    assert {row[3] for row in rows if row[1].endswith("/cart")} == {"42"}
    assert "private" not in str(rows)


@pytest.mark.parametrize(
    "said", ["navigator, 'globalPrivacyControl', true", "navigator, 'doNotTrack', '1'"]
)
def test_nothing_is_recorded_of_a_person_who_objects(
    browser: Browser, server: Server, shop: SnippetSite, said: str
) -> None:
    target, name, value = said.split(", ")
    with chromium.visiting(browser, server.url) as visitor:
        script = f"Object.defineProperty({target}, {name}, {{ get: () => {value} }})"
        visitor.page.context.add_init_script(script)
        sent: list[str] = []
        visitor.page.on("request", lambda request: sent.append(request.url))
        open_shop(visitor, shop)
        visitor.page.evaluate("HaloAgents.track('exported')")
        visitor.page.locator("#buy").click()
        visitor.open("/health")
        assert visitor.problems == []
        assert not [url for url in sent if "/api/sdk/" in url]
    assert events(server, shop, 0) == []


def test_a_batch_that_fails_is_sent_again(
    visitor: Visitor, server: Server, shop: SnippetSite
) -> None:
    failures: list[str] = []

    def refuse(route: Any) -> None:
        if len(failures) < 1:
            failures.append(route.request.url)
            route.fulfill(status=503, headers={"Access-Control-Allow-Origin": "*"}, body="{}")
        else:
            route.continue_()

    visitor.page.route("**/api/sdk/events", refuse)
    stored = visitor.page.expect_response(lambda one: "/events" in one.url and one.status == 200)
    with stored:
        open_shop(visitor, shop)
    assert failures
    assert [row[:2] for row in events(server, shop, 1)] == [["page_view", "/prices"]]


def test_of_a_batch_with_the_id_of_another_event_the_others_are_sent_again(
    visitor: Visitor, shop: SnippetSite
) -> None:
    batches: list[Any] = []

    def refuse_first(route: Any) -> None:
        batches.append(json.loads(route.request.post_data))
        if len(batches) == 1:
            refusal = {
                "reason": "Taken.",
                "fields": [{"field": "events[0].id", "reason": "Taken."}],
            }
            headers = {"Access-Control-Allow-Origin": "*"}
            route.fulfill(status=409, headers=headers, body=json.dumps(refusal))
        else:
            route.continue_()

    visitor.page.route("**/api/sdk/events", refuse_first)
    stored = visitor.page.expect_response(lambda one: "/events" in one.url and one.status == 200)
    with stored:
        open_shop(visitor, shop)
        visitor.page.evaluate("HaloAgents.track('kept')")
    first, second = batches
    assert [one["event_type"] for one in first["events"]] == ["page_view", "kept"]
    assert second["events"] == first["events"][1:]
    assert first["sent_at"] >= first["events"][0]["at"]
    assert visitor.problems == ["HaloAgents: 409 Taken."]
    visitor.problems.clear()
