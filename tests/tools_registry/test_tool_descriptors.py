"""Every built-in tool's descriptor, pinned: a change of what clients see is a change of a file.

To accept one, write the descriptor that the failing test shows into tests/fixtures/tools.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from mcp_protocol import tool_shapes
from mcp_protocol.revisions import Revision
from tests.drivers.schemas import conforms
from tools_registry import registry
from tools_registry.types import Tool

PINNED = Path(__file__).parents[1] / "fixtures" / "tools"
TOOLS = [tool for toolset in registry.native_toolsets() for tool in toolset.tools]


def described(tool: Tool) -> dict[str, Any]:
    """What the newest revision tells, and what the gate reads."""
    gate = ("scope", "integration", "action", "destructive", "mutates", "streams")
    return {
        "descriptor": tool_shapes.tool_descriptor(tool, Revision.V2026_07_28),
        "gate": {name: getattr(tool, name) for name in gate},
    }


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_built_in_tool_is_described_as_it_was_pinned(tool: Tool) -> None:
    pinned = (PINNED / f"{tool.name}.json").read_text("utf-8")
    assert json.dumps(described(tool), indent=2) + "\n" == pinned


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_built_in_tool_has_the_shape_of_a_tool(tool: Tool) -> None:
    for revision in Revision:
        conforms(tool_shapes.tool_descriptor(tool, revision), revision, "Tool")


def test_every_pinned_descriptor_has_its_tool() -> None:
    assert {path.stem for path in PINNED.glob("*.json")} == {tool.name for tool in TOOLS}
