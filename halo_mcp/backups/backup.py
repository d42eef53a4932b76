"""Writes a back-up of this deployment, which can be read by its owner only."""

import json
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from django.conf import settings
from django.db import connection
from django.utils import timezone

from foundation import sealing
from foundation.version import VERSION
from halo_mcp import data_folder
from halo_mcp.backups import archive, databases
from halo_mcp.backups.archive import ArchiveWriter, Manifest

READ_BYTES: Final = 1024 * 1024
Say = Callable[[str], object]


class BackupRefused(Exception):
    """A back-up cannot be written to this file; the message is for the operator."""


def write(path: Path, passphrase: str | None, say: Say) -> Manifest:
    """Writes a back-up to a new file; with a passphrase it is encrypted and has the keys.

    The file has its name only once it was read again. Raises BackupRefused or DatabaseNotCopied.
    """
    _require_place(path)
    # Next to it, where there is room for it: the folder of temporary files may be in memory.
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as folder:
        unfinished = Path(folder) / "archive"
        unfinished.touch(mode=0o600)
        with unfinished.open("wb") as file:
            with archive.open_writer(file, passphrase) as writer:
                writer.finish(_add_contents(writer, Path(folder), has_keys=bool(passphrase)))
            file.flush()
            os.fsync(file.fileno())
        say("Written. Reading it again...")
        manifest = archive.verify(unfinished, passphrase)
        _require_place(path)
        unfinished.rename(path)
    return manifest


def _require_place(path: Path) -> None:
    if path.exists():
        raise BackupRefused(f"{path} exists: choose another name.")
    if not path.parent.is_dir():
        raise BackupRefused(f"{path.parent} is no folder.")
    if path.resolve().is_relative_to(settings.HALO_DATA_DIR):
        raise BackupRefused(f"{path} is in the data folder: choose a place outside of it.")


def _add_contents(writer: ArchiveWriter, scratch: Path, *, has_keys: bool) -> Manifest:
    created_at = timezone.now().isoformat()
    # In this order: a restore replaces the keys last, when nothing else can fail.
    with databases.dump(scratch) as dump:
        writer.add(archive.DATABASE, dump.data)
    folder = settings.HALO_DATA_DIR
    for file in data_folder.find_other_files(folder, settings.DATABASES["default"]):
        writer.add(f"{archive.FILES}{file.relative_to(folder).as_posix()}", _read(file))
    if has_keys:
        keys = {"secret": settings.SECRET_KEY, "sealing": [*settings.HALO_SEALING_KEYS]}
        writer.add(archive.KEYS, [json.dumps(keys).encode()])
    return Manifest(
        version=VERSION,
        created_at=created_at,
        engine=connection.vendor,
        migrations=dump.migrations,
        rows=dump.rows,
        sealing_keys=sealing.key_ids(),
        has_keys=has_keys,
        contents=writer.contents,
    )


def _read(path: Path) -> Iterator[bytes]:
    try:
        with path.open("rb") as file:
            while piece := file.read(READ_BYTES):
                yield piece
    except FileNotFoundError:
        return  # removed since the folder was listed
