"""The steps that a real client performs, and their results.

It registers, has a person sign in and approve on the real pages, lists the tools and calls one. It
is a program of its own: it writes the address to open on its standard error, or on its standard
output, and listens on this machine for the browser that comes back.
"""

import re
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import httpx2

from tests.drivers import node
from tests.drivers.person import Person
from tests.drivers.server import EMAIL, free_port

QUESTION: Final = "how do scopes work"
SECONDS: Final = 120


@dataclass(frozen=True)
class Tour:
    """Where to go, and who signs in; `folder` is a home for what the program wants to keep."""

    mcp_url: str
    folder: Path
    callback: int = field(default_factory=free_port)
    email: str = EMAIL
    # After which a program is ended.
    seconds: int = SECONDS


@dataclass(frozen=True)
class Findings:
    """What the client said of the server: its tools, and what the one that was called answered."""

    tools: tuple[str, ...]
    answer: str


Travel = Callable[[Tour], Findings]


@dataclass
class Attendant:
    """Reads what a program says, and is its person where it asks for one."""

    process: "subprocess.Popen[str]"
    authorize: re.Pattern[str]
    email: str = EMAIL
    said: list[str] = field(default_factory=list)
    approved: int = 0
    # Some programs print an address and open a browser with it as well.
    visited: set[str] = field(default_factory=set)
    # What the person types once a line with these words was printed.
    replies: dict[str, str] = field(default_factory=dict)

    def attend(self) -> None:
        stream = self.process.stderr or self.process.stdout
        assert stream
        for line in stream:
            self.said.append(line)
            if found := self.authorize.search(line):
                self.approve(found[0])
            for words in [words for words in self.replies if words in line]:
                print(self.replies.pop(words), file=self.process.stdin, flush=True)

    def approve(self, address: str) -> None:
        if address in self.visited:
            return
        self.visited.add(address)
        try:
            Person(email=self.email).visit(address)
            self.approved += 1
        except (AssertionError, httpx2.HTTPError) as problem:
            # The program would wait for its person in vain.
            self.said.append(f"The person: {problem}\n")
            self.process.kill()

    @property
    def words(self) -> str:
        return "".join(self.said)


@contextmanager
def start_program(
    words: Sequence[str], tour: Tour, *, stderr: int = subprocess.PIPE, **more: str
) -> Iterator[tuple["subprocess.Popen[str]", Attendant]]:
    """Start a program and attend to it; it has ended when the block is left.

    The address to open is read from its standard error; with `stderr=STDOUT` from both streams,
    and nothing is left to read on its standard output.
    """
    process = subprocess.Popen(
        words,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        text=True,
        cwd=tour.folder,
        env={**own_environment(tour.folder), **more},
    )
    authorize = re.compile(re.escape(tour.mcp_url) + r"/oauth/authorize\?[!-~]+")
    attendant = Attendant(process, authorize, tour.email)
    attending = threading.Thread(target=attendant.attend)
    alarm = threading.Timer(tour.seconds, process.kill)
    attending.start()
    alarm.start()
    try:
        yield process, attendant
    finally:
        alarm.cancel()
        process.kill()
        process.wait(SECONDS)
        # Its pipes may be closed once nobody reads them any more.
        attending.join(SECONDS)
        for pipe in filter(None, (process.stdin, process.stdout, process.stderr)):
            pipe.close()


def own_environment(home: Path) -> Mapping[str, str]:
    """What a program may know of this machine: no screen to open a browser on, and another home."""
    kept = node.plain_environment()
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"}
    seen = {name: value for name, value in kept.items() if name not in hidden}
    # There is no program on this path, so nothing finds a browser of its own.
    return seen | {"HOME": str(home), "PATH": str(home), "BROWSER": "none"}


def output_of(words: Sequence[str], tour: Tour, **more: str) -> str:
    """All that a program writes on its standard output, asked nothing. It has to end well."""
    said, attendant = _run(words, tour, more)
    assert attendant.approved, attendant.words
    return said


def output_without_sign_in(words: Sequence[str], tour: Tour, **more: str) -> str:
    """The standard output of a program that uses the tokens of an earlier one, and ends well."""
    said, attendant = _run(words, tour, more)
    assert not attendant.approved, attendant.words
    return said


def sign_in(words: Sequence[str], tour: Tour, **more: str) -> None:
    """Run a program that only signs in, and prints the address on its standard output."""
    with start_program(words, tour, stderr=subprocess.STDOUT, **more) as (process, attendant):
        process.wait(tour.seconds)
    assert process.returncode == 0, attendant.words
    assert attendant.approved, attendant.words


def _run(words: Sequence[str], tour: Tour, more: Mapping[str, str]) -> tuple[str, Attendant]:
    with start_program(words, tour, **more) as (process, attendant):
        assert process.stdout
        said = process.stdout.read()
        process.wait(SECONDS)
    assert process.returncode == 0, attendant.words + said
    return said, attendant
