"""manage.py backup: database, files and keys in one file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from halo_mcp.backups import backup, passphrases
from halo_mcp.backups.archive import UnusableArchive
from halo_mcp.backups.backup import BackupRefused
from halo_mcp.backups.databases import DatabaseNotCopied
from halo_mcp.backups.passphrases import NoPassphrase


class Command(BaseCommand):
    help = (
        "Write the database, the files of the data folder and the keys to FILE, encrypted with a "
        "passphrase. The server may run meanwhile."
    )
    requires_system_checks = []  # a back-up needs no valid deployment

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path, help="a file that does not exist yet")
        parser.add_argument("--passphrase-file", help="where the passphrase is; it is asked for")
        parser.add_argument(
            "--without-keys",
            action="store_true",
            help="do not encrypt, and leave the keys out: they have to be stored elsewhere",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        if options["without_keys"] and options["passphrase_file"]:
            raise CommandError("A back-up without keys has no passphrase.")
        try:
            passphrase = (
                None if options["without_keys"] else passphrases.choose(options["passphrase_file"])
            )
            manifest = backup.write(options["file"], passphrase, self.stdout.write)
        except (BackupRefused, DatabaseNotCopied, NoPassphrase, UnusableArchive) as error:
            raise CommandError(f"No back-up was written. {error}") from error
        except OSError as error:
            raise CommandError(f"No back-up was written: {error}") from error
        size = options["file"].stat().st_size / 1_000_000
        rows = sum(manifest.rows.values())
        self.stdout.write(
            f"{options['file']}: {size:.1f} MB, {rows} rows, version {manifest.version}"
        )
        if manifest.has_keys:
            self.stdout.write("It has the keys. Store the passphrase elsewhere.")
        else:
            self.stdout.write(
                "It has no keys, and is not encrypted. Store the sealing key "
                f"{manifest.sealing_keys[0]} and the secret key elsewhere."
            )
