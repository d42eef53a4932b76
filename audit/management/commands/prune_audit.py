"""manage.py prune_audit: deletes old audit rows now, as the nightly task does."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from audit import retention


class Command(BaseCommand):
    help = (
        "Delete audit rows and security events older than HALO_AUDIT_RETENTION_DAYS. "
        "Safe to stop and to run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="print how many rows are due, and delete none"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        for table in retention.TABLES:
            name = table._meta.verbose_name_plural
            if options["dry_run"]:
                self.stdout.write(f"{name}: {retention.due(table).count()} due")
            else:
                self.stdout.write(f"{name}: {sum(retention.prune_table(table))} deleted")
