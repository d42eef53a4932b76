"""tests/cases.md lists every case id that a test's name begins with, and only tests that exist."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
KEY = (ROOT / "tests" / "cases.md").read_text(encoding="utf-8")
# `test_spec2_...`, `test_ux15_...`, `test_h1_...` (security review), `test_h01_...` (a group),
# `test_p1_...` (a public report).
ID = r"(?:spec\d+|ux\d+|p\d+|[chml]\d|[a-oq-w]\d\d)"
PREFIXED = re.compile(rf"test_({ID}(?:_{ID})*)_")
ROW = re.compile(r"(?m)^\| ([A-Z]+-?[A-Z]?\d+) \| ([^|]+) \|([^|]*)\|$")
ROWS = ROW.findall(KEY)


def _case_id(prefix: str) -> str:
    """An id as the key has it, for how a test's name has it."""
    if prefix.startswith(("spec", "ux", "p")):
        return re.sub(r"(\d+)$", r"-\1", prefix).upper()
    return prefix.upper() if len(prefix) > len("h1") else f"R-{prefix.upper()}"


@cache
def _tests(path: str) -> frozenset[str]:
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(
        node.name
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and node.name.startswith("test_")
    )


def _cases_of_tests() -> Iterator[tuple[str, str]]:
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        path = str(file.relative_to(ROOT))
        for name in sorted(_tests(path)):
            if named := PREFIXED.match(name):
                yield from ((_case_id(one), f"{path}::{name}") for one in named[1].split("_"))


def test_spec17_every_id_that_a_test_is_named_by_is_in_the_key() -> None:
    listed = {row[0] for row in ROWS}
    assert len(listed) > 150
    assert [(one, test) for one, test in _cases_of_tests() if one not in listed] == []


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_spec17_every_test_that_the_key_lists_exists(row: tuple[str, str, str]) -> None:
    for listed in re.findall(r"`([^`]+)`", row[2]):
        path, _, name = listed.partition("::")
        assert (ROOT / path).is_file(), listed
        assert not name or name in _tests(path), listed


def test_spec17_every_row_of_the_key_can_be_read() -> None:
    rows = [line for line in KEY.split("| tests |\n")[1].splitlines()[1:] if line]
    assert [line for line in rows if not ROW.fullmatch(line)] == []
