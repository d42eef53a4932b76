"""manage.py import_customers: an organization's customers from a file, as the admin's page does."""

from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from workspace import customer_file, customer_import
from workspace.customer_file import Unusable
from workspace.models import Organization


class Command(BaseCommand):
    help = "Add and change an organization's customers as a CSV file says; all of it, or nothing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("organization", help="its short name")
        parser.add_argument("file", type=Path, help="CSV in UTF-8 with a header row")

    def handle(self, *_args: Any, **options: Any) -> None:
        organization = _named(options["organization"])
        try:
            entries = customer_file.parse(_read(options["file"]))
            counts = customer_import.take(organization, entries)
        except Unusable as unusable:
            lines = "\n".join(str(problem) for problem in unusable.problems)
            raise CommandError(f"Nothing was imported.\n{lines}") from unusable
        self.stdout.write(f"{counts}.")


def _named(slug: str) -> Organization:
    organization = Organization.objects.filter(slug=slug).first()
    if organization is None:
        raise CommandError(f"No organization has the short name {slug!r}.")
    return organization


def _read(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            return opened.read(customer_file.MOST_BYTES + 1)
    except OSError as error:
        raise CommandError(f"{file} cannot be read: {error.strerror}.") from error
