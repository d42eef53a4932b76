"""The official conformance suite as a program: found, started, and ended if it does not end."""

import json
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from tests.drivers import node
from tests.drivers.node import Unavailable

FOLDER: Final = Path(__file__).parent
PACKAGE = FOLDER / "node_modules" / "@modelcontextprotocol" / "conformance"
LEAST_NODE: Final = 22
SECONDS = 300


def command() -> list[str]:
    """The words that start the suite. Raises Unavailable."""
    return [node.program(LEAST_NODE), entry()]


def entry() -> str:
    if not PACKAGE.is_dir():
        raise Unavailable("the suite is not installed: npm ci in tests/conformance")
    manifest = json.loads((PACKAGE / "package.json").read_text(encoding="utf-8"))
    return str(PACKAGE / manifest["bin"]["conformance"])


@contextmanager
def start_program(words: Sequence[str]) -> Iterator[IO[str]]:
    """Start a program, hand over what it prints, and see to it that it ends."""
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        text=True,
        env=node.plain_environment(),
    )
    alarm = threading.Timer(SECONDS, process.kill)
    alarm.start()
    try:
        assert process.stdout
        with process.stdout:
            yield process.stdout
        process.wait(SECONDS)
    finally:
        alarm.cancel()
        process.kill()
        process.wait()
