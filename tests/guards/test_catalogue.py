"""The guards that `./run verify guards` takes away are in the code, and their tests exist."""

import ast
import importlib
import re
import subprocess
import sys
from functools import cache
from types import ModuleType

import pytest

from tests.architecture import sources
from tests.guards import catalogue, removal

KINDS = {
    *("tenant", "scope", "switch", "role", "policy", "approval", "limit", "signature", "expiry"),
    *("redirect", "origin", "CSRF", "egress", "masking", "erasure"),
    *("idempotency", "deployment", "text", "form"),
}
GUARDS = catalogue.guards()
# Decorators that register nothing: a module that has others is compiled and not executed.
HARMLESS = {
    *("dataclass", "cache", "lru_cache", "contextmanager", "asynccontextmanager", "wraps"),
    *("transaction.atomic", "require_safe", "require_POST", "require_http_methods"),
}
REGISTERED = re.compile(
    r"/(models|admin|migrations|management|setting_groups)\b|/(settings|tasks)\.py"
)


def test_every_kind_of_guard_is_there() -> None:
    assert {name.partition(":")[0] for name in GUARDS} == KINDS
    assert sum(name.startswith("tenant:") for name in GUARDS) > 50


def test_conditions_that_narrow_twice_are_in_the_code() -> None:
    assert {*catalogue.NARROWED_TWICE} < {*catalogue.tenant_filters()}
    assert not {*catalogue.NARROWED_TWICE} & {*GUARDS}


@pytest.mark.parametrize("name", GUARDS)
def test_a_module_without_its_guard_is_a_module(name: str) -> None:
    guard = GUARDS[name]
    compile(guard.without, guard.path, "exec")
    assert guard.without != (sources.ROOT / guard.path).read_text(encoding="utf-8")
    assert all((sources.ROOT / tests).exists() for tests in guard.tests)


@cache
def _is_harmless(path: str) -> bool:
    """Whether executing a module once more changes nothing for others."""
    if REGISTERED.search(path):
        return False
    for statement in ast.parse((sources.ROOT / path).read_text(encoding="utf-8")).body:
        if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Constant):
            return False
        for decorator in getattr(statement, "decorator_list", ()):
            called = decorator.func if isinstance(decorator, ast.Call) else decorator
            if ast.unparse(called) not in HARMLESS:
                return False
    return True


HARMLESS_GUARDS = [name for name, guard in GUARDS.items() if _is_harmless(guard.path)]


def test_most_modules_without_their_guard_are_executed() -> None:
    assert len(HARMLESS_GUARDS) > len(GUARDS) * 0.7


@pytest.mark.parametrize("name", HARMLESS_GUARDS)
def test_a_module_without_its_guard_can_be_imported(name: str) -> None:
    guard = GUARDS[name]
    dotted = guard.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
    # Relative imports and dataclasses look it up by its name.
    original = importlib.import_module(dotted)
    again = ModuleType(dotted)
    again.__dict__.update(
        __file__=original.__file__,
        __package__=original.__package__,
        __path__=getattr(original, "__path__", []),
    )
    code = compile(guard.without, guard.path, "exec", dont_inherit=True)
    exec(code, again.__dict__)  # noqa: S102  our own source
    assert {*vars(original)} - {*vars(again)} <= {"__cached__", "__builtins__"} | _submodules(
        dotted
    )


def _submodules(dotted: str) -> set[str]:
    beginning = f"{dotted}."
    return {
        name.removeprefix(beginning).partition(".")[0]
        for name in sys.modules
        if name.startswith(beginning)
    }


def test_a_guard_is_taken_away_before_its_module_is_imported() -> None:
    name = "signature: the verifier of a code"
    code = (
        "from tests.guards import removal\n"
        "from oauth.grants import pkce\n"
        "print(pkce.verifier_matches('v' * 43, 'c' * 43))\n"
    )
    command = (sys.executable, "-c", code)
    with_it, without = (
        subprocess.run(
            command, env=more, capture_output=True, text=True, check=True, cwd=sources.ROOT
        ).stdout
        for more in ({}, {removal.SETTING: name})
    )
    assert (with_it, without) == ("False\n", "True\n")
