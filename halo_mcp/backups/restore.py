"""Replaces database, files and keys with those of a back-up, and proves that they can be used."""

import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from foundation import sealing
from halo_mcp import bootstrap, key_files
from halo_mcp.backups import archive, databases
from halo_mcp.backups.archive import Manifest
from halo_mcp.backups.backup import Say

NAMED: Final = 3  # of migrations and tables


class RestoreRefused(Exception):
    """A back-up does not fit this deployment; nothing was changed. The message says why."""


class RestoreIncomplete(Exception):
    """A back-up was restored, and something in it cannot be used."""


def check(path: Path, passphrase: str | None) -> Manifest:
    """Reads a whole back-up and compares it with its manifest and with this version.

    Raises UnusableArchive or RestoreRefused.
    """
    manifest = archive.verify(path, passphrase)
    unknown = sorted({*manifest.migrations} - _known_migrations())
    if unknown:
        raise RestoreRefused(
            f"The back-up is of version {manifest.version}, with migrations that this version does "
            f"not have ({_join_names(unknown)}). Restore it with that version."
        )
    if manifest.engine != connection.vendor:
        raise RestoreRefused(
            f"The back-up is of a database of {manifest.engine}, and DATABASE_URL names one of "
            f"{connection.vendor}."
        )
    return manifest


def restore(path: Path, passphrase: str | None, *, may_replace: bool, say: Say) -> None:
    """Restores a back-up in place of what is there, then proves it.

    A database with data is replaced only if `may_replace`. Raises UnusableArchive, RestoreRefused,
    DatabaseNotCopied or RestoreIncomplete.
    """
    manifest = check(path, passphrase)
    say(f"Back-up of {manifest.created_at}, version {manifest.version}: checksums are right.")
    _require_keys(manifest)
    is_in_use = key_files.is_in_use(settings.DATABASES["default"])
    if is_in_use and not may_replace:
        raise RestoreRefused(
            "The database has data. Repeat the command with --replace to replace all of it."
        )
    databases.require_unused()
    for name, data in archive.read(path, passphrase):
        if name == archive.DATABASE:
            kept = databases.load(data)
            say(f"The database is restored.{f' The one before is {kept}.' if kept else ''}")
        elif name.startswith(archive.FILES):
            _restore_file(archive.file_path(name, settings.HALO_DATA_DIR), data)
        elif name == archive.KEYS:
            _restore_keys(archive.parse_keys(data), say, is_in_use=is_in_use)
    _prove(manifest, say)


def _require_keys(manifest: Manifest) -> None:
    """Raises RestoreRefused unless the key that sealed the values of a back-up will be used."""
    needed = manifest.sealing_keys[0]
    if needed in sealing.key_ids():
        return
    file = settings.HALO_DATA_DIR / key_files.SEALING_KEY
    if not manifest.has_keys:
        raise RestoreRefused(
            f"The back-up has no keys, and its sealing key {needed} is not here. Restore the file "
            f"{file}, or set HALO_SEALING_KEYS, then repeat the command."
        )
    if not settings.SEALING_KEY_IS_GENERATED:
        raise RestoreRefused(
            f"HALO_SEALING_KEYS does not have the key {needed} of this back-up. Unset it for this "
            f"command: the keys of the back-up are then written to {settings.HALO_DATA_DIR}."
        )


def _known_migrations() -> set[str]:
    loader = MigrationLoader(None, ignore_no_migrations=True)
    found = {*loader.disk_migrations}
    for migration in loader.disk_migrations.values():
        found.update(migration.replaces)
    return {f"{app}.{name}" for app, name in found}


def _restore_file(path: Path, data: Iterable[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.restoring")
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)
    with fresh.open("wb") as file:
        for piece in data:
            file.write(piece)
    fresh.replace(path)


def _restore_keys(keys: archive.Keys, say: Say, *, is_in_use: bool) -> None:
    folder = settings.HALO_DATA_DIR
    files = {
        key_files.SECRET_KEY: ([keys.secret], settings.SECRET_KEY_IS_GENERATED),
        key_files.SEALING_KEY: (keys.sealing, settings.SEALING_KEY_IS_GENERATED),
    }
    for name, (secrets, is_file) in files.items():
        path = folder / name
        if not is_file:
            say(f"{key_files.VARIABLES[name]} is set, and is used instead of the one restored.")
            continue
        if is_in_use and path.exists():
            path.replace(path.with_name(f"{name}{databases.BEFORE_RESTORE}"))
        key_files.replace(path, secrets)
        say(f"The key is restored: {path}.")


def _prove(manifest: Manifest, say: Say) -> None:
    """Raises RestoreIncomplete unless the database has what the manifest says, and it opens."""
    migrations, rows = databases.read_state()
    differing = [
        name for name in {*rows, *manifest.rows} if rows.get(name) != manifest.rows.get(name)
    ]
    if migrations != manifest.migrations or differing:
        raise RestoreIncomplete(
            f"The database is not the one of the back-up: {_join_names(differing)}."
        )
    say(f"{len(rows)} tables with {sum(rows.values())} rows, as in the back-up.")
    _prove_sealed_values(say)
    try:
        missing = bootstrap.missing_migrations()
    except ImproperlyConfigured as refused:
        raise RestoreIncomplete(str(refused)) from refused
    connection.close()
    if missing:
        say(f"It lacks {len(missing)} migrations of this version: run ./run manage bootstrap.")


def _prove_sealed_values(say: Say) -> None:
    # As the next start does: with the settings of the environment and the restored files.
    manage = str(settings.BASE_DIR / "manage.py")
    connection.close()
    done = subprocess.run(  # noqa: S603  words of ours
        [sys.executable, manage, "reseal", "--check"], capture_output=True, text=True, check=False
    )
    for line in (done.stdout + done.stderr).splitlines():
        say(line)
    if done.returncode:
        raise RestoreIncomplete("Not every sealed value can be decrypted: the lines above say why.")


def _join_names(names: list[str]) -> str:
    return ", ".join(sorted(names)[:NAMED]) + ", ..." * (len(names) > NAMED)
