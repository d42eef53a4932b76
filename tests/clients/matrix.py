"""The real clients that are sent here, each at every generation of the protocol that it speaks."""

import json
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from tests.clients import real_client_flow
from tests.clients.real_client_flow import QUESTION, Attendant, Findings, Tour, Travel
from tests.drivers import node
from tests.drivers.node import Unavailable
from tests.drivers.server import ROOT

FOLDER: Final = Path(__file__).parent
PACKAGES: Final = FOLDER / "node_modules"
JUNE, LAST_HANDSHAKE, MODERN = "2025-06-18", "2025-11-25", "2026-07-28"
# Required by the Inspector; the others accept older versions.
LEAST_NODE: Final = (22, 19)
HANDSHAKE: Final = {
    "protocolVersion": LAST_HANDSHAKE,
    "capabilities": {},
    "clientInfo": {"name": "desktop", "version": "1.0.0"},
}


# Port 9 of this machine stands for the model: nothing listens there, and no model is asked.
CODEX_SETTINGS: Final = """\
model_provider = "nowhere"
check_for_update_on_startup = false
mcp_oauth_credentials_store = "file"

[analytics]
enabled = false

[model_providers.nowhere]
name = "nowhere"
base_url = "http://127.0.0.1:9/v1"

[mcp_servers.halo]
url = "{url}"
"""


@dataclass(frozen=True)
class RealClient:
    """A client that somebody uses, how it is configured, and what it then has to speak.

    `server` holds settings that the server has to have for it.
    """

    name: str
    package: str
    setting: str
    revision: str
    travel: Travel
    server: Mapping[str, str] = field(default_factory=dict)

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
        return findings(real_client_flow.output_of(words, given, PYTHONPATH=str(ROOT)))

    return travel


def fastmcp(given: Tour) -> Findings:
    if find_spec("fastmcp") is None:
        raise Unavailable("fastmcp is not installed: ./run clients installs it")
    return python("fastmcp_client")(given)


def typescript(generation: str, mode: str, given: Tour) -> Findings:
    words = [program(), str(FOLDER / "typescript.mjs"), generation, mode]
    words += [given.mcp_url, str(given.callback)]
    return findings(real_client_flow.output_of(words, given, QUESTION=QUESTION))


def inspector(era: str, given: Tour) -> Findings:
    """The Inspector's command line does one thing a run, so it signs in for each."""
    listed = run_inspector(era, given, "tools/list")
    search = ("--tool-name", "search_docs", "--tool-arg", f"query={QUESTION}")
    called = run_inspector(era, given, "tools/call", *search)
    return Findings(names(listed["tools"]), called["content"][0]["text"])


def run_inspector(era: str, given: Tour, method: str, *more: str) -> dict[str, Any]:
    entry = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    words = [program(), str(PACKAGES / entry), "--cli", "--server-url", given.mcp_url]
    words += ["--transport", "http", "--protocol-era", era, "--format", "json"]
    words += ["--callback-url", f"http://127.0.0.1:{given.callback}/oauth/callback"]
    said = real_client_flow.output_of(
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
    with real_client_flow.start_program(words, given, MCP_REMOTE_CONFIG_DIR=str(given.folder)) as (
        _,
        reported,
    ):
        ask(reported, 1, "initialize", HANDSHAKE)
        say(reported, {"method": "notifications/initialized"})
        tools = ask(reported, 2, "tools/list", {})["tools"]
        search = {"name": "search_docs", "arguments": {"query": QUESTION}}
        called = ask(reported, 3, "tools/call", search)
    assert reported.approved, reported.words
    return Findings(names(tools), called["content"][0]["text"])


def mcporter(given: Tour) -> Findings:
    config = given.folder / "mcporter.json"
    server = {"url": given.mcp_url, "auth": "oauth"}
    config.write_text(json.dumps({"mcpServers": {"halo": server}}), encoding="utf-8")
    entry = str(PACKAGES / "mcporter/dist/cli.js")
    words = [program(), entry, "--config", str(config)]
    real_client_flow.sign_in([*words, "auth", "halo"], given, MCPORTER_OAUTH_NO_BROWSER="true")
    listed = real_client_flow.output_without_sign_in([*words, "list", "halo", "--json"], given)
    search = ("halo.search_docs", f"query={QUESTION}", "--output", "json")
    called = real_client_flow.output_without_sign_in([*words, "call", *search], given)
    return Findings(names(json.loads(listed)["tools"]), json.dumps(json.loads(called), indent=2))


def codex(given: Tour) -> Findings:
    """Codex signs in by its command line; its app server lists and calls without a model."""
    configure_codex(given)
    real_client_flow.sign_in([*codex_words(), "mcp", "login", "halo"], given)
    with real_client_flow.start_program([*codex_words(), "app-server"], given) as (_, reported):
        ask(reported, 1, "initialize", {"clientInfo": HANDSHAKE["clientInfo"]})
        say(reported, {"method": "initialized"})
        status = {"detail": "toolsAndAuthOnly"}
        (server,) = ask(reported, 2, "mcpServerStatus/list", status)["data"]
        thread = ask(reported, 3, "thread/start", {"ephemeral": True})["thread"]["id"]
        search = {"tool": "search_docs", "arguments": {"query": QUESTION}}
        params = {"threadId": thread, "server": "halo", **search}
        called = ask(reported, 4, "mcpServer/tool/call", params)
    return Findings(tuple(sorted(server["tools"])), called["content"][0]["text"])


def codex_words() -> list[str]:
    return [program(), str(PACKAGES / "@openai/codex/bin/codex.js")]


def configure_codex(given: Tour) -> None:
    """Write its settings: this server, no keyring, and nothing that leads off this machine."""
    folder = given.folder / ".codex"
    folder.mkdir()
    text = CODEX_SETTINGS.format(url=given.mcp_url)
    (folder / "config.toml").write_text(text, encoding="utf-8")


def ask(reported: Attendant, number: int, method: str, params: Mapping[str, Any]) -> Any:
    """The result of a request; what else is said meanwhile is passed over."""
    assert reported.process.stdout
    say(reported, {"id": number, "method": method, "params": params})
    for line in reported.process.stdout:
        reply = json.loads(line)
        if reply.get("id") == number and "method" not in reply:
            return reply["result"]
    raise AssertionError(f"no answer to {method}:\n{reported.words}")


def say(reported: Attendant, message: Mapping[str, Any]) -> None:
    print(json.dumps({"jsonrpc": "2.0", **message}), file=reported.process.stdin, flush=True)


def program() -> str:
    """A node that all of them can bear. Raises Unavailable."""
    if not (PACKAGES / "mcp-remote").is_dir():
        raise Unavailable("its packages are not installed: npm ci in tests/clients")
    return node.program(*LEAST_NODE)


def names(tools: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    return tuple(tool["name"] for tool in tools)


def findings(said: str) -> Findings:
    reported = json.loads(said)
    return Findings(tuple(reported["tools"]), reported["answer"])


# Its metadata document is at chatgpt.com, which is not part of this machine.
WITHOUT_DOCUMENTS: Final = {"HALO_CIMD": "no"}
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
    RealClient("mcporter", "mcporter", "default", LAST_HANDSHAKE, mcporter),
    RealClient(
        "Codex CLI", "@openai/codex", "server with `HALO_CIMD=no`", JUNE, codex, WITHOUT_DOCUMENTS
    ),
)
