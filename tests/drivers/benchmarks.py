"""Runs a benchmark as `./run bench NAME` does."""

import os
import subprocess
import sys

from bench import harness
from tests.drivers.server import ROOT, migrated_on_sqlite

SECONDS = 300


def bench(name: str, *words: str, **settings: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", f"bench.{name}", *words],
        cwd=ROOT,
        env={**os.environ, **settings},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def short_run(name: str, *words: str) -> subprocess.CompletedProcess[str]:
    """One that measures something, on tables that need not be made."""
    return bench(name, *words, **{harness.TABLES: str(migrated_on_sqlite())})
