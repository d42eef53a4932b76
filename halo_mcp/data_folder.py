"""Who may read the files of the data folder: the user that the server runs as."""

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from halo_mcp import key_files, served_address

# Nobody but the owner may read or write what a process creates.
UMASK: Final = 0o077
FOLDERS: Final = ("broker", "broker-control", "notices")
FILES: Final = (
    "beat-schedule*",
    f"{served_address.FILE}*",
    key_files.SECRET_KEY,
    key_files.SEALING_KEY,
)


def restrict_new_files() -> None:
    """Makes every file that this process and its children create readable by their owner only."""
    os.umask(UMASK)


def restrict_files(folder: Path, database: Mapping[str, Any]) -> None:
    """Takes the rights of others away from files that an earlier version created.

    `database` is one of Django's settings. Only files of the product are changed: others may use
    the folder as well. Files of another owner stay as they are.
    """
    for path in _find_own_files(folder, database):
        with suppress(PermissionError, FileNotFoundError):
            mode = path.stat().st_mode
            if mode & UMASK:
                path.chmod(mode & ~UMASK & 0o7777)


def _find_own_files(folder: Path, database: Mapping[str, Any]) -> Iterator[Path]:
    yield from (folder / name for name in FOLDERS)
    for pattern in FILES:
        yield from folder.glob(pattern)
    yield from find_database_files(database)


def find_other_files(folder: Path, database: Mapping[str, Any]) -> Iterator[Path]:
    """Yields the files of the data folder that are no part of database, keys, queue and schedule.

    Symbolic links are not followed.
    """
    own = {*_find_own_files(folder, database)}
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and own.isdisjoint([path, *path.parents]):
            yield path


def find_database_files(database: Mapping[str, Any]) -> Iterator[Path]:
    """Yields the file of a SQLite database, its journals and its copies."""
    if database["ENGINE"].endswith("sqlite3"):
        path = Path(str(database["NAME"]))
        yield from path.parent.glob(f"{path.name}*")
        yield from path.parent.glob(f"{path.stem}.before-*")
