"""The numbers that keep this code readable, measured on all of it."""

import ast

from tests.architecture import sources

MAX_FUNCTION_LINES = 50


def lines_of(function: sources.Function) -> int:
    assert function.end_lineno is not None
    return function.end_lineno - function.lineno + 1


def test_there_is_something_to_measure() -> None:
    assert len(list(sources.functions())) > 400
    assert {path.partition("/")[0] for path in sources.modules()} == set(sources.PACKAGES)


def test_no_function_is_long() -> None:
    long = [
        place for place, function in sources.functions() if lines_of(function) > MAX_FUNCTION_LINES
    ]

    assert long == []


def test_everything_is_annotated() -> None:
    bare = [place for place, function in sources.functions() if not is_annotated(function)]

    assert bare == []


def is_annotated(function: sources.Function) -> bool:
    given = function.args
    named = [*given.posonlyargs, *given.args, *given.kwonlyargs]
    named += [star for star in (given.vararg, given.kwarg) if star]
    bare = [arg.arg for arg in named if arg.annotation is None]
    return function.returns is not None and set(bare) <= {"self", "cls"}


def test_an_argument_without_a_type_would_be_seen() -> None:
    (bare,) = ast.parse("def f(a, *, b: int) -> None: ...").body
    (whole,) = ast.parse("def f(self, a: int, **b: int) -> None: ...").body

    assert isinstance(bare, ast.FunctionDef)
    assert isinstance(whole, ast.FunctionDef)
    assert not is_annotated(bare)
    assert is_annotated(whole)
