"""Both files on the page about writing an integration work as they stand there.

The tests of the page are collected here, as if their file stood in the tests.
"""

import ast
import json
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import Any

import pytest

import integrations
from tests.docs.doc_pages import ROOT, blocks
from tests.drivers.fake_vendors.site import Site
from tests.drivers.mcp import McpClient
from tools_registry import checks, registry
from tools_registry.api import Toolset

PAGE = ROOT / "docs" / "develop" / "writing-an-integration.md"
INTEGRATION, TESTS = (block.text for block in blocks(PAGE, "python"))
SHOWN = json.loads(next(blocks(PAGE, "json")).text)
NAME = f"{integrations.__name__}.beacon"


def _module(name: str, code: str) -> ModuleType:
    module = ModuleType(name)
    exec(compile(code, str(PAGE), "exec"), module.__dict__)  # noqa: S102  our own page
    return module


def _tests_of_the_page(beacon: ModuleType) -> dict[str, Any]:
    """What the page's second file defines, imported next to the page's first."""
    sys.modules[NAME] = beacon
    integrations.__dict__["beacon"] = beacon
    try:
        found = vars(_module("test_beacon", TESTS))
    finally:
        del sys.modules[NAME], integrations.__dict__["beacon"]
    return {name: value for name, value in found.items() if name.startswith(("test_", "vendor"))}


BEACON = _module(NAME, INTEGRATION)
TOOLSET: Toolset = BEACON.__dict__["TOOLSET"]
FROM_THE_PAGE = _tests_of_the_page(BEACON)
FROM_THE_PAGE.pop("vendors")
globals().update(FROM_THE_PAGE)


@pytest.fixture(autouse=True)
def _example_integration() -> Iterator[None]:
    """The integration in the registry, where its file would put it."""
    with registry.including(TOOLSET):
        yield


def test_the_page_has_a_test_for_each_of_its_tools() -> None:
    assert len([name for name in FROM_THE_PAGE if name.startswith("test_")]) >= 6
    assert [tool.name for tool in TOOLSET.tools if f'"{tool.name}"' not in TESTS] == []


def test_the_example_passes_the_checks_at_start_up() -> None:
    assert list(checks.find_problems([TOOLSET])) == []


def test_the_example_imports_what_an_integration_may() -> None:
    tree = ast.parse(INTEGRATION)
    named = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert named == {"http", "typing", "urllib.parse", "tools_registry.api"}


def test_the_example_is_listed_as_the_page_shows(mcp: McpClient, vendor: Site) -> None:
    listed = mcp.request("tools/list").result["tools"]
    assert SHOWN in listed
    assert "beacon.delete_incident" not in [tool["name"] for tool in listed]
    assert vendor.seen == []


def test_the_example_is_off_until_an_admin_connects_it(mcp: McpClient) -> None:
    refused = mcp.call("beacon.get_incident", {"incident": "i7"})
    assert refused.error["data"] == {"reason": "not_connected", "layer": "connection"}


def test_the_page_names_every_field_of_a_connection() -> None:
    text = PAGE.read_text("utf-8").partition("## Fields of a connection")[2].partition("\n## ")[0]
    fields = type(TOOLSET.connection).__dataclass_fields__
    assert [name for name in fields if f"`{name}`" not in text] == []
