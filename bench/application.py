"""The server with one more tool, `bench.hello`, and with WebSockets for the workspace server.

The tool costs next to nothing and uses no database. It belongs to an integration, so that the gate
reads the switches.
"""

import contextlib
from typing import Annotated, Final

from gateway.policies import PROJECT_SURFACES
from halo_mcp.asgi import application
from tools_registry import registry
from tools_registry.api import Facts, Keywords, ToolContext, Toolset
from tools_registry.endpoint.surface import WORKSPACE_SURFACE
from tools_registry.pipeline import surfaces

__all__ = ["application"]

TOOLS: Final = Toolset(integration="bench", title="Bench")


@TOOLS.tool(title="Say hello", description="Says hello.")
def hello(
    _context: ToolContext, name: Annotated[str, Keywords(minLength=1, maxLength=100)]
) -> Facts:
    return Facts({"greeting": f"Hello, {name}."})


# For as long as the process lives.
included = contextlib.ExitStack()
included.enter_context(registry.including(TOOLS))
surfaces.mount_family(PROJECT_SURFACES, lambda _key: WORKSPACE_SURFACE)
