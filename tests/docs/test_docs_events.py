"""The page of security events lists exactly the kinds that the code writes.

A kind is a text handed to `record.security_event`, or to a function of ours that takes a `kind`
and hands it on, or a text that such a function calls its `kind`.
"""

import ast
import re
from collections.abc import Iterator

from tests.docs.doc_pages import ROOT, table, words

APPS = (
    "halo_mcp",
    "console",
    "approvals",
    "gateway",
    "people",
    "agents",
    "ingestion",
    "tools_registry",
    "oauth",
    "audit",
    "retrieval",
)
KIND = re.compile(r"[a-z]+_[a-z_]+")

FILES = [file for app in APPS for file in sorted((ROOT / app).rglob("*.py"))]
TREES = [ast.parse(file.read_text(encoding="utf-8")) for file in FILES]
FUNCTIONS = [node for tree in TREES for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
TAKE_A_KIND = {
    function.name for function in FUNCTIONS if "kind" in {one.arg for one in function.args.args}
}


def _kinds() -> Iterator[str]:
    for function in FUNCTIONS:
        for node in ast.walk(function):
            yield from filter(KIND.fullmatch, _named_by(node))


def _named_by(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and _name(node.func) in TAKE_A_KIND:
        yield from map(_text, node.args)
    if isinstance(node, ast.Assign) and _name(node.targets[0]) == "kind":
        yield from map(_text, ast.walk(node.value))


def _name(node: ast.AST) -> str:
    return str(getattr(node, "attr", getattr(node, "id", "")))


def _text(node: ast.AST) -> str:
    return str(node.value) if isinstance(node, ast.Constant) else ""


def test_the_page_lists_every_kind_that_is_written_and_no_other() -> None:
    written = set(_kinds())
    listed = words([row[0] for row in table("security-events", "Kinds")])
    assert "security_event" in TAKE_A_KIND
    assert len(written) > 10
    assert sorted(listed) == sorted(written)
