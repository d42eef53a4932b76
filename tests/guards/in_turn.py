"""A pytest plugin that takes guards away in turn, while one process has all tests loaded.

    HALO_TEST_GUARDS=FILE HALO_TEST_SHARE=0/2 python -m pytest -p tests.guards.in_turn ...

Each test of the share is run once, to learn which of the functions that have a guard it reaches.
Then the code of one such function after the other is replaced by its code without the guard, and
the tests that reach it are run again until one fails. FILE names the guards, one a line. What is
found is in files next to it, which all shares read and write (`read`).

A server that a test starts is another process, and keeps the guard.
"""

import ast
import builtins
import gc
import importlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import CodeType, FunctionType

import pytest
from _pytest.runner import runtestprotocol

from tests.architecture import sources
from tests.guards import catalogue
from tests.guards.catalogue import Guard

GUARDS, SHARE = "HALO_TEST_GUARDS", "HALO_TEST_SHARE"
REACHED = "__halo_reached__"
# Tests that fail with all guards, and the test that noticed a guard, by the guard.
FAILING, NOTICED = ".failing", ".noticed"
# How many of the tests that reach a guard are run before the next guard has its turn.
ROUNDS = (8, 40, 200, None)
# Tests whose names have these words are the likeliest to notice.
TELLING = re.compile(r"other|tenant|foreign|stranger|organization|refuse|only|no_|not_|never")


@dataclass(frozen=True, slots=True)
class GuardedPlace:
    """The function that has a guard: outside of others, by its file and qualified name."""

    path: str
    name: str


@dataclass(slots=True)
class GuardedFunction:
    """A function with guards, as it is loaded, and the tests that reach it, with their seconds."""

    loaded: Sequence[FunctionType]
    noting: CodeType
    reached_by: list[tuple[float, pytest.Item]] = field(default_factory=list)


def find_place(guard: Guard) -> GuardedPlace | None:
    """Returns the function that differs without the guard; None if it is no single function."""
    text = (sources.ROOT / guard.path).read_text(encoding="utf-8")
    now, without = _functions(_compile(text, guard)), _functions(_compile(guard.without, guard))
    changed = [name for name in now if name in without and _differ(now[name], without[name])]
    return GuardedPlace(guard.path, changed[0]) if len(changed) == 1 else None


def _compile(text: str | ast.Module, guard: Guard) -> CodeType:
    return compile(text, str(sources.ROOT / guard.path), "exec", dont_inherit=True)


def _functions(code: CodeType) -> dict[str, CodeType]:
    """Returns the functions and methods of a module, without those inside of functions."""
    found: dict[str, CodeType] = {}
    for inner in filter(_is_code, code.co_consts):
        if inner.co_flags & 0x02:  # CO_NEWLOCALS: a function; the body of a class has none
            found[inner.co_qualname] = inner
        else:
            found |= _functions(inner)
    return found


def _is_code(value: object) -> bool:
    return isinstance(value, CodeType)


def _differ(one: CodeType, other: CodeType) -> bool:
    return _shape(one) != _shape(other)


def _shape(code: CodeType) -> tuple[object, ...]:
    """Returns what a function does, without its lines."""
    consts = [_shape(each) if isinstance(each, CodeType) else repr(each) for each in code.co_consts]
    return (code.co_code, code.co_names, code.co_varnames, tuple(consts))


def _note_when_reached(guard: Guard, place: GuardedPlace) -> CodeType:
    """Returns the code of a function that notes each time that it is called."""
    tree = ast.parse((sources.ROOT / guard.path).read_text(encoding="utf-8"))
    for name, function in _definitions(tree, ""):
        if name == place.name:
            note = ast.parse(f"{REACHED}({place.path!r}, {place.name!r})").body[0]
            ast.copy_location(note, function.body[0])
            function.body.insert(1 if ast.get_docstring(function) else 0, note)
            ast.fix_missing_locations(tree)
            return _functions(_compile(tree, guard))[place.name]
    raise LookupError(place)


def _definitions(
    tree: ast.AST, prefix: str
) -> Iterator[tuple[str, ast.FunctionDef | ast.AsyncFunctionDef]]:
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield prefix + node.name, node
        elif isinstance(node, ast.ClassDef):
            yield from _definitions(node, f"{prefix}{node.name}.")
        else:
            yield from _definitions(node, prefix)


class GuardsInTurn:
    def __init__(self, file: Path, share: str) -> None:
        guards = catalogue.guards()
        self._guards = {name: guards[name] for name in file.read_text("utf-8").splitlines()}
        self._places = {name: find_place(guard) for name, guard in self._guards.items()}
        self._file = file
        number, _, of = share.partition("/")
        self._number, self._of = int(number), int(of)
        self._reached: set[GuardedPlace] = set()

    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        functions = self._load()
        setattr(builtins, REACHED, lambda *place: self._reached.add(GuardedPlace(*place)))
        items = session.items[self._number :: self._of]
        for item in self._learn(items, functions):
            note(self._file, FAILING, item.nodeid, "")
        for place, function in functions.items():
            _put(function, self._original[place])
        for limit in ROUNDS:
            for name in self._guards:
                if name not in read(self._file, NOTICED):
                    self._take_away(name, functions[self._place(name)], items, limit)
        session._setupstate.teardown_exact(None)
        return True

    def _place(self, name: str) -> GuardedPlace:
        place = self._places[name]
        assert place is not None, name
        return place

    def _load(self) -> Mapping[GuardedPlace, GuardedFunction]:
        """Imports the modules, and returns their functions, which note from now on."""
        wanted = {self._place(name): guard for name, guard in self._guards.items()}
        for place in wanted:
            dotted = place.path.removesuffix(".py").replace("/", ".").removesuffix(".__init__")
            importlib.import_module(dotted)
        loaded: dict[GuardedPlace, list[FunctionType]] = defaultdict(list)
        gc.unfreeze()  # what is frozen is not listed
        for each in gc.get_objects():
            if isinstance(each, FunctionType):
                path = each.__code__.co_filename.removeprefix(f"{sources.ROOT}/")
                place = GuardedPlace(path, each.__code__.co_qualname)
                if place in wanted:
                    loaded[place].append(each)
        self._original = {place: loaded[place][0].__code__ for place in wanted}
        functions = {
            place: GuardedFunction(loaded[place], _note_when_reached(guard, place))
            for place, guard in wanted.items()
        }
        for function in functions.values():
            _put(function, function.noting)
        return functions

    def _learn(
        self, items: Sequence[pytest.Item], functions: Mapping[GuardedPlace, GuardedFunction]
    ) -> Iterator[pytest.Item]:
        """Runs each test, and yields those that fail as it is."""
        for item, following in zip(items, [*items[1:], items[0]], strict=True):
            self._reached.clear()
            begun = monotonic()
            if _fails(item, following):
                yield item
                continue
            for place in self._reached:
                functions[place].reached_by.append((monotonic() - begun, item))

    def _take_away(
        self,
        name: str,
        function: GuardedFunction,
        items: Sequence[pytest.Item],
        limit: int | None,
    ) -> None:
        guard = self._guards[name]

        def order(reached: tuple[float, pytest.Item]) -> tuple[bool, bool, float]:
            seconds, item = reached
            is_named = item.nodeid.startswith(guard.tests)
            return (not is_named, not TELLING.search(item.nodeid), seconds)

        without = _functions(_compile(guard.without, guard))[self._place(name).name]
        chosen = sorted(function.reached_by, key=order)[:limit]
        done = ROUNDS[ROUNDS.index(limit) - 1] if ROUNDS.index(limit) else 0
        for _, item in chosen[done:]:
            # The fixtures of a file are made again for each test.
            elsewhere = next((one for one in items if one.path != item.path), None)
            _put(function, without)
            has_failed = _fails(item, elsewhere)
            _put(function, self._original[self._place(name)])
            # A test that fails when it is run twice has not noticed anything.
            if has_failed and not _fails(item, elsewhere):
                note(self._file, NOTICED, name, item.nodeid)
                return


def _put(function: GuardedFunction, code: CodeType) -> None:
    for loaded in function.loaded:
        loaded.__code__ = code


def read(file: Path, kind: str) -> Mapping[str, str]:
    """Returns what all shares have noted so far: tests, by guard or by themselves."""
    noted = file.with_suffix(kind)
    lines = noted.read_text("utf-8").splitlines() if noted.exists() else []
    return dict(line.split("\t") for line in lines)


def note(file: Path, kind: str, name: str, test: str) -> None:
    with file.with_suffix(kind).open("a", encoding="utf-8") as noted:
        noted.write(f"{name}\t{ascii(test)[1:-1]}\n")


def _fails(item: pytest.Item, following: pytest.Item | None) -> bool:
    return any(report.failed for report in runtestprotocol(item, log=False, nextitem=following))


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(GuardsInTurn(Path(os.environ[GUARDS]), os.environ[SHARE]))
