"""manage.py prune_oauth: the nightly clean-up by hand, with something to look at."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser
from rich.console import Console
from rich.progress import Progress

from oauth import cleanup
from oauth.cleanup import Chore


class Command(BaseCommand):
    help = (
        "Delete clients that never got a token, and credentials that have served their time. "
        "Safe to stop and to run again, beside another run too."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--dry-run", action="store_true", help="say how many rows would go, and delete none"
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        due = cleanup.due()
        if options["dry_run"]:
            for name, count in due.items():
                self.stdout.write(f"{name}: {count} due")
            return
        # On the way of errors, so that what was deleted can be read by a program; drawn only
        # where a person looks on.
        console = Console(stderr=True)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as bars:
            for chore in cleanup.CHORES:
                deleted = _shown(chore, due[chore.name], bars)
                self.stdout.write(f"{chore.name}: {deleted} deleted")


def _shown(chore: Chore, expected: int, bars: Progress) -> int:
    bar = bars.add_task(chore.name, total=expected)
    deleted = 0
    for batch in cleanup.prune(chore):
        deleted += batch
        # More may have come due since they were counted.
        bars.update(bar, completed=deleted, total=max(expected, deleted))
    return deleted
