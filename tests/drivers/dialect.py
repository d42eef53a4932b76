"""A pytest plugin that records where tests run code whose result may depend on the database.

    HALO_TEST_DIALECT=FILE python -m pytest -p tests.drivers.dialect ...

A place is a function of the product that runs SQL of its own, locks rows, looks into JSON, searches
in full text, orders by text or by what may be null, or asks which database it is. Each test that is
not skipped appends a line to the file: its id, its places, and how many statements it ran, as JSON.
The plugin `needs_database` selects the tests for PostgreSQL by them.
"""

import functools
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pytest

FILE = "HALO_TEST_DIALECT"
ROOT = str(Path(__file__).resolve().parents[2]) + os.sep
# What runs statements for others.
FORWARDING = tuple(f"{ROOT}{path}" for path in ("foundation/db/", "tests/", "bench/", ".venv/"))
EXPRESSIONS = ("data_tools.query.filters", "customers.words", "customers.kpis.buckets")
_places: set[str] = set()
_statements = Counter[str]()
_skipped = pytest.StashKey[bool]()


def pytest_sessionstart() -> None:
    """Django is set up by now."""
    if FILE in os.environ:
        _watch_statements()
        _watch_expressions()
        _watch_ordering()
        _watch_vendor()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    _places.clear()
    _statements.clear()
    result = yield
    if FILE in os.environ and not item.stash.get(_skipped, False):
        line = json.dumps([item.nodeid, sorted(_places), _statements.total()]) + "\n"
        # One write, so that the lines of several processes do not mix.
        file = os.open(os.environ[FILE], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(file, line.encode())
        os.close(file)
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report: Any = yield
    if report.skipped:
        item.stash[_skipped] = True
    return report


class Recorded(NamedTuple):
    """The places that a test has reached, and how many statements it ran."""

    places: Sequence[str]
    statements: int = 0


def read(path: str) -> dict[str, Recorded]:
    """What is recorded of each test."""
    lines = map(json.loads, Path(path).read_text().splitlines())
    return {test: Recorded(*recorded) for test, *recorded in lines}


def _record(kind: str) -> None:
    """Add the function of the product that is nearest on the stack."""
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if _is_of_the_product(code.co_filename):
            _places.add(f"{kind} in {code.co_filename[len(ROOT) :]}:{code.co_qualname}")
            return
        frame = frame.f_back  # type: ignore[assignment]  the loop ends with None


@functools.cache
def _is_of_the_product(file: str) -> bool:
    return file.startswith(ROOT) and not file.startswith(FORWARDING) and "/migrations/" not in file


def _watch(owner: type, name: str, kind: str) -> None:
    """Record calls of a method."""
    method = owner.__dict__[name]

    @functools.wraps(method)
    def record_and_call(*args: Any, **options: Any) -> Any:
        _record(kind)
        return method(*args, **options)

    setattr(owner, name, record_and_call)


def _watch_statements() -> None:
    from django.db.backends.utils import CursorWrapper  # noqa: PLC0415  Django is set up
    from django.db.models import QuerySet  # noqa: PLC0415  the same

    from foundation.db.statements import Statement  # noqa: PLC0415  the same

    _watch(Statement, "rows", "SQL")
    _watch(QuerySet, "select_for_update", "locking")
    for name in ("execute", "executemany"):
        method = getattr(CursorWrapper, name)

        def execute(*args: Any, _method: Any = method, **options: Any) -> Any:
            _statements["ran"] += 1
            # Called by the ORM's compiler otherwise.
            if _is_of_the_product(sys._getframe(1).f_code.co_filename):
                _record("SQL")
            return _method(*args, **options)

        setattr(CursorWrapper, name, execute)


def _watch_expressions() -> None:
    from importlib import import_module  # noqa: PLC0415  Django is set up

    from django.db.models.fields import json as lookups  # noqa: PLC0415  the same

    modules = [(lookups, "JSON"), *((import_module(name), "SQL") for name in EXPRESSIONS)]
    for module, kind in modules:
        for owner in vars(module).values():
            if isinstance(owner, type) and owner.__module__ == module.__name__:
                for name in {"as_sql", "as_sqlite", "as_postgresql"} & set(vars(owner)):
                    _watch(owner, name, kind)


def _watch_ordering() -> None:
    from django.db.models.sql.compiler import SQLCompiler  # noqa: PLC0415  Django is set up

    method = SQLCompiler.get_order_by

    def get_order_by(compiler: SQLCompiler) -> Any:
        ordering = method(compiler)
        if any(_depends_on_the_database(term) for term, _compiled in ordering):
            _record("ordering")
        return ordering

    setattr(SQLCompiler, "get_order_by", get_order_by)  # noqa: B010  a class of Django


def _depends_on_the_database(term: Any) -> bool:
    """Whether databases order it in different ways: text that is no key, and what may be null."""
    from django.db import models  # noqa: PLC0415  Django is set up

    field = getattr(term.expression, "target", None) or term.expression.output_field
    if isinstance(field, models.CharField | models.TextField):
        return not field.primary_key
    return bool(field.null)


def _watch_vendor() -> None:
    from django.utils.connection import ConnectionProxy  # noqa: PLC0415  Django is set up

    method = ConnectionProxy.__getattr__

    def read_attribute(proxy: ConnectionProxy, name: str) -> Any:
        if name == "vendor" and _is_of_the_product(sys._getframe(1).f_code.co_filename):
            _record("vendor")
        return method(proxy, name)

    ConnectionProxy.__getattr__ = read_attribute
