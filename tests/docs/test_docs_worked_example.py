"""The example on the page about writing tools works as it stands there."""

import ast
import json
from types import ModuleType

import pytest

from tests.docs.reading import ROOT, blocks
from tests.drivers.grants import Grant
from tests.drivers.mcp import McpClient
from tools_registry import checks, registry
from tools_registry.types import Toolset

PAGE = ROOT / "docs" / "writing-tools.md"
CODE = next(blocks(PAGE, "python")).text
SHOWN = json.loads(next(blocks(PAGE, "json")).text)
# What an integration may import of ours (the import contract in pyproject.toml).
ALLOWED = {"tools_registry.types", "foundation.outbound"}
OURS = ("tools_registry", "foundation", "oauth", "audit", "workspace", "mcp_protocol", "django")

pytestmark = pytest.mark.django_db


@pytest.fixture
def toolset() -> Toolset:
    module = ModuleType("worldclock")
    exec(compile(CODE, str(PAGE), "exec"), module.__dict__)  # noqa: S102  our own page
    found: Toolset = module.__dict__["TOOLSET"]
    return found


def test_the_example_passes_the_checks_at_start_up(toolset: Toolset) -> None:
    assert list(checks.judged([toolset])) == []


def test_the_example_imports_what_an_integration_may() -> None:
    froms = [node.module for node in ast.walk(ast.parse(CODE)) if isinstance(node, ast.ImportFrom)]
    ours = {name for name in froms if name and name.startswith(OURS)}
    assert ours == {"tools_registry.types"}
    assert ours <= ALLOWED


def test_the_example_is_off_until_an_admin_switches_it_on(
    toolset: Toolset, grant: Grant, mcp: McpClient
) -> None:
    with registry.including(toolset):
        refused = mcp.call("worldclock.time_in", {"zone": "Europe/Berlin"})
    assert refused.error["data"] == {"reason": "not_connected", "layer": "connection"}
    assert grant.organization.integrations.count() == 0


def test_the_example_is_listed_as_the_page_shows(
    toolset: Toolset, grant: Grant, mcp: McpClient
) -> None:
    grant.connect("worldclock", enabled=("time_in",))
    with registry.including(toolset):
        listed = mcp.request("tools/list").result["tools"]
    assert SHOWN in listed


def test_the_example_tells_the_time(toolset: Toolset, grant: Grant, mcp: McpClient) -> None:
    grant.connect("worldclock", enabled=("time_in",))
    with registry.including(toolset):
        facts = mcp.call("worldclock.time_in", {"zone": "Asia/Kolkata"}).facts
    assert facts["zone"] == "Asia/Kolkata"
    assert facts["time"].endswith("+05:30")


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "../etc", "/etc", "Europe", ""])
def test_the_example_refuses_a_zone_that_is_none(
    toolset: Toolset, grant: Grant, mcp: McpClient, zone: str
) -> None:
    grant.connect("worldclock", enabled=("time_in",))
    with registry.including(toolset):
        error = mcp.call("worldclock.time_in", {"zone": zone}).error
    assert error["code"] == -32602
    assert error["data"]["field"] == "zone"
