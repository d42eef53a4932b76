"""A pytest plugin that runs the tests with one guard of the product taken away.

    HALO_TEST_WITHOUT_GUARD=NAME python -m pytest -p tests.guards.removal ...

The module that has the guard is compiled from its changed source, in this process and in those of
the test run. A server that a test starts is another process, and keeps the guard.
"""

import os
from importlib.machinery import SourceFileLoader
from pathlib import Path
from types import CodeType

from tests.guards import catalogue

SETTING = "HALO_TEST_WITHOUT_GUARD"
ROOT = Path(__file__).resolve().parents[2]


def remove(name: str) -> None:
    """Takes a guard away from every later import. Raises KeyError if there is no such guard."""
    guard = catalogue.guards()[name]
    place = str(ROOT / guard.path)
    original = SourceFileLoader.get_code

    def get_code(loader: SourceFileLoader, fullname: str) -> CodeType | None:
        if loader.get_filename(fullname) == place:
            return compile(guard.without, place, "exec", dont_inherit=True)
        return original(loader, fullname)

    SourceFileLoader.get_code = get_code  # type: ignore[method-assign]  # for this test run


if name := os.environ.get(SETTING):
    remove(name)
