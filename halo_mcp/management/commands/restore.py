"""manage.py restore: a back-up in place of what is there."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from halo_mcp.backups import archive, passphrases, restore
from halo_mcp.backups.archive import UnusableArchive
from halo_mcp.backups.databases import DatabaseNotCopied
from halo_mcp.backups.passphrases import NoPassphrase
from halo_mcp.backups.restore import RestoreIncomplete, RestoreRefused


class Command(BaseCommand):
    help = (
        "Restore the back-up FILE, and check that all of it can be used. Stop the server and the "
        "worker first."
    )
    requires_system_checks = []  # there may be no database yet

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--passphrase-file", help="where the passphrase is; it is asked for")
        parser.add_argument(
            "--replace", action="store_true", help="replace a database that has data"
        )
        parser.add_argument(
            "--check", action="store_true", help="read and check the file only; change nothing"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        path = options["file"]
        try:
            is_encrypted = archive.has_passphrase(path)
            passphrase = passphrases.read(options["passphrase_file"]) if is_encrypted else None
            if options["check"]:
                manifest = restore.check(path, passphrase)
                self.stdout.write(
                    f"The back-up is complete: {manifest.created_at}, version {manifest.version}, "
                    f"{manifest.engine}, {sum(manifest.rows.values())} rows."
                )
                return
            replace = options["replace"]
            restore.restore(path, passphrase, may_replace=replace, say=self.stdout.write)
        except UnusableArchive as error:
            raise CommandError(f"{path} cannot be restored. {error}") from error
        except (DatabaseNotCopied, NoPassphrase, RestoreRefused) as error:
            raise CommandError(f"The database was not changed. {error}") from error
        except RestoreIncomplete as error:
            raise CommandError(f"Restored, but it cannot be used as it is. {error}") from error
        except OSError as error:
            raise CommandError(f"{path} was not restored: {error}") from error
        self.stdout.write("Restored.")
