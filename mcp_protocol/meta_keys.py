"""The keys inside `_meta`: those that the specification reserves, and our own without a prefix.

Source: MCP 2026-07-28, basic, `_meta`.
"""

from typing import Final

META: Final = "_meta"
RESERVED_PREFIX: Final = "io.modelcontextprotocol/"
PROGRESS_TOKEN: Final = "progressToken"  # noqa: S105  the name of a field, not a secret
PROTOCOL_VERSION: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO: Final = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO: Final = "io.modelcontextprotocol/serverInfo"
# Of a result: the call was not run again, and this is the result of an identical one before.
REPEATED: Final = "repeated"
# Of the result of an API's tool: headers of the response by name, and the arguments that the next
# page changes, null for one that it leaves out.
RESPONSE_HEADERS: Final = "responseHeaders"
NEXT_PAGE: Final = "nextPage"
# Of the result of a call that waits for an approval, for clients that show MCP Apps alone: what the
# card of the request shows.
APPROVAL: Final = "approval"
# Of the result of preparing a change, for those clients: true.
PREPARED_CHANGE: Final = "preparedChange"
# Of the result of a task: its id. Of a new task: a text for the model, which goes on meanwhile.
RELATED_TASK: Final = "io.modelcontextprotocol/related-task"
IMMEDIATE_RESPONSE: Final = "io.modelcontextprotocol/model-immediate-response"
SUBSCRIPTION_ID: Final = "io.modelcontextprotocol/subscriptionId"
