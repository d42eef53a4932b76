"""The Python environment of the peers, created once from bench/requirements.txt."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from bench.scratch import ROOT
from bench.stores import Missing

LOCK: Final = ROOT / "bench" / "requirements.txt"
FOLDER: Final = ROOT / ".venv-bench"
STAMP: Final = FOLDER / ".halo-lock"


def python() -> Path:
    """The interpreter of the peers, installed first where it is not what the lock says.

    Raises Missing when it cannot be.
    """
    interpreter = FOLDER / "bin" / "python"
    wanted = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    if not STAMP.exists() or STAMP.read_text() != wanted:
        sys.stderr.write("run: installing bench/requirements.txt (once)\n")
        _install(interpreter)
        STAMP.write_text(wanted)
    return interpreter


def versions(interpreter: Path) -> dict[str, str]:
    """What is installed there, of what a reader of the figures asks for."""
    names = ("mcp", "fastmcp", "uvicorn", "uvloop", "psycopg", "redis")
    asked = "import importlib.metadata as m, sys; print(*map(m.version, sys.argv[1:]))"
    said = subprocess.run(  # noqa: S603  every word is ours
        [interpreter, "-c", asked, *names], capture_output=True, text=True, check=True
    )
    found = zip(names, said.stdout.split(), strict=True)
    return {f"peers: {name}": version for name, version in found}


def _install(interpreter: Path) -> None:
    # From nothing: what an older lock left behind would stay importable.
    shutil.rmtree(FOLDER, ignore_errors=True)
    _run("make .venv-bench", [sys.executable, "-m", "venv", str(FOLDER)])
    uv = shutil.which("uv")
    if uv:
        install = [uv, "pip", "install", "--quiet", "--python", str(interpreter)]
        install += ["--compile-bytecode"]
    else:
        install = [str(interpreter), "-m", "pip", "install", "-qq"]
        install += ["--disable-pip-version-check"]
    _run(
        "install bench/requirements.txt",
        [*install, "--no-deps", "--require-hashes", "-r", str(LOCK)],
    )
    _run("verify .venv-bench", [str(interpreter), "-m", "pip", "check"])


def _run(what: str, command: list[str]) -> None:
    done = subprocess.run(  # noqa: S603  every word is ours
        command, stdout=sys.stderr, check=False
    )
    if done.returncode:
        raise Missing(f"could not {what}.")
