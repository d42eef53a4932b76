"""What lists say of tools and which headers they need, computed once a process.

The declaration of a tool is in the code and the same for everybody: its name, its schemas, its
hints. Who may see it is decided with every request (`visibility`), and none of that is kept here.
"""

import hashlib
from functools import lru_cache
from typing import Final

from foundation.json_text import SerializedJson, dumps
from mcp_protocol import tool_shapes
from mcp_protocol.headers import ParamHeader, param_headers
from mcp_protocol.revisions import MODERN, Revision
from oauth.principal import Principal
from tools_registry.api import Tool
from tools_registry.endpoint.surface import McpSurface
from tools_registry.pipeline import visibility

# Of a tool, and of one at a revision, which takes about a kilobyte: a bound on what sources bring
# later, far above what toolsets hold.
MAX_CACHED: Final = 8_192


@lru_cache(maxsize=MAX_CACHED)
def serialize_tool(tool: Tool, revision: Revision, *, as_task: bool = False) -> SerializedJson:
    """A tool as tools/list describes it at a revision."""
    return SerializedJson(tool_shapes.tool_descriptor(tool, revision, as_task=as_task))


@lru_cache(maxsize=MAX_CACHED)
def mirrored_params(tool: Tool) -> tuple[ParamHeader, ...]:
    """The parameters of a tool that are repeated in headers."""
    return tuple(param_headers(tool.input_schema))


def digest(who: Principal, surface: McpSurface) -> bytes:
    """Sixteen bytes that differ when the list of tools that the principal would get does."""
    listed = [serialize_tool(tool, MODERN[-1]) for tool in visibility.tools(who, surface)]
    return hashlib.sha256(dumps(listed)).digest()[:16]
