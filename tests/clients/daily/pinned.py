"""The clients of the daily run: how each is installed, signed in and driven."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.clients.daily import commands, installing
from tests.clients.daily.sessions import Opener, ToolSession, library
from tests.clients.daily.steps import Step
from tests.clients.matrix import FOLDER
from tests.clients.real_client_flow import Tour

LIBRARIES: Final = installing.DAILY / "node" / "libraries"
COMMANDS: Final = commands.COMMANDS


@dataclass(frozen=True)
class PinnedClient:
    """A client at the version that its lock file has.

    `means` says how it is driven. `sign_in` is None where connecting signs in. `notes` explain, by
    step, what the client does differently by its own fault; a second consent needs one. `expiries`
    is how many times in a row its token expires while it runs.
    """

    name: str
    package: str
    version: str
    means: str
    opened: Opener
    sign_in: Callable[[Tour], None] | None = None
    notes: Mapping[Step, str] = field(default_factory=dict)
    expiries: int = 1

    @property
    def consents_again(self) -> frozenset[Step]:
        """The steps in which a second consent is known."""
        return frozenset(self.notes) - {Step.SIGN_IN}


def python_library(
    name: str, package: str, lock: str, module: str, notes: Mapping[Step, str] | None = None
) -> PinnedClient:
    """A driver in the environment of a lock, which is installed when it is first opened."""

    def open_session(tour: Tour) -> AbstractContextManager[ToolSession]:
        driver = installing.DAILY / "python" / f"{module}.py"
        return library([installing.python(lock), str(driver)])(tour)

    version = installing.python_version(lock, package)
    return PinnedClient(name, package, version, "library", open_session, notes=notes or {})


def node_library(
    name: str,
    package: str,
    folder: Path,
    *driver: str,
    notes: Mapping[Step, str] | None = None,
) -> PinnedClient:
    """A driver with the packages of a folder, which are installed when it is first opened."""

    def open_session(tour: Tour) -> AbstractContextManager[ToolSession]:
        if folder != FOLDER:  # ./run installs that one
            installing.node_packages(folder)
        program, *words = driver
        path = installing.DAILY / "node" / program
        return library([installing.node_program(), str(path), *words])(tour)

    version = installing.node_version(folder, package)
    return PinnedClient(name, package, version, "library", open_session, notes=notes or {})


def command(
    name: str,
    package: str,
    folder: Path,
    means: str,
    opened: Opener,
    *,
    sign_in: Callable[[Tour], None] | None = None,
    expiries: int = 1,
) -> PinnedClient:
    version = installing.node_version(folder, package)
    return PinnedClient(name, package, version, means, opened, sign_in, expiries=expiries)


# The host of the SDK stores its tokens, and its provider does not read when they expire.
FORGETFUL: Final = {Step.RESTART_EXPIRED: "the SDK does not keep when a token expires"}
SDK_SIGN_IN: Final = {
    **FORGETFUL,
    Step.SIGN_IN: "with the SDK's sign-in: its own does not refresh while a session lasts",
}
UNREGISTERED: Final = {Step.SIGN_IN: "it does not register itself, so the driver does"}
CLIENTS: Final[Sequence[PinnedClient]] = (
    python_library("Python SDK 1", "mcp", "mcp1", "mcp1", FORGETFUL),
    python_library("Python SDK 2", "mcp", "mcp2", "mcp2", FORGETFUL),
    python_library("FastMCP", "fastmcp", "fastmcp", "fastmcp_library"),
    python_library(
        "LangChain (Python)", "langchain-mcp-adapters", "langchain", "langchain_adapters", FORGETFUL
    ),
    python_library(
        "OpenAI Agents SDK", "openai-agents", "openai_agents", "openai_agents", FORGETFUL
    ),
    python_library("Pydantic AI", "pydantic-ai-slim", "pydantic_ai", "pydantic_toolset"),
    python_library("mcp-use (Python)", "mcp-use", "mcp_use", "mcp_use_library", SDK_SIGN_IN),
    node_library("TypeScript SDK 1", "@modelcontextprotocol/sdk", FOLDER, "sdk.mjs", "sdk"),
    node_library("TypeScript SDK 2", "@modelcontextprotocol/client", FOLDER, "sdk.mjs", "client"),
    node_library("AI SDK", "@ai-sdk/mcp", LIBRARIES, "libraries/ai_sdk.mjs"),
    node_library(
        "LangChain (npm)", "@langchain/mcp-adapters", LIBRARIES, "libraries/langchain.mjs"
    ),
    node_library("Mastra", "@mastra/mcp", LIBRARIES, "libraries/mastra.mjs", notes=UNREGISTERED),
    command("mcp-remote", "mcp-remote", FOLDER, "its standard input", commands.mcp_remote),
    command(
        "MCP Inspector",
        "@modelcontextprotocol/inspector",
        FOLDER,
        "its command line",
        commands.inspector,
        sign_in=commands.sign_in_inspector,
    ),
    command(
        "Codex CLI",
        "@openai/codex",
        FOLDER,
        "`codex mcp login`, its app server",
        commands.codex,
        sign_in=commands.sign_in_codex,
    ),
    command(
        "mcpc",
        "@apify/mcpc",
        COMMANDS,
        "`mcpc login`, `connect`, `tools-call`",
        commands.mcpc_session,
        sign_in=commands.sign_in_mcpc,
        expiries=3,
    ),
    command(
        "Gemini CLI",
        "@google/gemini-cli",
        COMMANDS,
        "`/mcp auth`, prompts to a scripted model",
        commands.gemini_session,
        sign_in=commands.sign_in_gemini,
        expiries=3,
    ),
    command(
        "opencode",
        "opencode-linux-x64",
        COMMANDS,
        "`opencode mcp auth`, `run` with a scripted model",
        commands.opencode_session,
        sign_in=commands.sign_in_opencode,
    ),
    command(
        "Claude Code",
        "@anthropic-ai/claude-code",
        COMMANDS,
        "`claude mcp login`, `-p` with a scripted model",
        commands.claude_session,
        sign_in=commands.sign_in_claude,
    ),
)
