"""Lines of Python that run with the database and settings of a server, next to it.

Django is set up once for each server, in a process that waits for the next lines.
"""

import atexit
import contextlib
import io
import json
import os
import secrets
import select
import subprocess
import sys
import threading
import traceback
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60
PLACE = "HALO_DATA_DIR"


class Failed(Exception):
    """The lines raised an exception, or took too long."""


@dataclass(frozen=True)
class Evaluator:
    """A process that runs what it is sent; threads take turns."""

    process: subprocess.Popen[str]
    turn: threading.Lock = field(default_factory=threading.Lock)

    def evaluate(self, code: str) -> str:
        with self.turn:
            asked, answered = self.process.stdin, self.process.stdout
            assert asked is not None
            assert answered is not None
            asked.write(json.dumps(code) + "\n")
            asked.flush()
            if not select.select([answered], [], [], SECONDS)[0]:
                self.stop()  # a late answer would be taken for that to the next lines
                raise Failed(f"no answer in {SECONDS} seconds")
            printed, error = json.loads(answered.readline() or '["", "the process ended"]')
        if error:
            raise Failed(error)
        return str(printed)

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


_running: dict[frozenset[tuple[str, str]], Evaluator] = {}


def evaluate(env: Mapping[str, str], code: str) -> str:
    """What the lines print. Raises Failed."""
    key = frozenset(env.items())
    if key not in _running or _running[key].process.poll() is not None:
        _running[key] = Evaluator(_start(env))
    return _running[key].evaluate(code)


def forget(env: Mapping[str, str]) -> None:
    """End the processes that belong to a server."""
    ended = [key for key in _running if (PLACE, env.get(PLACE)) in key]
    for key in ended:
        _running.pop(key).stop()


@atexit.register
def _forget_all() -> None:
    while _running:
        _running.popitem()[1].stop()


def _start(env: Mapping[str, str]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.drivers.evaluation"],
        cwd=ROOT,
        env={**env, "DJANGO_SETTINGS_MODULE": "halo_mcp.settings"},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )


def main() -> None:
    # Whatever else writes to the standard output must not end up among the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    import django  # noqa: PLC0415  in the process of its own

    django.setup()
    from tests.drivers import grants  # noqa: PLC0415  Django is set up

    # Users and organizations of an earlier process on this database have other numbers.
    grants.count_from(secrets.randbelow(10**9))
    for line in sys.stdin:
        _answer(json.loads(line), answers)


def _answer(code: str, answers: TextIO) -> None:
    from django.db import connections  # noqa: PLC0415  Django is set up

    printed, error = io.StringIO(), ""
    names: dict[str, Any] = {"__name__": "__main__"}
    try:
        with contextlib.redirect_stdout(printed):
            exec(code, names)  # noqa: S102  the test's own
    except Exception:  # noqa: BLE001  the test is shown every one
        error = traceback.format_exc()
    finally:
        # As if the process had ended: a test may replace the database, or count connections.
        connections.close_all()
    print(json.dumps([printed.getvalue(), error]), file=answers, flush=True)


if __name__ == "__main__":
    main()
