"""The real clients that are sent here, each at every generation of the protocol that it speaks."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tests.clients import tour
from tests.clients.tour import QUESTION, Attendant, Findings, Tour, Travel
from tests.drivers import node
from tests.drivers.node import Unavailable
from tests.drivers.server import ROOT

FOLDER: Final = Path(__file__).parent
PACKAGES: Final = FOLDER / "node_modules"
LAST_HANDSHAKE, MODERN = "2025-11-25", "2026-07-28"
# The Inspector's own floor; the others are content with less.
LEAST_NODE: Final = (22, 19)
HANDSHAKE: Final = {
    "protocolVersion": LAST_HANDSHAKE,
    "capabilities": {},
    "clientInfo": {"name": "desktop", "version": "1.0.0"},
}


@dataclass(frozen=True)
class RealClient:
    """A client that somebody uses, how it is told to speak, and what it then has to speak."""

    name: str
    package: str
    setting: str
    revision: str
    travel: Travel

    @property
    def version(self) -> str:
        return versions()[self.package]

    @property
    def label(self) -> str:
        return f"{self.name}, {self.setting}"


def versions() -> dict[str, str]:
    """The version of each package that a lock file pins."""
    text = (ROOT / "requirements" / "dev.txt").read_text(encoding="utf-8")
    found = dict(re.findall(r"^([\w.-]+)==([^\s;]+)", text, re.MULTILINE))
    lock = json.loads((FOLDER / "package-lock.json").read_text(encoding="utf-8"))
    for place, package in lock["packages"].items():
        # Those in a folder of another package are that one's own affair.
        found |= {place.removeprefix("node_modules/"): package["version"]} if place else {}
    return found


def python(module: str, *settings: str) -> Travel:
    """A client written in Python, in a process of its own."""

    def travel(given: Tour) -> Findings:
        words = [sys.executable, "-m", f"tests.clients.{module}", *settings]
        words += [given.mcp_url, str(given.callback)]
        return findings(tour.said_by(words, given, PYTHONPATH=str(ROOT)))

    return travel


def fastmcp(given: Tour) -> Findings:
    if find_spec("fastmcp") is None:
        raise Unavailable("fastmcp is not installed: ./run clients installs it")
    return python("fastmcp_client")(given)


def typescript(generation: str, mode: str, given: Tour) -> Findings:
    words = [program(), str(FOLDER / "typescript.mjs"), generation, mode]
    words += [given.mcp_url, str(given.callback)]
    return findings(tour.said_by(words, given, QUESTION=QUESTION))


def inspector(era: str, given: Tour) -> Findings:
    """The Inspector's command line does one thing a run, so it signs in for each."""
    listed = inspected(era, given, "tools/list")
    search = ("--tool-name", "search_docs", "--tool-arg", f"query={QUESTION}")
    called = inspected(era, given, "tools/call", *search)
    return Findings(names(listed["tools"]), called["content"][0]["text"])


def inspected(era: str, given: Tour, method: str, *more: str) -> dict[str, Any]:
    entry = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    words = [program(), str(PACKAGES / entry), "--cli", "--server-url", given.mcp_url]
    words += ["--transport", "http", "--protocol-era", era, "--format", "json"]
    words += ["--callback-url", f"http://127.0.0.1:{given.callback}/oauth/callback"]
    said = tour.said_by(
        [*words, "--method", method, *more],
        given,
        # Without a terminal it asks nobody to sign in, unless it may open a browser.
        MCP_AUTO_OPEN_ENABLED="true",
        MCP_INSPECTOR_SECRET_STORE="memory",
        MCP_STORAGE_DIR=str(given.folder),
    )
    result: dict[str, Any] = json.loads(said)
    return result.get("result", result)


def mcp_remote(protocol: str, given: Tour) -> Findings:
    """mcp-remote stands between: an application speaks to its standard input, as desktops do."""
    words = [program(), str(PACKAGES / "mcp-remote/dist/proxy.js"), given.mcp_url]
    words += [str(given.callback), "--host", "127.0.0.1", "--protocol", protocol]
    with tour.started(words, given, MCP_REMOTE_CONFIG_DIR=str(given.folder)) as (_, told):
        ask(told, 1, "initialize", HANDSHAKE)
        say(told, {"method": "notifications/initialized"})
        tools = ask(told, 2, "tools/list", {})["tools"]
        search = {"name": "search_docs", "arguments": {"query": QUESTION}}
        called = ask(told, 3, "tools/call", search)
    assert told.approved, told.words
    return Findings(names(tools), called["content"][0]["text"])


def ask(told: Attendant, number: int, method: str, params: Mapping[str, Any]) -> Any:
    """The result of a request; what else is said meanwhile is passed over."""
    assert told.process.stdout
    say(told, {"id": number, "method": method, "params": params})
    for line in told.process.stdout:
        reply = json.loads(line)
        if reply.get("id") == number and "method" not in reply:
            return reply["result"]
    raise AssertionError(f"no answer to {method}:\n{told.words}")


def say(told: Attendant, message: Mapping[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), file=told.process.stdin, flush=True)


def program() -> str:
    """A node that all of them can bear. Raises Unavailable."""
    if not (PACKAGES / "mcp-remote").is_dir():
        raise Unavailable("its packages are not installed: npm ci in tests/clients")
    return node.program(*LEAST_NODE)


def names(tools: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(tool["name"] for tool in tools)


def findings(said: str) -> Findings:
    told = json.loads(said)
    return Findings(tuple(told["tools"]), told["answer"])


SDK, CLIENT = "@modelcontextprotocol/sdk", "@modelcontextprotocol/client"
INSPECTOR: Final = "@modelcontextprotocol/inspector"
MATRIX: Final[Sequence[RealClient]] = (
    RealClient("Python SDK", "mcp", "legacy", LAST_HANDSHAKE, python("python_sdk", "legacy")),
    RealClient("Python SDK", "mcp", "modern", MODERN, python("python_sdk", MODERN)),
    RealClient(
        "TypeScript SDK 1", SDK, "default", LAST_HANDSHAKE, partial(typescript, "sdk", "legacy")
    ),
    RealClient(
        "TypeScript SDK 2",
        CLIENT,
        "legacy",
        LAST_HANDSHAKE,
        partial(typescript, "client", "legacy"),
    ),
    RealClient("TypeScript SDK 2", CLIENT, "modern", MODERN, partial(typescript, "client", MODERN)),
    RealClient("mcp-remote", "mcp-remote", "legacy", LAST_HANDSHAKE, partial(mcp_remote, "legacy")),
    RealClient("mcp-remote", "mcp-remote", "auto", MODERN, partial(mcp_remote, "auto")),
    RealClient(
        "MCP Inspector CLI", INSPECTOR, "legacy", LAST_HANDSHAKE, partial(inspector, "legacy")
    ),
    RealClient("MCP Inspector CLI", INSPECTOR, "modern", MODERN, partial(inspector, "modern")),
    RealClient("FastMCP", "fastmcp-slim", "default", MODERN, fastmcp),
)
