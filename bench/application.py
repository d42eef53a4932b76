"""The server with one more tool, `bench.hello`, and with WebSockets for the workspace server.

The tool costs next to nothing and uses no database. It belongs to an integration, so that the gate
reads the switches.
"""

import contextlib
from typing import Final

from halo_mcp.asgi import application
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.pipeline import surface

__all__ = ["application"]

SCHEMA: Final = {
    "type": "object",
    "properties": {"name": {"type": "string", "minLength": 1, "maxLength": 100}},
    "required": ["name"],
    "additionalProperties": False,
}
TOOLS: Final = Toolset(integration="bench", title="Bench")


@TOOLS.tool(title="Say hello", description="Says hello.", input_schema=SCHEMA)
def hello(_context: ToolContext, arguments: Arguments) -> Facts:
    return Facts({"greeting": f"Hello, {arguments['name']}."})


# For as long as the process lives.
included = contextlib.ExitStack()
included.enter_context(registry.including(TOOLS))
surface.mount_family("gateway", lambda _name: WORKSPACE_SURFACE)
