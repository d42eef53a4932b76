"""Stores the outcomes of what cannot be done again, whatever happens to the database meanwhile.

A request was sent to another server, or the rows of a change are committed: the outcome is known
now, and only this process knows it. It is written at once; if the connection fails, over new ones
for a few seconds; and where the database stays away, to a file of the data folder, which is written
to the database later. Entries are sealed, because results are personal data.
"""

import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeAlias

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

from foundation import ids, sealing

log = structlog.get_logger(__name__)

Entry: TypeAlias = Mapping[str, Any]
# Writes an entry. The same entry may be written twice: when the connection fails, nobody knows
# whether the statement was executed.
Write: TypeAlias = Callable[[Entry], None]

FOLDER: Final = "journal"
ENTRY: Final = ".entry"
# An entry that no later attempt can write either; kept for the operator.
REFUSED: Final = ".refused"
FOLDER_MODE: Final = 0o700
FILE_MODE: Final = 0o600
# Before each further attempt, in seconds; together as long as a restart of PostgreSQL may take.
PAUSES: Final = (0.05, 0.2, 0.5, 1.0, 1.5)
RETRIED_FOR: Final = 3.5
UNAVAILABLE: Final = (InterfaceError, OperationalError)

_writes: Final[dict[str, Write]] = {}
# Set while this process has kept entries that it may write with the next outcome.
_has_kept: Final = threading.Event()


class NotStored(OperationalError):
    """Neither the database nor the data folder took an entry."""


def bind(kind: str, write: Write) -> None:
    """Registers what writes the entries of a kind; called at start-up."""
    _writes[kind] = write


def store(kind: str, entry: Entry) -> None:
    """Writes an entry, JSON that `bind` has a write for, or keeps it until it can be written.

    Raises NotStored, and what the write itself raises besides a failure of the database.
    """
    try:
        _write_persistently(kind, entry)
    except UNAVAILABLE as error:
        _keep(kind, entry, error)
        return
    if _has_kept.is_set():
        _has_kept.clear()
        replay()


def replay() -> int:
    """Writes the entries that were kept, oldest first; returns how many.

    Any process may do so at any time. What still cannot be written stays.
    """
    written = 0
    for file in _files():
        try:
            written += _replay_file(file)
        except UNAVAILABLE as error:
            log.warning("journal_waits", error=type(error).__name__)
            _has_kept.set()
            break
    return written


def _write_persistently(kind: str, entry: Entry) -> None:
    """Raises the failure of the database that lasts."""
    until = time.monotonic() + RETRIED_FOR
    for pause in PAUSES:
        try:
            return _writes[kind](entry)
        except UNAVAILABLE as error:
            if connection.in_atomic_block or time.monotonic() >= until:
                raise
            log.warning("outcome_written_again", kind=kind, error=type(error).__name__)
            connection.close()
            time.sleep(pause)
    return _writes[kind](entry)


def _keep(kind: str, entry: Entry, error: Exception) -> None:
    name = ids.uuid7_hex()
    content = json.dumps({"kind": kind, "entry": entry}).encode()
    try:
        folder = _folder()
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        _write_file(folder / f"{name}{ENTRY}", sealing.seal(content, context=_context(name)))
    except OSError as failed:
        log.exception("outcome_not_stored", kind=kind, failure=str(failed.strerror))
        raise NotStored from error
    _has_kept.set()
    log.warning("outcome_kept_in_journal", kind=kind, file=name, error=type(error).__name__)


def _write_file(path: Path, content: bytes) -> None:
    """Writes a file that is there as a whole or not at all, also after a power cut."""
    scratch = path.with_suffix(".part")
    with open(scratch, "wb", opener=_open_for_owner) as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    scratch.rename(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _open_for_owner(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_EXCL, FILE_MODE)


def _files() -> Iterator[Path]:
    """The kept entries, oldest first: their names begin with the time."""
    folder = _folder()
    if folder.is_dir():
        yield from sorted(folder.glob(f"*{ENTRY}"))


def _replay_file(file: Path) -> bool:
    """Returns whether the entry was written. Raises the failure of the database."""
    try:
        opened = sealing.unseal(file.read_bytes(), context=_context(file.stem))
        kept = json.loads(opened)
        _writes[kept["kind"]](kept["entry"])
    except FileNotFoundError:
        return False  # another process has written it
    except UNAVAILABLE:
        raise
    except Exception:  # the entries behind it are written all the same
        log.exception("journal_entry_refused", file=file.stem)
        file.replace(file.with_suffix(REFUSED))
        return False
    file.unlink(missing_ok=True)
    return True


def _folder() -> Path:
    return Path(settings.HALO_DATA_DIR) / FOLDER


def _context(name: str) -> bytes:
    return f"journal:{name}".encode()
