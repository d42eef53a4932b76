"""Every message that troubleshooting explains is one that the product says."""

import ast
import re
from functools import cache

import pytest

from tests.docs.doc_pages import ROOT, page

APPS = (
    "foundation",
    "halo_mcp",
    "console",
    "tools_registry",
    "data_tools",
    "integrations",
    "customers",
    "knowledge",
    "oauth",
    "mcp_protocol",
    "people",
    "workspace",
)
# A browser's own words, and the name of a client's button.
NOT_OURS = {"unable to connect", "Approve"}
QUOTED = re.findall(r"(?m)“([^”]+)”", page("troubleshooting"))
MESSAGES = sorted({text for text in QUOTED if text not in NOT_OURS})


@cache
def _texts_of_code() -> str:
    """Every string of the code and the text of the script, one line each."""
    files = (file for app in APPS for file in (ROOT / app).rglob("*.py"))
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in files)
    nodes = (node for tree in trees for node in ast.walk(tree))
    texts = (str(node.value) for node in nodes if isinstance(node, ast.Constant))
    return "\n".join([*texts, (ROOT / "run").read_text(encoding="utf-8")])


@pytest.mark.parametrize("message", MESSAGES)
def test_a_message_is_one_that_is_said(message: str) -> None:
    fixed = [part.strip() for part in message.split("…")]
    assert any(fixed)
    assert all(part in _texts_of_code() for part in fixed if len(part) > 1 or part.isalnum())
