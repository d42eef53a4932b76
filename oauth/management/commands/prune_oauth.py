"""manage.py prune_oauth: runs the nightly clean-up now, with a progress bar."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console
from rich.progress import Progress

from oauth.grants import cleanup
from oauth.grants.cleanup import Chore


class Command(BaseCommand):
    help = (
        "Delete clients that never received a token, and expired credentials. Safe to stop, to "
        "repeat and to run concurrently."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run",
            action="store_true",
            help="print how many rows would be deleted, and delete none",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        due = cleanup.due()
        if options["dry_run"]:
            for name, count in due.items():
                self.stdout.write(f"{name}: {count} due")
            return
        # On standard error, so that a program can read the counts from standard output; shown only
        # in a terminal.
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
            for chore in cleanup.CHORES:
                deleted = _prune_with_progress(chore, due[chore.name], bars)
                self.stdout.write(f"{chore.name}: {deleted} deleted")


def _prune_with_progress(chore: Chore, expected: int, bars: Progress) -> int:
    bar = bars.add_task(chore.name, total=expected)
    deleted = 0
    for batch in cleanup.prune(chore):
        deleted += batch
        # More rows may be due since they were counted.
        bars.update(bar, completed=deleted, total=max(expected, deleted))
    return deleted
