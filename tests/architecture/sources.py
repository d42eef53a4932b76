"""The project's own files, read once."""

import ast
import functools
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = (
    "halo_mcp",
    "foundation",
    "mcp_protocol",
    "workspace",
    "customers",
    "knowledge",
    "audit",
    "documentation",
    "oauth",
    "tools_registry",
    "data_tools",
    "integrations",
    "approvals",
    "gateway",
    "people",
    "agents",
    "ingestion",
    "rest",
    "console",
    "retrieval",
    "aap_conformance",
)
# Made by tools on this machine, and part of no commit.
MADE = {
    ".git",
    ".venv",
    "var",
    "__pycache__",
    ".pytest_cache",
    ".mypy_cache",
    ".ruff_cache",
    ".hypothesis",
    ".import_linter_cache",
    "htmlcov",
    "node_modules",
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


@functools.cache
def modules() -> dict[str, ast.Module]:
    """The product's modules but for migrations, by path from the root."""
    paths = (path for package in PACKAGES for path in (ROOT / package).rglob("*.py"))
    return {
        str(path.relative_to(ROOT)): ast.parse(path.read_text(encoding="utf-8"))
        for path in sorted(paths)
        if "migrations" not in path.parts
    }


def functions() -> Iterator[tuple[str, Function]]:
    """Every function of the product with its place, those inside others too."""
    for path, tree in modules().items():
        for node in ast.walk(tree):
            if isinstance(node, Function):
                yield f"{path}:{node.lineno} {node.name}", node


@functools.cache
def files() -> tuple[Path, ...]:
    """Every file that a clone of this tree would hold, and nothing that tools left next to it."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        check=False,
    )
    if listed.returncode == 0 and listed.stdout:
        names = listed.stdout.decode().rstrip("\0").split("\0")
        return tuple(path for name in names if (path := ROOT / name).is_file())
    return tuple(_files_of_folder(ROOT))


def _files_of_folder(folder: Path) -> Iterator[Path]:
    # An archive without its history has no git to ask.
    for path in folder.iterdir():
        if path.name in MADE:
            continue
        if path.is_dir():
            yield from _files_of_folder(path)
        else:
            yield path


@functools.cache
def texts() -> tuple[tuple[str, str], ...]:
    """Every file that is text, by path from the root."""
    contents = ((path, path.read_bytes()) for path in files())
    return tuple(
        (str(path.relative_to(ROOT)), data.decode()) for path, data in contents if b"\0" not in data
    )
