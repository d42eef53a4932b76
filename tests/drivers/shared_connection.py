"""One database connection for all threads of a test process, while a test runs in a transaction.

What a page starts runs once its response is there, and the test goes on after it: on the same
connection, two transactions would end in the wrong order.

A test's rows stand in a transaction that it rolls back, which no other connection sees. So what
Django's connection handler gives to other threads meanwhile is the connection of the test, as its
own `LiveServerTestCase` does for SQLite in memory. In a test without a transaction each thread has
a connection of its own, as in production.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, Final
from unittest.mock import patch

from django.db import DEFAULT_DB_ALIAS, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client

from foundation import queueing
from foundation.concurrency import job_threads

HANDLER: Final[Any] = connections  # where it keeps connections has no public name


class SharedConnection:
    """Takes the place of the handler's storage, which has an attribute for each alias."""

    def __init__(self) -> None:
        self._own = HANDLER._connections
        self._of_threads = threading.local()
        self._opened: list[BaseDatabaseWrapper] = []
        self._of_tests = HANDLER[DEFAULT_DB_ALIAS]
        self._test_thread = threading.get_ident()
        # Transactions of threads that share a connection would end in the wrong order.
        self._turn = threading.RLock()
        # Held by the test's thread during a request to a page.
        self._page = threading.RLock()

    def __getattr__(self, alias: str) -> Any:
        if alias == DEFAULT_DB_ALIAS and self._is_shared():
            return self._of_tests
        return getattr(self._here(), alias)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("_"):
            super().__setattr__(name, value)
            return
        if not self._is_test_thread():
            value.inc_thread_sharing()  # `close_others` is called by the thread of the tests
            self._opened.append(value)
        setattr(self._here(), name, value)

    def __delattr__(self, alias: str) -> None:
        delattr(self._here(), alias)

    @contextmanager
    def share(self) -> Iterator[None]:
        """Share the connection for as long as the block runs."""
        connection: Any = self._of_tests
        connection.inc_thread_sharing()
        with ExitStack() as patches:
            for name in ("close", "close_if_unusable_or_obsolete"):
                closing = self._only_here(getattr(connection, name))
                patches.enter_context(patch.object(connection, name, closing))
            patches.enter_context(patch.object(HANDLER, "_connections", self))
            patches.enter_context(patch.object(transaction.Atomic, "__enter__", self._entering()))
            patches.enter_context(patch.object(transaction.Atomic, "__exit__", self._leaving()))
            patches.enter_context(patch.object(Client, "request", self._requesting()))
            patches.enter_context(patch.object(job_threads, "_run", self._running()))
            patches.enter_context(patch.object(queueing, "send", _sending()))
            yield
        connection.dec_thread_sharing()

    def close_others(self) -> None:
        """Close what other threads opened; they open another one if they need it."""
        self._of_threads = threading.local()
        while self._opened:
            # Past SQLite's own `close`, which keeps a database in memory open.
            BaseDatabaseWrapper.close(self._opened.pop())

    def _here(self) -> Any:
        return self._own if self._is_test_thread() else self._of_threads

    def _is_test_thread(self) -> bool:
        return threading.get_ident() == self._test_thread

    def _is_shared(self) -> bool:
        """Whether another thread than the test's asks, and the test runs in a transaction."""
        if self._is_test_thread():
            return False
        opened: list[Any] = self._of_tests.atomic_blocks
        return bool(opened) and opened[0]._from_testcase

    def _only_here(self, close: Callable[[], None]) -> Callable[[], None]:
        def close_own() -> None:
            # In production only the thread's own would end; here the rows of the test would be
            # lost. Nor is its transaction what Django looks for in a connection of long ago.
            if self._is_test_thread():
                close()

        return close_own

    def _entering(self) -> Callable[[transaction.Atomic], None]:
        enter = transaction.Atomic.__enter__

        def entering(block: transaction.Atomic) -> None:
            if self._is_shared():
                self._turn.acquire()
            enter(block)

        return entering

    def _leaving(self) -> Callable[..., None]:
        leave = transaction.Atomic.__exit__

        def leaving(block: transaction.Atomic, *error: Any) -> None:
            try:
                leave(block, *error)
            finally:
                if self._is_shared():
                    self._turn.release()

        return leaving

    def _requesting(self) -> Callable[..., Any]:
        request = Client.request

        def requesting(browser: Client, **sent: Any) -> Any:
            if not self._is_test_thread():
                return request(browser, **sent)
            with self._page:
                response = request(browser, **sent)
            if sent.get("REQUEST_METHOD") == "POST":
                wait_for_jobs()
            return response

        return requesting

    def _running(self) -> Callable[..., None]:
        run = job_threads._run

        def running(*job: Any) -> None:
            if self._is_shared():
                with self._page:
                    pass
            run(*job)

        return running


def _sending() -> Callable[..., None]:
    """What pages queue for the worker that people wait for is begun at once, in this process."""
    send = queueing.send

    def sending(task: str, *arguments: str) -> None:
        from approvals import execution, tasks  # noqa: PLC0415  apps first

        if task == execution.TASK:
            tasks.execute(*arguments)
        else:
            send(task, *arguments)

    return sending


def wait_for_jobs() -> None:
    """Wait until what pages have started has ended."""
    assert job_threads.wait_until_idle(60)


def close_others() -> None:
    """Close what other threads than the test's opened, if connections are shared at all."""
    storage = HANDLER._connections
    if isinstance(storage, SharedConnection):
        storage.close_others()
