"""Short commands of Python, as a shell has them run, without a start of Python for each.

A process that has imported the packages, and nothing of ours, forks for each command: the fork gets
the command's environment and words. What Python itself reads when it starts, such as PYTHONPATH,
needs a process of its own.
"""

import atexit
import contextlib
import functools
import json
import os
import runpy
import select
import signal
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 120


def run(words: Sequence[str], env: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run Python with these words, `manage.py check` for example, in the root of the project."""
    with tempfile.TemporaryDirectory(prefix="halo-command-") as folder:
        output, errors = Path(folder) / "output", Path(folder) / "errors"
        order = {"words": [*words], "env": {**env}, "output": str(output), "errors": str(errors)}
        code = _get_forker().send(order)
        return subprocess.CompletedProcess([*words], code, output.read_text(), errors.read_text())


class Forker:
    """The process that forks."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.drivers.forked_commands"],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            text=True,
        )

    def send(self, order: Mapping[str, Any]) -> int:
        """The exit code of a command, or of the signal that ended it, as subprocess has it."""
        orders, codes = self._process.stdin, self._process.stdout
        assert orders is not None
        assert codes is not None
        orders.write(json.dumps(order) + "\n")
        orders.flush()
        if not select.select([codes], [], [], SECONDS)[0]:
            self.stop()
            raise subprocess.TimeoutExpired(order["words"], SECONDS)
        return int(codes.readline())

    def stop(self) -> None:
        """End it with the command that still runs."""
        _get_forker.cache_clear()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()


@functools.cache
def _get_forker() -> Forker:
    forker = Forker()
    atexit.register(forker.stop)
    return forker


def main() -> None:
    _import_packages()
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _execute(json.loads(line))
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)  # noqa: T201  the answer


def _import_packages() -> None:
    """What takes the longest of a start. None of it reads settings, and none starts a thread."""
    import celery  # noqa: F401, PLC0415  imported for the forks
    import django.core.management  # noqa: PLC0415
    import django.db.models  # noqa: F401, PLC0415
    import psycopg  # noqa: F401, PLC0415
    import redis  # noqa: F401, PLC0415
    import uvicorn  # noqa: F401, PLC0415


def _execute(order: Mapping[str, Any]) -> None:
    """Be the command, in the fork, and end with its exit code."""
    _redirect(order)
    os.environ.clear()
    os.environ.update(order["env"])
    code: Any = 0
    try:
        _run(order["words"])
    except SystemExit as end:
        code = end.code
    except BaseException:  # noqa: BLE001  Python reports every one
        traceback.print_exc()
        code = 1
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)  # noqa: T201  as Python does
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code or 0)


def _redirect(order: Mapping[str, Any]) -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    writing = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    opened = (nothing, *(os.open(order[name], writing) for name in ("output", "errors")))
    for number, file in enumerate(opened):
        os.dup2(file, number)


def _run(words: list[str]) -> None:
    if words[0] == "-c":
        sys.argv = ["-c", *words[2:]]
        exec(words[1], {"__name__": "__main__"})  # noqa: S102  the test's own
    elif words[0] == "-m":
        sys.argv = words[1:]
        runpy.run_module(words[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = words
        runpy.run_path(words[0], run_name="__main__")


if __name__ == "__main__":
    main()
