"""Refuses requests to other servers from threads that answer people.

Such a thread waits for nobody outside: a few slow servers would hold all of them, and every page of
every organization would wait (OWASP API4:2023). Pages start jobs instead
(`foundation/concurrency/job_threads.py`).
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any, Final, ParamSpec, TypeVar

Given = ParamSpec("Given")
Returned = TypeVar("Returned")

_is_answering: Final = ContextVar("answers_people", default=False)


class PageWaitsForOutside(RuntimeError):
    """A page sent a request to another server: a defect of the page."""


@contextmanager
def enter() -> Iterator[None]:
    """Marks the block as one that answers people."""
    with _mark_thread(is_answering=True):
        yield


@contextmanager
def leave() -> Iterator[None]:
    """Marks the block as one that may wait."""
    with _mark_thread(is_answering=False):
        yield


def may_wait(view: Callable[Given, Returned]) -> Callable[Given, Returned]:
    """Marks a view whose paths have threads of their own (`halo_mcp/server/page_pools.py`)."""

    @wraps(view)
    def waiting(*args: Given.args, **options: Given.kwargs) -> Returned:
        with leave():
            return view(*args, **options)

    marked: Any = waiting
    marked.may_wait = True
    return waiting


def refuse() -> None:
    """Raises PageWaitsForOutside in a thread that answers people."""
    if _is_answering.get():
        raise PageWaitsForOutside


@contextmanager
def _mark_thread(*, is_answering: bool) -> Iterator[None]:
    before = _is_answering.set(is_answering)
    try:
        yield
    finally:
        _is_answering.reset(before)
