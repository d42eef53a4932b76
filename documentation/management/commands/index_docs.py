"""manage.py index_docs: update the documentation search."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from documentation.index import DocumentationMissing, refresh


class Command(BaseCommand):
    help = "Update the documentation search from a folder of Markdown pages."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--source",
            type=Path,
            default=settings.HALO_DOCS_SOURCE,
            help="folder of the pages (default: HALO_DOCS_SOURCE)",
        )

    def handle(self, *_args: Any, **options: Any) -> None:
        try:
            done = refresh(options["source"])
        except DocumentationMissing as missing:
            raise CommandError(str(missing)) from missing
        self.stdout.write(
            f"Documentation pages: {done.added} added, {done.changed} changed, "
            f"{done.removed} removed, {done.unchanged} unchanged."
        )
