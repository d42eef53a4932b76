"""Runs a module on the input of others, in a process that has limits and no secrets.

A hostile input may make code compute or allocate without end; the process is ended instead. It has
neither the memory nor the environment of the server.
"""

import resource
import subprocess
import sys
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[1]
MAX_MEMORY: Final = 2 * 1_073_741_824
# On a busy computer a process waits for a processor: it has longer than what it may compute.
WAIT_FACTOR: Final = 3


def run(module: str, sent: bytes, *, seconds: float) -> bytes:
    """Returns what a module writes when it is sent an input.

    `seconds` limits what it computes; the process may take `WAIT_FACTOR` times as long. What it
    writes is incomplete or empty if that time is over or the process ends. The module has to call
    `limit` with its argument, the seconds, before it reads anything.
    """
    process = subprocess.Popen(  # noqa: S603  every word is ours
        [sys.executable, "-m", module, str(max(1, int(seconds)))],
        cwd=ROOT,
        env={},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    try:
        output, _ = process.communicate(sent, timeout=seconds * WAIT_FACTOR)
    except subprocess.TimeoutExpired:
        process.kill()
        output, _ = process.communicate()
    return output


def limit(seconds: int) -> None:
    """Limits this process to so many seconds of a processor, and to `MAX_MEMORY`."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
