"""The server as a deployment starts it, with the greeting in addition to its own tools."""

import contextlib

from bench.greeting import GREETING
from halo_mcp.asgi import application
from tools_registry import registry

__all__ = ["application"]

# For as long as the process lives.
included = contextlib.ExitStack()
included.enter_context(registry.including(GREETING))
