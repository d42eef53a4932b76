"""The page of security events lists exactly the kinds that the code writes.

A kind is a text handed to `record.security_event`, or to a function of ours that takes a `kind`
and hands it on, or a text that such a function calls its `kind`.
"""

import ast
import re
from collections.abc import Iterator
from functools import cache

from tests.architecture import sources
from tests.docs.doc_pages import table, words

APPS = (
    "halo_mcp",
    "console",
    "approvals",
    "gateway",
    "people",
    "agents",
    "ingestion",
    "rest",
    "tools_registry",
    "data_tools",
    "integrations",
    "oauth",
    "audit",
    "retrieval",
)
KIND = re.compile(r"[a-z]+_[a-z_]+")


@cache
def _functions() -> list[ast.FunctionDef]:
    return [
        node
        for path, tree in sources.modules().items()
        if path.partition("/")[0] in APPS
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef)
    ]


@cache
def _takers_of_a_kind() -> set[str]:
    return {one.name for one in _functions() if "kind" in {each.arg for each in one.args.args}}


def _kinds() -> Iterator[str]:
    for function in _functions():
        for node in ast.walk(function):
            yield from filter(KIND.fullmatch, _kinds_in(node))


def _kinds_in(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Call) and _name(node.func) in _takers_of_a_kind():
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
    assert "security_event" in _takers_of_a_kind()
    assert len(written) > 10
    assert sorted(listed) == sorted(written)
