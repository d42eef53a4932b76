"""The example on the page about writing tools works as it stands there."""

import ast
import json
from types import ModuleType

import pytest

from tests.docs.doc_pages import ROOT, blocks
from tests.drivers.mcp import McpClient
from tools_registry import checks, registry
from tools_registry.api import Toolset

PAGE = ROOT / "docs" / "develop" / "writing-tools.md"
CODE = next(blocks(PAGE, "python")).text
SHOWN = json.loads(next(blocks(PAGE, "json")).text)
OURS = (
    "data_tools",
    "customers",
    "knowledge",
    "tools_registry",
    "foundation",
    "oauth",
    "audit",
    "workspace",
    "mcp_protocol",
    "django",
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def toolset() -> Toolset:
    module = ModuleType("worldclock")
    exec(compile(CODE, str(PAGE), "exec"), module.__dict__)  # noqa: S102  our own page
    found: Toolset = module.__dict__["TOOLSET"]
    return found


def test_the_example_passes_the_checks_at_start_up(toolset: Toolset) -> None:
    assert list(checks.find_problems([toolset])) == []


def test_the_example_needs_nothing_but_the_types_of_an_author() -> None:
    froms = [node.module for node in ast.walk(ast.parse(CODE)) if isinstance(node, ast.ImportFrom)]
    ours = {name for name in froms if name and name.startswith(OURS)}
    assert ours == {"tools_registry.api"}


def test_the_example_is_listed_as_the_page_shows(toolset: Toolset, mcp: McpClient) -> None:
    with registry.including(toolset):
        listed = mcp.request("tools/list").result["tools"]
    assert SHOWN in listed


def test_the_example_tells_the_time(toolset: Toolset, mcp: McpClient) -> None:
    with registry.including(toolset):
        facts = mcp.call("time_in", {"zone": "Asia/Kolkata"}).facts
    assert facts["zone"] == "Asia/Kolkata"
    assert facts["time"].endswith("+05:30")


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "../etc", "/etc", "Europe", ""])
def test_the_example_refuses_a_zone_that_is_none(
    toolset: Toolset, mcp: McpClient, zone: str
) -> None:
    with registry.including(toolset):
        error = mcp.call("time_in", {"zone": zone}).error
    assert error["code"] == -32602
    assert error["data"]["field"] == "zone"
