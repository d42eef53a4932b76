"""Every quirk of a real client is held by a test that there is."""

import ast

import pytest

from tests.architecture.sources import ROOT
from tests.quirks.quirks import HELD_BY
from tools_registry import registry

# Above so many, a list costs a model more than a search and a call (docs/decisions/0018).
FEW_TOOLS = 60


@pytest.mark.parametrize("quirk", HELD_BY)
def test_a_quirk_is_held_by_a_test(quirk: str) -> None:
    path, _, name = HELD_BY[quirk].partition("::")
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    assert name in {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def test_no_search_over_tools_is_needed_yet() -> None:
    count = sum(len(toolset.tools) for toolset in registry.native_toolsets())
    assert 0 < count <= FEW_TOOLS
