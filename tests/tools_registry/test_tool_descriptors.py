"""Every tool of this product, pinned: a change of what clients see is a change of a file.

A file a tool in tests/fixtures/tools holds its descriptor and what the gate reads. To renew them:

    HALO_TEST_RENEW_TOOLS=1 ./run test tests/tools_registry/test_tool_descriptors.py

That run fails as well and names what it wrote; look at the difference before it is committed.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mcp_protocol import tool_shapes
from mcp_protocol.revisions import Revision
from tests.drivers.schemas import conforms
from tools_registry import registry
from tools_registry.api import Tool

PINNED = Path(__file__).parents[1] / "fixtures" / "tools"
RENEW = "HALO_TEST_RENEW_TOOLS"
TOOLS = [tool for toolset in registry.native_toolsets() for tool in toolset.tools]


def describe_tool(tool: Tool) -> dict[str, Any]:
    """What the newest revision tells, and what the gate reads."""
    gate = ("scope", "integration", "action", "destructive", "mutates", "streams")
    return {
        "descriptor": tool_shapes.tool_descriptor(tool, Revision.V2026_07_28),
        "gate": {name: getattr(tool, name) for name in gate},
    }


def make_files(tools: list[Tool]) -> dict[str, str]:
    """The file of each tool."""
    return {tool.name: json.dumps(describe_tool(tool), indent=2) + "\n" for tool in tools}


def read_files(folder: Path) -> dict[str, str]:
    return {path.stem: path.read_text("utf-8") for path in folder.glob("*.json")}


def difference(before: dict[str, str], now: dict[str, str]) -> list[str]:
    """What happened to which tool, in the order of their names."""
    kinds = {
        "added": now.keys() - before.keys(),
        "removed": before.keys() - now.keys(),
        "changed": {name for name in now.keys() & before.keys() if now[name] != before[name]},
    }
    return sorted(f"{name} was {kind}" for kind, names in kinds.items() for name in names)


def renew(folder: Path, now: dict[str, str]) -> None:
    for name in read_files(folder).keys() - now.keys():
        (folder / f"{name}.json").unlink()
    for name, text in now.items():
        (folder / f"{name}.json").write_text(text, "utf-8")


def test_tools_are_described_as_they_were_pinned() -> None:
    now = make_files(TOOLS)
    differing = difference(read_files(PINNED), now)
    if differing and os.environ.get(RENEW):
        renew(PINNED, now)
        pytest.fail("Written again; review the difference. " + ", ".join(differing))
    assert differing == [], f"If it is meant, run this file with {RENEW}=1."


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_has_the_shape_of_a_tool(tool: Tool) -> None:
    for revision in Revision:
        conforms(tool_shapes.tool_descriptor(tool, revision), revision, "Tool")


def test_a_difference_names_each_tool_and_what_happened_to_it(tmp_path: Path) -> None:
    before, now = {"a": "1", "b": "2", "c": "3"}, {"b": "2", "c": "4", "d": "5"}
    renew(tmp_path, before)
    assert read_files(tmp_path) == before
    assert difference(read_files(tmp_path), now) == [
        "a was removed",
        "c was changed",
        "d was added",
    ]
    renew(tmp_path, now)
    assert difference(read_files(tmp_path), now) == []
