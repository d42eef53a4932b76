"""The server with one more integration, so that there is a switch to turn."""

import contextlib

from halo_mcp.asgi import application
from tools_registry import registry
from tools_registry.api import Arguments, Facts, ToolContext, Toolset

__all__ = ["application"]

BENCH = Toolset(integration="bench", title="Bench")


@BENCH.tool(title="Say hello", description="Says hello.", input_schema={"type": "object"})
def hello(_context: ToolContext, _arguments: Arguments) -> Facts:
    return Facts("hello")


# For as long as the process lives.
included = contextlib.ExitStack()
included.enter_context(registry.including(BENCH))
