"""The machine of a measurement, without names of hosts, users or folders."""

import os
import platform
import shutil
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Final

GIBIBYTE: Final = 1 << 30
OURS: Final = ("django", "uvicorn", "uvloop", "httptools", "psycopg", "redis")


def described(folder: Path) -> dict[str, str]:
    """Processor, memory, kernel, and the file system that the databases are on."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / GIBIBYTE
    return {
        "processors": f"{os.cpu_count()} x {_processor()}",
        "memory": f"{memory:.0f} GiB",
        "kernel": f"{platform.system()} {platform.release()}",
        "file system": _file_system(folder),
    }


def versions() -> dict[str, str]:
    """Of the interpreter, and of what our server runs on."""
    found = {f"ours: {name}": metadata.version(name) for name in OURS}
    return {"Python": platform.python_version(), **found}


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _file_system(folder: Path) -> str:
    program = shutil.which("stat")
    if program is None:
        return "unknown"
    said = subprocess.run(  # noqa: S603  every word is ours
        [program, "--file-system", "--format=%T", str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout.strip() or "unknown"
