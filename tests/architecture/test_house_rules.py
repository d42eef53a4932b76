"""The rules that no linter knows."""

import ast
import re
from collections.abc import Iterator
from pathlib import PurePosixPath

from tests.architecture import sources

VAGUE = {"util", "utils", "helper", "helpers", "common", "manager", "managers", "service", "misc"}
VAGUE |= {"services"}
SIGNALS = ("django.db.models.signals", "django.core.signals", "django.dispatch", "celery.signals")
# A person's home on any system, or a folder of one machine.
HOMES = re.compile(r"/(?:home|Users)/\w+/|/(?:root|work)/|[A-Z]:\\(?:Users|Documents)")
RULES = r"[A-Z]+[0-9]+(?:, ?[A-Z]+[0-9]+)*"
DIRECTIVE = re.compile(rf"# (?:noqa: (?P<rules>{RULES})|type: ignore\[(?P<codes>[a-z, -]+)\])")
# Said once for the whole project, as the ignores in pyproject.toml are.
STANDING = {
    "ARG002": "a method that a framework calls has the framework's signature",
    "type-arg": "Django's admin, form and query classes take no type arguments when they run",
}


def test_every_module_is_named_after_what_it_is() -> None:
    vague = [
        path
        for path, _ in sources.texts()
        if VAGUE & {part.partition(".")[0] for part in PurePosixPath(path).parts}
    ]

    assert vague == []


def test_the_flow_is_visible_no_signal_is_received() -> None:
    found = [
        path
        for path, tree in sources.modules().items()
        if any(name.startswith(SIGNALS) for name in imported_names(tree))
    ]

    assert found == []


def imported_names(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def test_only_a_task_of_the_worker_sends_mail() -> None:
    modules = sources.modules()
    senders = {
        path
        for path, tree in modules.items()
        if any(name.startswith("django.core.mail") for name in imported_names(tree))
    }
    callers = {
        path
        for path, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "outbox.send_due"
    }

    assert senders == {"foundation/smtp.py", "workspace/outbox.py"}
    assert callers == {"workspace/tasks.py"}


def test_no_logic_hides_in_save() -> None:
    hidden = [place for place, node in sources.functions() if node.name in {"save", "full_clean"}]

    assert hidden == []


def test_no_file_names_a_folder_of_a_developer_s_machine() -> None:
    named = [path for path, text in sources.texts() if HOMES.search(text)]

    assert named == []


def test_every_exception_from_a_rule_gives_its_reason() -> None:
    bare = [
        f"{path}:{number} {line.strip()}"
        for path, text in sources.texts()
        if path.endswith(".py") and "/migrations/" not in path
        for number, line in find_unreasoned_lines(text.splitlines())
    ]

    assert bare == []


def find_unreasoned_lines(lines: list[str]) -> Iterator[tuple[int, str]]:
    """The lines that turn a rule off without a word why.

    A reason is text behind the directive, a comment in the lines directly above, or the reason
    that the same file gave for the same rule at another place.
    """
    reasoned: set[str] = set(STANDING)
    bare = []
    for number, line in enumerate(lines, start=1):
        for found in DIRECTIVE.finditer(line):
            codes = {code.strip() for code in (found["rules"] or found["codes"]).split(",")}
            if has_reason(line[found.end() :], lines[number - 2] if number > 1 else ""):
                reasoned |= codes
            else:
                bare.append((number, line, codes))
    yield from ((number, line) for number, line, codes in bare if not codes <= reasoned)


def has_reason(behind: str, above: str) -> bool:
    words = DIRECTIVE.sub("", behind).strip(" -#")
    return bool(words) or (above.lstrip().startswith("#") and not DIRECTIVE.search(above))


def test_a_directive_without_a_reason_would_be_seen() -> None:
    off = "# no" + "qa: S608"

    assert list(find_unreasoned_lines([f"a = 1  {off}"])) == [(1, f"a = 1  {off}")]
    assert list(find_unreasoned_lines([f"a = 1  {off}  our own words"])) == []
    assert list(find_unreasoned_lines(["# Our own words.", f"a = 1  {off}"])) == []
    assert list(find_unreasoned_lines([f"a = 1  {off}", f"b = 1  {off}  our own words"])) == []


def test_one_function_waits_for_conditions_in_pages() -> None:
    """A condition that is no function is compiled by the page, whose policy may refuse it."""
    callers = [
        path
        for path, text in sources.texts()
        if path.endswith(".py") and f".{'wait_for_function'}(" in text
    ]

    assert callers == ["tests/browser/chromium.py"]
