"""Installs what a client is, from its lock file, into a folder that no other client uses."""

import hashlib
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Final

from tests.clients.matrix import FOLDER, LEAST_NODE
from tests.drivers import node
from tests.drivers.server import ROOT

DAILY: Final = FOLDER / "daily"
LOCKS: Final = DAILY / "python" / "locks"
ENVIRONMENTS: Final = ROOT / ".venv-clients"
STAMP: Final = ".halo"
_turn: Final = threading.Lock()


class NotInstalled(Exception):
    """The packages of a lock file could not be installed; the message is the installer's."""


def python(lock: str) -> str:
    """The interpreter of an environment with the packages of a lock. Raises NotInstalled."""
    file, folder = LOCKS / f"{lock}.txt", ENVIRONMENTS / lock
    interpreter = folder / "bin" / "python"
    # One at a time: each takes what there is of processors and network.
    with _turn:
        if not _is_installed(folder / STAMP, file):
            shutil.rmtree(folder, ignore_errors=True)
            _run(sys.executable, "-m", "venv", str(folder))
            _fill(interpreter, file)
            _stamp(folder / STAMP, file)
    return str(interpreter)


def _fill(interpreter: Path, lock: Path) -> None:
    words = ["--quiet", "--no-deps", "--require-hashes", "-r", str(lock)]
    if uv := shutil.which("uv"):
        _run(uv, "pip", "install", "--python", str(interpreter), *words)
        _run(uv, "pip", "check", "--quiet", "--python", str(interpreter))
        return
    pip = [str(interpreter), "-m", "pip", "--disable-pip-version-check"]
    _run(*pip, "install", *words)
    _run(*pip, "check")


def node_packages(folder: Path) -> Path:
    """The node_modules of a folder, exactly as its lock says. Raises NotInstalled."""
    file, packages = folder / "package-lock.json", folder / "node_modules"
    with _turn:
        if not _is_installed(packages / STAMP, file):
            _run("npm", "ci", "--loglevel=error", "--no-progress", cwd=folder)
            _stamp(packages / STAMP, file)
    return packages


def node_program() -> str:
    return node.program(*LEAST_NODE)


def _run(*words: str, cwd: Path = ROOT) -> None:
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        raise NotInstalled((done.stderr or done.stdout).strip()[-2000:])


def _is_installed(stamp: Path, lock: Path) -> bool:
    return stamp.exists() and stamp.read_text(encoding="utf-8") == _digest(lock)


def _stamp(stamp: Path, lock: Path) -> None:
    stamp.write_text(_digest(lock), encoding="utf-8")


def _digest(lock: Path) -> str:
    return hashlib.sha256(lock.read_bytes()).hexdigest()


def python_version(lock: str, package: str) -> str:
    text = (LOCKS / f"{lock}.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{re.escape(package)}(?:\[[^]]*\])?==([^\s;]+)", text, re.MULTILINE)
    assert found, f"{lock}.txt does not pin {package}"
    return found[1]


def node_version(folder: Path, package: str) -> str:
    document = json.loads((folder / "package-lock.json").read_text(encoding="utf-8"))
    return str(document["packages"][f"node_modules/{package}"]["version"])
