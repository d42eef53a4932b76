"""Driving one server for a while: with wrk where it is installed, else with a driver of our own.

Either compares every reply, byte for byte, with the one that was looked at first, but for the parts
that vary.
"""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from bench.scratch import ROOT
from bench.wires import Reply, Request

# How long what is under way at the end is waited for, in whole seconds.
TIMEOUT_SECONDS: Final = 30
SEEN: Final = re.compile(r"^bench (\d+) (\d+) (\d+) ([\d.]+) ([\d.]+) ([\d.]+)$", re.MULTILINE)
COMPLAINT: Final = re.compile(r"^complaint (.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Task:
    """Which server is called how, on how many connections, for how many whole seconds.

    `expected` is a right reply.
    """

    url: str
    request: Request
    expected: Reply
    concurrency: int
    seconds: int


@dataclass(frozen=True)
class Driven:
    """What the clients saw. `seconds` until the last reply, the percentiles in milliseconds."""

    answered: int
    bad: int
    seconds: float
    p50: float
    p99: float
    complaint: str = ""

    @property
    def rate(self) -> float:
        """Replies a second."""
        return self.answered / self.seconds if self.seconds else 0.0


Driver: TypeAlias = Callable[[Task], Driven]


def parse(output: str) -> Driven:
    """What a driver wrote; lost connections count as bad replies. Raises RuntimeError."""
    seen = SEEN.search(output)
    if seen is None:
        raise RuntimeError(f"the driver said nothing that can be read:\n{output[-1000:]}")
    answered, bad, broken = (int(number) for number in seen.groups()[:3])
    seconds, p50, p99 = (float(number) for number in seen.groups()[3:])
    complaint = COMPLAINT.search(output)
    said = complaint[1].strip() if complaint else ""
    if broken:
        said = f"{broken} connections broke; {said}".rstrip("; ")
    return Driven(answered, bad + broken, seconds, p50, p99, said)


def with_wrk(task: Task) -> Driven:
    with tempfile.TemporaryDirectory() as folder:
        body, expected = Path(folder, "body"), Path(folder, "expected")
        body.write_bytes(task.request.body)
        expected.write_bytes(task.expected.body)
        varying = [str(place) for part in task.expected.varying for place in part]
        headers = [f"-H{name}: {value}" for name, value in task.request.headers.items()]
        timeout = f"--timeout={TIMEOUT_SECONDS}s"
        load = ["-t1", timeout, f"-c{task.concurrency}", f"-d{task.seconds + TIMEOUT_SECONDS}s"]
        script = ["-s", str(ROOT / "bench" / "wrk.lua"), *headers, task.url]
        given = ["--", str(body), str(expected), str(task.seconds), *varying]
        return parse(_said(["wrk", *load, *script, *given], "", task.seconds))


def with_our_own(task: Task) -> Driven:
    order = {
        "url": task.url,
        "headers": dict(task.request.headers),
        "body": task.request.body.decode(),
        "expected": task.expected.body.decode(),
        "varying": list(task.expected.varying),
        "concurrency": task.concurrency,
        "seconds": task.seconds,
    }
    command = [sys.executable, "-m", "bench.closed_loop"]
    return parse(_said(command, json.dumps(order), task.seconds))


DRIVERS: Final[dict[str, Driver]] = {"wrk": with_wrk, "bundled": with_our_own}


def usual() -> str:
    """The name of the driver that is there."""
    return "wrk" if shutil.which("wrk") else "bundled"


def _said(command: list[str], given: str, seconds: int) -> str:
    done = subprocess.run(  # noqa: S603  every word is ours
        command,
        cwd=ROOT,
        input=given,
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=seconds + 2 * TIMEOUT_SECONDS,
    )
    return done.stdout
