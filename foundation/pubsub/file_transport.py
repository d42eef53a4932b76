"""Notifications through a file of the data folder, for deployments on one machine with SQLite.

The file has one line for each notification. Receivers poll its length, which is one system call.
"""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

POLL_SECONDS: Final = 0.1
MAX_BYTES: Final = 65_536


class FileTransport:
    """Appends to the file at `path` and reads what other processes append."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)

    def send(self, topic: str) -> None:
        # Appending a short line is one write, so lines of two processes never mix.
        with self._path.open("ab", buffering=0) as file:
            file.write(f"{topic}\n".encode())
            if os.fstat(file.fileno()).st_size > MAX_BYTES:
                file.truncate(0)

    def receive(self, deliver: Callable[[str | None], None], stopping: threading.Event) -> None:
        offset = self._length()
        deliver(None)
        while not stopping.wait(POLL_SECONDS):
            offset = self._deliver_from(offset, deliver)

    def _deliver_from(self, offset: int, deliver: Callable[[str | None], None]) -> int:
        length = self._length()
        if length < offset:  # another process has truncated it
            deliver(None)
        if length <= offset:
            return length
        with self._path.open("rb") as file:
            file.seek(offset)
            lines = file.read(length - offset)
        for line in lines.splitlines():
            deliver(line.decode())
        return length

    def _length(self) -> int:
        return self._path.stat().st_size if self._path.exists() else 0
