"""The servers that tests share: in which order their tests run, and who may use them."""

import ast
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from tests.drivers.servers import LABORATORIES, PRODUCTS, sort_items

TESTS = Path(__file__).resolve().parents[1]
SHARED = {*PRODUCTS, *LABORATORIES}


def test_the_tests_of_a_server_are_together_and_come_first() -> None:
    def item(*fixtures: str) -> Any:
        return SimpleNamespace(fixturenames=fixtures)

    quick, other = item("db"), item()
    one, two = item("laboratory", "tmp_path"), item("running", "laboratory")
    page = item("browser", "server")
    assert sort_items([quick, one, page, other, two]) == [page, one, two, quick, other]


def test_a_file_uses_one_shared_server_only() -> None:
    """Fixtures of a file keep a server that the next one would stop."""
    several = {
        str(path.relative_to(TESTS)): names
        for path in TESTS.glob("*/**/test_*.py")
        if len(names := _find_shared_servers(ast.parse(path.read_text("utf-8")))) > 1
    }
    assert several == {}


def _find_shared_servers(tree: ast.Module) -> set[str]:
    """The shared servers that tests and fixtures of a file ask for, but for fixtures of its own."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    arguments = {
        argument.arg.removeprefix("second_")
        for function in functions
        if function.name.startswith("test_") or function.decorator_list
        for argument in function.args.args
    }
    return arguments & SHARED - {function.name for function in functions}
