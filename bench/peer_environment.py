"""The servers of other projects, in an environment made once from bench/requirements.txt."""

import hashlib
import shutil
import subprocess
import sys
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Final

from bench.servers import ROOT, Server, serve_uvicorn
from bench.stores import Missing

LOCK: Final = ROOT / "bench" / "requirements.txt"
FOLDER: Final = ROOT / ".venv-bench"
STAMP: Final = FOLDER / ".halo-lock"


def serve(
    factory: str, processes: int, folder: Path, environment: Mapping[str, str]
) -> AbstractContextManager[Server]:
    """A server of bench/peers. Raises Missing or Unready."""
    peers = ["--app-dir", str(ROOT / "bench" / "peers"), "--workers", str(processes)]
    return serve_uvicorn(_python(), [*peers, "--factory", factory], folder, environment)


def _python() -> Path:
    """The interpreter of the peers, installed first where it is not what the lock says."""
    interpreter = FOLDER / "bin" / "python"
    wanted = hashlib.sha256(LOCK.read_bytes() + sys.version.encode()).hexdigest()
    if not STAMP.exists() or STAMP.read_text() != wanted:
        sys.stderr.write("run: installing bench/requirements.txt (once)\n")
        _install(str(interpreter))
        STAMP.write_text(wanted)
    return interpreter


def _install(interpreter: str) -> None:
    # From nothing: packages of an older lock would stay importable.
    shutil.rmtree(FOLDER, ignore_errors=True)
    _run("make .venv-bench", sys.executable, "-m", "venv", str(FOLDER))
    install = [interpreter, "-m", "pip", "install", "-qq", "--disable-pip-version-check"]
    if uv := shutil.which("uv"):
        install = [uv, "pip", "install", "-q", "--compile-bytecode", "--python", interpreter]
    lock = ["--no-deps", "--require-hashes", "-r", str(LOCK)]
    _run("install bench/requirements.txt", *install, *lock)
    _run("verify .venv-bench", interpreter, "-m", "pip", "check")


def _run(purpose: str, *command: str) -> None:
    done = subprocess.run(command, stdout=sys.stderr, check=False)  # noqa: S603  every word is ours
    if done.returncode:
        raise Missing(f"could not {purpose}.")
