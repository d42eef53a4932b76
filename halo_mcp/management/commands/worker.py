"""manage.py worker: run the background worker and its schedule."""

from contextlib import suppress
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import DatabaseError

from foundation.version import PRODUCT
from halo_mcp import checks, sealing_keys, worker


class Command(BaseCommand):
    help = "Run the background worker and its schedule until SIGTERM."
    requires_system_checks = []  # made below, so that no option skips them

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--until-stdin-closes",
            action="store_true",
            help="also stop when standard input is closed, as when the parent process dies",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        self.check(tags=checks.BEFORE_SERVING, databases=checks.DATABASES)
        try:
            # A worker that starts while the database is away works when it is back.
            with suppress(DatabaseError):
                sealing_keys.prove()
        except ImproperlyConfigured as refused:
            raise CommandError(str(refused)) from refused
        self.stdout.write(f"{PRODUCT}, background worker.")
        self.stdout.flush()
        worker.run(until_stdin_closes=options["until_stdin_closes"])
