"""How a client is driven: a library by a driver that stays, a command line by one run a call."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Protocol

from tests.clients import real_client_flow
from tests.clients.real_client_flow import Attendant, Tour

BROWSER: Final = '#!/bin/sh\nprintf "%s\\n" "$1" > "$HOME/opened"\n'
# What programs start: the system's own, and the value of BROWSER in their environment.
BROWSER_NAMES: Final = ("xdg-open", "none")
# A program whose child has a terminal, for clients that sign in at one only.
ON_TERMINAL: Final = "import pty, sys; sys.exit(pty.spawn(sys.argv[1:]) >> 8)"


class ToolSession(Protocol):
    """A client that is connected. A method raises whatever shows that the client failed."""

    def list_tools(self) -> Sequence[str]: ...

    def call(self, tool: str, arguments: Mapping[str, str]) -> str: ...


Opener = Callable[[Tour], AbstractContextManager[ToolSession]]


class ClientFailed(Exception):
    """The client ended, or reported an error; the message is what it said."""


@dataclass(frozen=True)
class LibrarySession:
    """A driver of tests/clients/daily, which stays until its input ends."""

    attendant: Attendant

    def list_tools(self) -> Sequence[str]:
        tools: list[str] = self._request({"step": "list"})["tools"]
        return tools

    def call(self, tool: str, arguments: Mapping[str, str]) -> str:
        step = {"step": "call", "tool": tool, "arguments": arguments}
        return str(self._request(step)["text"])

    def _request(self, step: Mapping[str, Any]) -> Any:
        process = self.attendant.process
        assert process.stdin
        assert process.stdout
        try:
            print(json.dumps(step), file=process.stdin, flush=True)
        except BrokenPipeError:
            raise ClientFailed(self.attendant.words) from None
        for line in process.stdout:
            # Libraries print too.
            if line.startswith("{"):
                reply = json.loads(line)
                if "error" in reply:
                    raise ClientFailed(f"{reply['error']}\n{self.attendant.words}")
                return reply
        raise ClientFailed(self.attendant.words)


def library(words: Sequence[str]) -> Opener:
    """A driver with these words, the address and the port."""

    @contextmanager
    def open_session(tour: Tour) -> Iterator[ToolSession]:
        command = [*words, tour.mcp_url, str(tour.callback)]
        with run_attended(command, tour) as attendant:
            yield LibrarySession(attendant)

    return open_session


@contextmanager
def run_attended(
    words: Sequence[str], tour: Tour, *, stderr: int = subprocess.PIPE, **more: str
) -> Iterator[Attendant]:
    """A program with a person who opens what it prints, or what it has a browser open."""
    pipe = lay_browser(tour.folder)
    with real_client_flow.start_program(words, tour, stderr=stderr, **more) as (_, attendant):
        # Open in both directions, so that it is not at its end between two visits.
        opened = os.open(pipe, os.O_RDWR)
        watching = threading.Thread(target=watch, args=(opened, attendant))
        watching.start()
        try:
            yield attendant
        finally:
            os.write(opened, b"\n")
            watching.join(tour.seconds)


def watch(opened: int, attendant: Attendant) -> None:
    """Approve each address that a browser is given, until an empty line."""
    with os.fdopen(opened, encoding="utf-8") as addresses:
        while (line := addresses.readline()) != "\n":
            if found := attendant.authorize.search(line):
                attendant.approve(found[0])


def lay_browser(home: Path) -> Path:
    """Put a substitute for a browser on the path; returns the pipe that it writes to."""
    pipe = home / "opened"
    if not pipe.exists():
        os.mkfifo(pipe)
        for name in BROWSER_NAMES:
            program = home / name
            program.write_text(BROWSER, encoding="utf-8")
            program.chmod(0o755)
    return pipe


def on_terminal(words: Sequence[str]) -> Sequence[str]:
    """The words of a program that runs these words on a terminal, and copies what they write."""
    return [sys.executable, "-c", ON_TERMINAL, *words]


def output_of(
    words: Sequence[str], tour: Tour, replies: Mapping[str, str] | None = None, **more: str
) -> str:
    """What a command writes on both streams. Raises ClientFailed where it ends with an error.

    `replies` are what the person types, by words of the line that is printed before.
    """
    with run_attended(words, tour, stderr=subprocess.STDOUT, **more) as attendant:
        attendant.replies.update(replies or {})
        if not replies:
            assert attendant.process.stdin
            attendant.process.stdin.close()  # some read a prompt from it until its end
        attendant.process.wait(tour.seconds)
    if attendant.process.returncode:
        raise ClientFailed(attendant.words)
    return attendant.words
