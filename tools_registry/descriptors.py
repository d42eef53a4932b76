"""What the code says of tools, worked out once a process: how lists tell them, which headers.

What a tool is stands in the code and changes for nobody: its name, its schemas, its hints. Who may
see it is asked with every request (`visibility`), and no part of that is kept here.
"""

from dataclasses import replace
from functools import lru_cache
from typing import Final

from mcp_protocol import tool_shapes
from mcp_protocol.headers import ParamHeader, param_headers
from mcp_protocol.revisions import Revision
from mcp_protocol.strict_json import Written
from tools_registry import registry
from tools_registry.types import Tool

# Of a tool, and of one at a revision, which takes about a kilobyte: a bound on what sources bring
# later, far above what toolsets hold.
MOST: Final = 8_192


@lru_cache(maxsize=MOST)
def told(tool: Tool, revision: Revision) -> Written:
    """A tool as tools/list describes it at a revision."""
    return Written(tool_shapes.tool_descriptor(tool, revision))


@lru_cache(maxsize=MOST)
def mirrored(tool: Tool) -> tuple[ParamHeader, ...]:
    """The parameters of a tool that are repeated in headers."""
    return tuple(param_headers(tool.input_schema))


@lru_cache(maxsize=MOST)
def under_alias(tool: Tool) -> Tool:
    """The same tool under the name for hosts that refuse dots; the same object each time."""
    return replace(tool, name=registry.alias(tool.name))
