"""The server with an integration of as many made-up tools as BENCH_TOOLS says."""

import contextlib
import os
from typing import Final

from bench import made_up
from halo_mcp.asgi import application
from tools_registry import registry

__all__ = ["application"]

USUAL: Final = "20"

# For as long as the process lives.
included = contextlib.ExitStack()
included.enter_context(
    registry.including(made_up.toolset(int(os.environ.get("BENCH_TOOLS") or USUAL)))
)
