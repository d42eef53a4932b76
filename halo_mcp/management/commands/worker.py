"""manage.py worker: run the background worker and its schedule."""

import os
import signal
import threading
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from halo_mcp import celery, checks

STDIN = 0


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
        if options["until_stdin_closes"]:
            threading.Thread(target=_end_with_stdin, daemon=True).start()
        celery.work()


def _end_with_stdin() -> None:
    # Not through sys.stdin: a thread that waits in its buffer makes the interpreter's end fail.
    while os.read(STDIN, 1024):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
