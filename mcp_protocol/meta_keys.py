"""The keys that the specification reserves inside `_meta` (MCP 2026-07-28, basic, `_meta`)."""

from typing import Final

META: Final = "_meta"
RESERVED_PREFIX: Final = "io.modelcontextprotocol/"
PROGRESS_TOKEN: Final = "progressToken"  # noqa: S105  the name of a field, not a secret
PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
