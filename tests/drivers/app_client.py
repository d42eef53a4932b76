"""A client that declares that it shows MCP Apps, as each revision has it declared."""

from typing import Any, Final

from mcp_protocol.revisions import MODERN, Revision
from tests.drivers.elicitation_client import start_session
from tests.drivers.mcp import McpClient, Reply

EXTENSION: Final = "io.modelcontextprotocol/ui"
HTML: Final = "text/html;profile=mcp-app"
SHOWS_APPS: Final[dict[str, Any]] = {"extensions": {EXTENSION: {"mimeTypes": [HTML]}}}
CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
# The newest revision with a handshake, and the one without.
REVISIONS: Final = (Revision.V2025_11_25, Revision.V2026_07_28)


class AppClient:
    """One client; `capabilities` are declared in the handshake, or with each request."""

    def __init__(self, client: McpClient, revision: Revision, capabilities: Any = None) -> None:
        self.capabilities = SHOWS_APPS if capabilities is None else capabilities
        self.is_modern = revision in MODERN
        opened = client.with_revision(revision)
        self.client = (
            opened if self.is_modern else start_session(client, revision, self.capabilities)
        )

    def request(self, method: str, **params: Any) -> Reply:
        if self.is_modern:
            params["_meta"] = {CAPABILITIES: self.capabilities, **params.get("_meta", {})}
        return self.client.request(method, params)

    def call(self, tool: str, **arguments: Any) -> Reply:
        return self.request("tools/call", name=tool, arguments=arguments)

    def tools(self) -> dict[str, Any]:
        return {tool["name"]: tool for tool in self.request("tools/list").result["tools"]}

    def uris(self) -> list[str]:
        return [one["uri"] for one in self.request("resources/list").result["resources"]]
