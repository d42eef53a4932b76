"""One deployment, started for real as often as a test likes, and what its database holds."""

import contextlib
import socket
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx2
import psycopg
import pytest
from psycopg import sql

from tests.commands import checkout
from tests.drivers import forked_commands

TIMEOUT = 120


class Deployment:
    """One data folder and one database, started as often as a test likes."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.folder = folder
        self.env = env
        self.url = f"http://127.0.0.1:{env['PORT']}"
        self.marker = f"HALO_DATA_DIR={env['HALO_DATA_DIR']}"
        self.log = folder / "up.log"
        self.started: list[subprocess.Popen[bytes]] = []

    def start(self, **env: str) -> subprocess.Popen[bytes]:
        return self.run("manage.py", "up", **env)

    def serve(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        """The web processes alone, as `./run serve` starts them."""
        return self.run("-m", "halo_mcp.server.serve", *words, **env)

    def run(self, *words: str, **env: str) -> subprocess.Popen[bytes]:
        """Python with these words, its output in the log."""
        with self.log.open("wb") as output:
            process = subprocess.Popen(
                [sys.executable, *words],
                cwd=checkout.ROOT,
                env=self.env | env,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self.started.append(process)
        return process

    def clear_away(self) -> None:
        """Leave no process of this deployment, whatever became of the test."""
        checkout.kill_what_is_left(self.marker)
        for process in self.started:
            process.wait(TIMEOUT)

    def run_failed_start(self, **env: str) -> list[str]:
        """The lines that a start which cannot be says."""
        done = forked_commands.run(["manage.py", "up"], self.env | env)
        assert done.returncode == 1
        return (done.stdout + done.stderr).splitlines()

    def manage(self, *words: str) -> str:
        done = forked_commands.run(["manage.py", *words], self.env)
        done.check_returncode()
        return done.stdout

    def tables(self) -> dict[str, list[str]]:
        """Every row of every table, as text."""
        url = self.env.get("DATABASE_URL", "")
        return _rows_on_postgresql(url) if url else _rows_on_sqlite(self.folder / "data")

    def is_up(self) -> bool:
        with contextlib.suppress(httpx2.TransportError):
            return httpx2.get(f"{self.url}/health", timeout=2).status_code == 200
        return False

    def listens(self) -> bool:
        with contextlib.suppress(OSError):
            socket.create_connection(("127.0.0.1", int(self.env["PORT"])), 2).close()
            return True
        return False

    def processes(self) -> dict[int, str]:
        """All that carry the marker, but for the one that ends a moment after its parent.

        multiprocessing's resource tracker reads a pipe of the starter's until that closes, so it
        may still be there when the starter has ended.
        """
        carrying = checkout.carrying(self.marker)
        return {pid: words for pid, words in carrying.items() if "resource_tracker" not in words}

    def workers(self) -> list[int]:
        """The worker and then the processes of its lanes; empty until all are there."""
        found = [pid for pid, words in self.processes().items() if "\0worker\0" in words]
        if len(found) != 3:
            return []
        # Process ids wrap around, so the younger one may be smaller.
        return sorted(found, key=lambda pid: checkout.parent_of(pid) in found)


def wait_until(true: Callable[[], Any]) -> Any:
    """What `true` returns once it is something; fails the test when it never is."""
    return wait_within(TIMEOUT, true) or pytest.fail(f"still not {true}")


def wait_within(seconds: float, true: Callable[[], Any]) -> Any:
    """The same, and nothing when the time has passed."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := true():
            return found
        time.sleep(0.1)
    return None


def _rows_on_sqlite(folder: Path) -> dict[str, list[str]]:
    with contextlib.closing(sqlite3.connect(folder / "halo.sqlite3", timeout=20)) as database:
        found = database.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
        return {
            name: sorted(map(repr, database.execute(f'SELECT * FROM "{name}"')))  # noqa: S608  the schema's own
            for (name,) in found
        }


def _rows_on_postgresql(url: str) -> dict[str, list[str]]:
    with psycopg.connect(url) as database:
        found = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        query = sql.SQL("SELECT row::text FROM {} AS row ORDER BY 1")
        return {
            name: [text for (text,) in database.execute(query.format(sql.Identifier(name)))]
            for (name,) in found.fetchall()
        }
