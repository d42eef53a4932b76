"""No file imports itself by way of others, not even for types or inside functions."""

import ast
from collections.abc import Mapping
from graphlib import CycleError, TopologicalSorter

from tests.architecture import sources

# The view that answers with the contract of the SDK API describes the routes.
ALLOWED = {("ingestion.views", "ingestion.routes")}


def imports() -> dict[str, set[str]]:
    """The modules of the product with those that each imports."""
    trees = {
        path.removesuffix(".py").replace("/", "."): each for path, each in sources.modules().items()
    }
    named = {name.removesuffix(".__init__"): tree for name, tree in trees.items()}
    return {name: imports_of(tree, named) - {name} for name, tree in named.items()}


def imports_of(tree: ast.Module, known: Mapping[str, ast.Module]) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found.update(each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules = (f"{node.module}.{each.name}" for each in node.names)
            found.update(name if name in known else node.module for name in modules)
    return found & set(known)


def find_circle(graph: Mapping[str, set[str]]) -> list[str]:
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        circle: list[str] = error.args[1]
        return circle
    return []


def test_no_file_imports_itself_by_way_of_others() -> None:
    graph = {
        name: {each for each in found if (name, each) not in ALLOWED}
        for name, found in imports().items()
    }
    assert find_circle(graph) == []
