"""Every environment variable is documented, with the default it has."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.docs.doc_pages import EVERY_PAGE, ROOT, page, table, words

SETTINGS = [
    ROOT / "halo_mcp" / "settings.py",
    *sorted((ROOT / "halo_mcp" / "setting_groups").glob("[a-z]*.py")),
]
EXAMPLE = (ROOT / ".env.example").read_text(encoding="utf-8")
# Read by the `run` script and by tests, which no server sees.
OF_THE_SCRIPT = {
    f"HALO_TEST_{name}" for name in ("DAYS_AHEAD", "PICTURES", "PROCESSES", "RENEW_TOOLS")
}


class Variable(NamedTuple):
    """A variable and its default as text; None where the default is worked out."""

    name: str
    default: str | None


def _read_from(call: ast.Call) -> Variable | None:
    is_reader = isinstance(call.func, ast.Attribute) and getattr(call.func.value, "id", "") == "env"
    if not is_reader or not call.args or not isinstance(call.args[0], ast.Constant):
        return None
    given = [*call.args[1:2], *(word.value for word in call.keywords if word.arg == "default")]
    return Variable(str(call.args[0].value), _default_text(given[0]) if given else "")


def _default_text(default: ast.expr) -> str | None:
    if not isinstance(default, ast.Constant):
        return None
    return {"False": "no", "True": "yes"}.get(str(default.value), str(default.value))


def _variables() -> Iterator[Variable]:
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in SETTINGS]
    calls = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Call))
    yield from filter(None, map(_read_from, calls))


def _documented_defaults() -> dict[str, str]:
    rows = re.findall(r"(?m)^\| `([A-Z_]+)` \|([^|]*)\|", page("configuration"))
    return {name: cell.strip() for name, cell in rows}


VARIABLES = {variable.name: variable for variable in _variables()}
FIXED = [one for one in VARIABLES.values() if one.default]


def test_the_page_lists_exactly_the_variables_that_are_read() -> None:
    assert len(VARIABLES) > 30
    assert sorted(_documented_defaults()) == sorted(VARIABLES)


def test_the_example_file_lists_exactly_the_variables_that_are_read() -> None:
    listed = re.findall(r"(?m)^#?([A-Z_]+)=", EXAMPLE)
    assert sorted(listed) == sorted(VARIABLES)


def test_a_copy_of_the_example_file_changes_nothing() -> None:
    assert [line for line in EXAMPLE.splitlines() if line and not line.startswith("#")] == []


@pytest.mark.parametrize("variable", FIXED, ids=lambda one: one.name)
def test_the_page_states_the_default_that_holds(variable: Variable) -> None:
    assert _documented_defaults()[variable.name] == f"`{variable.default}`"


@pytest.mark.parametrize("variable", FIXED, ids=lambda one: one.name)
def test_the_example_file_states_the_default_that_holds(variable: Variable) -> None:
    stated = re.search(rf'(?m)^#{variable.name}="?([^"\n]*)"?$', EXAMPLE)
    assert stated is not None
    assert stated[1] == variable.default


@pytest.mark.parametrize("file", [*EVERY_PAGE, ROOT / "compose.yaml"], ids=lambda file: file.name)
def test_no_page_names_a_variable_that_is_not_read(file: Path) -> None:
    named = set(re.findall(r"\bHALO_[A-Z_]*[A-Z]\b", file.read_text(encoding="utf-8")))
    assert named <= set(VARIABLES) | OF_THE_SCRIPT


@pytest.mark.parametrize(
    ("app", "slug", "heading"),
    [
        ("halo_mcp", "configuration", "System checks"),
        ("tools_registry", "writing-tools", "What is checked at start-up"),
    ],
)
def test_the_page_lists_every_system_check(app: str, slug: str, heading: str) -> None:
    files = [ROOT / app / "checks.py", *(ROOT / app).glob("checks/*.py")]
    checks = "".join(file.read_text(encoding="utf-8") for file in files if file.exists())
    raised = set(re.findall(r'"((?:halo|tools)\.[EW]\d+)"', checks))
    assert raised
    assert sorted(words([row[0] for row in table(slug, heading)])) == sorted(raised)
