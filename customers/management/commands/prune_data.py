"""manage.py prune_data: deletes data older than its retention period, as the nightly task does."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from customers.privacy import retention


class Command(BaseCommand):
    help = (
        "Delete data that is older than its HALO_RETENTION_... setting, such as events, tickets "
        "and requests for approval. Safe to stop and to run again."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="print how many rows are due, and delete none"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        for kind in retention.list_kinds():
            if not retention.days_of(kind):
                self.stdout.write(f"{kind.name}: kept, {kind.setting} is 0")
            elif options["dry_run"]:
                self.stdout.write(f"{kind.name}: {retention.due(kind).count()} due")
            else:
                self.stdout.write(f"{kind.name}: {sum(retention.prune_kind(kind))} deleted")
