"""An application in a page of another origin talks to the agents; other pages cannot."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
from playwright.sync_api import Browser

from tests.agents.real_server import PREPARE
from tests.browser import chromium
from tests.drivers.evaluation import evaluate
from tests.drivers.server import Server
from tests.drivers.servers import ORIGINS, port_of

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.once]

# Written from the protocol's pages: a streamed turn whose tools are of both sides.
TALK = """
async ([url, key]) => {
  const send = (method, path, body) => fetch(url + path, {
    method,
    headers: {"Authorization": "Bearer " + key, "Content-Type": "application/json"},
    body: body && JSON.stringify(body),
  });
  const events = async (answer) => {
    const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
    let text = "";
    for (;;) {
      const {value, done} = await reader.read();
      if (done) break;
      text += value;
    }
    return text.split("\\n\\n").filter(Boolean).map((block) => {
      const [name, data] = block.split("\\n");
      return [name.slice(7), JSON.parse(data.slice(6))];
    });
  };
  const tool = {
    name: "look_up",
    description: "Looks up a word",
    inputSchema: {type: "object", properties: {query: {type: "string"}}, required: ["query"]},
  };
  const first = await events(await send("PUT", "/session", {
    agent: {name: "documentation", tools: [{name: "search_docs", trust: true}]},
    messages: [{role: "user", content: "How do scopes work?"}],
    tools: [tool],
    stream: "delta",
  }));
  const session = first[0][1].sessionId;
  const results = first
    .filter(([name, data]) => name === "tool_call" && data.name === "look_up")
    .map(([, data]) => ({role: "tool", toolCallId: data.toolCallId, content: "A permission."}));
  const second = await events(
    await send("POST", "/session/" + session, {messages: results, stream: "message"})
  );
  const history = (await (await send("GET", "/session/" + session)).json()).history.full;
  const deleted = (await send("DELETE", "/session/" + session)).status;
  return {first, second, history, deleted};
}
"""
ASK = """
async ([url, key]) => {
  try {
    return (await fetch(url + "/meta", {headers: {"Authorization": "Bearer " + key}})).status;
  } catch (error) {
    return String(error);
  }
}
"""


class _Page(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = b"<!DOCTYPE html><html lang='en'><head><title>App</title></head><body></body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_given: Any) -> None:
        """Nothing is logged."""


def _serving(port: int = 0) -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", port), _Page) as site:
        thread = threading.Thread(target=site.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{site.server_address[1]}"
        site.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def application(server: Server) -> Iterator[str]:
    """The origin of an application that the operator allows."""
    yield from _serving(port_of(server.env[ORIGINS]))


@pytest.fixture(scope="module")
def stranger() -> Iterator[str]:
    yield from _serving()


@pytest.fixture(scope="module")
def agents(server: Server) -> tuple[Server, str]:
    """A server that allows the application, and a key of it."""
    return server, json.loads(evaluate(server.env, PREPARE))


def test_an_application_in_a_page_runs_a_turn_with_tools_of_both_sides(
    browser: Browser, application: str, agents: tuple[Server, str]
) -> None:
    started, key = agents
    with chromium.visiting(browser, application) as visitor:
        visitor.page.goto(application)
        found = visitor.page.evaluate(TALK, [f"{started.url}/aap", key])
    first = [name for name, _data in found["first"]]
    assert first[:2] == ["session_start", "turn_start"]
    assert first[2:5] == ["tool_call", "tool_call", "tool_result"]
    assert found["first"][-1] == ["turn_stop", {"stopReason": "tool_use"}]
    assert [name for name, _data in found["second"]] == ["turn_start", "text", "turn_stop"]
    assert "A permission." in json.dumps(found["history"])
    assert found["deleted"] == 204


def test_a_page_of_another_origin_reads_nothing(
    browser: Browser, stranger: str, agents: tuple[Server, str]
) -> None:
    started, key = agents
    with chromium.visiting(browser, stranger) as visitor:
        visitor.page.goto(stranger)
        answer = visitor.page.evaluate(ASK, [f"{started.url}/aap", key])
    assert "Failed to fetch" in str(answer)
