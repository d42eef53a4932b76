"""The servers of other houses, which run in an environment of their own."""

import ast
import re
import sys
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT

PEERS = sorted((ROOT / "bench" / "peers").glob("*.py"))
LOCKED = re.compile(r"^([a-z0-9-]+)==", re.MULTILINE)


def imported_packages(path: Path) -> set[str]:
    tree = ast.parse(path.read_text())
    found = {
        each.name for node in ast.walk(tree) if isinstance(node, ast.Import) for each in node.names
    }
    found |= {str(node.module) for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    return {name.partition(".")[0] for name in found}


@pytest.mark.parametrize("path", PEERS, ids=lambda path: path.stem)
def test_a_peer_imports_what_its_environment_has(path: Path) -> None:
    locked = set(LOCKED.findall((ROOT / "bench" / "requirements.txt").read_text()))
    own = {path.name for path in ROOT.iterdir()} | {peer.stem for peer in PEERS}

    assert {
        name.replace("_", "-") for name in imported_packages(path) - own - sys.stdlib_module_names
    } <= locked
