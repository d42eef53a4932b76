"""The clients that are command lines: each in a process of its own, with a home of its own."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from tests.clients import matrix
from tests.clients.daily import installing, model_provider
from tests.clients.daily.model_provider import MARK, ModelProvider, write_call
from tests.clients.daily.sessions import (
    ClientFailed,
    ToolSession,
    on_terminal,
    output_of,
    run_attended,
)
from tests.clients.real_client_flow import Attendant, Tour

COMMANDS: Final = installing.DAILY / "node" / "commands"
# What the server is called in each client.
NAME: Final = "halo"


@dataclass(frozen=True)
class PromptSession:
    """An agent without a screen, whose scripted model calls what the prompt names."""

    provider: ModelProvider
    prefix: str
    prompt: Callable[[str], str]

    def list_tools(self) -> Sequence[str]:
        said = self.prompt(MARK)
        found = [name for name in self.provider.tools if name.startswith(self.prefix)]
        if not found:
            raise ClientFailed(said)
        return [name.removeprefix(self.prefix) for name in found]

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        said = self.prompt(f"{MARK} {write_call(tool, arguments)}")
        if not self.provider.results:
            raise ClientFailed(said)
        return self.provider.results[-1]


@dataclass(frozen=True)
class McpRemoteSession:
    """mcp-remote between an application, which speaks to its standard input, and the server."""

    attendant: Attendant

    def list_tools(self) -> Sequence[str]:
        tools = matrix.ask(self.attendant, 2, "tools/list", {})["tools"]
        return [tool["name"] for tool in tools]

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        params = {"name": tool, "arguments": arguments}
        return str(matrix.ask(self.attendant, 3, "tools/call", params)["content"][0]["text"])


@contextmanager
def mcp_remote(tour: Tour) -> Iterator[ToolSession]:
    entry = str(matrix.PACKAGES / "mcp-remote/dist/proxy.js")
    words = [installing.node_program(), entry, tour.mcp_url, str(tour.callback)]
    words += ["--host", "127.0.0.1"]
    with run_attended(words, tour, MCP_REMOTE_CONFIG_DIR=str(tour.folder)) as attendant:
        matrix.ask(attendant, 1, "initialize", matrix.HANDSHAKE)
        matrix.say(attendant, {"method": "notifications/initialized"})
        yield McpRemoteSession(attendant)


@dataclass(frozen=True)
class InspectorSession:
    """The Inspector's command line, which does one thing a run."""

    tour: Tour

    def list_tools(self) -> Sequence[str]:
        result = inspect_server(self.tour, "tools/list", "--use-stored-auth")
        return [tool["name"] for tool in result["tools"]]

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        words = ["--use-stored-auth", "--tool-name", tool]
        for name, value in arguments.items():
            words += ["--tool-arg", f"{name}={value}"]
        return str(inspect_server(self.tour, "tools/call", *words)["content"][0]["text"])


def inspect_server(tour: Tour, method: str, *more: str) -> Any:
    entry = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
    words = [installing.node_program(), str(matrix.PACKAGES / entry), "--cli"]
    words += ["--server-url", tour.mcp_url, "--transport", "http", "--format", "json"]
    words += ["--callback-url", f"http://127.0.0.1:{tour.callback}/oauth/callback"]
    settings = {
        # Without a terminal it signs in only if it may open a browser.
        "MCP_AUTO_OPEN_ENABLED": "true",
        "MCP_INSPECTOR_SECRET_STORE": "file",
        "MCP_STORAGE_DIR": str(tour.folder),
    }
    with run_attended([*words, "--method", method, *more], tour, **settings) as attendant:
        assert attendant.process.stdout
        said = attendant.process.stdout.read()
        attendant.process.wait(tour.seconds)
    if attendant.process.returncode:
        raise ClientFailed(attendant.words + said)
    result = json.loads(said)
    return result.get("result", result)


def sign_in_inspector(tour: Tour) -> None:
    inspect_server(tour, "tools/list")


@contextmanager
def inspector(tour: Tour) -> Iterator[ToolSession]:
    yield InspectorSession(tour)


@dataclass(frozen=True)
class CodexSession:
    """The app server of Codex, which lists and calls without a model."""

    attendant: Attendant
    thread: str

    def list_tools(self) -> Sequence[str]:
        status = {"detail": "toolsAndAuthOnly"}
        (server,) = matrix.ask(self.attendant, 4, "mcpServerStatus/list", status)["data"]
        return list(server["tools"])

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        params = {"threadId": self.thread, "server": NAME, "tool": tool, "arguments": arguments}
        result = matrix.ask(self.attendant, 5, "mcpServer/tool/call", params)
        return str(result["content"][0]["text"])


def sign_in_codex(tour: Tour) -> None:
    matrix.configure_codex(tour)
    output_of([*matrix.codex_words(), "mcp", "login", NAME], tour)


@contextmanager
def codex(tour: Tour) -> Iterator[ToolSession]:
    with run_attended([*matrix.codex_words(), "app-server"], tour) as attendant:
        matrix.ask(attendant, 1, "initialize", {"clientInfo": matrix.HANDSHAKE["clientInfo"]})
        matrix.say(attendant, {"method": "initialized"})
        thread = matrix.ask(attendant, 2, "thread/start", {"ephemeral": True})["thread"]["id"]
        yield CodexSession(attendant, thread)


@dataclass(frozen=True)
class McpcSession:
    """mcpc, whose sessions are kept by a process in the background."""

    tour: Tour

    def list_tools(self) -> Sequence[str]:
        return [tool["name"] for tool in json.loads(mcpc(self.tour, f"@{NAME}", "tools-list"))]

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        pairs = [f"{name}:={json.dumps(value)}" for name, value in arguments.items()]
        said = mcpc(self.tour, f"@{NAME}", "tools-call", tool, *pairs)
        return str(json.loads(said)["content"][0]["text"])


def mcpc(tour: Tour, *words: str) -> str:
    packages = installing.node_packages(COMMANDS)
    entry = str(packages / "@apify/mcpc/bin/mcpc")
    # It starts another process by this name.
    link = tour.folder / "node"
    if not link.exists():
        link.symlink_to(installing.node_program())
    return output_of([installing.node_program(), entry, "--json", *words], tour)


def sign_in_mcpc(tour: Tour) -> None:
    mcpc(tour, "login", tour.mcp_url)


@contextmanager
def mcpc_session(tour: Tour) -> Iterator[ToolSession]:
    mcpc(tour, "connect", tour.mcp_url, f"@{NAME}")
    try:
        yield McpcSession(tour)
    finally:
        mcpc(tour, "close", f"@{NAME}")


def claude(tour: Tour, *words: str, **more: str) -> str:
    packages = installing.node_packages(COMMANDS)
    program = packages / "@anthropic-ai/claude-code-linux-x64/claude"
    settings = {
        "ANTHROPIC_API_KEY": "sk-ant-scripted",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "DISABLE_AUTOUPDATER": "1",
        # Every tool in the request, and not a search for tools first.
        "ENABLE_TOOL_SEARCH": "false",
        **more,
    }
    return output_of(on_terminal([str(program), *words]), tour, **settings)


def sign_in_claude(tour: Tour) -> None:
    claude(tour, "mcp", "add", "--transport", "http", NAME, tour.mcp_url)
    claude(tour, "mcp", "login", NAME)


@contextmanager
def claude_session(tour: Tour) -> Iterator[ToolSession]:
    with model_provider.running() as provider:

        def prompt(text: str) -> str:
            words = ["-p", text, "--allowedTools", f"mcp__{NAME}"]
            return claude(tour, *words, ANTHROPIC_BASE_URL=provider.url)

        yield PromptSession(provider, f"mcp__{NAME}__", prompt)


def write_settings(tour: Tour, path: str, document: Mapping[str, Any]) -> None:
    """Write a client's settings below its home."""
    file = tour.folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(document), encoding="utf-8")


def gemini(
    tour: Tour, prompt: str, provider: ModelProvider, replies: Mapping[str, str] | None = None
) -> str:
    entry = installing.node_packages(COMMANDS) / "@google/gemini-cli/bundle/gemini.js"
    words = [installing.node_program(), str(entry), "--approval-mode", "yolo"]
    settings = {
        "GEMINI_API_KEY": "scripted",
        "GEMINI_CLI_NO_RELAUNCH": "true",
        "GOOGLE_GEMINI_BASE_URL": provider.url,
    }
    words += ["-m", "gemini-2.5-flash", "-p", prompt]
    return output_of(words, tour, replies, **settings)


def sign_in_gemini(tour: Tour) -> None:
    server = {"httpUrl": tour.mcp_url, "trust": True}
    document = {
        "mcpServers": {NAME: server},
        "general": {"enableAutoUpdate": False},
        "privacy": {"usageStatisticsEnabled": False},
        "security": {
            "auth": {"selectedType": "gemini-api-key"},
            "folderTrust": {"enabled": False},
        },
    }
    write_settings(tour, ".gemini/settings.json", document)
    # Then it wants to know whether it may open a browser.
    replies = {"Starting OAuth authentication": "y"}
    with model_provider.running() as provider:
        try:
            gemini(tour, f"/mcp auth {NAME}", provider, replies)
        except ClientFailed as error:
            # Without a screen it has no place for the message of success, and ends with an error.
            if "Successfully authenticated" not in str(error):
                raise


@contextmanager
def gemini_session(tour: Tour) -> Iterator[ToolSession]:
    with model_provider.running() as provider:
        yield PromptSession(provider, f"mcp_{NAME}_", lambda prompt: gemini(tour, prompt, provider))


def opencode(tour: Tour, *words: str, provider: str = "http://127.0.0.1:9") -> str:
    packages = installing.node_packages(COMMANDS)
    program = packages / "opencode-linux-x64/bin/opencode"
    model = {
        "npm": "@ai-sdk/openai-compatible",
        "options": {"baseURL": f"{provider}/v1", "apiKey": "scripted"},
        "models": {"scripted": {"name": "Scripted"}},
    }
    document = {
        "mcp": {NAME: {"type": "remote", "url": tour.mcp_url, "enabled": True}},
        "provider": {"scripted": model},
        "model": "scripted/scripted",
        "small_model": "scripted/scripted",
        "autoupdate": False,
        "share": "disabled",
    }
    settings = {"OPENCODE_CONFIG_CONTENT": json.dumps(document)}
    return output_of([str(program), *words], tour, **settings)


def sign_in_opencode(tour: Tour) -> None:
    opencode(tour, "mcp", "auth", NAME)


@contextmanager
def opencode_session(tour: Tour) -> Iterator[ToolSession]:
    with model_provider.running() as provider:
        yield PromptSession(
            provider,
            f"{NAME}_",
            lambda prompt: opencode(tour, "run", prompt, provider=provider.url),
        )
