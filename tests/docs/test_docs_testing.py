"""The page about tests names the shared servers, the parts of a landing, and the daily tests."""

import ast
import re
from pathlib import Path

from tests.docs.doc_pages import ROOT, table, words
from tests.drivers.servers import LABORATORIES, PRODUCTS

DAILY = "pytest.mark.daily"
FAMILIES = table("testing", "Once a day")
FAULTS = table("faults", "Scenarios")


def find_tests(path: Path) -> dict[str, bool]:
    """The tests of a file, and whether all cases of each run once a day only."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    is_daily = any(
        isinstance(node, ast.Assign) and "pytestmark" in ast.unparse(node) and _is_marked(node)
        for node in tree.body
    )
    found = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return {
        node.name: is_daily or any(ast.unparse(one) == DAILY for one in node.decorator_list)
        for node in found
        if node.name.startswith("test_")
    }


def _is_marked(tree: ast.AST) -> bool:
    attributes = (node for node in ast.walk(tree) if isinstance(node, ast.Attribute))
    return any(ast.unparse(node) == DAILY for node in attributes)


def test_every_shared_server_is_listed() -> None:
    listed = [words(row[:1])[0] for row in table("testing", "Shared servers")]
    assert listed == [*PRODUCTS, *LABORATORIES]


def test_every_file_with_a_daily_test_is_listed_and_no_other() -> None:
    marked = {
        str(path.relative_to(ROOT))
        for path in (ROOT / "tests").glob("*/**/test_*.py")
        if DAILY in (text := path.read_text("utf-8")) and _is_marked(ast.parse(text))
    }
    assert marked == {file for row in FAMILIES for file in words(row[2:3])}


def test_some_of_each_family_run_before_every_change() -> None:
    for name, _proves, _daily, kept in FAMILIES:
        assert words([kept]), name
        for place in words([kept]):
            file, _, test = place.partition("::")
            assert find_tests(ROOT / file)[test] is False, place


def test_every_scenario_of_a_fault_is_listed_with_tests_that_exist() -> None:
    scenarios = {
        f"{path.relative_to(ROOT)}::{name}"
        for path in (ROOT / "tests" / "faults").glob("test_*.py")
        if path.stem != "test_proxy"
        for name in find_tests(path)
    }
    listed = [place for row in FAULTS for place in words(row[4:5])]
    assert len(listed) == len({*listed})
    assert scenarios <= {*listed}
    for place in listed:
        file, _, test = place.partition("::")
        assert test in find_tests(ROOT / file), place


def test_every_part_of_a_landing_has_a_budget() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    landing = script.partition("\nforget_surroundings\n")[2].partition("if [[ $mode = verify ]]")[0]
    parts = re.findall(r'^(?:step|tests|begin) "([^"]+)"', landing, re.MULTILINE)
    budgets = {words(row[:1])[0]: row[1] for row in table("testing", "What a landing takes")}
    assert set(budgets) == set(parts)
    assert sum(int(budget.partition(",")[0]) for budget in budgets.values()) <= 15 * 60
