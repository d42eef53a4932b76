"""A folder that looks like a clone to `./run`, with programs of our own on its PATH.

Installing for real takes a network and a minute; what `./run` decides and says does not.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# All that `./run` itself calls; everything else has to be put on the PATH by the test.
TOOLS = ("sh", "env", "cat", "cksum", "dirname", "sed", "mkdir", "cp", "chmod", "touch")
NODE_FOLDERS = ("tests/clients", "tests/conformance")
NEW_PYTHON = """
case "$*" in
    *sys.version_info*) exit 0 ;;
    *"import venv"*) exit 0 ;;
    "-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
    *) printf '%s\\n' "$*" >> calls ;;
esac
"""


@dataclass
class Checkout:
    """The folder, and what each program in it was called with."""

    folder: Path
    tools: Path
    env: dict[str, str] = field(default_factory=dict)

    def program(self, name: str, script: str) -> None:
        """Put a program on the PATH; `script` is its body in sh."""
        write_program(self.tools / name, script)

    def run(
        self, *words: str, user: str | None = None, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [self.folder / "run", *words],
            cwd="/",
            env={"PATH": str(self.tools)} | dict(env or {}),
            user=user,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    @property
    def calls(self) -> list[str]:
        """The command lines that reached a fake program, oldest first; read once."""
        path = self.folder / "calls"
        found = path.read_text().splitlines() if path.exists() else []
        path.unlink(missing_ok=True)
        return found


def make(folder: Path) -> Checkout:
    """A clone without an environment, and a PATH without a Python."""
    clone, tools = folder / "a clone", folder / "tools"
    tools.mkdir()
    shutil.copytree(ROOT / "requirements", clone / "requirements")
    shutil.copy2(ROOT / "run", clone / "run")
    for packages in NODE_FOLDERS:
        (clone / packages).mkdir(parents=True)
        shutil.copy2(ROOT / packages / "package-lock.json", clone / packages)
    for name in TOOLS:
        (tools / name).symlink_to(str(shutil.which(name)))
    return Checkout(clone, tools)


def write_program(path: Path, script: str) -> None:
    path.write_text(f"#!{shutil.which('sh')}\n{script}\n")
    path.chmod(0o755)


def carrying(marker: str) -> dict[int, str]:
    """The processes whose environment holds `marker`, with their command lines.

    Found by what they inherited and not by their parent: an orphan counts.
    """
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if marker.encode() in (entry / "environ").read_bytes():
                found[int(entry.name)] = (entry / "cmdline").read_bytes().decode()
        except OSError:
            continue  # ended meanwhile, or not ours to look at
    return found


def parent_of(process: int) -> int:
    """Its parent's number, or 0 when it has ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text()
    except OSError:
        return 0
    # The name in brackets may hold anything (proc_pid_stat(5)).
    return int(state.rpartition(")")[2].split()[1])


def kill_what_is_left(marker: str) -> None:
    for process in carrying(marker):
        with suppress(ProcessLookupError):  # ended meanwhile, as a starter's children do
            os.kill(process, signal.SIGKILL)
