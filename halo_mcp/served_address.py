"""The address that the server of a data folder is reached at, in a file of that folder.

A command starts in another shell than the server, often without the server's PORT, and prints
addresses of it.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from halo_mcp import env

FILE: Final = "served-address"
# Variables that decide the address of this process.
DECIDING: Final = ("HALO_PUBLIC_URL", "HOST", "PORT")
# Commands that serve: they decide the address, and do not read what an earlier server has written.
SERVING: Final = frozenset({"up"})
MAX_CHARACTERS: Final = 300


def write(folder: Path, url: str) -> None:
    """Stores the address of the server that begins to serve."""
    new = folder / f"{FILE}.new"
    new.write_text(f"{url}\n", encoding="ascii")
    new.replace(folder / FILE)


def adopt(arguments: Sequence[str], default_folder: Path) -> None:
    """Sets HALO_PUBLIC_URL for a command to the address that was served last.

    Nothing is set where a variable of this process decides the address, and for an address that is
    not this computer's own: a deployment has its settings in the environment of its commands.
    """
    is_serving = not SERVING.isdisjoint(arguments[:1])
    if is_serving or any(os.environ.get(name, "").strip() for name in DECIDING):
        return
    named = os.environ.get("HALO_DATA_DIR", "").strip()
    with suppress(OSError, ValueError):
        with (Path(named or default_folder) / FILE).open(encoding="ascii") as file:
            url = file.read(MAX_CHARACTERS).strip()
        parts = urlsplit(url)
        host = env.bracket_host(parts.hostname or "")
        if parts.scheme == "http" and host and parts.port and env.is_loopback(host):
            os.environ["HALO_PUBLIC_URL"] = f"http://{host}:{parts.port}"
