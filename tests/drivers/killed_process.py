"""A process that answers one request of the token endpoint and kills itself at a chosen step.

`KilledProcess` is what tests use; `main` is what runs in the process: it forks for every
request, so that Django is loaded once, and the fork dies by SIGKILL, which runs no handler and
rolls nothing back.
A step is the moment before or after a statement or a COMMIT, counted from 0.
"""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from tests.drivers.server import ROOT

COMMIT = "COMMIT"


@dataclass(frozen=True)
class Fate:
    """The steps that were reached, the last of them fatal, and the status if it was answered."""

    steps: tuple[str, ...]
    killed: bool
    status: int | None

    @property
    def has_committed(self) -> bool:
        return f"after {COMMIT}" in self.steps


@dataclass(frozen=True)
class KilledProcess:
    """The process, ready for requests."""

    process: subprocess.Popen[str]

    def post(self, path: str, fields: Mapping[str, str], *, die_at: int) -> Fate:
        """Send a form to be answered by a fork that dies at this step, if it gets there."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        order = {"path": path, "fields": dict(fields), "die_at": die_at}
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()
        fate = json.loads(self.process.stdout.readline())
        return Fate(tuple(fate["steps"]), fate["killed"], fate["status"])


@contextmanager
def start_process(database_url: str) -> Iterator[KilledProcess]:
    """Start the process on a database that exists; it ends with its standard input."""
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.drivers.killed_process"],
        cwd=ROOT,
        env=os.environ | {"DATABASE_URL": database_url, "HALO_RATE_TOKEN": "1000000/m"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield KilledProcess(process)
    finally:
        # Closes both pipes and waits for the end.
        process.communicate(timeout=30)


class Fuse:
    """Writes each step down as it is reached, and kills the process at the one it is set to."""

    def __init__(self, die_at: int, journal: int) -> None:
        self.left = die_at
        self.journal = journal

    def reach(self, step: str) -> None:
        # Straight into the pipe: a buffer would die with the process.
        os.write(self.journal, f"{step}\n".encode())
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        self.left -= 1

    def run_step(self, name: str, act: Callable[[], Any]) -> Any:
        self.reach(f"before {name}")
        done = act()
        self.reach(f"after {name}")
        return done

    def statement(self, execute: Any, sql: str, params: Any, many: Any, context: Any) -> Any:
        """Django's hook around every statement."""
        return self.run_step(statement_name(sql), lambda: execute(sql, params, many, context))


def statement_name(sql: str) -> str:
    """A statement as its verb and the table that it changes: `UPDATE oauth_grant`."""
    words = sql.replace('"', " ").split()
    verb = words[0].upper()
    table = {"INSERT": 2, "DELETE": 2, "UPDATE": 1}.get(verb)
    return f"{verb} {words[table]}" if table else verb


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "halo_mcp.settings")
    import django  # noqa: PLC0415  the environment first

    django.setup()
    _read_what_answers()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_fate(json.loads(line))) + "\n")
        sys.stdout.flush()


def _read_what_answers() -> None:
    """Import the views and the client here, or every fork does it for its one request."""
    from django.urls import get_resolver  # noqa: PLC0415  after the set-up

    from tests.drivers import oauth_client  # noqa: F401, PLC0415  imported for the forks

    assert get_resolver().url_patterns


def _fate(order: Mapping[str, Any]) -> dict[str, Any]:
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        _answer(order, write)
    os.close(write)
    with os.fdopen(read) as journal:
        lines = journal.read().splitlines()
    _, ending = os.waitpid(child, 0)
    return _summary(lines, killed=os.WIFSIGNALED(ending) and os.WTERMSIG(ending) == signal.SIGKILL)


def _summary(lines: list[str], *, killed: bool) -> dict[str, Any]:
    status = None if killed else int(lines.pop())
    return {"steps": lines, "killed": killed, "status": status}


def _answer(order: Mapping[str, Any], journal: int) -> None:
    """Answer one request in the fork, and end it without Python's goodbyes."""
    # Standard output is the parent's: what the product says here goes the other way.
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    with os.fdopen(journal, "wb", buffering=0) as out:
        out.write(f"{_status(order, journal)}\n".encode())
    os._exit(0)


def _status(order: Mapping[str, Any], journal: int) -> int:
    from django.db import connection  # noqa: PLC0415  after the set-up

    from tests.drivers.oauth_client import OAuthClient, encode_form  # noqa: PLC0415

    fuse = Fuse(order["die_at"], journal)
    wrapped: Any = connection  # what commits has no public name
    commit = wrapped._commit
    wrapped._commit = lambda: fuse.run_step(COMMIT, commit)
    # Connected before the hook: what a connection says first is no step of a request.
    connection.ensure_connection()
    with connection.execute_wrapper(fuse.statement):
        sent = OAuthClient().post_form(order["path"], encode_form(order["fields"]))
    return int(sent.status_code)


if __name__ == "__main__":
    main()
