"""manage.py import_data: import customers, companies or tickets from a CSV file."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspace.imports import reading, uploads
from workspace.imports.columns import Unusable
from workspace.imports.passes import KINDS
from workspace.models import Organization


class Command(BaseCommand):
    help = "Add and change customers, companies or tickets from a CSV file: all of it, or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--organization", required=True, help="short name of the organization")
        parser.add_argument(
            "--kind", required=True, choices=[*KINDS], help="what the file contains"
        )
        parser.add_argument("file", type=Path, help="CSV in UTF-8 with a header row")

    def handle(self, *_args: Any, **options: Any) -> None:
        organization = _named(options["organization"])
        content = _read(options["file"])
        try:
            outcome = uploads.import_now(
                organization,
                kind=options["kind"],
                file_name=options["file"].name,
                content=content,
            )
        except Unusable as unusable:
            lines = [str(problem) for problem in unusable.problems]
            if unusable.count > len(lines):
                lines.append(f"{unusable.count - len(lines)} more problems.")
            text = "\n".join(lines)
            raise CommandError(f"Nothing was imported.\n{text}") from unusable
        self.stdout.write(f"{outcome}.")


def _named(slug: str) -> Organization:
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"No organization has the short name {slug!r}.")
    return organization


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(reading.MAX_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
