"""Take the documentation's pages into the search index."""

from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from tools_registry.documentation.index import DocumentationMissing, refresh


class Command(BaseCommand):
    help = "Brings the documentation search up to date with a folder of Markdown pages."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--source",
            type=Path,
            default=settings.HALO_DOCS_SOURCE,
            help="the folder of pages; HALO_DOCS_SOURCE unless given",
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
