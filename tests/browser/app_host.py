"""A host of MCP Apps: a page that shows one app in a sandboxed frame, as the specification asks.

The document comes with the policy that hosts make of `_meta.ui.csp`. The page answers
`ui/initialize`, sends the arguments and the result of a call, and keeps what the app sends.
Source: MCP Apps (SEP-1865), specification of 2026-01-26, Sandbox proxy and CSP Enforcement.
"""

import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

from playwright.sync_api import Browser, Frame, expect

from mcp_protocol.mcp_apps import RESOURCE_META
from tests.browser import chromium
from tests.browser.accessibility import ALL_BUT_COLOUR, AXE, FIND
from tests.browser.chromium import Visitor
from tests.browser.contrast import MEASURE, PageText
from tools_registry.endpoint.mcp_apps import APPS

HOST: Final = """<!doctype html><html lang="en"><head><title>Host</title>
<meta name="viewport" content="width=device-width"><style>body { margin: 0 }
iframe { border: 0; width: 100%; height: 40px; display: block }</style></head><body>
<iframe sandbox="allow-scripts" title="App"></iframe><script>
const given = GIVEN, frame = document.querySelector("iframe"), app = frame.contentWindow
window.received = []
const send = (message) => frame.contentWindow.postMessage({jsonrpc: "2.0", ...message}, "*")
window.send = send
window.addEventListener("message", ({source, data}) => {
  if (source !== frame.contentWindow) return
  window.received.push(data)
  if (data.method === "ui/initialize") send({id: data.id, result: {
    protocolVersion: "2026-01-26", hostInfo: {name: "host", version: "1"},
    hostCapabilities: given.capabilities, hostContext: given.context}})
  if (data.method === "ui/notifications/initialized" && given.result) {
    send({method: "ui/notifications/tool-input", params: {arguments: given.input}})
    send({method: "ui/notifications/tool-result", params: given.result})
  }
  if (data.method === "ui/notifications/size-changed")
    frame.style.height = data.params.height + "px"
  if (data.method === "ui/open-link") send(given.opens
    ? {id: data.id, result: {}} : {id: data.id, error: {code: -32000, message: "Denied"}})
})
frame.src = "/app"
</script></body></html>"""
# As the specification makes it of declared domains, of which our apps have none.
POLICY: Final = (
    "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; "
    "connect-src 'self'; img-src 'self' data:; font-src 'self'; media-src 'self' data:; "
    "frame-src 'none'; object-src 'none'; base-uri 'self'"
)


@dataclass
class AppHost:
    """One app that shows one result; `given` is what the host sends."""

    uri: str
    result: Mapping[str, Any] | None
    input: Mapping[str, Any] = field(default_factory=dict)
    context: Mapping[str, Any] = field(default_factory=dict)
    capabilities: Mapping[str, Any] = field(default_factory=lambda: {"openLinks": {}})
    opens: bool = True
    paths: list[str] = field(default_factory=list)
    visitor: Visitor = field(init=False)

    @property
    def page(self) -> str:
        names = ("result", "input", "context", "capabilities", "opens")
        given = json.dumps({name: getattr(self, name) for name in names})
        return HOST.replace("GIVEN", given.replace("<", "\\u003c"))

    @property
    def frame(self) -> Frame:
        return self.visitor.page.frames[1]

    @property
    def text(self) -> str:
        """What a person reads in the app."""
        return self.frame.locator("body").inner_text()

    def wait_for_message(self, method: str) -> None:
        """Wait until the app has sent a message, which follows what a person did."""
        chromium.wait_until(self.visitor.page, f"received.some(one => one.method === '{method}')")

    def received_messages(self, method: str) -> list[Any]:
        sent: list[Any] = self.visitor.page.evaluate("received")
        return [one for one in sent if one.get("method") == method]

    def send(self, method: str, **params: Any) -> None:
        self.visitor.page.evaluate("message => send(message)", {"method": method, "params": params})

    def is_shown(self) -> None:
        """Wait for the result."""
        expect(self.frame.locator("main[aria-busy=false]")).to_be_attached()

    def is_as_high_as_its_frame(self) -> None:
        """Wait until the host has made the frame as high as the app says that it is."""
        height = "Math.ceil(document.documentElement.getBoundingClientRect().height)"
        chromium.wait_until(self.frame, f"{height} === window.innerHeight")

    def findings(self) -> list[str]:
        """What axe-core finds, what is hard to read, and how far the app is too wide."""
        texts = [PageText(**measured) for measured in self.frame.evaluate(MEASURE)]
        found = [f"{one.text!r}: {one.ratio:.1f}" for one in texts if one.is_hard_to_read]
        self.frame.evaluate(AXE)
        found += [f"axe {one['id']}" for one in self.frame.evaluate(FIND, ALL_BUT_COLOUR)]
        wide = "document.scrollingElement.scrollWidth - document.documentElement.clientWidth"
        return found + [f"too wide by {by}" for by in [self.frame.evaluate(wide)] if by > 0]


@contextmanager
def showing(browser: Browser, host: AppHost, **context: Any) -> Iterator[AppHost]:
    """The host's page, open; whatever it or the app is complained of is an error at the end."""
    documents = {
        "/": (host.page, "default-src 'self' 'unsafe-inline'"),
        "/app": (str(APPS[host.uri].contents.body), POLICY),
    }
    assert not any(RESOURCE_META["ui"]["csp"].values())

    class DocumentHandler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            host.paths.append(self.path)
            body, policy = documents.get(self.path, ("", "default-src 'none'"))
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Security-Policy", policy)
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, *_: object) -> None:
            """Writes no log."""

    with ThreadingHTTPServer(("127.0.0.1", 0), DocumentHandler) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{listening.server_address[1]}"
        with chromium.visiting(browser, url, **context) as host.visitor:
            host.visitor.open("/")
            yield host
            assert host.visitor.problems == []
        listening.shutdown()
        thread.join()
    # Nothing but the page, the app, and the icon that browsers look for.
    assert set(host.paths) <= {"/", "/app", "/favicon.ico"}
